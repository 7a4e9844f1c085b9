//! The peers of a shard: one for each other node of the ring that the shard follows, kept by host id.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use runtime::Runtime;
use topology::HostId;

use crate::local_node::LocalNode;
use crate::news::Watch;
use crate::peer::{Peer, PeerParts};
use crate::purpose::Purpose;

/// Another node of the ring, as a shard is to reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    /// The node.
    pub host_id: HostId,
    /// Its internode address.
    pub address: SocketAddr,
    /// It is in another datacenter than this node.
    pub is_in_other_datacenter: bool,
}

/// The other nodes that this shard keeps connections to.
pub struct Peers {
    runtime: Runtime,
    local: LocalNode,
    purpose: Purpose,
    watch: Option<Watch>,
    by_host: RefCell<BTreeMap<HostId, Peer>>,
}

impl Peers {
    /// Connections for requests. No node is dialled yet.
    pub fn new(runtime: &Runtime, local: LocalNode) -> Self {
        Peers::of_purpose(runtime, local, Purpose::Requests, None)
    }

    /// The same for another purpose. `watch` receives their news.
    pub fn of_purpose(runtime: &Runtime, local: LocalNode, purpose: Purpose, watch: Option<Watch>) -> Self {
        Peers { runtime: runtime.clone(), local, purpose, watch, by_host: RefCell::default() }
    }

    /// Follows a change of membership: a connection to a node that stays is kept, a new node is dialled, and the connection to one that
    /// left ends. A node with another address is dialled there.
    pub fn follow(&self, others: impl IntoIterator<Item = Other>) {
        let mut before = self.by_host.take();
        let mut after = BTreeMap::new();
        for other in others {
            assert_ne!(other.host_id, self.local.host_id(), "a node is no peer of itself");
            let peer = match before.remove(&other.host_id) {
                Some(peer) if peer.address() == other.address => peer,
                moved => {
                    moved.inspect(Peer::end);
                    self.dial(other)
                }
            };
            let known = after.insert(other.host_id, peer);
            assert!(known.is_none(), "a node is in its ring once");
        }
        for peer in before.into_values() {
            peer.end();
        }
        *self.by_host.borrow_mut() = after;
    }

    /// The connection to a node that this shard follows.
    pub fn get(&self, host_id: HostId) -> Option<Peer> {
        self.by_host.borrow().get(&host_id).cloned()
    }

    fn dial(&self, other: Other) -> Peer {
        let Other { host_id, address, is_in_other_datacenter } = other;
        let (local, watch) = (self.local.clone(), self.watch.clone());
        let compresses = local.compresses(is_in_other_datacenter);
        Peer::start(&self.runtime, PeerParts { address, host_id, local, purpose: self.purpose, compresses, watch })
    }
}
