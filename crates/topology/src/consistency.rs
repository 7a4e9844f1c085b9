//! How many replicas must answer, per consistency level. (Source: Cassandra's `ConsistencyLevel.blockFor`.)

use std::rc::Rc;

use crate::ring::{NodeIndex, Ring};
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
    /// True if only replicas in the coordinator's datacenter count.
    pub fn is_datacenter_local(self) -> bool {
        matches!(self, Self::LocalQuorum | Self::LocalSerial | Self::LocalOne)
    }

    /// Whether this is a level of the conditional part of a statement.
    pub fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::LocalSerial)
    }

    /// True if it is a level that counts a quorum, or all, of the replicas that it asks.
    pub fn is_of_a_quorum(self) -> bool {
        match self {
            Self::Quorum | Self::All | Self::LocalQuorum | Self::EachQuorum | Self::Serial | Self::LocalSerial => true,
            Self::Any | Self::One | Self::Two | Self::Three | Self::LocalOne => false,
        }
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
    /// Enough in each of two sets: the replicas before an operation, and those after it.
    Halves(Rc<[HalfRequired; 2]>),
}

/// The answers that are needed of one set of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HalfRequired {
    /// The replicas whose answers count.
    pub replicas: Vec<NodeIndex>,
    /// How many of them must answer.
    pub required: Required,
}

impl Required {
    /// How many answers in all: what UNAVAILABLE and the timeouts report. While a range moves each replica that gains it counts on top, as in Cassandra; and one answer
    /// alone is never enough.
    pub fn total(&self) -> u32 {
        match self {
            Required::Total(count) | Required::Local(count) => *count,
            Required::PerDatacenter(counts) => counts.iter().map(|(_, count)| count).sum(),
            Required::Halves(halves) => {
                let [old, new] = &**halves;
                let pending = new.replicas.iter().filter(|node| !old.replicas.contains(node)).count();
                let pending = u32::try_from(pending).unwrap_or(u32::MAX);
                old.required.total().max(new.required.total()).saturating_add(pending).max(2)
            }
        }
    }

    /// True if only replicas in the coordinator's datacenter count.
    pub fn is_local(&self) -> bool {
        match self {
            Required::Local(_) => true,
            Required::Total(_) | Required::PerDatacenter(_) => false,
            Required::Halves(halves) => halves.iter().all(|half| half.required.is_local()),
        }
    }

    /// True if the answers of these nodes, each once, are enough, where the coordinator is `ring`'s local node.
    pub fn is_met(&self, ring: &Ring, answers: impl Iterator<Item = NodeIndex> + Clone) -> bool {
        let count_in =
            |datacenter: &str| answers.clone().filter(|&node| ring.node(node).datacenter == datacenter).count();
        match self {
            Required::Total(needed) => answers.clone().count() >= *needed as usize,
            Required::Local(needed) => count_in(&ring.local_node().datacenter) >= *needed as usize,
            Required::PerDatacenter(quotas) => {
                quotas.iter().all(|(datacenter, needed)| count_in(datacenter) >= *needed as usize)
            }
            Required::Halves(halves) => halves.iter().all(|half| {
                let counted: Vec<NodeIndex> = answers.clone().filter(|node| half.replicas.contains(node)).collect();
                half.required.is_met(ring, counted.into_iter())
            }),
        }
    }
}

/// The answers that `level` needs in a keyspace that should have so many replicas, where the coordinator is `ring`'s local node. The replicas that the ring
/// really has do not matter.
pub fn required(level: ConsistencyLevel, factor: &Factor, ring: &Ring) -> Required {
    required_of(level, factor, factor.total(ring), &ring.local_node().datacenter)
}

/// The same by the count of all replicas and the coordinator's datacenter.
pub(crate) fn required_of(level: ConsistencyLevel, factor: &Factor, all: u32, datacenter: &str) -> Required {
    match level {
        ConsistencyLevel::Any | ConsistencyLevel::One => Required::Total(1),
        ConsistencyLevel::Two => Required::Total(2),
        ConsistencyLevel::Three => Required::Total(3),
        ConsistencyLevel::Quorum | ConsistencyLevel::Serial => Required::Total(quorum(all)),
        ConsistencyLevel::All => Required::Total(all),
        ConsistencyLevel::LocalOne => Required::Local(1),
        ConsistencyLevel::LocalQuorum | ConsistencyLevel::LocalSerial => match factor {
            Factor::PerDatacenter(counts) => {
                let local = counts.get(datacenter).copied().unwrap_or(0);
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
