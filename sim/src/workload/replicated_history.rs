//! What clients of a ring did, at which level, and what they were told. A change's place in the history is its timestamp, so
//! replicas agree with the history on which of two changes is the later one, whatever came to them when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::history::Key;

/// What a change changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One row.
    Row(Key),
    /// The rows of a partition from the first clustering key on, up to the last and without it.
    Range(i32, i64, i64),
    /// All rows of a partition.
    Partition(i32),
}

impl Extent {
    /// Whether the row is in it.
    pub fn covers(self, key: Key) -> bool {
        match self {
            Extent::Row(row) => row == key,
            Extent::Range(partition, from, to) => partition == key.partition && (from..to).contains(&key.clustering),
            Extent::Partition(partition) => partition == key.partition,
        }
    }
}

/// What a change does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Writes the change's number as value.
    Write,
    /// Deletes.
    Delete,
}

/// A change. Its number is its timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub extent: Extent,
    /// What.
    pub effect: Effect,
    /// Whether all replicas were to have it before the answer; otherwise one.
    pub at_all: bool,
    /// When the request was sent.
    pub start: u64,
    /// When it was acknowledged; `None`: it failed, or nobody knows.
    pub acknowledged: Option<u64>,
    /// It was refused as unavailable, which is before anything is done.
    pub is_void: bool,
    /// The logged batch it was in.
    pub batch: Option<u64>,
}

/// What a read gave, of some rows.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When it was sent.
    pub start: u64,
    /// When its answer had come.
    pub end: u64,
    /// Whether all replicas answered; otherwise one.
    pub at_all: bool,
    /// The number of ends of nodes before it began.
    pub ends: u64,
    /// What it gave, by row.
    pub rows: BTreeMap<Key, u64>,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Replicated {
    /// By number.
    pub changes: Vec<Change>,
    /// Rows that were written.
    pub keys: std::collections::BTreeSet<Key>,
    /// The latest value of a row that a read of all replicas gave, and when, since a node ended last. A node that ends may take
    /// along what it showed and had not synced.
    pub observed: BTreeMap<Key, (u64, u64)>,
    /// Requests that were answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
    /// Requests whose connection ended, or which took too long.
    pub unknown: u64,
    /// Answers that cannot be right.
    pub violations: Vec<String>,
    /// Logged batches so far.
    pub batches: u64,
    /// Reads that were judged.
    pub reads: u64,
    /// Ends of nodes so far.
    pub ends: u64,
}

/// The history that clients share.
pub type SharedReplicated = Rc<RefCell<Replicated>>;

impl Replicated {
    /// Takes note of a change that is about to be sent, and gives its number.
    pub fn begin(&mut self, extent: Extent, effect: Effect, at_all: bool, start: u64, batch: Option<u64>) -> u64 {
        if let (Extent::Row(key), Effect::Write) = (extent, effect) {
            self.keys.insert(key);
        }
        self.changes.push(Change { extent, effect, at_all, start, acknowledged: None, is_void: false, batch });
        self.changes.len() as u64 - 1
    }

    /// Acknowledged changes.
    pub fn acknowledged_count(&self) -> usize {
        self.changes.iter().filter(|change| change.acknowledged.is_some()).count()
    }

    /// The changes were acknowledged.
    pub fn acknowledge(&mut self, numbers: &[u64], now: u64) {
        for number in numbers {
            self.changes[*number as usize].acknowledged = Some(now);
        }
    }

    /// Nothing of the changes was done.
    pub fn void(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.changes[*number as usize].is_void = true;
        }
    }

    /// A node ended, or lost its power.
    pub fn node_ended(&mut self) {
        self.ends += 1;
        self.observed.clear();
    }
}
