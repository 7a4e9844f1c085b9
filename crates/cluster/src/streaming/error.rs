//! Why a copy ended before its time.

use std::net::SocketAddr;

use topology::{HostId, TokenRange};

use crate::replica::ReplicaError;

/// A copy that ended with an error. Nothing of the unit that it was at is listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopyFailed {
    /// The source is not of the ring.
    #[error("node {host} is not in the ring")]
    NoNode {
        /// The source.
        host: HostId,
    },
    /// It does not answer.
    #[error("node {node} does not respond")]
    Silent {
        /// The source.
        node: SocketAddr,
    },
    /// It refuses.
    #[error("{0}")]
    Refused(ReplicaError),
    /// It gives what it should not.
    #[error("node {node} sent a wrong copy of range {}: {problem}", Shown(*.unit))]
    Wrong {
        /// The source.
        node: SocketAddr,
        /// The unit.
        unit: TokenRange,
        /// The fault.
        problem: String,
    },
    /// The ring or the table has changed since the copy was planned.
    #[error("the ring or the table has changed meanwhile")]
    Changed,
    /// This shard's disk, or its table.
    #[error("cannot write range {}: {error}", Shown(*.unit))]
    Storage {
        /// The unit.
        unit: TokenRange,
        /// The storage's own words.
        error: String,
    },
    /// No node has asked about the job for too long.
    #[error("the node that leads the repair has been silent for {seconds} s")]
    Forgotten {
        /// Seconds since it asked.
        seconds: u64,
    },
    /// The node that leads has ended it.
    #[error("the repair was ended")]
    Ended,
}

impl CopyFailed {
    /// The storage's error at a unit.
    pub(super) fn of_storage(unit: TokenRange, error: &storage::CopyError) -> CopyFailed {
        match error {
            storage::CopyError::Gone => CopyFailed::Changed,
            error => CopyFailed::Storage { unit, error: error.to_string() },
        }
    }
}

/// A range as Cassandra prints it.
pub(crate) struct Shown(pub(crate) TokenRange);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{}]", self.0.after, self.0.end)
    }
}
