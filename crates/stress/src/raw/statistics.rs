//! What a phase measured.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest latency that is told from longer ones: an hour.
const LATENCY_NANOS_MAX: u64 = 3_600_000_000_000;
/// Decimal digits to which latencies are kept.
const DIGITS: u8 = 3;

/// Latencies in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NANOS_MAX, DIGITS).expect("the bounds are valid");
        Latencies { histogram }
    }

    #[inline]
    pub(crate) fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(latency.as_nanos() as u64);
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(crate) fn mean_nanos(&self) -> f64 {
        self.histogram.mean()
    }

    pub(crate) fn max_nanos(&self) -> u64 {
        self.histogram.max()
    }

    /// The latency that this share of operations did not exceed.
    pub(crate) fn percentile_nanos(&self, percentile: f64) -> u64 {
        self.histogram.value_at_percentile(percentile)
    }
}

/// What happened to the operations of one phase.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub(crate) reads: Latencies,
    pub(crate) writes: Latencies,
    pub(crate) errors: u64,
    pub(crate) missing: u64,
    pub(crate) wrong: u64,
    pub(crate) first_failure: Option<String>,
    /// Why the rate that was asked for was not kept, if it was not.
    pub(crate) late: Option<String>,
}

impl Statistics {
    pub(crate) fn new() -> Statistics {
        Statistics {
            reads: Latencies::new(),
            writes: Latencies::new(),
            errors: 0,
            missing: 0,
            wrong: 0,
            first_failure: None,
            late: None,
        }
    }

    /// Operations that ended, well or not.
    pub(crate) fn operations(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    /// Keeps the first failure's text: the others are mostly the same.
    pub(crate) fn note_failure(&mut self, text: impl FnOnce() -> String) {
        self.first_failure.get_or_insert_with(text);
    }
}
