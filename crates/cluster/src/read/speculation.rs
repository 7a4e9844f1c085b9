//! When another replica is asked in addition to one that is silent: the tables' `speculative_retry`, and what reads of each table take.
//!
//! The percentile is of reads that their first replicas answered, at most 100 samples a second. So it rises when all replicas become slower, and does not
//! when one is dead: reads which that one keeps waiting are no samples. It is at most four times the percentile of the best replica.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use internode::RecentTimes;
use runtime::Instant;
use schema::options::SpeculativeRetry;
use schema::{Table, TableId};

/// The delay while nothing is known of what reads take: the silence from which on a node may be suspect.
const UNKNOWN: Duration = Duration::from_millis(50);
/// The shortest delay of a percentile: a timer is not finer.
const DELAY_MIN: Duration = Duration::from_millis(1);
/// Cassandra's default `speculative_retry`.
const DEFAULT_PERCENTILE: f64 = 99.0;
/// The percentile in terms of that of the best replica.
const TIMES_OF_BEST: u32 = 4;
/// Samples a second.
const SAMPLES_MAX: u32 = 100;
/// The time for which a delay holds before it is worked out again.
const HOLDS: Duration = Duration::from_secs(1);
/// Tables whose times are kept; beyond that all are forgotten, those of dropped tables among them.
const TABLES_MAX: usize = 4096;

/// Counts of what reads over several replicas did, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Reads for which a replica was asked in addition to a silent one. Cassandra's `SpeculativeRetries`.
    pub speculative_retries: u64,
    /// Those of them that timed out all the same. Cassandra's `SpeculativeFailedRetries`.
    pub speculative_failed_retries: u64,
    /// Reads that were to ask another replica and had none left. Cassandra's `SpeculativeInsufficientReplicas`.
    pub speculative_insufficient_replicas: u64,
    /// Reads whose digests differed. Cassandra's `ReadRepair.ReconcileRead`.
    pub digest_mismatches: u64,
    /// Partitions of which a replica lacked something that was written to it before the client was answered. Cassandra's `ReadRepair.RepairedBlocking`.
    pub repaired_blocking: u64,
    /// Writes of read repair to a replica in the stead of a silent one. Cassandra's `ReadRepair.SpeculatedWrite`.
    pub speculated_repair_writes: u64,
    /// Reads that went on at another replica, after one that refused or was gone.
    pub replaced_replicas: u64,
}

/// The times of reads of one table.
pub(super) struct TableTimes {
    text: String,
    policy: SpeculativeRetry,
    times: RefCell<RecentTimes>,
    /// The second in which samples are counted, and how many it has.
    sampled: Cell<(Instant, u32)>,
    /// The delay, and when it was worked out.
    delay: Cell<Option<(Instant, Duration)>>,
}

/// The times of reads, by table; scans apart, whose pages take longer.
#[derive(Default)]
pub(super) struct ReadTimes {
    tables: RefCell<BTreeMap<(TableId, bool), Rc<TableTimes>>>,
}

impl ReadTimes {
    /// A table's times, which begin again when its policy changes.
    pub(super) fn of(&self, table: &Table, is_scan: bool, now: Instant) -> Rc<TableTimes> {
        let text = &table.options.speculative_retry;
        let mut tables = self.tables.borrow_mut();
        if let Some(known) = tables.get(&(table.id, is_scan)).filter(|known| known.text == *text) {
            return Rc::clone(known);
        }
        if tables.len() >= TABLES_MAX {
            tables.clear();
        }
        let times = Rc::new(TableTimes::new(text, now));
        tables.insert((table.id, is_scan), Rc::clone(&times));
        times
    }
}

impl TableTimes {
    fn new(text: &str, now: Instant) -> TableTimes {
        TableTimes {
            text: text.to_owned(),
            policy: SpeculativeRetry::of(text),
            times: RefCell::new(RecentTimes::new(now)),
            sampled: Cell::new((now, 0)),
            delay: Cell::default(),
        }
    }

    /// True if a replica is asked in addition from the start.
    pub(super) fn is_always(&self) -> bool {
        self.policy == SpeculativeRetry::Always
    }

    /// True if silence alone makes that another replica is asked.
    pub(super) fn is_on(&self) -> bool {
        self.policy != SpeculativeRetry::Never
    }

    /// A read took so long, which its first replicas answered.
    pub(super) fn note(&self, time: Duration, now: Instant) {
        let (since, count) = self.sampled.get();
        let is_same_second = now - since < Duration::from_secs(1);
        let count = if is_same_second { count } else { 0 };
        if count < SAMPLES_MAX {
            self.sampled.set((if is_same_second { since } else { now }, count + 1));
            self.times.borrow_mut().note(time, now);
        }
    }

    /// The silence of a repair's write after which another replica is written.
    pub(super) fn repair_delay(&self, min: Duration) -> Duration {
        let known = self.delay.get().map_or(UNKNOWN, |(_, delay)| delay);
        if self.is_on() { known.max(min) } else { Duration::MAX }
    }

    /// The silence after which another replica is asked. `best` gives a percentile of the answers of the best replica.
    pub(super) fn delay(&self, now: Instant, best: impl Fn(f64) -> Option<Duration>) -> Duration {
        if let Some((_, delay)) = self.delay.get().filter(|(since, _)| now - *since < HOLDS) {
            return delay;
        }
        let percentile = |percentile: f64| {
            let of_best = best(percentile).map(|time| time.saturating_mul(TIMES_OF_BEST));
            let of_all = self.times.borrow().percentile(percentile, now);
            let delay = match (of_all, of_best) {
                (Some(all), Some(best)) => all.min(best),
                (all, best) => all.or(best).unwrap_or(UNKNOWN),
            };
            delay.max(DELAY_MIN)
        };
        let delay = match self.policy {
            SpeculativeRetry::Never => Duration::MAX,
            // One more is asked from the start. A third is asked as by the default.
            SpeculativeRetry::Always => percentile(DEFAULT_PERCENTILE),
            SpeculativeRetry::Percentile(of) => percentile(of),
            SpeculativeRetry::Fixed(time) => time.max(DELAY_MIN),
            SpeculativeRetry::Min(of, time) => percentile(of).min(time),
            SpeculativeRetry::Max(of, time) => percentile(of).max(time),
        };
        self.delay.set(Some((now, delay)));
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// The delay in milliseconds, rounded down; a bucket of times is a fifth wide.
    fn delay(times: &TableTimes, now: u64, best: Option<Duration>) -> u128 {
        times.delay(at(now), |_| best).as_millis()
    }

    #[test]
    fn a_percentile_is_of_what_reads_took_and_bounded_by_the_best_replica() {
        let times = TableTimes::new("99p", at(0));
        assert_eq!(delay(&times, 0, None), 50, "nothing is known");
        assert_eq!(delay(&times, 1_000, Some(millis(2))), 8);
        (0..50).for_each(|_| times.note(millis(20), at(1_500)));
        assert_eq!(delay(&times, 1_999, Some(millis(2))), 8, "it holds for a second");
        assert_eq!(delay(&times, 2_000, Some(millis(2))), 8, "four times that of the best");
        let of_all = delay(&times, 3_000, Some(millis(100)));
        assert!((20..25).contains(&of_all), "{of_all}");
    }

    #[test]
    fn policies_say_when() {
        let of = |text: &str| {
            let times = TableTimes::new(text, at(0));
            (0..50).for_each(|_| times.note(millis(20), at(1)));
            (times.is_always(), times.is_on(), times.delay(at(2), |_| None))
        };
        assert_eq!(of("NEVER"), (false, false, Duration::MAX));
        assert_eq!(of("ALWAYS"), (true, true, of("99p").2), "one from the start, a third one after silence");
        assert_eq!(of("5ms"), (false, true, millis(5)));
        assert_eq!(of("MIN(99p,5ms)").2, millis(5));
        assert_eq!(of("MAX(99p,500ms)").2, millis(500));
        assert_eq!(of("MIN(99p,500ms)"), of("99p"));
    }

    #[test]
    fn a_second_has_a_hundred_samples() {
        let times = TableTimes::new("50p", at(0));
        (0..100).for_each(|_| times.note(millis(10), at(5)));
        (0..1_000).for_each(|_| times.note(millis(500), at(6)));
        assert!(delay(&times, 7, None) < 13, "what came later in that second is no sample");
        (0..100).for_each(|_| times.note(millis(500), at(1_100)));
        (0..10).for_each(|_| times.note(millis(500), at(2_200)));
        assert!(delay(&times, 3_000, None) >= 500);
    }

    #[test]
    fn a_changed_policy_counts_from_the_next_read_on() {
        let tables = ReadTimes::default();
        let key =
            schema::Column::new(schema::ColumnKind::PartitionKey, schema::ColumnId(0), "k", cql_types::CqlType::Int);
        let mut table = Table::new(TableId([1; 16]), "ks", "t", vec![key], schema::TableOptions::default());
        let first = tables.of(&table, false, at(0));
        assert!(Rc::ptr_eq(&first, &tables.of(&table, false, at(1))));
        assert!(!Rc::ptr_eq(&first, &tables.of(&table, true, at(1))), "scans are apart");
        table.options.speculative_retry = "NEVER".to_owned();
        assert!(!tables.of(&table, false, at(2)).is_on());
    }
}
