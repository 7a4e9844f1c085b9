//! The ring's nodes as this shard reaches them: itself, and peers over connections of its own.

use internode::Peer;
use topology::{NodeIndex, Ring};

use super::message::ReplicaError;
use crate::replica::{PeerAnswer, PeerRequest, ask};

/// The nodes of one ring.
pub(super) struct Nodes {
    local: NodeIndex,
    /// By the node's index; none for this node, and for all where there are no connections.
    peers: Vec<Option<Peer>>,
}

impl Nodes {
    /// Only this node answers.
    pub(super) fn alone(ring: &Ring) -> Self {
        Nodes { local: ring.local(), peers: Vec::new() }
    }

    /// This node and its peers, one for each other node of the ring.
    pub(super) fn with_peers(ring: &Ring, peer: impl Fn(NodeIndex) -> Peer) -> Self {
        let indices = (0u16..).zip(ring.nodes()).map(|(index, _)| NodeIndex(index));
        let peers = indices.map(|index| (index != ring.local()).then(|| peer(index)));
        Nodes { local: ring.local(), peers: peers.collect() }
    }

    /// This node.
    #[inline]
    pub(super) fn local(&self) -> NodeIndex {
        self.local
    }

    /// Whether a node answers, as far as this shard knows.
    #[inline]
    pub(super) fn is_alive(&self, node: NodeIndex) -> bool {
        node == self.local || self.peer(node).is_some_and(Peer::is_up)
    }

    fn peer(&self, node: NodeIndex) -> Option<&Peer> {
        self.peers.get(usize::from(node.0))?.as_ref()
    }

    /// How many shards another node has; 0 if that is not known.
    pub(super) fn shard_count(&self, node: NodeIndex) -> u16 {
        self.peer(node).map_or(0, Peer::shard_count)
    }

    /// Asks another node.
    pub(super) async fn call(&self, node: NodeIndex, request: &PeerRequest) -> Result<PeerAnswer, ReplicaError> {
        match self.peer(node) {
            Some(peer) => ask(peer, request).await,
            None => Err(ReplicaError::Gone { shard: 0 }),
        }
    }
}
