//! Which record an operation of a YCSB run is about.
//!
//! Records are known by their number; new ones get the numbers behind those that are there. Only records are asked for whose insert is over, and
//! those of all before them: so what is asked for is there, unless its insert has failed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::settings::{Requests, YcsbSettings};
use super::zipfian::{Scattered, Zipfian, scatter};
use crate::random::{below, fraction, next_random};

/// Chooses records.
#[derive(Debug)]
pub(crate) struct Keys {
    order: Order,
    inserted: Inserted,
    /// Whether keys follow from the number's hash, and how many digits they have at least.
    hashed: bool,
    digits: usize,
}

#[derive(Debug)]
enum Order {
    Uniform { first: u64, count: u64 },
    Zipfian(Scattered),
    Latest,
}

/// The records that are inserted meanwhile.
#[derive(Debug)]
struct Inserted {
    /// The number of the next one.
    next: AtomicU64,
    /// How many records there are whose insert is over, without a gap before them.
    settled: AtomicU64,
    /// Those behind a gap.
    ahead: Mutex<BTreeSet<u64>>,
}

impl Keys {
    pub(crate) fn new(settings: &YcsbSettings) -> Keys {
        let (first, count) = (settings.insert_start, settings.insert_count);
        let order = match settings.requests {
            Requests::Uniform => Order::Uniform { first, count },
            // Which records are popular must not change when there are more: so some are drawn that are not there yet, and drawn again.
            Requests::Zipfian => Order::Zipfian(Scattered::new(first, count + settings.new_records_expected() + 1)),
            Requests::Latest => Order::Latest,
        };
        Keys { order, inserted: Inserted::behind(settings.records), hashed: settings.hashed, digits: settings.digits }
    }

    /// The record that an operation asks for.
    pub(crate) fn choose(&self, random: &mut u64) -> u64 {
        let settled = self.inserted.settled.load(Ordering::Acquire);
        loop {
            let record = match &self.order {
                Order::Uniform { first, count } => first + below(next_random(random), *count),
                Order::Zipfian(scattered) => scattered.number(fraction(next_random(random))),
                Order::Latest => settled - 1 - Zipfian::new(settled).rank(fraction(next_random(random))),
            };
            if record < settled {
                return record;
            }
        }
    }

    /// The record that an insert makes.
    pub(crate) fn insert(&self) -> u64 {
        self.inserted.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes note that the insert of a record is over.
    pub(crate) fn settle(&self, record: u64) {
        self.inserted.settle(record);
    }

    /// A record's key, as YCSB has it.
    pub(crate) fn key(&self, record: u64) -> String {
        let number = if self.hashed { scatter(record) } else { record };
        format!("user{number:0digits$}", digits = self.digits)
    }
}

impl Inserted {
    fn behind(records: u64) -> Inserted {
        Inserted { next: AtomicU64::new(records), settled: AtomicU64::new(records), ahead: Mutex::default() }
    }

    fn settle(&self, record: u64) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.insert(record);
        let mut settled = self.settled.load(Ordering::Relaxed);
        while ahead.remove(&settled) {
            settled += 1;
        }
        self.settled.store(settled, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(requests: Requests) -> Keys {
        Keys::new(&YcsbSettings { requests, records: 1_000, insert_count: 1_000, ..YcsbSettings::default() })
    }

    fn chosen(keys: &Keys) -> Vec<u64> {
        let mut random = 5;
        (0..20_000).map(|_| keys.choose(&mut random)).collect()
    }

    #[test]
    fn each_order_chooses_among_all_records() {
        for requests in [Requests::Uniform, Requests::Zipfian, Requests::Latest] {
            let chosen = chosen(&keys(requests));
            assert!(chosen.iter().all(|record| *record < 1_000), "{requests:?}");
            let met: BTreeSet<&u64> = chosen.iter().collect();
            assert!(met.len() > 500, "{requests:?}: {}", met.len());
        }
        let latest = chosen(&keys(Requests::Latest));
        let last = latest.iter().filter(|record| **record == 999).count();
        // 1 / ζ(1000) of all.
        assert!((2_300..2_900).contains(&last), "{last}");
        let uniform = chosen(&keys(Requests::Uniform));
        assert!(uniform.iter().filter(|record| **record == 999).count() < 60);
    }

    #[test]
    fn records_are_asked_for_when_they_and_all_before_them_are_there() {
        let keys = keys(Requests::Latest);
        let new: Vec<u64> = (0..3).map(|_| keys.insert()).collect();
        assert_eq!(new, [1_000, 1_001, 1_002]);
        let most = || chosen(&keys).into_iter().max();
        keys.settle(1_001);
        assert_eq!(most(), Some(999));
        keys.settle(1_000);
        assert_eq!(most(), Some(1_001));
        keys.settle(1_002);
        assert_eq!(most(), Some(1_002));
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        let mut keys = keys(Requests::Uniform);
        assert_eq!(keys.key(0), "user6284781860667377211");
        (keys.hashed, keys.digits) = (false, 6);
        assert_eq!(keys.key(17), "user000017");
    }
}
