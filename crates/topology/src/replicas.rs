//! From a token to the nodes that hold its partitions, in the ring's order.
//!
//! The rules are Cassandra's, node for node, since a cluster's data lies where they say. (Source: Cassandra's
//! `SimpleStrategy` and `NetworkTopologyStrategy.calculateNaturalReplicas`.)

use std::collections::{BTreeMap, BTreeSet};

use crate::strategy::ReplicationStrategy;

use crate::ring::{NodeIndex, Ring};
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
    /// The map of `strategy` on `ring`.
    pub fn new(ring: &Ring, strategy: &ReplicationStrategy) -> Self {
        let by_token =
            matches!(strategy, ReplicationStrategy::Simple { .. } | ReplicationStrategy::NetworkTopology { .. });
        let mut building = Building::default();
        if by_token {
            for &(end, _) in ring.owners() {
                building.push(end, replicas(ring, strategy, end));
            }
        }
        let mut map = building.finish();
        if map.lists.is_empty() {
            // A strategy that ignores tokens, or a ring without any.
            map = Building::of_all(replicas(ring, strategy, Token::MIN));
        }
        map
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
    fn of_all(replicas: Vec<NodeIndex>) -> ReplicaMap {
        let mut building = Building::default();
        building.push(Token::MIN, replicas);
        building.finish()
    }

    /// Adds the range from the end before up to `end`.
    fn push(&mut self, end: Token, replicas: Vec<NodeIndex>) {
        let list = match self.known.get(&replicas) {
            Some(list) => *list,
            None => {
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
pub fn replicas(ring: &Ring, strategy: &ReplicationStrategy, token: Token) -> Vec<NodeIndex> {
    match strategy {
        ReplicationStrategy::Local => vec![ring.local()],
        ReplicationStrategy::Everywhere => (0u16..).zip(ring.nodes()).map(|(index, _)| NodeIndex(index)).collect(),
        ReplicationStrategy::Simple { replication_factor } => {
            let mut found = Vec::new();
            for node in ring.walk(token) {
                if found.len() >= *replication_factor as usize {
                    break;
                }
                if !found.contains(&node) {
                    found.push(node);
                }
            }
            found
        }
        ReplicationStrategy::NetworkTopology { datacenters } => network_topology(ring, datacenters, token),
    }
}

/// One datacenter's progress while the ring is walked.
struct DatacenterQuota<'a> {
    left: usize,
    /// How many replicas may share a rack with one before: what the racks fall short of the replication factor.
    rack_repeats_left: usize,
    racks: BTreeSet<&'a str>,
}

fn network_topology(ring: &Ring, datacenters: &BTreeMap<String, u32>, token: Token) -> Vec<NodeIndex> {
    let mut quotas: BTreeMap<&str, DatacenterQuota<'_>> = BTreeMap::new();
    for (name, &replication_factor) in datacenters {
        let members = || ring.nodes().iter().filter(|node| node.datacenter == *name && !node.tokens.is_empty());
        let racks: BTreeSet<&str> = members().map(|node| node.rack.as_str()).collect();
        let replication_factor = replication_factor as usize;
        let quota = DatacenterQuota {
            left: replication_factor.min(members().count()),
            rack_repeats_left: replication_factor.saturating_sub(racks.len()),
            racks: BTreeSet::new(),
        };
        if quota.left > 0 {
            quotas.insert(name, quota);
        }
    }

    let mut found = Vec::new();
    for index in ring.walk(token) {
        if quotas.is_empty() {
            break;
        }
        let node = ring.node(index);
        let Some(quota) = quotas.get_mut(node.datacenter.as_str()) else { continue };
        if found.contains(&index) {
            continue;
        }
        if !quota.racks.insert(&node.rack) {
            if quota.rack_repeats_left == 0 {
                continue;
            }
            quota.rack_repeats_left -= 1;
        }
        found.push(index);
        quota.left -= 1;
        if quota.left == 0 {
            quotas.remove(node.datacenter.as_str());
        }
    }
    found
}

#[cfg(test)]
mod tests;
