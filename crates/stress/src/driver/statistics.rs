//! What is told of measured times: which figures of them, and lines of a report.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::progress::quantile_ms;
use super::recorder::Measures;

/// A figure of many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    Median,
    P95,
    P99,
    P999,
    Max,
}

impl Statistic {
    /// Those that are told, in this order.
    pub(crate) const ALL: [Statistic; 6] =
        [Statistic::Mean, Statistic::Median, Statistic::P95, Statistic::P99, Statistic::P999, Statistic::Max];

    /// As programs know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::Median => "p50",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::P999 => "p99.9",
            Statistic::Max => "max",
        }
    }

    /// As cassandra-stress calls it.
    fn words(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::Median => "median",
            Statistic::P95 => "95th percentile",
            Statistic::P99 => "99th percentile",
            Statistic::P999 => "99.9th percentile",
            Statistic::Max => "max",
        }
    }

    /// It, in milliseconds.
    pub(crate) fn of(self, times: &Histogram<u64>) -> f64 {
        match self {
            Statistic::Mean => times.mean() / 1e6,
            Statistic::Median => quantile_ms(times, 0.5),
            Statistic::P95 => quantile_ms(times, 0.95),
            Statistic::P99 => quantile_ms(times, 0.99),
            Statistic::P999 => quantile_ms(times, 0.999),
            Statistic::Max => times.max() as f64 / 1e6,
        }
    }
}

/// All figures of all times, for programs.
pub(crate) fn times_of(measures: &Measures) -> serde_json::Map<String, Value> {
    let scheduled = measures.scheduled.as_ref();
    let times = [
        ("service_time_ms", Some(&measures.service)),
        ("response_time_ms", scheduled.map(|scheduled| &scheduled.response)),
        ("wait_time_ms", scheduled.map(|scheduled| &scheduled.wait)),
    ];
    times.into_iter().map(|(name, histogram)| (name.to_owned(), json!(histogram.map(figures)))).collect()
}

fn figures(histogram: &Histogram<u64>) -> Value {
    let times = Statistic::ALL.iter().map(|statistic| (statistic.name().to_owned(), json!(statistic.of(histogram))));
    Value::Object(times.collect())
}

/// The lines of a report for people, each with a figure of all operations and of those of each kind.
pub(crate) struct Lines<'m> {
    total: &'m Measures,
    kinds: Vec<(&'m str, &'m Measures)>,
    text: String,
}

impl<'m> Lines<'m> {
    /// None yet.
    pub(crate) fn of(total: &'m Measures, kinds: impl Iterator<Item = (&'m str, &'m Measures)>) -> Lines<'m> {
        Lines { total, kinds: kinds.collect(), text: String::from("\nResults:\n") }
    }

    pub(crate) fn figure(&mut self, name: &str, unit: &str, digits: usize, of: impl Fn(&Measures) -> f64) {
        let amount = |measures: &Measures| format!("{}{unit}", grouped(of(measures), digits));
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, measures)| format!("{kind}: {}", amount(measures))).collect();
        let all = format!("{:>14}  [{}]", amount(self.total), kinds.join(", "));
        self.line(name, &all);
    }

    /// Latencies, and service times if they are others.
    pub(crate) fn times(&mut self) {
        for statistic in Statistic::ALL {
            let name = format!("Latency {}", statistic.words());
            self.figure(&name, " ms", 3, |measures| statistic.of(measures.latency()));
        }
        for statistic in Statistic::ALL.iter().filter(|_| self.total.scheduled.is_some()) {
            let name = format!("Service {}", statistic.words());
            self.figure(&name, " ms", 3, |measures| statistic.of(&measures.service));
        }
    }

    pub(crate) fn operation_time(&mut self, time: Duration) {
        self.line("Total operation time", &clock(time));
    }

    /// A line that says something else.
    pub(crate) fn line(&mut self, name: &str, what: &str) {
        self.text.push_str(&format!("{name:<26}: {what}\n"));
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// A number with commas between thousands.
fn grouped(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// `HH:mm:ss`.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(grouped(1_234_567.0, 0), "1,234,567");
        assert_eq!(grouped(123.0, 0), "123");
        assert_eq!(grouped(1_000.5, 3), "1,000.500");
    }
}
