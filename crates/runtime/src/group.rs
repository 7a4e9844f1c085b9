//! The scheduling groups: what kind of work a task does, and how much of the core that work is due.

use std::time::Duration;

/// What a task works for. Work of different groups shares the core by the groups' shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Group {
    /// What a client waits for.
    Query = 0,
    /// Writing memtables out, on which writes may come to wait.
    Flush = 1,
    /// Merging SSTables.
    Compaction = 2,
    /// Moving data between nodes.
    Streaming = 3,
    /// All that may take its time.
    Maintenance = 4,
}

/// How many groups there are.
pub(crate) const GROUP_COUNT: usize = 5;

impl Group {
    /// All groups, in the order of their numbers.
    pub const ALL: [Group; GROUP_COUNT] =
        [Group::Query, Group::Flush, Group::Compaction, Group::Streaming, Group::Maintenance];

    #[inline]
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// The group's part of the core, relative to the others that have work. A group alone has all of it.
    pub(crate) const fn shares(self) -> u64 {
        match self {
            Group::Query => 1000,
            Group::Flush => 400,
            Group::Compaction | Group::Streaming => 200,
            Group::Maintenance => 100,
        }
    }

    /// How long a poll may take before [`crate::Runtime::should_yield`] asks it to end.
    pub(crate) const fn poll_budget(self) -> Duration {
        match self {
            Group::Query => Duration::from_micros(250),
            _ => BACKGROUND_BUDGET,
        }
    }
}

/// How much background work a turn does while a request waits, or may have come to wait unseen.
pub(crate) const BACKGROUND_BUDGET: Duration = Duration::from_micros(100);

/// How long a turn works at all before it looks for I/O again.
pub(crate) const TURN_BUDGET: Duration = Duration::from_micros(500);
