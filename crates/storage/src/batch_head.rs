//! The head of a logged batch's record: its age, and whose batch it is.

use topology::HostId;

/// The name of a batch among those of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchName {
    /// Its coordinator.
    pub host_id: HostId,
    /// The coordinator's start at which it was logged.
    pub boot: u64,
    /// The coordinator's shard.
    pub shard: u16,
    /// The place of its record in that shard's log.
    pub sequence: u64,
}

/// The part of a batch's record that precedes its mutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// Wall clock when its write began, microseconds since 1970: judged by `gc_grace_seconds`.
    pub created: i64,
    /// The batch of another node that this is a copy of.
    pub copy_of: Option<BatchName>,
}
