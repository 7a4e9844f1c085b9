//! From a token to the nodes that hold its partitions, in the ring's order.
//!
//! The rules are Cassandra's, node for node, since a cluster's data lies where they say. (Source: Cassandra's
//! `SimpleStrategy` and `NetworkTopologyStrategy.calculateNaturalReplicas`.)

use std::collections::{BTreeMap, BTreeSet};

use crate::strategy::ReplicationStrategy;

use crate::ring::{NodeIndex, Ring};
use crate::token::Token;

/// The replicas of every token under one strategy, worked out once per ring and keyspace, so that a request only
/// looks one up and takes no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaMap {
    /// Ends of the ranges, ascending; inclusive.
    ends: Vec<Token>,
    /// One list per end; where there are none, a single list for all tokens.
    lists: Vec<Vec<NodeIndex>>,
}

impl ReplicaMap {
    /// The map of `strategy` on `ring`.
    pub fn new(ring: &Ring, strategy: &ReplicationStrategy) -> Self {
        let by_token =
            matches!(strategy, ReplicationStrategy::Simple { .. } | ReplicationStrategy::NetworkTopology { .. });
        // On a ring of one, or with a strategy that ignores tokens, every token has the same replicas.
        if !by_token || ring.nodes().len() == 1 || ring.owners().is_empty() {
            return ReplicaMap { ends: Vec::new(), lists: vec![replicas(ring, strategy, Token::MIN)] };
        }
        let ends: Vec<Token> = ring.owners().iter().map(|&(token, _)| token).collect();
        let lists = ends.iter().map(|&token| replicas(ring, strategy, token)).collect();
        ReplicaMap { ends, lists }
    }

    /// The replicas of every token, where all have the same in the same order.
    pub fn of_all(&self) -> Option<&[NodeIndex]> {
        match self.lists.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The replicas of `token`, in the ring's order.
    #[inline]
    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        if self.lists.len() == 1 {
            return &self.lists[0];
        }
        let index = self.ends.partition_point(|&end| end < token);
        // Behind the last token the ring begins again.
        &self.lists[if index == self.lists.len() { 0 } else { index }]
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
