//! The report of a run, in cassandra-stress's words and as JSON.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::progress::quantile_ms;
use super::recorder::{Interval, Measures};

/// What a run measured.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) threads: usize,
    /// The rate that was asked for or allowed.
    pub(crate) rate: Option<u64>,
    /// Whether the rate was kept, if it was asked for.
    pub(crate) is_rate_kept: Option<bool>,
    pub(crate) measured: Interval,
    pub(crate) elapsed: Duration,
    /// CPU time that the generator used meanwhile.
    pub(crate) cpu: Option<Duration>,
}

impl Report {
    /// Operations a second.
    pub(crate) fn rate_of(&self, measures: &Measures) -> f64 {
        measures.count() as f64 / self.elapsed.as_secs_f64()
    }

    fn micros_per_operation(&self, total: &Measures) -> Option<f64> {
        let micros = self.cpu?.as_secs_f64() * 1e6;
        (total.count() > 0).then(|| micros / total.count() as f64)
    }

    /// The report for people.
    pub(crate) fn text(&self) -> String {
        let total = self.measured.total();
        let mut out = String::from("\nResults:\n");
        let mut line = |name: &str, unit: &str, digits: usize, of: &dyn Fn(&Measures) -> f64| {
            let amount = |measures: &Measures| format!("{}{unit}", grouped(of(measures), digits));
            let kinds: Vec<String> = self
                .measured
                .kinds()
                .map(|(kind, measures)| format!("{}: {}", kind.name(), amount(measures)))
                .collect();
            out.push_str(&format!("{name:<26}: {:>14}  [{}]\n", amount(&total), kinds.join(", ")));
        };
        let seconds = self.elapsed.as_secs_f64();
        line("Op rate", " op/s", 0, &|measures| self.rate_of(measures));
        line("Partition rate", " pk/s", 0, &|measures| measures.rows as f64 / seconds);
        line("Row rate", " row/s", 0, &|measures| measures.rows as f64 / seconds);
        for (name, of) in STATISTICS {
            line(&format!("Latency {name}"), " ms", 3, &|measures| of(measures.latency()));
        }
        if total.scheduled.is_some() {
            for (name, of) in STATISTICS {
                line(&format!("Service {name}"), " ms", 3, &|measures| of(&measures.service));
            }
        }
        line("Total partitions", "", 0, &|measures| measures.rows as f64);
        line("Total errors", "", 0, &|measures| measures.errors as f64);
        out.push_str(&format!("{:<26}: {}\n", "Total operation time", clock(self.elapsed)));
        if let Some(micros) = self.micros_per_operation(&total) {
            out.push_str(&format!("{:<26}: {micros:>11.3} µs of the generator\n", "CPU per operation"));
        }
        out
    }

    /// The report for programs. Times are in milliseconds where they do not say otherwise.
    pub(crate) fn json(&self, command: &str) -> Value {
        let total = self.measured.total();
        let kinds: serde_json::Map<String, Value> =
            self.measured.kinds().map(|(kind, measures)| (kind.name().to_owned(), self.json_of(measures))).collect();
        json!({
            "command": command,
            "threads": self.threads,
            "rate": self.rate,
            "rate_kept": self.is_rate_kept,
            "seconds": self.elapsed.as_secs_f64(),
            "generator_cpu_micros_per_operation": self.micros_per_operation(&total),
            "total": self.json_of(&total),
            "kinds": kinds,
        })
    }

    fn json_of(&self, measures: &Measures) -> Value {
        json!({
            "operations": measures.count(),
            "operations_per_second": self.rate_of(measures),
            "rows": measures.rows,
            "errors": measures.errors,
            "service_time_ms": times(&measures.service),
            "response_time_ms": measures.scheduled.as_ref().map(|scheduled| times(&scheduled.response)),
            "wait_time_ms": measures.scheduled.as_ref().map(|scheduled| times(&scheduled.wait)),
        })
    }
}

/// A figure of a histogram, in milliseconds.
type Statistic = fn(&Histogram<u64>) -> f64;

/// What is told of times, as cassandra-stress calls it.
const STATISTICS: [(&str, Statistic); 6] = [
    ("mean", |times| times.mean() / 1e6),
    ("median", |times| quantile_ms(times, 0.5)),
    ("95th percentile", |times| quantile_ms(times, 0.95)),
    ("99th percentile", |times| quantile_ms(times, 0.99)),
    ("99.9th percentile", |times| quantile_ms(times, 0.999)),
    ("max", |times| times.max() as f64 / 1e6),
];

/// The names that programs know them by.
const NAMES: [&str; 6] = ["mean", "p50", "p95", "p99", "p99.9", "max"];

fn times(histogram: &Histogram<u64>) -> Value {
    let times = std::iter::zip(NAMES, STATISTICS).map(|(name, (_, of))| (name.to_owned(), json!(of(histogram))));
    Value::Object(times.collect())
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
    use std::time::Instant;

    use super::super::recorder::{Recorder, Sample};
    use super::super::settings::Kind;
    use super::*;

    fn report(due: bool) -> Report {
        let recorder = Recorder::new(1);
        let start = Instant::now();
        for number in 0..2_000 {
            let kind = if number % 4 == 0 { Kind::Write } else { Kind::Read };
            let began = start + Duration::from_millis(5);
            let sample = Sample {
                kind,
                due: due.then_some(start),
                began,
                ended: began + Duration::from_millis(2),
                rows: 1,
                has_failed: number == 7,
            };
            recorder.record(0, &sample);
        }
        let elapsed = Duration::from_millis(62_500);
        Report {
            threads: 9,
            rate: None,
            is_rate_kept: None,
            measured: recorder.take(),
            elapsed,
            cpu: Some(Duration::from_millis(40)),
        }
    }

    #[test]
    fn the_words_are_those_of_cassandra_stress() {
        let text = report(false).text();
        for line in [
            "Op rate                   :        32 op/s  [READ: 24 op/s, WRITE: 8 op/s]",
            "Latency 99.9th percentile :",
            "Total partitions          :          2,000  [READ: 1,500, WRITE: 500]",
            "Total errors              :              1  [READ: 1, WRITE: 0]",
            "Total operation time      : 00:01:02",
            "CPU per operation         :      20.000 µs of the generator",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("Service"));
    }

    #[test]
    fn with_a_schedule_both_times_are_told() {
        let report = report(true);
        let text = report.text();
        let figure = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
            line.split(':').nth(1).unwrap().split_whitespace().next().unwrap().parse::<f64>().unwrap()
        };
        assert!(
            (figure("Latency median") - 7.0).abs() < 0.01 && (figure("Service median") - 2.0).abs() < 0.01,
            "{text}"
        );
        let json = report.json("read");
        assert_eq!(json["total"]["operations"], 2_000);
        let times = |name: &str| json["kinds"]["WRITE"][name]["p50"].as_f64().unwrap();
        assert!((times("response_time_ms") - 7.0).abs() < 0.01 && (times("wait_time_ms") - 5.0).abs() < 0.01, "{json}");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(grouped(1_234_567.0, 0), "1,234,567");
        assert_eq!(grouped(123.0, 0), "123");
        assert_eq!(grouped(1_000.5, 3), "1,000.500");
    }
}
