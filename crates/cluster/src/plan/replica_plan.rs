//! The plan of one request for one token, and the check that enough replicas are alive for it.

use std::ops::Bound;
use std::rc::Rc;

use runtime::ShardId;
use topology::{ConsistencyLevel, Epoch, NodeIndex, Required, Sharder, Token};

use super::nodes::Nodes;
use super::replication::Replication;

/// Too few replicas are alive for the consistency level; nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Cannot achieve consistency level {level}{}", in_datacenter(datacenter.as_deref()))]
pub struct Unavailable {
    /// The level asked for.
    pub level: ConsistencyLevel,
    /// Answers that it needs.
    pub required: u32,
    /// Replicas alive that could give one.
    pub alive: u32,
    /// The datacenter that these are counted in, where the level needs answers of each.
    pub datacenter: Option<Box<str>>,
}

fn in_datacenter(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" in DC {name}"))
}

/// The place that a plan is served at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanPlace {
    /// This shard alone.
    Here,
    /// Another shard of this node alone.
    Shard(ShardId),
    /// Other nodes too.
    OtherNodes,
}

/// Whom a request for one token goes to. Borrowed from the keyspace's [`Replication`]: making one takes no memory.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaPlan<'a> {
    /// The nodes of the ring that the plan was made by, which its indices mean.
    pub(crate) nodes: &'a Rc<Nodes>,
    /// The replication that it was made by.
    pub(crate) replication: &'a Replication,
    /// The token's replicas, alive or not.
    pub(crate) replicas: &'a [NodeIndex],
    /// Whose answers count, and how many are needed.
    pub(crate) needs: &'a Required,
    /// Answers needed before the client is answered.
    pub required: u32,
    /// The shard of this node that owns the token.
    pub shard: ShardId,
}

impl ReplicaPlan<'_> {
    /// The epoch of the ring that it was made by.
    pub fn epoch(&self) -> Epoch {
        self.replication.epoch()
    }

    /// True if this node's answer is enough for a read.
    #[inline]
    pub(crate) fn is_local_read(&self) -> bool {
        self.required == 1 && self.replicas.contains(&self.nodes.local())
    }

    /// True if this node is the only replica, alive or not: a write is sent to no other, and none misses it.
    #[inline]
    pub(crate) fn is_local_alone(&self) -> bool {
        matches!(self.replicas, [only] if *only == self.nodes.local())
    }

    /// The place that it is served at, seen from the shard `here`, where this node is enough for it or not.
    #[inline]
    pub(crate) fn place(&self, is_this_node_enough: bool, here: ShardId) -> PlanPlace {
        match is_this_node_enough {
            true if self.shard == here => PlanPlace::Here,
            true => PlanPlace::Shard(self.shard),
            false => PlanPlace::OtherNodes,
        }
    }
}

/// The plan of a read of `token` at `level`, or of the rounds of its partition at a serial one.
#[inline]
pub(crate) fn plan(
    replication: &Replication,
    sharder: Sharder,
    token: Token,
    level: ConsistencyLevel,
) -> Result<ReplicaPlan<'_>, Unavailable> {
    plan_of((replication, sharder, token, level), replication.read(token, level))
}

/// The plan of a write of `token` at `level`.
#[inline]
pub(crate) fn plan_write(
    replication: &Replication,
    sharder: Sharder,
    token: Token,
    level: ConsistencyLevel,
) -> Result<ReplicaPlan<'_>, Unavailable> {
    plan_of((replication, sharder, token, level), replication.written(token, level))
}

#[inline]
fn plan_of<'r>(
    (replication, sharder, token, level): (&'r Replication, Sharder, Token, ConsistencyLevel),
    (replicas, needs): (&'r [NodeIndex], &'r Required),
) -> Result<ReplicaPlan<'r>, Unavailable> {
    let nodes = replication.nodes();
    let required = match level {
        // A hint is enough. Nothing is read at this level.
        ConsistencyLevel::Any => needs.total(),
        ConsistencyLevel::Serial | ConsistencyLevel::LocalSerial => {
            check(replicas, nodes, needs, level).map_err(|refused| of_serial(replicas, nodes, needs, refused))?
        }
        _ => check(replicas, nodes, needs, level)?,
    };
    Ok(ReplicaPlan { nodes, replication, replicas, needs, required, shard: ShardId(sharder.shard_of(token)) })
}

/// The plan for `token` that needs these answers, alive or not.
pub(crate) fn plan_for<'a>(
    replication: &'a Replication,
    sharder: Sharder,
    token: Token,
    needs: &'a Required,
) -> ReplicaPlan<'a> {
    let (nodes, required) = (replication.nodes(), needs.total());
    let (replicas, _) = replication.written(token, ConsistencyLevel::All);
    ReplicaPlan { nodes, replication, replicas, needs, required, shard: ShardId(sharder.shard_of(token)) }
}

/// The same refusal of rounds. Cassandra asks for a majority of the replicas that there are, then for a read at the quorum that the replication factor asks for: where
/// nodes are fewer than replicas it is the second that fails. (Source: `ReplicaPlans.forPaxos`, `StorageProxy.legacyReadWithPaxos`.)
#[cold]
fn of_serial(replicas: &[NodeIndex], nodes: &Nodes, needs: &Required, refused: Unavailable) -> Unavailable {
    if matches!(needs, Required::Halves(_)) {
        return refused;
    }
    let (ring, is_local) = (nodes.ring(), matches!(needs, Required::Local(_)));
    let counts = |node: &&NodeIndex| !is_local || ring.node(**node).datacenter == ring.local_node().datacenter;
    let majority = replicas.iter().filter(counts).count() / 2 + 1;
    let majority = u32::try_from(majority).unwrap_or(u32::MAX);
    match refused.alive < majority {
        true => Unavailable { required: majority, ..refused },
        false if is_local => Unavailable { level: ConsistencyLevel::LocalQuorum, ..refused },
        false => Unavailable { level: ConsistencyLevel::Quorum, ..refused },
    }
}

/// Checks the ranges of the ring that have tokens between two bounds. Gives the most answers that one of them needs, for a failure is that of any.
pub(crate) fn check_range(
    replication: &Replication,
    level: ConsistencyLevel,
    range: (Bound<Token>, Bound<Token>),
) -> Result<u32, Unavailable> {
    let (mut before, mut required) = (None, replication.required(level).total());
    for to in replication.range_ends() {
        if has_tokens(before, to, range) {
            let (replicas, needs) = replication.read(to.unwrap_or(Token::MIN), level);
            required = required.max(check(replicas, replication.nodes(), needs, level)?);
        }
        before = to;
    }
    Ok(required)
}

/// True if some tokens after `before`, up to and with `to`, are between the bounds.
fn has_tokens(before: Option<Token>, to: Option<Token>, (start, end): (Bound<Token>, Bound<Token>)) -> bool {
    let begins_by = to.is_none_or(|to| match start {
        Bound::Unbounded => true,
        Bound::Included(start) => start <= to,
        Bound::Excluded(start) => start < to,
    });
    let ends_after = before.is_none_or(|before| match end {
        Bound::Unbounded => true,
        Bound::Included(end) => end > before,
        Bound::Excluded(end) => end.0 > before.0.saturating_add(1),
    });
    begins_by && ends_after
}

/// Gives the number of answers needed, or says that there cannot be as many.
#[inline]
fn check(
    replicas: &[NodeIndex],
    nodes: &Nodes,
    required: &Required,
    level: ConsistencyLevel,
) -> Result<u32, Unavailable> {
    let alive = || replicas.iter().filter(|&&replica| nodes.is_alive(replica));
    let count_in =
        |datacenter: &str| alive().filter(|&&replica| nodes.ring().node(replica).datacenter == datacenter).count();
    let verdict = |needed: u32, alive: usize| {
        let alive = u32::try_from(alive).unwrap_or(u32::MAX);
        let unavailable = Unavailable { level, required: needed, alive, datacenter: None };
        if alive < needed { Err(unavailable) } else { Ok(needed) }
    };
    match required {
        Required::Total(needed) => verdict(*needed, alive().count()),
        Required::Local(needed) => {
            // The local node itself needs no look at names.
            match *needed {
                1 if replicas.contains(&nodes.local()) => Ok(1),
                needed => verdict(needed, count_in(&nodes.ring().local_node().datacenter)),
            }
        }
        Required::PerDatacenter(quotas) => {
            for (datacenter, needed) in quotas {
                verdict(*needed, count_in(datacenter))
                    .map_err(|refused| Unavailable { datacenter: Some(datacenter.as_str().into()), ..refused })?;
            }
            Ok(required.total())
        }
        Required::Halves(halves) => {
            for half in &**halves {
                check(&half.replicas, nodes, &half.required, level)?;
            }
            Ok(required.total())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use topology::{HostId, Node, ReplicationStrategy, Ring, Strategies};

    use super::super::transition::Transition;
    use super::*;

    const ALL: (Bound<Token>, Bound<Token>) = (Bound::Unbounded, Bound::Unbounded);

    fn alone(nodes: u8) -> Rc<Nodes> {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([127, 0, 0, number + 1], 9042).into(),
            internode: ([127, 0, 0, number + 1], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number) * 1_000)],
        };
        let ring = Ring::new(Epoch::FIRST, (0..nodes).map(node).collect(), NodeIndex(0));
        Rc::new(Nodes::new(Rc::new(ring), None))
    }

    fn replication(nodes: &Rc<Nodes>, strategy: &ReplicationStrategy) -> Replication {
        let by = (&Strategies::default(), &Transition::default());
        Replication::new(Rc::clone(nodes), (None, strategy), by, planted::Planted::NONE)
    }

    fn simple(replication_factor: u32) -> ReplicationStrategy {
        ReplicationStrategy::Simple { replication_factor }
    }

    #[test]
    fn one_node_serves_one_replica_and_no_quorum_of_three() {
        let nodes = alone(1);
        let one = replication(&nodes, &simple(1));
        let three = replication(&nodes, &simple(3));
        for level in
            [ConsistencyLevel::One, ConsistencyLevel::Quorum, ConsistencyLevel::All, ConsistencyLevel::LocalQuorum]
        {
            let plan = plan(&one, Sharder::new(2), Token(5), level).unwrap();
            assert!(plan.is_local_alone() && plan.is_local_read());
            assert_eq!(plan.required, 1);
        }
        assert!(plan(&three, Sharder::new(1), Token(5), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&three, Sharder::new(1), Token(5), ConsistencyLevel::Quorum).unwrap_err(),
            Unavailable { level: ConsistencyLevel::Quorum, required: 2, alive: 1, datacenter: None }
        );
        assert!(check_range(&three, ConsistencyLevel::All, ALL).is_err());
    }

    #[test]
    fn a_token_of_a_node_that_does_not_answer_is_unavailable() {
        let nodes = alone(2);
        let one = replication(&nodes, &simple(1));
        assert!(plan(&one, Sharder::new(1), Token(0), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&one, Sharder::new(1), Token(1_000), ConsistencyLevel::One).unwrap_err(),
            Unavailable { level: ConsistencyLevel::One, required: 1, alive: 0, datacenter: None }
        );
        assert!(check_range(&one, ConsistencyLevel::One, ALL).is_err());
    }

    #[test]
    fn a_scan_needs_the_nodes_of_the_ranges_that_it_reads() {
        // The second node, whose range is up to 1000, does not answer.
        let nodes = alone(2);
        let one = replication(&nodes, &simple(1));
        let is_answered = |start, end| check_range(&one, ConsistencyLevel::One, (start, end)).is_ok();
        let (included, excluded) = (|token| Bound::Included(Token(token)), |token| Bound::Excluded(Token(token)));
        assert!(is_answered(Bound::Unbounded, included(0)) && !is_answered(Bound::Unbounded, included(1)));
        assert!(is_answered(Bound::Unbounded, excluded(1)) && !is_answered(Bound::Unbounded, excluded(2)));
        assert!(is_answered(excluded(1_000), Bound::Unbounded) && !is_answered(included(1_000), Bound::Unbounded));
        assert!(!is_answered(included(5), included(6)) && !is_answered(Bound::Unbounded, Bound::Unbounded));
        assert!(is_answered(included(2_000), included(3_000)));
    }

    #[test]
    fn without_a_strategys_rules_each_level_is_unavailable() {
        let nodes = alone(1);
        let (class, options) = ("org.example.Unknown".to_owned(), Default::default());
        let unknown = replication(&nodes, &ReplicationStrategy::Registered { class, options });
        for level in
            [ConsistencyLevel::One, ConsistencyLevel::Quorum, ConsistencyLevel::All, ConsistencyLevel::LocalOne]
        {
            let refused = plan(&unknown, Sharder::new(1), Token(5), level).unwrap_err();
            assert_eq!((refused.required, refused.alive), (1, 0), "{level}");
        }
        assert!(check_range(&unknown, ConsistencyLevel::All, ALL).is_err());
    }

    #[test]
    fn an_unknown_datacenter_cannot_give_a_local_quorum() {
        let nodes = alone(1);
        let strategy = ReplicationStrategy::NetworkTopology { datacenters: BTreeMap::from([("elsewhere".into(), 3)]) };
        let replication = replication(&nodes, &strategy);
        let refused = plan(&replication, Sharder::new(1), Token(0), ConsistencyLevel::LocalQuorum).unwrap_err();
        assert_eq!(refused.alive, 0);
        assert_eq!(refused.to_string(), "Cannot achieve consistency level LOCAL_QUORUM");
    }

    #[test]
    fn a_level_of_each_datacenter_names_the_one_that_lacks_replicas() {
        let nodes = alone(1);
        let datacenters = BTreeMap::from([("datacenter1".into(), 1), ("elsewhere".into(), 3)]);
        let replication = replication(&nodes, &ReplicationStrategy::NetworkTopology { datacenters });
        let refused = plan(&replication, Sharder::new(1), Token(0), ConsistencyLevel::EachQuorum).unwrap_err();
        assert_eq!(refused.to_string(), "Cannot achieve consistency level EACH_QUORUM in DC elsewhere");
        assert_eq!((refused.required, refused.alive), (2, 0));
    }
}
