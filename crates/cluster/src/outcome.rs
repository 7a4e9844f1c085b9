//! How a write or read ends that did not do what it was asked.

use std::net::IpAddr;

use crate::replica::ReplicaError;

/// A replica that said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The node.
    pub node: IpAddr,
    /// What it said.
    pub error: ReplicaError,
}

impl std::fmt::Display for Refusal {
    /// Names the node, once.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // In Cassandra's words.
        if self.error == ReplicaError::TooManyTombstones {
            return write!(f, "{} from /{}", self.error, self.node);
        }
        match self.error.names_node() {
            true => self.error.fmt(f),
            false => write!(f, "{} ({})", self.error, self.node),
        }
    }
}

/// Why a request failed whose plan was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// This node was the only one asked, and it refused.
    #[error(transparent)]
    Refused(#[from] ReplicaError),
    /// Too few answered in time.
    #[error("Operation timed out - received only {received} responses.")]
    Timeout {
        /// How many did.
        received: u32,
    },
    /// So many refused that the level cannot be reached.
    #[error("Operation failed - received {received} responses and {} failures: {}", refusals.len(), words(refusals))]
    Failed {
        /// How many did not refuse.
        received: u32,
        /// Those that did.
        refusals: Vec<Refusal>,
    },
    /// The ring or a table has changed since the plan was made, and nothing was written: the statement is to be planned again.
    #[error("the ring or the table has changed since the statement was planned")]
    Outdated,
    /// The log of a batch was not written: nothing was done.
    #[error("cannot write the batch log: {error}")]
    BatchLog {
        /// Why.
        error: ReplicaError,
        /// The keepers of copies that it has.
        keepers: usize,
    },
}

fn words(refusals: &[Refusal]) -> String {
    let words: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    words.join(", ")
}
