//! From a token to the nodes that hold its partitions, in the ring's order.
//!
//! The rules are a [`Strategy`]'s; the built-in ones are Cassandra's, node for node, since a cluster's data lies where they say.

use std::collections::{BTreeMap, BTreeSet};

use crate::ring::{NodeIndex, Ring};
use crate::strategy::Strategy;
use crate::token::Token;

/// The replicas of every token under one strategy, worked out once per ring and strategy, so that a request only
/// looks one up and takes no memory.
///
/// Neighbouring ranges with the same replicas are one, and equal lists are stored once: a range takes 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaMap {
    /// Ends of the ranges, ascending; inclusive. None where all tokens have the same replicas.
    ends: Vec<Token>,
    /// One list per end; where there are none, a single list for all tokens.
    lists: Vec<List>,
    /// The lists, one after the other.
    nodes: Vec<NodeIndex>,
}

/// The place of a list among all nodes of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct List {
    start: u32,
    length: u32,
}

impl List {
    #[inline]
    fn of(self, nodes: &[NodeIndex]) -> &[NodeIndex] {
        &nodes[self.start as usize..][..self.length as usize]
    }
}

impl ReplicaMap {
    /// The map of a strategy's rules on `ring`.
    ///
    /// # Panics
    /// If the rules place a range on a node twice: an answer would count twice.
    pub fn new(ring: &Ring, rules: &dyn Strategy) -> Self {
        let mut building = Building::default();
        for range in ring.ranges() {
            building.push(range.end, rules.place(range, ring));
        }
        building.finish()
    }

    /// The same map where the node of each index has another one: `indices` by the indices of this map.
    pub(crate) fn renumbered(mut self, indices: &[NodeIndex]) -> Self {
        for node in &mut self.nodes {
            *node = indices[usize::from(node.0)];
        }
        self
    }

    /// The map of a strategy whose rules this program does not have: no token has a replica.
    pub fn of_none() -> Self {
        let mut building = Building::default();
        building.push(Token::MIN, Vec::new());
        building.finish()
    }

    /// The replicas of all tokens, where every token has the same in the same order.
    pub fn of_all(&self) -> Option<&[NodeIndex]> {
        match self.lists.as_slice() {
            [only] => Some(only.of(&self.nodes)),
            _ => None,
        }
    }

    /// The replicas of `token`, in the ring's order.
    #[inline]
    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        if self.lists.len() == 1 {
            return self.lists[0].of(&self.nodes);
        }
        let index = self.ends.partition_point(|&end| end < token);
        // After the last token the ring begins again.
        self.lists[if index == self.lists.len() { 0 } else { index }].of(&self.nodes)
    }

    /// Ranges that differ from the one before, and indices of nodes in all lists: the map's memory is made of these.
    pub fn size(&self) -> (usize, usize) {
        (self.lists.len(), self.nodes.len())
    }
}

/// A map while ranges are added to it, in the order of tokens.
#[derive(Default)]
struct Building {
    ends: Vec<Token>,
    lists: Vec<List>,
    nodes: Vec<NodeIndex>,
    known: BTreeMap<Vec<NodeIndex>, List>,
}

impl Building {
    /// Adds the range from the end before up to `end`.
    fn push(&mut self, end: Token, replicas: Vec<NodeIndex>) {
        let list = match self.known.get(&replicas) {
            Some(list) => *list,
            None => {
                let nodes: BTreeSet<_> = replicas.iter().collect();
                assert_eq!(nodes.len(), replicas.len(), "a node is a replica of a range once");
                let offset = |count: usize| u32::try_from(count).expect("a ring has fewer than 2^32 replicas in all");
                let list = List { start: offset(self.nodes.len()), length: offset(replicas.len()) };
                self.nodes.extend_from_slice(&replicas);
                self.known.insert(replicas, list);
                list
            }
        };
        match self.lists.last() {
            Some(last) if *last == list => *self.ends.last_mut().expect("each list has an end") = end,
            _ => {
                self.ends.push(end);
                self.lists.push(list);
            }
        }
    }

    fn finish(mut self) -> ReplicaMap {
        if self.lists.len() == 1 {
            self.ends.clear();
        }
        self.ends.shrink_to_fit();
        self.lists.shrink_to_fit();
        self.nodes.shrink_to_fit();
        ReplicaMap { ends: self.ends, lists: self.lists, nodes: self.nodes }
    }
}

/// The replicas of one token. [`ReplicaMap`] is the form for requests.
pub fn replicas(ring: &Ring, rules: &dyn Strategy, token: Token) -> Vec<NodeIndex> {
    rules.place(ring.range_of(token), ring)
}

#[cfg(test)]
mod tests;
