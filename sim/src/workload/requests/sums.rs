//! Counters: what was added, at which level, and what reads have shown of it.
//!
//! An amount is of so many random bits that a count tells which amounts are in it: one that is lost, or in it twice, results in a sum that no choice of the
//! others has.

use super::Reach;

/// The most amounts of one counter whose outcome is not known: the checker tries all choices of them.
pub const OPEN_MAX: usize = 8;
/// The most of them that troubles may leave: when all has healed, each counter takes amounts again.
pub const OPEN_IN_TROUBLES_MAX: usize = 6;

/// A counter: its partition and row.
pub type Place = (i32, i32);

/// An amount that was added to a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// The counter.
    pub place: Place,
    /// How much.
    pub amount: i64,
    /// The replicas that have it, once it is acknowledged.
    pub reach: Reach,
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of a positive answer.
    pub acknowledged: Option<u64>,
    /// It was refused as UNAVAILABLE, or never sent.
    pub is_void: bool,
    /// The replicas of reads that have shown it, with the end of each.
    pub known: Vec<(Reach, u64)>,
}

/// The answer to a read of a counter.
#[derive(Debug, Clone)]
pub struct CountSeen {
    /// The counter.
    pub place: Place,
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of its answer.
    pub end: u64,
    /// The replicas that answered.
    pub reach: Reach,
    /// The count; no row is zero.
    pub count: i64,
}

/// All that was added, in the order in which it was sent.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// The amounts.
    pub all: Vec<Sum>,
}

impl Sums {
    /// Takes note of an amount that is about to be sent, and gives its number; `None`: of so many of that counter, `open_max`, the outcome is not known.
    pub fn begin(&mut self, place: Place, amount: i64, reach: Reach, start: u64, open_max: usize) -> Option<usize> {
        let is_open = |sum: &&Sum| sum.place == place && sum.acknowledged.is_none() && !sum.is_void;
        if self.all.iter().filter(is_open).count() >= open_max {
            return None;
        }
        let known = Vec::new();
        self.all.push(Sum { place, amount, reach, start, acknowledged: None, is_void: false, known });
        Some(self.all.len() - 1)
    }

    /// The counters that something was added to.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = self.all.iter().map(|sum| sum.place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Forgets what reads have shown since that moment.
    pub fn node_ended(&mut self, since: u64) {
        self.all.iter_mut().for_each(|sum| sum.known.retain(|(_, at)| *at < since));
    }

    /// Amounts that were acknowledged.
    pub fn acknowledged_count(&self) -> usize {
        self.all.iter().filter(|sum| sum.acknowledged.is_some()).count()
    }

    /// Those of them that were sent since that moment.
    pub fn acknowledged_since(&self, since: u64) -> usize {
        self.all.iter().filter(|sum| sum.acknowledged.is_some() && sum.start >= since).count()
    }

    /// Amounts whose outcome is not known.
    pub fn unknown_count(&self) -> usize {
        self.all.iter().filter(|sum| sum.acknowledged.is_none() && !sum.is_void).count()
    }

    /// Amounts that were sent.
    pub fn sent_count(&self) -> usize {
        self.all.iter().filter(|sum| !sum.is_void).count()
    }
}
