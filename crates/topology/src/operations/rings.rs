//! The ring before and after an operation.

use std::collections::BTreeMap;

use crate::ring::{HostId, Node, NodeIndex, Ring};
use crate::token::Token;

/// The rings between which an operation of tokens moves ranges. An operation on the same ring has it on both sides.
///
/// A shard plans by one ring that has all nodes, *present* here: joining ones without tokens, leaving ones with theirs. Strategies see the ring before,
/// which has the nodes with tokens before, and the ring after, which has those with tokens after. So nodes that wait to join are in neither. Indices of nodes outside of this module mean the present ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingChange<'a> {
    present: &'a Ring,
    before: Side,
    after: Side,
}

/// A ring of some of the present ring's nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) ring: Ring,
    /// By the index in `ring`, the index in the present one.
    pub(super) indices: Vec<NodeIndex>,
}

impl<'a> RingChange<'a> {
    /// No tokens change.
    pub fn none(present: &'a Ring) -> Self {
        RingChange::new(present, &BTreeMap::new())
    }

    /// The nodes named have these tokens afterwards; without any, the node leaves. A node named that has none before joins. Where no node has tokens at all,
    /// all are on both sides.
    ///
    /// # Panics
    /// If a node is none of the ring's, no node remains on a side, or two nodes have a token: who plans operations decides all three before.
    pub fn new(present: &'a Ring, tokens_after: &BTreeMap<HostId, Vec<Token>>) -> Self {
        let known = |host: &HostId| present.nodes().iter().any(|node| node.host_id == *host);
        assert!(tokens_after.keys().all(known), "an operation is of nodes of the ring");
        let after = |node: &Node| tokens_after.get(&node.host_id);
        let is_any = present.owners().is_empty() && tokens_after.is_empty();
        let before = side(present, |node| is_any || !node.tokens.is_empty(), |node| node.tokens.clone());
        let tokens = |node: &Node| after(node).unwrap_or(&node.tokens).clone();
        let after = side(present, |node| is_any || !tokens(node).is_empty(), tokens);
        RingChange { present, before, after }
    }

    /// The ring that has all nodes.
    pub fn present(&self) -> &'a Ring {
        self.present
    }

    /// The ring before.
    pub fn before(&self) -> &Ring {
        &self.before.ring
    }

    /// The ring after.
    pub fn after(&self) -> &Ring {
        &self.after.ring
    }

    pub(super) fn sides(&self) -> [&Side; 2] {
        [&self.before, &self.after]
    }
}

fn side(present: &Ring, is_of_it: impl Fn(&Node) -> bool, tokens: impl Fn(&Node) -> Vec<Token>) -> Side {
    let of_it = (0u16..).map(NodeIndex).zip(present.nodes()).filter(|(_, node)| is_of_it(node));
    let (indices, nodes): (Vec<NodeIndex>, Vec<Node>) =
        of_it.map(|(index, node)| (index, Node { tokens: tokens(node), ..node.clone() })).unzip();
    assert!(!nodes.is_empty(), "a ring has a node");
    // A node that joins or leaves is no node of one side. Strategies of shared data do not ask which node it is.
    let local = indices.iter().position(|&index| index == present.local()).unwrap_or(0);
    let local = NodeIndex(u16::try_from(local).expect("a ring has fewer than 2^16 nodes"));
    Side { ring: Ring::new(present.epoch(), nodes, local), indices }
}
