//! The nodes of one ring as this shard reaches them: itself, and peers over connections of its own.

use std::net::IpAddr;
use std::rc::Rc;

use internode::{Peer, Peers};
use topology::{HostId, NodeIndex, Ring};

use crate::replica::ReplicaShard;

/// The nodes of one ring. An index of a node means something here and with no other ring's nodes.
pub(crate) struct Nodes {
    ring: Rc<Ring>,
    /// The ring's, one step nearer to each request.
    local: NodeIndex,
    /// By the node's index; none for this node, and for all where there are no connections.
    peers: Vec<Option<Peer>>,
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nodes").field("ring", &self.ring).finish_non_exhaustive()
    }
}

impl Nodes {
    /// The ring's nodes, of which this one answers and those that `peers` follows.
    pub(crate) fn new(ring: Rc<Ring>, peers: Option<&Peers>) -> Self {
        let peer_of = |host| peers.and_then(|peers| peers.get(host));
        let peers = ring.nodes().iter().map(|node| peer_of(node.host_id)).collect();
        Nodes { local: ring.local(), ring, peers }
    }

    /// The ring.
    #[inline]
    pub(crate) fn ring(&self) -> &Rc<Ring> {
        &self.ring
    }

    /// This node.
    #[inline]
    pub(crate) fn local(&self) -> NodeIndex {
        self.local
    }

    /// True if a node answers, as far as this shard knows.
    #[inline]
    pub(crate) fn is_alive(&self, node: NodeIndex) -> bool {
        node == self.local || self.peer(node).is_some_and(Peer::is_up)
    }

    /// The connection to another node.
    pub(crate) fn peer(&self, node: NodeIndex) -> Option<&Peer> {
        self.peers.get(usize::from(node.0))?.as_ref()
    }

    /// How many shards another node has; 0 if that is not known.
    pub(crate) fn shard_count(&self, node: NodeIndex) -> u16 {
        self.peer(node).map_or(0, Peer::shard_count)
    }

    /// A node as a whole, as a refusal names it.
    pub(crate) fn shard_of(&self, node: NodeIndex) -> ReplicaShard {
        match node == self.local {
            true => ReplicaShard::here(),
            false => ReplicaShard::of_node(self.ring.node(node).internode),
        }
    }

    /// The other node that a refusal names.
    pub(crate) fn host_at(&self, shard: ReplicaShard) -> Option<HostId> {
        let node = shard.node?;
        self.ring.nodes().iter().find(|of| of.internode == node).map(|of| of.host_id)
    }

    /// Where a node's clients reach it.
    pub(crate) fn address(&self, node: NodeIndex) -> IpAddr {
        self.ring.node(node).address.ip()
    }
}
