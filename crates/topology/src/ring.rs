//! The nodes of a cluster and the tokens that they own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::token::{Token, TokenRange};

/// A node's identity, a UUID made at its first start and kept for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub [u8; 16]);

impl std::fmt::Display for HostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        stdx::write_uuid(&self.0, f)
    }
}

/// Orders the rings that a cluster has had: a change of its nodes or tokens makes a ring of the next epoch. A node alone, and a ring
/// fixed by hand, are of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of a cluster's first ring.
    pub const FIRST: Epoch = Epoch(1);
}

impl std::fmt::Display for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A node's place in [`Ring::nodes`]; meaningless with another ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u16);

/// One node as the ring sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its identity.
    pub host_id: HostId,
    /// Where clients reach it.
    pub address: SocketAddr,
    /// Where other nodes reach it.
    pub internode: SocketAddr,
    /// Its datacenter's name.
    pub datacenter: String,
    /// Its rack's name within the datacenter.
    pub rack: String,
    /// The tokens it owns: each the inclusive end of a range that begins behind the token before it on the ring.
    pub tokens: Vec<Token>,
}

/// The cluster's nodes and who owns which token, at one epoch. Immutable: a change makes a new ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    epoch: Epoch,
    nodes: Vec<Node>,
    local: NodeIndex,
    /// Sorted by token, each token once.
    owners: Vec<(Token, NodeIndex)>,
}

impl Ring {
    /// The ring of `nodes` at `epoch` as seen by the one at `local`.
    ///
    /// # Panics
    /// When `local` is not among them, a node is among them twice, or a token is owned twice: membership decides all three before it builds a
    /// ring.
    pub fn new(epoch: Epoch, nodes: Vec<Node>, local: NodeIndex) -> Self {
        assert!(usize::from(local.0) < nodes.len(), "the local node is part of its ring");
        let hosts: BTreeSet<HostId> = nodes.iter().map(|node| node.host_id).collect();
        assert_eq!(hosts.len(), nodes.len(), "a node is in its ring once");
        let mut owners = Vec::with_capacity(nodes.iter().map(|node| node.tokens.len()).sum());
        for (index, node) in (0u16..).zip(&nodes) {
            owners.extend(node.tokens.iter().map(|&token| (token, NodeIndex(index))));
        }
        owners.sort_unstable();
        assert!(owners.windows(2).all(|pair| pair[0].0 < pair[1].0), "a token has one owner");
        Ring { epoch, nodes, local, owners }
    }

    /// Its place among the cluster's rings.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by its index in this ring.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[usize::from(index.0)]
    }

    /// The nodes but the one that this process is.
    pub fn others(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.host_id != self.local_node().host_id)
    }

    /// The nodes that have tokens; where none has any, all of them. One that joins has none yet, one that leaves none any more.
    pub fn owning_nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let is_any = self.owners.is_empty();
        let nodes = (0u16..).map(NodeIndex).zip(&self.nodes);
        nodes.filter(move |(_, node)| is_any || !node.tokens.is_empty()).map(|(index, _)| index)
    }

    /// The index of the node that this process is.
    #[inline]
    pub fn local(&self) -> NodeIndex {
        self.local
    }

    /// The node that this process is.
    pub fn local_node(&self) -> &Node {
        self.node(self.local)
    }

    /// All tokens and their owners, ascending.
    pub fn owners(&self) -> &[(Token, NodeIndex)] {
        &self.owners
    }

    /// The ranges between neighbouring tokens, by their ends, ascending; where no node has a token, one range of all tokens. There is always one.
    pub fn ranges(&self) -> impl Iterator<Item = TokenRange> + '_ {
        let last = self.owners.last().map(|&(token, _)| token);
        let before = last.into_iter().chain(self.owners.iter().map(|&(token, _)| token));
        let between = before.zip(&self.owners).map(|(after, &(end, _))| TokenRange { after, end });
        between.chain(last.is_none().then_some(TokenRange::ALL))
    }

    /// The one of the ranges that a token is in.
    pub fn range_of(&self, token: Token) -> TokenRange {
        let Some(&(last, _)) = self.owners.last() else { return TokenRange::ALL };
        let index = self.owners.partition_point(|&(owned, _)| owned < token);
        let at = |index: usize| self.owners.get(index).map(|&(token, _)| token);
        // After the last token the ring begins again.
        let end = at(index).or_else(|| at(0)).expect("there is a last token, so there is a first one");
        let after = index.checked_sub(1).filter(|_| index < self.owners.len()).and_then(at).unwrap_or(last);
        TokenRange { after, end }
    }

    /// True if each token has the same replicas on both rings, whatever the strategy: the same nodes have the same tokens, datacenters and racks. Where nodes are
    /// reached does not matter, nor do `waiting` nodes, of this ring and of the other, which no strategy sees.
    pub fn places_as(&self, other: &Ring, waiting: [&BTreeSet<HostId>; 2]) -> bool {
        self.placing(waiting[0]) == other.placing(waiting[1])
    }

    /// The place of each node but those that wait.
    fn placing(&self, waiting: &BTreeSet<HostId>) -> BTreeMap<HostId, (&str, &str, BTreeSet<Token>)> {
        let place = |node: &'_ Node| node.tokens.iter().copied().collect::<BTreeSet<_>>();
        let placed = self.nodes.iter().filter(|node| !waiting.contains(&node.host_id));
        placed.map(|node| (node.host_id, (&*node.datacenter, &*node.rack, place(node)))).collect()
    }

    /// The owners met when the ring is walked once, clockwise, from the first token at or after `token`. A node with
    /// several tokens appears several times.
    pub fn walk(&self, token: Token) -> impl Iterator<Item = NodeIndex> + '_ {
        let start = self.owners.partition_point(|&(owned, _)| owned < token);
        let (before, after) = self.owners.split_at(start);
        after.iter().chain(before).map(|&(_, owner)| owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u8) -> Node {
        Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number))],
        }
    }

    #[test]
    fn the_others_are_all_but_the_local_node() {
        let ring = Ring::new(Epoch::FIRST, vec![node(1), node(2), node(3)], NodeIndex(1));
        let others: Vec<HostId> = ring.others().map(|node| node.host_id).collect();
        assert_eq!(others, [HostId([1; 16]), HostId([3; 16])]);
        assert_eq!((ring.epoch(), ring.local_node().host_id), (Epoch(1), HostId([2; 16])));
    }

    #[test]
    fn a_ring_places_as_another_whatever_its_addresses() {
        let ring = |nodes: Vec<Node>| Ring::new(Epoch::FIRST, nodes, NodeIndex(0));
        let before = ring(vec![node(1), node(2)]);
        let none = BTreeSet::new();
        let moved = Node { internode: ([10, 0, 0, 9], 7000).into(), ..node(2) };
        let other = ring(vec![moved.clone(), node(1)]);
        assert!(other.places_as(&before, [&none, &none]), "another address, in another order");
        for other in [
            vec![node(1)],
            vec![node(1), node(3)],
            vec![node(1), Node { rack: "rack2".into(), ..node(2) }],
            vec![node(1), Node { datacenter: "datacenter2".into(), ..node(2) }],
            vec![node(1), Node { tokens: vec![Token(7)], ..moved }],
        ] {
            assert!(!ring(other).places_as(&before, [&none, &none]));
        }
        let (joined, waiting) = (ring(vec![node(1), node(2), node(3)]), [node(3).host_id].into());
        assert!(joined.places_as(&before, [&waiting, &none]) && before.places_as(&joined, [&none, &waiting]));
        assert!(!joined.places_as(&before, [&none, &waiting]), "it waits on the other ring alone");
    }

    #[test]
    #[should_panic(expected = "the local node is part of its ring")]
    fn a_ring_without_the_local_node_is_none() {
        Ring::new(Epoch::FIRST, vec![node(1)], NodeIndex(1));
    }

    #[test]
    #[should_panic(expected = "a node is in its ring once")]
    fn a_node_twice_is_a_mistake() {
        let twin = Node { tokens: vec![Token(9)], ..node(1) };
        Ring::new(Epoch::FIRST, vec![node(1), twin], NodeIndex(0));
    }
}
