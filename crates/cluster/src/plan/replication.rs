//! A keyspace's replication on one ring, worked out once so that a request's plan is a look-up.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::rc::Rc;

use planted::{Bug, Planted};
use topology::operations::Operation;
use topology::{
    ConsistencyLevel, Epoch, Factor, HalfRequired, HostId, NodeIndex, ReplicaMap, ReplicationStrategy, Required, Ring,
    Strategies, Strategy, Token, required,
};

use super::count::is_enough;
use super::moving::{ByLevel, Changing, Moving};
use super::nodes::Nodes;
use super::transition::{Course, Transition};
use crate::fence::Placed;

/// A strategy on one ring: the replicas of every token, and how many must answer at each level.
#[derive(Debug)]
pub struct Replication {
    nodes: Rc<Nodes>,
    strategy: ReplicationStrategy,
    /// Before the operation, if one runs.
    map: ReplicaMap,
    /// The same, by the level's place in [`LEVELS`].
    required: ByLevel,
    /// The ranges to whose tokens an operation has requests go elsewhere, if there are some.
    moving: Option<Box<Moving>>,
}

/// All levels, in the order of the enum.
pub(super) const LEVELS: [ConsistencyLevel; 11] = [
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
    /// The replication of a keyspace, or of those that have a strategy and no operation of their own, on the nodes' ring. Where the rules of a strategy are not known
    /// no token has a replica, and each level is unavailable: to guess a place would be to lose what is written there.
    pub(crate) fn new(
        nodes: Rc<Nodes>,
        (keyspace, strategy): (Option<&str>, &ReplicationStrategy),
        (strategies, transition): (&Strategies, &Transition),
        planted: Planted,
    ) -> Self {
        let course = transition.course(keyspace, strategy);
        let rules_of = |strategy: &ReplicationStrategy| {
            let rules = strategies.rules(strategy).inspect_err(|error| {
                let class = strategy.class();
                tracing::error!(%class, %error, "unknown replication strategy; requests to its keyspaces fail on this node");
            });
            rules.ok()
        };
        let before = if planted.is(Bug::SchemaPlacesAtOnce) { strategy } else { course.before };
        let (now, after) = (rules_of(before), course.after.map(rules_of));
        let rules = match (&now, &after) {
            (Some(now), None) => Some([&**now, &**now]),
            (Some(now), Some(Some(after))) => Some([&**now, &**after]),
            (None, _) | (_, Some(None)) => None,
        };
        Replication::by_rules(nodes, strategy, rules, (transition, course), planted)
    }

    fn by_rules(
        nodes: Rc<Nodes>,
        strategy: &ReplicationStrategy,
        rules: Option<[&dyn Strategy; 2]>,
        change: (&Transition, Course<'_>),
        planted: Planted,
    ) -> Replication {
        let ring = nodes.ring();
        let changing = rules.and_then(|rules| Changing::of(ring, change, rules, planted));
        let Changing { before: map, required, moving } = changing.unwrap_or_else(|| {
            let rules = rules.map(|[now, _]| now);
            let factor = rules.map_or(Factor::Total(1), |rules| rules.factor());
            let before = rules.map_or_else(ReplicaMap::of_none, |rules| ReplicaMap::new(ring, rules));
            Changing { before, required: LEVELS.map(|level| required(level, &factor, ring)), moving: None }
        });
        Replication { strategy: strategy.clone(), map, required, moving: moving.map(Box::new), nodes }
    }

    /// The replication of a strategy by its rules, on a ring whose nodes are not reached by it.
    pub fn on_ring(ring: &Rc<Ring>, strategy: &ReplicationStrategy, rules: &dyn Strategy) -> Replication {
        let (nodes, transition) = (Rc::new(Nodes::new(Rc::clone(ring), None)), Transition::default());
        let course = transition.course(None, strategy);
        Replication::by_rules(nodes, strategy, Some([rules, rules]), (&transition, course), Planted::NONE)
    }

    /// The same of a keyspace, while operations move tokens or replicas. `None`: the rules of its strategy are not known.
    ///
    /// # Panics
    /// If operations run that touch each other.
    pub fn during(
        operations: &[Rc<Operation>],
        ring: &Rc<Ring>,
        (keyspace, strategy): (&str, &ReplicationStrategy),
        strategies: &Strategies,
    ) -> Option<Replication> {
        let transition = Transition::new(ring, operations.iter().cloned());
        let course = transition.course(Some(keyspace), strategy);
        std::iter::once(course.before)
            .chain(course.after)
            .all(|strategy| strategies.rules(strategy).is_ok())
            .then_some(())?;
        let nodes = Rc::new(Nodes::new(Rc::clone(ring), None));
        Some(Replication::new(nodes, (Some(keyspace), strategy), (strategies, &transition), Planted::NONE))
    }

    /// A majority in each datacenter of a token's replicas. Where a datacenter has fewer nodes than a majority of its replicas would be, all of these: whatever is a
    /// majority elsewhere meets them.
    pub(crate) fn majority_of_each(&self, token: Token) -> Required {
        let (replicas, needs) = self.written(token, ConsistencyLevel::EachQuorum);
        self.among(replicas, needs)
    }

    /// As many answers as are needed, or all of the replicas where these are fewer.
    fn among(&self, replicas: &[NodeIndex], needs: &Required) -> Required {
        let ring = self.ring();
        let count_in = |name: &str| replicas.iter().filter(|node| ring.node(**node).datacenter == *name).count();
        let at_most = |needed: u32, count: usize| needed.min(u32::try_from(count).unwrap_or(u32::MAX));
        match needs {
            Required::Total(needed) => Required::Total(at_most(*needed, replicas.len())),
            Required::Local(needed) => Required::Local(*needed),
            Required::PerDatacenter(quotas) => Required::PerDatacenter(
                quotas.iter().map(|(name, needed)| (name.clone(), at_most(*needed, count_in(name)))).collect(),
            ),
            Required::Halves(halves) => {
                let [old, new] = &**halves;
                let half = |half: &HalfRequired| HalfRequired {
                    replicas: half.replicas.clone(),
                    required: self.among(&half.replicas, &half.required),
                };
                Required::Halves(Rc::new([half(old), half(new)]))
            }
        }
    }

    /// True if nodes are a [majority of each](Replication::majority_of_each) range's replicas.
    pub fn are_majorities(&self, hosts: &BTreeSet<HostId>) -> bool {
        let ring = self.ring();
        let has = |token: Token| {
            let replicas = self.written(token, ConsistencyLevel::All).0.iter().copied();
            let among: Vec<NodeIndex> = replicas.filter(|node| hosts.contains(&ring.node(*node).host_id)).collect();
            is_enough(&self.majority_of_each(token), ring, &among)
        };
        self.range_ends().all(|end| has(end.unwrap_or(Token::MIN)))
    }

    /// The ends of the ranges within which all tokens have the same replicas, ascending; `None`: the end of the tokens, where the first range begins again.
    pub(crate) fn range_ends(&self) -> impl Iterator<Item = Option<Token>> {
        let mut moving: Vec<Token> = self.moving.iter().flat_map(|moving| moving.ends()).collect();
        moving.sort_unstable();
        let mut owners = self.ring().owners().iter().map(|&(token, _)| token).peekable();
        let mut moving = moving.into_iter().peekable();
        let ends = std::iter::from_fn(move || {
            let next = owners.peek().into_iter().chain(moving.peek()).min().copied()?;
            while owners.next_if_eq(&next).is_some() || moving.next_if_eq(&next).is_some() {}
            Some(next)
        });
        ends.map(Some).chain([None])
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

    /// The strategy that the schema has, which may be asked for on another ring.
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
        if self.moving.is_some() { None } else { self.map.of_all() }
    }

    /// The replicas of a token, alive or not: while an operation moves it, those before.
    #[inline]
    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        self.map.replicas(token)
    }

    /// The replicas that a write of a token is sent to, alive or not, and the answers that it needs at a level.
    #[inline]
    pub(crate) fn written(&self, token: Token, level: ConsistencyLevel) -> (&[NodeIndex], &Required) {
        let moving = self.moving.as_ref().and_then(|moving| moving.written(token, level));
        moving.unwrap_or_else(|| (self.map.replicas(token), self.required(level)))
    }

    /// The answers that a write of a token needs at a level. Nothing is looked up while no range moves.
    #[inline]
    pub(crate) fn write_needs(&self, token: Token, level: ConsistencyLevel) -> &Required {
        if self.moving.is_some() { self.written(token, level).1 } else { self.required(level) }
    }

    /// True if an operation moves the token: requests go elsewhere than before it.
    pub(crate) fn is_moving(&self, token: Token) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.is_moving(token))
    }

    /// True if an operation takes the token from a node, which is written to until it is done.
    pub(crate) fn is_taken_from(&self, node: NodeIndex, token: Token) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.is_taken_from(node, token))
    }

    /// The replicas whose answers to a read of a token count, alive or not, and those that it needs at a level; at a serial level the electorate of its rounds.
    #[inline]
    pub(crate) fn read(&self, token: Token, level: ConsistencyLevel) -> (&[NodeIndex], &Required) {
        let moving = self.moving.as_ref().and_then(|moving| moving.read(token, level));
        moving.unwrap_or_else(|| (self.map.replicas(token), self.required(level)))
    }

    /// The replicas that have all of a token's data, alive or not.
    pub(crate) fn settled(&self, token: Token) -> &[NodeIndex] {
        self.read(token, ConsistencyLevel::One).0
    }

    /// The address of the node that is read first of a token's replicas: this one if it is a replica, else one that is up.
    pub fn first_reader(&self, token: Token) -> Option<IpAddr> {
        let nodes = &self.nodes;
        let alive = || self.settled(token).iter().copied().filter(|&node| nodes.is_alive(node));
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
