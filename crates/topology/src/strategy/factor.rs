//! How many replicas a token should have.

use std::collections::BTreeMap;

use crate::ring::Ring;
use crate::strategy::rules::OptionsError;

/// How many replicas a token should have, whether the ring has as many nodes or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Factor {
    /// So many, whatever their datacenter.
    Total(u32),
    /// So many in each datacenter; none in those that are not named.
    PerDatacenter(BTreeMap<String, u32>),
    /// One on each node of the cluster that has tokens.
    AllNodes,
    /// One, of this node's own: no data is shared.
    OwnNode,
}

impl Factor {
    /// All replicas of a token.
    pub fn total(&self, ring: &Ring) -> u32 {
        match self {
            Factor::Total(count) => *count,
            Factor::PerDatacenter(counts) => counts.values().fold(0, |sum: u32, count| sum.saturating_add(*count)),
            Factor::AllNodes => u32::try_from(ring.owning_nodes().count()).unwrap_or(u32::MAX),
            Factor::OwnNode => 1,
        }
    }

    /// The numbers that an operator has chosen: one, or one for each datacenter.
    pub fn chosen(&self) -> Vec<u32> {
        match self {
            Factor::Total(count) => vec![*count],
            Factor::PerDatacenter(counts) => counts.values().copied().collect(),
            Factor::AllNodes | Factor::OwnNode => Vec::new(),
        }
    }
}

/// A replication factor as it is written in an option, with Cassandra's words for what is none.
pub fn parse_factor(text: &str) -> Result<u32, OptionsError> {
    if text.contains('/') {
        return Err(OptionsError::invalid("Transient replication is not enabled on this node"));
    }
    match text.parse::<i32>() {
        Ok(factor) => u32::try_from(factor)
            .map_err(|_| OptionsError::invalid(format!("Replication factor must be non-negative, found {factor}"))),
        Err(_) => Err(OptionsError::invalid(format!("For input string: \"{text}\""))),
    }
}
