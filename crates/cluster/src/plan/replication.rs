//! A keyspace's replication on one ring, worked out once so that a request's plan is a look-up.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::rc::Rc;

use topology::{
    ConsistencyLevel, Epoch, Factor, HostId, NodeIndex, ReplicaMap, ReplicationStrategy, Required, Ring, Strategy,
    Token, required,
};

use super::count::is_enough;
use super::nodes::Nodes;
use crate::fence::Placed;

/// A strategy on one ring: the replicas of every token, and how many must answer at each level.
#[derive(Debug)]
pub struct Replication {
    nodes: Rc<Nodes>,
    strategy: ReplicationStrategy,
    map: ReplicaMap,
    /// By the level's place in [`LEVELS`].
    required: [Required; LEVELS.len()],
}

const LEVELS: [ConsistencyLevel; 11] = [
    ConsistencyLevel::Any,
    ConsistencyLevel::One,
    ConsistencyLevel::Two,
    ConsistencyLevel::Three,
    ConsistencyLevel::Quorum,
    ConsistencyLevel::All,
    ConsistencyLevel::LocalQuorum,
    ConsistencyLevel::EachQuorum,
    ConsistencyLevel::Serial,
    ConsistencyLevel::LocalSerial,
    ConsistencyLevel::LocalOne,
];

impl Replication {
    /// The replication of `strategy` on the nodes' ring, by its rules. Without them no token has a replica, and each level is unavailable: to guess a place
    /// would be to lose what is written there.
    pub(crate) fn new(nodes: Rc<Nodes>, strategy: &ReplicationStrategy, rules: Option<&dyn Strategy>) -> Self {
        let ring = nodes.ring();
        let map = rules.map_or_else(ReplicaMap::of_none, |rules| ReplicaMap::new(ring, rules));
        let factor = rules.map_or(Factor::Total(1), |rules| rules.factor());
        let required = LEVELS.map(|level| required(level, &factor, ring));
        Replication { strategy: strategy.clone(), map, required, nodes }
    }

    /// The replication of a strategy by its rules, on a ring whose nodes are not reached by it.
    pub fn on_ring(ring: &Rc<Ring>, strategy: &ReplicationStrategy, rules: &dyn Strategy) -> Replication {
        Replication::new(Rc::new(Nodes::new(Rc::clone(ring), None)), strategy, Some(rules))
    }

    /// A majority in each datacenter of a token's replicas. Where a datacenter has fewer nodes than a majority of its replicas would be, all of these: whatever is a
    /// majority elsewhere meets them.
    pub(crate) fn majority_of_each(&self, token: Token) -> Required {
        let (ring, replicas) = (self.ring(), self.replicas(token));
        let count_in = |name: &str| replicas.iter().filter(|node| ring.node(**node).datacenter == *name).count();
        let at_most = |needed: u32, count: usize| needed.min(u32::try_from(count).unwrap_or(u32::MAX));
        match self.required(ConsistencyLevel::EachQuorum) {
            Required::Total(needed) => Required::Total(at_most(*needed, replicas.len())),
            Required::Local(needed) => Required::Local(*needed),
            Required::PerDatacenter(quotas) => Required::PerDatacenter(
                quotas.iter().map(|(name, needed)| (name.clone(), at_most(*needed, count_in(name)))).collect(),
            ),
        }
    }

    /// True if nodes are a [majority of each](Replication::majority_of_each) range's replicas.
    pub fn are_majorities(&self, hosts: &BTreeSet<HostId>) -> bool {
        let ring = self.ring();
        let has = |token: Token| {
            let replicas = self.replicas(token).iter().copied();
            let among: Vec<NodeIndex> = replicas.filter(|node| hosts.contains(&ring.node(*node).host_id)).collect();
            is_enough(&self.majority_of_each(token), ring, &among)
        };
        has(Token::MIN) && ring.owners().iter().all(|&(token, _)| has(token))
    }

    /// The nodes that its indices mean.
    #[inline]
    pub(crate) fn nodes(&self) -> &Rc<Nodes> {
        &self.nodes
    }

    /// The ring that its indices mean.
    pub fn ring(&self) -> &Rc<Ring> {
        self.nodes.ring()
    }

    /// The epoch of its ring, and of every plan that is made of it.
    pub fn epoch(&self) -> Epoch {
        self.nodes.ring().epoch()
    }

    /// The ring and the strategy by which rows are placed.
    pub(crate) fn placed(&self) -> Placed<'_> {
        Placed { ring: self.epoch(), strategy: &self.strategy }
    }

    /// The strategy, which may be asked for on another ring.
    pub(crate) fn strategy(&self) -> &ReplicationStrategy {
        &self.strategy
    }

    /// Ranges of the map and indices of nodes in it.
    #[cfg(test)]
    pub(super) fn map_size(&self) -> (usize, usize) {
        self.map.size()
    }

    /// The replicas of all tokens, where these are the same.
    pub(crate) fn replicas_of_all(&self) -> Option<&[NodeIndex]> {
        self.map.of_all()
    }

    /// The replicas of a token, alive or not.
    #[inline]
    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        self.map.replicas(token)
    }

    /// The address of the node that is read first of a token's replicas: this one if it is a replica, else one that is up.
    pub fn first_reader(&self, token: Token) -> Option<IpAddr> {
        let nodes = &self.nodes;
        let alive = || self.replicas(token).iter().copied().filter(|&node| nodes.is_alive(node));
        let here = alive().find(|&node| node == nodes.local());
        here.or_else(|| alive().next()).map(|node| nodes.ring().node(node).internode.ip())
    }

    /// True if rows have more than one replica, by the strategy: nodes that it would need may be missing.
    pub fn is_of_several(&self) -> bool {
        !matches!(self.required(ConsistencyLevel::All), Required::Total(0 | 1))
    }

    /// Whose answers count at `level`, and how many are needed.
    #[inline]
    pub(crate) fn required(&self, level: ConsistencyLevel) -> &Required {
        // The enum's order is that of the table; the test below compares them.
        &self.required[level as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_levels_is_in_the_order_of_the_enum() {
        for (index, level) in LEVELS.iter().enumerate() {
            assert_eq!(*level as usize, index, "{level}");
        }
    }
}
