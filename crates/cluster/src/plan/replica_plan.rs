//! The plan of one request for one token, and the check that enough replicas are alive for it.

use std::rc::Rc;

use runtime::ShardId;
use topology::{ConsistencyLevel, Epoch, NodeIndex, Required, Sharder, Token};

use super::nodes::Nodes;
use super::replication::Replication;

/// Too few replicas are alive for the consistency level; nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Cannot achieve consistency level {level}")]
pub struct Unavailable {
    /// The level asked for.
    pub level: ConsistencyLevel,
    /// Answers that it needs.
    pub required: u32,
    /// Replicas alive that could give one.
    pub alive: u32,
}

impl Unavailable {
    /// The same of the rounds of a conditional statement or a SERIAL read, which Cassandra tells by the level of the quorum that they ask.
    pub fn of_serial_phase(self) -> Self {
        let level = match self.level {
            ConsistencyLevel::Serial => ConsistencyLevel::Quorum,
            ConsistencyLevel::LocalSerial => ConsistencyLevel::LocalQuorum,
            other => other,
        };
        Unavailable { level, ..self }
    }
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
        self.nodes.ring().epoch()
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

/// The plan for `token` at `level`.
#[inline]
pub(crate) fn plan(
    replication: &Replication,
    sharder: Sharder,
    token: Token,
    level: ConsistencyLevel,
) -> Result<ReplicaPlan<'_>, Unavailable> {
    let nodes = replication.nodes();
    let (replicas, needs) = (replication.replicas(token), replication.required(level));
    let required = match level {
        // A hint is enough. Nothing is read at this level.
        ConsistencyLevel::Any => needs.total(),
        _ => check(replicas, nodes, needs, level)?,
    };
    Ok(ReplicaPlan { nodes, replicas, needs, required, shard: ShardId(sharder.shard_of(token)) })
}

/// Checks every range of the ring, for a scan over all of them.
pub(crate) fn check_all(replication: &Replication, level: ConsistencyLevel) -> Result<u32, Unavailable> {
    let (nodes, needs) = (replication.nodes(), replication.required(level));
    check(replication.replicas(Token::MIN), nodes, needs, level)?;
    for &(token, _) in nodes.ring().owners() {
        check(replication.replicas(token), nodes, needs, level)?;
    }
    Ok(needs.total())
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
        if alive < needed { Err(Unavailable { level, required: needed, alive }) } else { Ok(needed) }
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
                verdict(*needed, count_in(datacenter))?;
            }
            Ok(required.total())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use topology::{HostId, Node, ReplicationStrategy, Ring};

    use super::*;

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

    fn simple(replication_factor: u32) -> ReplicationStrategy {
        ReplicationStrategy::Simple { replication_factor }
    }

    #[test]
    fn one_node_serves_one_replica_and_no_quorum_of_three() {
        let nodes = alone(1);
        let one = Replication::new(Rc::clone(&nodes), &simple(1));
        let three = Replication::new(Rc::clone(&nodes), &simple(3));
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
            Unavailable { level: ConsistencyLevel::Quorum, required: 2, alive: 1 }
        );
        assert!(check_all(&three, ConsistencyLevel::All).is_err());
    }

    #[test]
    fn a_token_of_a_node_that_does_not_answer_is_unavailable() {
        let nodes = alone(2);
        let one = Replication::new(Rc::clone(&nodes), &simple(1));
        assert!(plan(&one, Sharder::new(1), Token(0), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&one, Sharder::new(1), Token(1_000), ConsistencyLevel::One).unwrap_err(),
            Unavailable { level: ConsistencyLevel::One, required: 1, alive: 0 }
        );
        assert!(check_all(&one, ConsistencyLevel::One).is_err());
    }

    #[test]
    fn an_unknown_datacenter_cannot_give_a_local_quorum() {
        let nodes = alone(1);
        let strategy = ReplicationStrategy::NetworkTopology { datacenters: BTreeMap::from([("elsewhere".into(), 3)]) };
        let replication = Replication::new(Rc::clone(&nodes), &strategy);
        let refused = plan(&replication, Sharder::new(1), Token(0), ConsistencyLevel::LocalQuorum).unwrap_err();
        assert_eq!(refused.alive, 0);
    }
}
