//! The history of a run: what clients sent, at which level, how they were answered, and what reads have shown.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::{Reach, Serial, Sums};
use crate::workload::Key;

/// The rows of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// These rows.
    Rows(Rc<[Key]>),
    /// The rows of a partition from the first clustering key on, up to the last and without it.
    Range(i32, i64, i64),
    /// All rows of a partition.
    Partition(i32),
}

impl Extent {
    /// True if the row is one of them.
    pub fn covers(&self, key: Key) -> bool {
        match self {
            Extent::Rows(rows) => rows.contains(&key),
            Extent::Range(partition, from, to) => *partition == key.partition && (*from..*to).contains(&key.clustering),
            Extent::Partition(partition) => *partition == key.partition,
        }
    }
}

/// The effect of a change on its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The change's number is their value.
    Write,
    /// They are gone.
    Delete,
}

/// A request that changes rows. Its number is its timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The rows.
    pub extent: Extent,
    /// The effect.
    pub effect: Effect,
    /// The replicas that have it, once it is acknowledged.
    pub reach: Reach,
    /// The node that was asked.
    pub node: usize,
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of a positive answer.
    pub acknowledged: Option<u64>,
    /// The moment of any answer; `None`: the connection ended, or no answer came.
    pub ended: Option<u64>,
    /// It was refused as UNAVAILABLE, or never sent: nothing was done.
    pub is_void: bool,
    /// True for a logged batch over several partitions.
    pub is_logged: bool,
}

impl Change {
    /// A change that is about to be sent to a node.
    pub fn of(extent: Extent, effect: Effect, reach: Reach, node: usize, start: u64) -> Change {
        let (acknowledged, ended, is_void, is_logged) = (None, None, false, false);
        Change { extent, effect, reach, node, start, acknowledged, ended, is_void, is_logged }
    }
}

/// The end of a TRUNCATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncateEnd {
    /// None yet.
    Open,
    /// It was acknowledged at that moment.
    Done(u64),
    /// It was refused with the promise that nothing was done, or never sent.
    Void,
    /// It may be carried out at any later time, or never. The moment of the answer, or of giving up.
    Unknown(u64),
}

/// A TRUNCATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The moment before it was sent.
    pub start: u64,
    /// Its end.
    pub end: TruncateEnd,
}

/// A value that a read has shown, and that its replicas have since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The value.
    pub value: u64,
    /// The replicas that have it.
    pub reach: Reach,
    /// The beginning of that read: a TRUNCATE that was under way then may take the value along, though the read has shown it.
    pub since: u64,
    /// Its end.
    pub at: u64,
}

/// The answer to a read.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of its answer.
    pub end: u64,
    /// The replicas that answered.
    pub reach: Reach,
    /// The level, in words.
    pub level: String,
    /// The values, by row.
    pub rows: BTreeMap<Key, u64>,
}

/// The longest that a TRUNCATE without an acknowledgement may be under way in a cluster in which all has healed: frames that a link held pass, a proposal is
/// given up, a leader is elected.
const TRUNCATE_SETTLES: u64 = 30_000_000_000;

/// All of it.
#[derive(Debug, Default)]
pub struct Requests {
    /// The replicas of each datacenter.
    pub factors: Vec<u32>,
    /// True if operators may lower their number: what one replica alone has is lost with it, since copies are made from a majority.
    pub may_be_lowered: bool,
    /// Changes by number.
    pub changes: Vec<Change>,
    /// Rows that were written.
    pub keys: BTreeSet<Key>,
    /// Values that reads have shown, by row.
    pub known: BTreeMap<Key, Vec<Known>>,
    /// Counters.
    pub sums: Sums,
    /// Conditional statements.
    pub serial: Serial,
    /// In the order in which they were sent.
    pub truncations: Vec<Truncation>,
    /// Reads that were judged.
    pub reads: u64,
    /// Requests that were answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
    /// Answers that cannot be right.
    pub violations: Vec<String>,
    /// The moment at which a node ended last.
    pub ended: Option<u64>,
    /// The moment at which the plan had healed all, and all nodes were ready.
    pub healed: Option<u64>,
    /// Nodes that clients do not ask: they have not joined, or have left.
    pub without: BTreeSet<usize>,
    /// Clients send no more.
    pub is_over: bool,
    /// Clients begin no request while another one truncates.
    pub is_gated: bool,
    /// Requests under way.
    pub in_flight: usize,
}

/// The history that clients and harness share.
pub type SharedRequests = Rc<RefCell<Requests>>;

impl Requests {
    /// Takes note of a change that is about to be sent, and gives its number.
    pub fn begin(&mut self, change: Change) -> u64 {
        if let (Extent::Rows(rows), Effect::Write) = (&change.extent, change.effect) {
            self.keys.extend(rows.iter().copied());
        }
        self.changes.push(change);
        self.changes.len() as u64 - 1
    }

    /// True if a change that was sent, or a value that was shown, at `since` may have been truncated before `until`.
    pub fn may_be_truncated(&self, since: u64, until: u64) -> bool {
        self.truncations.iter().any(|truncation| truncation.start <= until && since <= self.effective_end(truncation))
    }

    /// The moment from which on a truncation takes nothing along that is written.
    fn effective_end(&self, truncation: &Truncation) -> u64 {
        match truncation.end {
            TruncateEnd::Done(answered) => answered,
            TruncateEnd::Void => 0,
            TruncateEnd::Open => u64::MAX,
            TruncateEnd::Unknown(answered) => {
                self.healed.map_or(u64::MAX, |healed| healed.max(answered).saturating_add(TRUNCATE_SETTLES))
            }
        }
    }

    /// Takes note that a node ended without an order, or lost its power: it may take along what reads have shown of its memory and it had not synced, which is
    /// younger than `within`.
    pub fn node_ended(&mut self, now: u64, within: Duration) {
        self.ended = self.ended.max(Some(now));
        let since = now.saturating_sub(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
        self.known.values_mut().for_each(|known| known.retain(|known| known.at < since));
        self.sums.node_ended(since);
    }

    /// The replicas that have what a read without a repair has shown, from its end on; `None`: it may be lost.
    pub fn reach_without_repair(&self) -> Option<Reach> {
        (!self.may_be_lowered).then_some(Reach::Some(1))
    }

    /// Takes note that all hints have been delivered, but for those that may be `lost`: a replica has what was acknowledged at ANY.
    pub fn hints_delivered(&mut self, lost: impl Fn(&Change) -> bool) {
        for change in self.changes.iter_mut().filter(|change| change.acknowledged.is_some() && !lost(change)) {
            if change.reach == Reach::Some(0) {
                change.reach = Reach::Some(1);
            }
        }
    }

    /// Changes, additions and truncations that were acknowledged.
    pub fn acknowledged_count(&self) -> usize {
        let changes = self.changes.iter().filter(|change| change.acknowledged.is_some()).count();
        changes + self.sums.acknowledged_count() + self.serial.acknowledged_count() + self.truncated_count()
    }

    /// Those of them that were sent after all had healed.
    pub fn acknowledged_since_healed(&self) -> usize {
        let Some(healed) = self.healed else { return 0 };
        let is_late = |change: &&Change| change.acknowledged.is_some() && change.start >= healed;
        let changes = self.changes.iter().filter(is_late).count();
        changes + self.sums.acknowledged_since(healed) + self.serial.acknowledged_since(healed)
    }

    /// Truncations that were acknowledged.
    pub fn truncated_count(&self) -> usize {
        self.truncations.iter().filter(|truncation| matches!(truncation.end, TruncateEnd::Done(_))).count()
    }

    /// Changes, additions and truncations whose outcome no client knows.
    pub fn unknown_count(&self) -> usize {
        let changes = self.changes.iter().filter(|change| change.acknowledged.is_none() && !change.is_void).count();
        let is_unknown = |truncation: &&Truncation| matches!(truncation.end, TruncateEnd::Unknown(_));
        let changes = changes + self.serial.unknown_count();
        changes + self.sums.unknown_count() + self.truncations.iter().filter(is_unknown).count()
    }

    /// All that were sent.
    pub fn sent_count(&self) -> usize {
        let changes = self.changes.iter().filter(|change| !change.is_void).count();
        let is_sent = |truncation: &&Truncation| truncation.end != TruncateEnd::Void;
        let changes = changes + self.serial.sent_count();
        changes + self.sums.sent_count() + self.truncations.iter().filter(is_sent).count()
    }
}
