//! From a token and a consistency level to a replica plan: who is asked, how many must answer, and whether they can.

use runtime::ShardId;
use schema::ReplicationStrategy;
use topology::{ConsistencyLevel, NodeIndex, ReplicaMap, Required, Ring, Sharder, Token, required};

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

    fn required(&self, level: ConsistencyLevel) -> &Required {
        // The enum's order is that of the table; the test below holds them together.
        &self.required[level as usize]
    }
}

/// Whom a request for one token goes to. Borrowed from the keyspace's [`Replication`]: making one takes no memory.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaPlan<'a> {
    replicas: &'a [NodeIndex],
    local: NodeIndex,
    /// Answers needed before the client is answered.
    pub required: u32,
    /// The shard of this node that owns the token.
    pub shard: ShardId,
}

impl ReplicaPlan<'_> {
    /// The live replicas: those that are sent the request.
    #[inline]
    pub fn contacts(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.replicas.iter().copied().filter(|&replica| is_alive(self.local, replica))
    }

    /// Whether this node is the only one to ask, so that nothing needs encoding for the network.
    #[inline]
    pub fn is_local_only(&self) -> bool {
        let mut contacts = self.contacts();
        contacts.next() == Some(self.local) && contacts.next().is_none()
    }
}

/// Whether a node answers. Until there is membership, this node is the only one that is known to.
#[inline]
fn is_alive(local: NodeIndex, node: NodeIndex) -> bool {
    node == local
}

/// The plan for `token` at `level`.
#[inline]
pub(super) fn plan<'a>(
    replication: &'a Replication,
    ring: &Ring,
    sharder: Sharder,
    token: Token,
    level: ConsistencyLevel,
) -> Result<ReplicaPlan<'a>, Unavailable> {
    let replicas = replication.map.replicas(token);
    let required = check(replicas, ring, replication.required(level), level)?;
    Ok(ReplicaPlan { replicas, local: ring.local(), required, shard: ShardId(sharder.shard_of(token)) })
}

/// Checks every range of the ring, for a scan over all of them.
pub(super) fn check_all(replication: &Replication, ring: &Ring, level: ConsistencyLevel) -> Result<(), Unavailable> {
    let required = replication.required(level);
    check(replication.map.replicas(Token::MIN), ring, required, level)?;
    for &(token, _) in ring.owners() {
        check(replication.map.replicas(token), ring, required, level)?;
    }
    Ok(())
}

/// Gives the number of answers needed, or says that there cannot be as many.
#[inline]
fn check(
    replicas: &[NodeIndex],
    ring: &Ring,
    required: &Required,
    level: ConsistencyLevel,
) -> Result<u32, Unavailable> {
    let alive = || replicas.iter().filter(|&&replica| is_alive(ring.local(), replica));
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
            let plan = plan(&one, &ring, Sharder::new(2), Token(5), level).unwrap();
            assert!(plan.is_local_only());
            assert_eq!(plan.required, 1);
        }
        assert!(plan(&three, &ring, Sharder::new(1), Token(5), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&three, &ring, Sharder::new(1), Token(5), ConsistencyLevel::Quorum).unwrap_err(),
            Unavailable { level: ConsistencyLevel::Quorum, required: 2, alive: 1 }
        );
        assert!(check_all(&three, &ring, ConsistencyLevel::All).is_err());
    }

    #[test]
    fn a_token_of_a_node_that_does_not_answer_is_unavailable() {
        let ring = ring(2);
        let one = Replication::new(&ring, &simple(1));
        assert!(plan(&one, &ring, Sharder::new(1), Token(0), ConsistencyLevel::One).is_ok());
        assert_eq!(
            plan(&one, &ring, Sharder::new(1), Token(1_000), ConsistencyLevel::One).unwrap_err(),
            Unavailable { level: ConsistencyLevel::One, required: 1, alive: 0 }
        );
        assert!(check_all(&one, &ring, ConsistencyLevel::One).is_err());
    }

    #[test]
    fn an_unknown_datacenter_cannot_give_a_local_quorum() {
        let ring = ring(1);
        let strategy = ReplicationStrategy::NetworkTopology { datacenters: BTreeMap::from([("elsewhere".into(), 3)]) };
        let replication = Replication::new(&ring, &strategy);
        let refused = plan(&replication, &ring, Sharder::new(1), Token(0), ConsistencyLevel::LocalQuorum).unwrap_err();
        assert_eq!(refused.alive, 0);
    }
}
