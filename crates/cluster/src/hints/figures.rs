//! Counters of hints, and what waits to be delivered, as operators see them.

use std::cell::Cell;

use topology::HostId;

/// A shard's hints since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HintFigures {
    /// Hints that were kept.
    pub created: u64,
    /// Hints that their node, or the present replicas, took.
    pub delivered: u64,
    /// Of the delivered ones those that went through the coordinator: their node is no replica any more.
    pub rerouted: u64,
    /// Hints that a node refused for good.
    pub failed: u64,
    /// Hints that were not kept: no room, a failing disk, past the window, too long; and those that an operator removed.
    pub dropped: u64,
    /// Hints that were not delivered since their table was dropped or truncated, or they were older than its `gc_grace_seconds`.
    pub void: u64,
    /// Bytes of hints on the disk and on their way to it.
    pub bytes: u64,
    /// Bytes that they may take.
    pub bytes_max: u64,
}

/// Hints of a shard that wait for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingHints {
    /// The node.
    pub host_id: HostId,
    /// Files, with the one that is being written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The times at which the oldest and the newest file were made, milliseconds since 1970.
    pub oldest_ms: u64,
    /// See `oldest_ms`.
    pub newest_ms: u64,
}

impl PendingHints {
    /// Adds those of another shard.
    pub fn merge(&mut self, other: &PendingHints) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.oldest_ms = self.oldest_ms.min(other.oldest_ms);
        self.newest_ms = self.newest_ms.max(other.newest_ms);
    }
}

/// Counts that grow while the shard runs.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(super) created: Cell<u64>,
    pub(super) delivered: Cell<u64>,
    pub(super) rerouted: Cell<u64>,
    pub(super) failed: Cell<u64>,
    pub(super) dropped: Cell<u64>,
    pub(super) void: Cell<u64>,
}

/// Adds to a count.
pub(super) fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}
