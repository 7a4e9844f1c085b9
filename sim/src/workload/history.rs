//! What clients did and what they were told. Times are nanoseconds of the world.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::counts::Counts;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The partition key.
    pub partition: i32,
    /// The clustering key. Negative ones are registers, which are written over and over, each by one client.
    pub clustering: i64,
}

/// What a batch promises of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batched {
    /// The batch's number.
    pub number: u64,
    /// Whether all rows are in one partition, so that they are one mutation.
    pub is_one_partition: bool,
}

/// A row that was written. Its value is its place in the history, which nobody else writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub key: Key,
    /// When the request was sent.
    pub start: u64,
    /// When it was acknowledged; `None`: it failed, or nobody knows.
    pub acknowledged: Option<u64>,
    /// The batch it was in.
    pub batch: Option<Batched>,
}

/// A TRUNCATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncate {
    /// When the request was sent.
    pub start: u64,
    /// When it was acknowledged; `None`: it failed, or nobody knows.
    pub acknowledged: Option<u64>,
}

/// A snapshot that was brought back behind a TRUNCATE. Nothing was written while it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restore {
    /// When the snapshot was being made.
    pub of: u64,
    /// When its files began to be laid back.
    pub start: u64,
    /// When the node that was told to take them in served, or a refresh was answered.
    pub acknowledged: Option<u64>,
    /// Whether a running node was asked for it.
    pub by_refresh: bool,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// By value.
    pub writes: Vec<Write>,
    /// In the order in which they were sent.
    pub truncates: Vec<Truncate>,
    /// Snapshots that were brought back.
    pub restores: Vec<Restore>,
    /// Requests that the node answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
    /// Requests whose connection ended, or which took too long.
    pub unknown: u64,
    /// Answers that cannot be right, seen while the workload ran.
    pub violations: Vec<String>,
    /// Batches so far.
    pub batches: u64,
    /// When the node was ended or lost its power: what was under way then does nothing any more.
    pub ends: Vec<u64>,
    /// Those of the ends that were not orderly.
    pub cuts: Vec<u64>,
    /// How long before such an end what was acknowledged may still be lost: in `periodic` a period, else nothing.
    pub loss_nanos: u64,
    /// What was added to counters.
    pub counts: Counts,
}

/// The history that clients share.
pub type Shared = Rc<RefCell<History>>;

impl History {
    /// Takes note of a row that is about to be written, and gives its value.
    pub fn begin(&mut self, key: Key, start: u64, batch: Option<Batched>) -> u64 {
        self.writes.push(Write { key, start, acknowledged: None, batch });
        self.writes.len() as u64 - 1
    }

    /// The rows were acknowledged.
    pub fn acknowledge(&mut self, values: &[u64], now: u64) {
        for value in values {
            self.writes[*value as usize].acknowledged = Some(now);
        }
    }

    /// Acknowledged rows.
    pub fn acknowledged_count(&self) -> usize {
        self.writes.iter().filter(|write| write.acknowledged.is_some()).count()
    }

    /// Whether what was sent and acknowledged then may be lost, since it came within the last period before a cut. The cut may have
    /// come while the answer was on its way.
    pub fn may_be_lost(&self, write: &Write) -> bool {
        let Some(acknowledged) = write.acknowledged.filter(|_| self.loss_nanos > 0) else { return false };
        self.cuts.iter().any(|cut| (write.start..acknowledged + self.loss_nanos).contains(cut))
    }

    /// Whether a TRUNCATE may have removed what was sent at `start`.
    pub fn may_be_truncated(&self, start: u64, as_of: u64) -> bool {
        self.truncates.iter().any(|truncate| truncate.start <= as_of && start <= self.end_of(truncate))
    }

    /// The last moment at which the TRUNCATE may have done something.
    fn end_of(&self, truncate: &Truncate) -> u64 {
        let end = self.ends.iter().copied().find(|end| *end >= truncate.start);
        truncate.acknowledged.or(end).unwrap_or(u64::MAX)
    }

    /// Whether a row that was truncated must be back: a snapshot had it, was brought back, and nothing was truncated since.
    pub fn must_be_restored(&self, write: &Write, as_of: u64) -> bool {
        let is_truncated_since =
            |from: u64| self.truncates.iter().any(|truncate| truncate.start <= as_of && from <= self.end_of(truncate));
        self.restores.iter().any(|restore| {
            restore.acknowledged.is_some_and(|done| done <= as_of)
                && write.acknowledged.is_some_and(|at| at <= restore.of)
                && !self.may_be_truncated(write.start, restore.of)
                && !is_truncated_since(restore.start)
        })
    }

    /// Whether a row that was truncated may be back.
    pub fn may_be_restored(&self, write: &Write, as_of: u64) -> bool {
        let is_truncated_since = |done: u64| {
            let is_over = |truncate: &Truncate| truncate.acknowledged.is_some_and(|ended| ended <= as_of);
            self.truncates.iter().any(|truncate| is_over(truncate) && done < truncate.start)
        };
        self.restores.iter().any(|restore| {
            restore.start <= as_of && write.start <= restore.of && !restore.acknowledged.is_some_and(is_truncated_since)
        })
    }

    /// Whether a TRUNCATE must have removed what was acknowledged at `acknowledged`.
    pub fn must_be_truncated(&self, acknowledged: u64, as_of: u64) -> bool {
        self.truncates
            .iter()
            .any(|truncate| truncate.acknowledged.is_some_and(|ended| ended <= as_of) && acknowledged < truncate.start)
    }
}

/// The bytes that go with a value: from none to some thousands, and other ones for each.
pub fn padding(value: u64) -> Vec<u8> {
    let spread = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let length = match spread % 16 {
        0 => 0,
        1 => 3_000 + (spread >> 8) as usize % 6_000,
        // Longer than a sector, so that a torn group has a head and no end.
        2..=5 => 500 + (spread >> 8) as usize % 1_500,
        _ => (spread >> 8) as usize % 300,
    };
    (0..length).map(|n| (value as usize + n) as u8).collect()
}
