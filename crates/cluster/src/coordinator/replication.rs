//! From a token and a consistency level to a replica plan: who is asked, how many must answer, and whether they can.

use runtime::ShardId;
use topology::ReplicationStrategy;
use topology::{ConsistencyLevel, NodeIndex, ReplicaMap, Required, Ring, Sharder, Token, required};

use super::nodes::Nodes;

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

/// A keyspace's replication on the present ring, worked out once so that a request's plan is a look-up.
#[derive(Debug)]
pub struct Replication {
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
    /// The replication of `strategy` on `ring`.
    pub fn new(ring: &Ring, strategy: &ReplicationStrategy) -> Self {
        Replication {
            map: ReplicaMap::new(ring, strategy),
            required: LEVELS.map(|level| required(level, strategy, ring)),
        }
    }

    /// The replicas of a token, alive or not.
    #[inline]
    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        self.map.replicas(token)
    }

    /// Whether rows have more than one replica, by the strategy: nodes that it would need may be missing.
    pub fn is_of_several(&self) -> bool {
        !matches!(self.required(ConsistencyLevel::All), Required::Total(0 | 1))
    }

    /// Whose answers count at `level`, and how many are needed.
    pub(super) fn required(&self, level: ConsistencyLevel) -> &Required {
        // The enum's order is that of the table; the test below holds them together.
        &self.required[level as usize]
    }
}

/// Whom a request for one token goes to. Borrowed from the keyspace's [`Replication`]: making one takes no memory.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaPlan<'a> {
    /// The token's replicas, alive or not.
    pub(super) replicas: &'a [NodeIndex],
    /// Whose answers count, and how many are needed.
    pub(super) needs: &'a Required,
    /// Answers needed before the client is answered.
    pub required: u32,
    /// The shard of this node that owns the token.
    pub shard: ShardId,
}

impl ReplicaPlan<'_> {
    /// The live replicas: those that a write is sent to.
    #[inline]
    pub(super) fn contacts(&self, nodes: &Nodes) -> impl Iterator<Item = NodeIndex> {
        self.replicas.iter().copied().filter(|&replica| nodes.is_alive(replica))
    }

    /// Whether this node is the only one to write to, so that nothing needs encoding for the network.
    #[inline]
    pub(super) fn is_local_write(&self, nodes: &Nodes) -> bool {
        let mut contacts = self.contacts(nodes);
        contacts.next() == Some(nodes.local()) && contacts.next().is_none()
    }

    /// Whether this node's answer is enough for a read.
    #[inline]
    pub(super) fn is_local_read(&self, nodes: &Nodes) -> bool {
        self.required == 1 && self.replicas.contains(&nodes.local())
    }
}

/// Whether the answers of `nodes` are enough for `needs`.
pub(super) fn is_enough(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> bool {
    count_towards(needs, ring, nodes).1
}

/// How many of the answers of `nodes` count for `needs`, and whether they are enough.
pub(super) fn count_towards(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> (u32, bool) {
    let count_in = |datacenter: &str| {
        let count = nodes.iter().filter(|&&node| ring.node(node).datacenter == datacenter).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    match needs {
        Required::Total(needed) => {
            let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            (count, count >= *needed)
        }
        Required::Local(needed) => {
            let count = count_in(&ring.local_node().datacenter);
            (count, count >= *needed)
        }
        Required::PerDatacenter(quotas) => {
            let counts = quotas.iter().map(|(datacenter, needed)| (count_in(datacenter), *needed));
            counts.fold((0, true), |(sum, is_enough), (count, needed)| {
                (sum + count.min(needed), is_enough && count >= needed)
            })
        }
    }
}

/// Whom to read from: as few as `needs` asks for, this node first, then its datacenter's. Empty if there are too few.
pub(super) fn readers(needs: &Required, ring: &Ring, nodes: &Nodes, replicas: &[NodeIndex]) -> Vec<NodeIndex> {
    let here = &ring.local_node().datacenter;
    let mut alive: Vec<NodeIndex> = replicas.iter().copied().filter(|&node| nodes.is_alive(node)).collect();
    alive.sort_by_key(|&node| (node != nodes.local(), ring.node(node).datacenter != *here));
    let mut chosen = Vec::new();
    for node in alive {
        let (before, is_enough) = count_towards(needs, ring, &chosen);
        if is_enough {
            break;
        }
        chosen.push(node);
        if count_towards(needs, ring, &chosen).0 == before {
            // Its answer would not count.
            chosen.pop();
        }
    }
    if is_enough(needs, ring, &chosen) { chosen } else { Vec::new() }
}

/// The plan for `token` at `level`.
#[inline]
pub(super) fn plan<'a>(
    replication: &'a Replication,
    ring: &Ring,
    nodes: &Nodes,
    sharder: Sharder,
    token: Token,
    level: ConsistencyLevel,
) -> Result<ReplicaPlan<'a>, Unavailable> {
    let replicas = replication.map.replicas(token);
    let needs = replication.required(level);
    let required = check(replicas, ring, nodes, needs, level)?;
    Ok(ReplicaPlan { replicas, needs, required, shard: ShardId(sharder.shard_of(token)) })
}

/// Checks every range of the ring, for a scan over all of them.
pub(super) fn check_all(
    replication: &Replication,
    ring: &Ring,
    nodes: &Nodes,
    level: ConsistencyLevel,
) -> Result<u32, Unavailable> {
    let needs = replication.required(level);
    check(replication.map.replicas(Token::MIN), ring, nodes, needs, level)?;
    for &(token, _) in ring.owners() {
        check(replication.map.replicas(token), ring, nodes, needs, level)?;
    }
    Ok(needs.total())
}

/// Gives the number of answers needed, or says that there cannot be as many.
#[inline]
fn check(
    replicas: &[NodeIndex],
    ring: &Ring,
    nodes: &Nodes,
    required: &Required,
    level: ConsistencyLevel,
) -> Result<u32, Unavailable> {
    let alive = || replicas.iter().filter(|&&replica| nodes.is_alive(replica));
    let count_in = |datacenter: &str| alive().filter(|&&replica| ring.node(replica).datacenter == datacenter).count();
    let verdict = |needed: u32, alive: usize| {
        let alive = u32::try_from(alive).unwrap_or(u32::MAX);
        if alive < needed { Err(Unavailable { level, required: needed, alive }) } else { Ok(needed) }
    };
    match required {
        Required::Total(needed) => verdict(*needed, alive().count()),
        Required::Local(needed) => {
            // The local node itself needs no look at names.
            match *needed {
                1 if replicas.contains(&ring.local()) => Ok(1),
                needed => verdict(needed, count_in(&ring.local_node().datacenter)),
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

    use topology::{HostId, Node};

    use super::*;

    fn ring(nodes: u8) -> Ring {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([127, 0, 0, number + 1], 9042).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number) * 1_000)],
        };
        Ring::new((0..nodes).map(node).collect(), NodeIndex(0))
    }

    fn simple(replication_factor: u32) -> ReplicationStrategy {
        ReplicationStrategy::Simple { replication_factor }
    }

    #[test]
    fn the_table_of_levels_is_in_the_order_of_the_enum() {
        for (index, level) in LEVELS.iter().enumerate() {
            assert_eq!(*level as usize, index, "{level}");
        }
    }

    #[test]
    fn one_node_serves_one_replica_and_no_quorum_of_three() {
        let ring = ring(1);
        let one = Replication::new(&ring, &simple(1));
        let three = Replication::new(&ring, &simple(3));
        for level in
            [ConsistencyLevel::One, ConsistencyLevel::Quorum, ConsistencyLevel::All, ConsistencyLevel::LocalQuorum]
        {
            let plan = plan(&one, &ring, &Nodes::alone(&ring), Sharder::new(2), Token(5), level).unwrap();
            assert!(plan.is_local_write(&Nodes::alone(&ring)) && plan.is_local_read(&Nodes::alone(&ring)));
            assert_eq!(plan.required, 1);
        }
        assert!(plan(&three, &ring, &Nodes::alone(&ring), Sharder::new(1), Token(5), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&three, &ring, &Nodes::alone(&ring), Sharder::new(1), Token(5), ConsistencyLevel::Quorum).unwrap_err(),
            Unavailable { level: ConsistencyLevel::Quorum, required: 2, alive: 1 }
        );
        assert!(check_all(&three, &ring, &Nodes::alone(&ring), ConsistencyLevel::All).is_err());
    }

    #[test]
    fn a_token_of_a_node_that_does_not_answer_is_unavailable() {
        let ring = ring(2);
        let one = Replication::new(&ring, &simple(1));
        assert!(plan(&one, &ring, &Nodes::alone(&ring), Sharder::new(1), Token(0), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&one, &ring, &Nodes::alone(&ring), Sharder::new(1), Token(1_000), ConsistencyLevel::One).unwrap_err(),
            Unavailable { level: ConsistencyLevel::One, required: 1, alive: 0 }
        );
        assert!(check_all(&one, &ring, &Nodes::alone(&ring), ConsistencyLevel::One).is_err());
    }

    #[test]
    fn an_unknown_datacenter_cannot_give_a_local_quorum() {
        let ring = ring(1);
        let strategy = ReplicationStrategy::NetworkTopology { datacenters: BTreeMap::from([("elsewhere".into(), 3)]) };
        let replication = Replication::new(&ring, &strategy);
        let refused =
            plan(&replication, &ring, &Nodes::alone(&ring), Sharder::new(1), Token(0), ConsistencyLevel::LocalQuorum)
                .unwrap_err();
        assert_eq!(refused.alive, 0);
    }
}
