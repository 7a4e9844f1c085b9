//! Counts of requests over several nodes, made by the parts of a shard and shown by the coordinator.

use std::cell::Cell;

/// One shard's counts, since its start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) planned_again: Cell<u64>,
    pub(crate) batch_copies: Cell<u64>,
    pub(crate) batch_copies_failed: Cell<u64>,
    pub(crate) batch_copies_delivered: Cell<u64>,
}

/// Counts one more.
pub(crate) fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}
