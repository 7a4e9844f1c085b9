//! What is told while a run goes on: a line for each interval, in cassandra-stress's columns.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::hdr_log::HdrLog;
use super::output::Output;
use super::recorder::{Interval, Measures};
use super::settings::Kind;

/// What a run has measured so far, and where that is told.
pub(crate) struct Progress<'a> {
    /// None: nothing is told, as of a warm-up.
    output: Option<&'a mut Output>,
    hdr_log: Option<&'a mut HdrLog>,
    interval: Duration,
    /// The kinds that are told of also where none has ended.
    kinds: Vec<Kind>,
    start: Instant,
    last: Instant,
    total: Interval,
    stretches: Vec<Stretch>,
    certainty: Certainty,
}

/// What is told when a run is over.
#[derive(Debug)]
pub(crate) struct Told {
    /// All that was measured.
    pub(crate) measured: Interval,
    /// How long that took.
    pub(crate) elapsed: Duration,
    /// What each interval of it measured.
    pub(crate) stretches: Vec<Stretch>,
}

/// What an interval measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// Its end, from the start of the run.
    pub(crate) since: Duration,
    pub(crate) per_second: f64,
    /// The 99th percentile of latency, in milliseconds.
    pub(crate) p99_ms: f64,
}

impl<'a> Progress<'a> {
    /// Of a run that begins now.
    pub(crate) fn begin(
        interval: Duration,
        kinds: Vec<Kind>,
        output: &'a mut Output,
        hdr_log: Option<&'a mut HdrLog>,
    ) -> Progress<'a> {
        output.line(&head());
        Progress { output: Some(output), hdr_log, kinds, ..Progress::silent(interval) }
    }

    /// Of a run that is not told of.
    pub(crate) fn silent(interval: Duration) -> Progress<'a> {
        let now = Instant::now();
        Progress {
            output: None,
            hdr_log: None,
            interval,
            kinds: Vec::new(),
            start: now,
            last: now,
            total: Interval::default(),
            stretches: Vec::new(),
            certainty: Certainty::default(),
        }
    }

    /// How often it wants to be told.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes in what was measured since the last time. Where that is nothing, this is told.
    pub(crate) fn tell(&mut self, measured: Interval, now: Instant) {
        let measured = measured.with_kinds(&self.kinds);
        self.total.add(&measured);
        let elapsed = (now - self.last).as_secs_f64();
        let sum = measured.total();
        self.certainty.note(sum.count() as f64 / elapsed);
        if let Some(log) = &mut self.hdr_log {
            log.write(&measured, self.last, now);
        }
        self.last = now;
        let line = Line { elapsed, since: now - self.start, error: self.certainty.error() };
        self.stretches.push(Stretch {
            since: line.since,
            per_second: sum.count() as f64 / elapsed,
            p99_ms: quantile_ms(sum.latency(), 0.99),
        });
        let Some(output) = &mut self.output else { return };
        let totals: Vec<_> = self.total.kinds().map(|(kind, measures)| (kind, measures.count())).collect();
        if totals.len() > 1 {
            for (kind, measures) in measured.kinds() {
                let total = totals.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
                output.line(&line.text(kind.name(), total, measures));
            }
        }
        output.line(&line.text("total", totals.iter().map(|(_, count)| count).sum(), &sum));
    }

    /// Takes in the last of it: the run is over.
    pub(crate) fn finish(&mut self, measured: Interval, now: Instant) {
        // What ends with an interval has no more to tell.
        if measured.kinds().next().is_some() || now - self.last >= self.interval {
            self.tell(measured, now);
        }
        self.last = now;
    }

    /// Whether the rate is known well enough.
    pub(crate) fn is_certain(&self, target: f64, least: u64, most: u64) -> bool {
        let count = self.certainty.count;
        count >= least && (self.certainty.error() < target || count >= most)
    }

    /// All that was measured.
    pub(crate) fn into_total(self) -> Told {
        Told { measured: self.total, elapsed: self.last - self.start, stretches: self.stretches }
    }
}

/// How well the mean rate is known.
#[derive(Debug, Default)]
struct Certainty {
    count: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl Certainty {
    fn note(&mut self, rate: f64) {
        self.count += 1;
        self.sum += rate;
        self.sum_of_squares += rate * rate;
    }

    /// The standard error of the mean, as a share of it; 0 as long as there is no mean.
    fn error(&self) -> f64 {
        let count = self.count as f64;
        let mean = self.sum / count;
        if mean.is_nan() || mean <= 0.0 {
            return 0.0;
        }
        let variance = (self.sum_of_squares / count - mean * mean).max(0.0);
        (variance / count).sqrt() / mean
    }
}

const COLUMNS: [&str; 13] =
    ["total ops", "op/s", "pk/s", "row/s", "mean", "med", ".95", ".99", ".999", "max", "time", "stderr", "errors"];

fn head() -> String {
    let columns: String = COLUMNS.iter().map(|column| format!(",{column:>10}")).collect();
    format!("{:<15}{columns}", "type")
}

/// What all lines of an interval have in common.
struct Line {
    elapsed: f64,
    since: Duration,
    error: f64,
}

impl Line {
    /// Times are in milliseconds, `time` in seconds.
    fn text(&self, name: &str, total: u64, measures: &Measures) -> String {
        let latency = measures.latency();
        let partitions = measures.partitions as f64 / self.elapsed;
        let rows = measures.rows as f64 / self.elapsed;
        let quantiles: String =
            [0.5, 0.95, 0.99, 0.999].iter().map(|share| format!(",{:>10.3}", quantile_ms(latency, *share))).collect();
        format!(
            "{name:<15},{total:>10},{:>10.0},{partitions:>10.0},{rows:>10.0},{:>10.3}{quantiles},{:>10.3},{:>10.1},{:>10.5},{:>10}",
            measures.count() as f64 / self.elapsed,
            latency.mean() / 1e6,
            latency.max() as f64 / 1e6,
            self.since.as_secs_f64(),
            self.error,
            measures.errors,
        )
    }
}

/// The time that this share of operations did not exceed, in milliseconds.
pub(crate) fn quantile_ms(histogram: &Histogram<u64>, share: f64) -> f64 {
    histogram.value_at_quantile(share) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_column_for_each_head() {
        let line = Line { elapsed: 1.0, since: Duration::from_secs(5), error: 0.01 };
        let text = line.text("total", 17, &Measures::new());
        assert_eq!(text.matches(',').count(), head().matches(',').count());
        assert_eq!(text.len(), head().len());
        assert_eq!(text.split(',').map(str::trim).nth(11), Some("5.0"));
    }

    #[test]
    fn an_interval_in_which_nothing_ended_is_told_and_a_last_one_of_no_length_is_not() {
        let mut progress = Progress { kinds: vec![Kind::Write], ..Progress::silent(Duration::from_secs(1)) };
        let start = progress.start;
        progress.tell(Interval::default(), start + Duration::from_secs(1));
        progress.finish(Interval::default(), start + Duration::from_millis(1001));
        let told = progress.into_total();
        let nothing = Stretch { since: Duration::from_secs(1), per_second: 0.0, p99_ms: 0.0 };
        assert_eq!((told.stretches, told.elapsed), (vec![nothing], Duration::from_millis(1001)));
        assert_eq!(told.measured.kinds().map(|(kind, _)| kind).collect::<Vec<_>>(), [Kind::Write]);
    }

    #[test]
    fn the_standard_error_shrinks_with_measurements() {
        let mut certainty = Certainty::default();
        assert_eq!(certainty.error(), 0.0);
        for _ in 0..50 {
            certainty.note(90.0);
            certainty.note(110.0);
        }
        assert!((certainty.error() - 0.01).abs() < 1e-9, "{}", certainty.error());
        let mut progress = Progress::silent(Duration::from_secs(1));
        progress.certainty = certainty;
        assert!(progress.is_certain(0.02, 30, 200) && !progress.is_certain(0.005, 30, 200));
        assert!(progress.is_certain(0.005, 30, 100) && !progress.is_certain(0.02, 101, 200));
    }
}
