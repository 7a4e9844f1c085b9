//! The nodes of one ring as this shard reaches them: itself, and peers over connections of its own.

use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;

use internode::{Peer, Peers};
use topology::{HostId, NodeIndex, Ring, murmur3};

use crate::replica::ReplicaShard;

/// The nodes of one ring. An index of a node means something here and with no other ring's nodes.
pub(crate) struct Nodes {
    ring: Rc<Ring>,
    /// The ring's, one step nearer to each request.
    local: NodeIndex,
    /// By the node's index; none for this node, and for all where there are no connections.
    peers: Vec<Option<Peer>>,
    /// By the node's index: its place in the order in which equal replicas are read.
    ranks: Vec<Cell<u16>>,
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
        Nodes { local: ring.local(), ranks: ranks(&ring), ring, peers }
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

    /// A node's place in the order in which equal replicas are read.
    pub(crate) fn rank(&self, node: NodeIndex) -> u16 {
        self.ranks.get(usize::from(node.0)).map_or(0, Cell::get)
    }

    /// From now on `better` is read before `than`, in whose place it comes.
    pub(crate) fn prefer(&self, better: NodeIndex, than: NodeIndex) {
        if let (Some(better), Some(than)) = (self.ranks.get(usize::from(better.0)), self.ranks.get(usize::from(than.0)))
        {
            better.swap(than);
        }
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

/// The ranks at first: another order on each node, so that not all of them read from the same replicas.
fn ranks(ring: &Ring) -> Vec<Cell<u16>> {
    let here = ring.local_node().host_id;
    let draw = |there: HostId| murmur3::hash(&[here.0, there.0].concat());
    let mut order: Vec<usize> = (0..ring.nodes().len()).collect();
    order.sort_by_key(|&node| draw(ring.nodes()[node].host_id));
    let ranks = vec![Cell::new(0); order.len()];
    for (rank, node) in (0u16..).zip(order) {
        ranks[node].set(rank);
    }
    ranks
}
