//! The report of a run, in cassandra-stress's words and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::progress::Stretch;
use super::recorder::{Interval, Measures};
use super::statistics::{Lines, times_of};
use crate::cpu_time::CpuTimes;

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
    /// What each interval measured.
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) cpu: CpuTimes,
}

impl Report {
    /// Operations a second.
    pub(crate) fn rate_of(&self, measures: &Measures) -> f64 {
        measures.count() as f64 / self.elapsed.as_secs_f64()
    }

    /// CPU time for each operation, in microseconds.
    fn micros_of(cpu: Option<Duration>, total: &Measures) -> Option<f64> {
        let micros = cpu?.as_secs_f64() * 1e6;
        (total.count() > 0).then(|| micros / total.count() as f64)
    }

    /// The report for people.
    pub(crate) fn text(&self) -> String {
        let total = self.measured.total();
        let mut lines = Lines::of(&total, self.measured.kinds().map(|(kind, measures)| (kind.name(), measures)));
        let seconds = self.elapsed.as_secs_f64();
        lines.figure("Op rate", " op/s", 0, |measures| self.rate_of(measures));
        lines.figure("Partition rate", " pk/s", 0, |measures| measures.partitions as f64 / seconds);
        lines.figure("Row rate", " row/s", 0, |measures| measures.rows as f64 / seconds);
        lines.times();
        lines.figure("Total partitions", "", 0, |measures| measures.partitions as f64);
        lines.figure("Total errors", "", 0, |measures| measures.errors as f64);
        if total.not_begun > 0 {
            lines.figure("Due and not begun", "", 0, |measures| measures.not_begun as f64);
        }
        lines.operation_time(self.elapsed);
        for (whose, cpu) in [("generator", Some(self.cpu.generator)), ("server", self.cpu.server)] {
            if let Some(micros) = Report::micros_of(cpu, &total) {
                lines.line("CPU per operation", &format!("{micros:>11.3} µs of the {whose}"));
            }
        }
        lines.into_text()
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
            "generator_cpu_micros_per_operation": Report::micros_of(Some(self.cpu.generator), &total),
            "server_cpu_micros_per_operation": Report::micros_of(self.cpu.server, &total),
            "total": self.json_of(&total),
            "kinds": kinds,
            "intervals": self.stretches.iter().map(stretch).collect::<Vec<_>>(),
        })
    }

    fn json_of(&self, measures: &Measures) -> Value {
        let mut object = times_of(measures);
        let figures = json!({
            "operations": measures.count(),
            "operations_per_second": self.rate_of(measures),
            "partitions": measures.partitions,
            "rows": measures.rows,
            "errors": measures.errors,
            "not_begun": measures.not_begun,
        });
        object.extend(figures.as_object().cloned().unwrap_or_default());
        Value::Object(object)
    }
}

/// An interval, for programs.
pub(crate) fn stretch(stretch: &Stretch) -> Value {
    json!({
        "seconds": stretch.since.as_secs_f64(),
        "operations_per_second": stretch.per_second,
        "p99_ms": stretch.p99_ms,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::recorder::{Recorder, Sample};
    use super::super::settings::Kind;
    use super::super::target::Done;
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
                done: Done::ROW,
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
            stretches: vec![Stretch { since: elapsed, per_second: 32.0, p99_ms: 2.0 }],
            cpu: CpuTimes { generator: Duration::from_millis(40), server: Some(Duration::from_millis(80)) },
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
            "CPU per operation         :      40.000 µs of the server",
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
        assert_eq!(json["server_cpu_micros_per_operation"], 40.0);
        assert_eq!(json["intervals"][0]["seconds"], 62.5);
        let times = |name: &str| json["kinds"]["WRITE"][name]["p50"].as_f64().unwrap();
        assert!((times("response_time_ms") - 7.0).abs() < 0.01 && (times("wait_time_ms") - 5.0).abs() < 0.01, "{json}");
    }
}
