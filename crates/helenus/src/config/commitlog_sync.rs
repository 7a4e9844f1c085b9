//! `commitlog_sync`: the moment at which a write is acknowledged.

use std::str::FromStr;

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitLogSync {
    /// After a sync that covers all writes which arrived during the sync before.
    Group,
    /// The same here; in Cassandra each write asks for its own sync.
    Batch,
    /// At once; a sync follows within the period.
    Periodic,
}

impl FromStr for CommitLogSync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "group" => Ok(CommitLogSync::Group),
            "batch" => Ok(CommitLogSync::Batch),
            "periodic" => Ok(CommitLogSync::Periodic),
            _ => Err(format!("'{text}' is not a commit log sync mode: group, batch or periodic")),
        }
    }
}
