//! The ring that a shard plans by at present, and its change.
//!
//! A ring is swapped as a whole, as the schema's snapshot is: what was planned before keeps the ring that it was planned by, with its nodes and their
//! connections, until it is done. So an index of a node never meets another ring.

use std::cell::RefCell;
use std::rc::Rc;

use internode::Peers;
use topology::{HostId, ReplicationStrategy, Ring};

use super::nodes::Nodes;
use super::replication::Replication;

/// The present ring of a shard.
pub(crate) struct Placement {
    /// Connections to the ring's other nodes; none where they are not reached.
    peers: Option<Peers>,
    nodes: RefCell<Rc<Nodes>>,
}

impl Placement {
    /// The first ring; its other nodes are dialled from now on.
    pub(crate) fn new(ring: Rc<Ring>, peers: Option<Peers>) -> Rc<Placement> {
        follow(peers.as_ref(), &ring);
        let nodes = Nodes::new(ring, peers.as_ref());
        Rc::new(Placement { peers, nodes: RefCell::new(Rc::new(nodes)) })
    }

    /// Plans by another ring from now on. Connections to nodes that stay are kept, new nodes are dialled, and the connections to those that left end.
    ///
    /// # Panics
    /// If its epoch is not later, or it is another node's view: who changes rings decides both before.
    pub(crate) fn install(&self, ring: Rc<Ring>) {
        let before = self.nodes();
        let (old, new) = (before.ring().epoch(), ring.epoch());
        assert!(old < new, "rings follow one another: epoch {new} cannot come after {old}");
        let (was, is) = (before.ring().local_node().host_id, ring.local_node().host_id);
        assert_eq!(was, is, "a node stays the same in all rings that it sees");
        follow(self.peers.as_ref(), &ring);
        *self.nodes.borrow_mut() = Rc::new(Nodes::new(ring, self.peers.as_ref()));
    }

    /// The nodes of the present ring.
    pub(crate) fn nodes(&self) -> Rc<Nodes> {
        Rc::clone(&self.nodes.borrow())
    }

    /// A strategy on the present ring.
    pub(crate) fn replication(&self, strategy: &ReplicationStrategy) -> Rc<Replication> {
        Rc::new(Replication::new(self.nodes(), strategy))
    }

    /// True if a node of the present ring answers.
    pub(crate) fn is_up(&self, host_id: HostId) -> bool {
        let is_up = |peers: &Peers| peers.get(host_id).is_some_and(|peer| peer.is_up());
        host_id == self.nodes.borrow().ring().local_node().host_id || self.peers.as_ref().is_some_and(is_up)
    }
}

fn follow(peers: Option<&Peers>, ring: &Ring) {
    if let Some(peers) = peers {
        peers.follow(ring.others().map(|node| (node.host_id, node.internode)));
    }
}
