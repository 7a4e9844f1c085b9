//! How many replicas must answer, per consistency level. (Source: Cassandra's `ConsistencyLevel.blockFor`.)

use crate::ring::Ring;
use crate::strategy::Factor;

/// CQL's consistency levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsistencyLevel {
    /// A write that anything took, be it a hint.
    Any,
    /// One replica.
    One,
    /// Two replicas.
    Two,
    /// Three replicas.
    Three,
    /// More than half of all replicas.
    Quorum,
    /// All replicas.
    All,
    /// More than half of the replicas in the coordinator's datacenter.
    LocalQuorum,
    /// More than half of the replicas in every datacenter.
    EachQuorum,
    /// Linearizable, over all datacenters.
    Serial,
    /// Linearizable, in the coordinator's datacenter.
    LocalSerial,
    /// One replica in the coordinator's datacenter.
    LocalOne,
}

impl ConsistencyLevel {
    /// Whether only replicas in the coordinator's datacenter count.
    pub fn is_datacenter_local(self) -> bool {
        matches!(self, Self::LocalQuorum | Self::LocalSerial | Self::LocalOne)
    }

    /// Whether this is a level of the conditional part of a statement.
    pub fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::LocalSerial)
    }

    /// The level's name in CQL and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::Serial => "SERIAL",
            Self::LocalSerial => "LOCAL_SERIAL",
            Self::LocalOne => "LOCAL_ONE",
        }
    }
}

impl std::fmt::Display for ConsistencyLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose answers count and how many are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Required {
    /// This many of all replicas.
    Total(u32),
    /// This many of the replicas in the coordinator's datacenter.
    Local(u32),
    /// This many in each of these datacenters.
    PerDatacenter(Vec<(String, u32)>),
}

impl Required {
    /// How many answers in all: what UNAVAILABLE and the timeouts report.
    pub fn total(&self) -> u32 {
        match self {
            Required::Total(count) | Required::Local(count) => *count,
            Required::PerDatacenter(counts) => counts.iter().map(|(_, count)| count).sum(),
        }
    }
}

/// The answers that `level` needs in a keyspace that should have so many replicas, where the coordinator is `ring`'s local node. The replicas that the ring
/// really has do not matter.
pub fn required(level: ConsistencyLevel, factor: &Factor, ring: &Ring) -> Required {
    let all = factor.total(ring);
    match level {
        ConsistencyLevel::Any | ConsistencyLevel::One => Required::Total(1),
        ConsistencyLevel::Two => Required::Total(2),
        ConsistencyLevel::Three => Required::Total(3),
        ConsistencyLevel::Quorum | ConsistencyLevel::Serial => Required::Total(quorum(all)),
        ConsistencyLevel::All => Required::Total(all),
        ConsistencyLevel::LocalOne => Required::Local(1),
        ConsistencyLevel::LocalQuorum | ConsistencyLevel::LocalSerial => match factor {
            Factor::PerDatacenter(counts) => {
                let local = counts.get(&ring.local_node().datacenter).copied().unwrap_or(0);
                Required::Local(quorum(local))
            }
            // A strategy that does not count per datacenter has a quorum over all.
            _ => Required::Local(quorum(all)),
        },
        ConsistencyLevel::EachQuorum => match factor {
            Factor::PerDatacenter(counts) => {
                Required::PerDatacenter(counts.iter().map(|(name, &count)| (name.clone(), quorum(count))).collect())
            }
            _ => Required::Total(quorum(all)),
        },
    }
}

fn quorum(replication_factor: u32) -> u32 {
    replication_factor / 2 + 1
}

#[cfg(test)]
mod tests;
