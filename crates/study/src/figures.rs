//! What a run of the generator measured, read from its report.

mod cassandra_stress;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The percentiles that are told.
pub(crate) const PERCENTILES: [&str; 4] = ["p50", "p95", "p99", "p99.9"];

/// A figure by which systems are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Metric {
    /// Operations a second.
    #[serde(rename = "throughput")]
    Throughput,
    /// CPU time of the server for an operation, in microseconds.
    #[serde(rename = "cpu")]
    Cpu,
    /// The median latency, in microseconds: the worst of the kinds of operations.
    #[serde(rename = "p50")]
    P50,
    /// The 99th percentile of it.
    #[serde(rename = "p99")]
    P99,
    /// The 99.9th percentile of it.
    #[serde(rename = "p99.9")]
    P999,
    /// From the start of the process to its first answer, in seconds.
    #[serde(rename = "start")]
    Start,
    /// Memory that the process holds before its first load, in bytes.
    #[serde(rename = "idle memory")]
    IdleMemory,
    /// CPU time of the generator for an operation, in microseconds: what is compared where the generators are the systems.
    #[serde(rename = "generator cpu")]
    GeneratorCpu,
}

impl Metric {
    /// All of them, in the order of a table.
    pub(crate) const ALL: [Metric; 8] = [
        Metric::Throughput,
        Metric::Cpu,
        Metric::P50,
        Metric::P99,
        Metric::P999,
        Metric::Start,
        Metric::IdleMemory,
        Metric::GeneratorCpu,
    ];

    /// As files and tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::Cpu => "cpu",
            Metric::P50 => "p50",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Start => "start",
            Metric::IdleMemory => "idle memory",
            Metric::GeneratorCpu => "generator cpu",
        }
    }

    /// Whether it tells of a server. What does not is no advantage of a system's, unless a study asks for it.
    pub(crate) fn is_of_server(self) -> bool {
        self != Metric::GeneratorCpu
    }

    /// As a head says it, with its unit.
    pub(crate) fn head(self) -> &'static str {
        match self {
            Metric::Throughput => "operations/s",
            Metric::Cpu => "server CPU, µs/operation",
            Metric::P50 => "p50, µs",
            Metric::P99 => "p99, µs",
            Metric::P999 => "p99.9, µs",
            Metric::Start => "start to first answer, s",
            Metric::IdleMemory => "idle memory, MiB",
            Metric::GeneratorCpu => "generator CPU, µs/operation",
        }
    }

    /// The head's unit, in that of values.
    pub(crate) fn shown_unit(self) -> f64 {
        if self == Metric::IdleMemory { f64::from(1 << 20) } else { 1.0 }
    }

    /// A value as a table shows it, in the head's unit.
    pub(crate) fn shown(self, value: f64) -> String {
        let value = value / self.shown_unit();
        match self {
            Metric::Throughput => grouped(value),
            Metric::IdleMemory => format!("{value:.1}"),
            Metric::Start => format!("{value:.3}"),
            _ if value < 100.0 => format!("{value:.2}"),
            _ => grouped(value),
        }
    }

    /// How many times better one value is than another's: more is better of throughput, less of all others.
    pub(crate) fn advantage(self, of: f64, over: f64) -> f64 {
        match self {
            Metric::Throughput => of / over,
            _ => over / of,
        }
    }
}

/// A whole number with its thousands apart: `396,161`.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What one run measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) operations: f64,
    pub(crate) seconds: f64,
    pub(crate) per_second: f64,
    pub(crate) server_cpu_micros: Option<f64>,
    pub(crate) generator_cpu_micros: Option<f64>,
    /// Latencies in microseconds, by kind of operation and then by percentile.
    pub(crate) latency_micros: BTreeMap<String, BTreeMap<String, f64>>,
    /// Operations that failed.
    #[serde(default)]
    pub(crate) errors: u64,
    /// Whether the rate that was asked for was kept.
    pub(crate) is_rate_kept: Option<bool>,
    /// What each stretch of the run measured, if the generator says.
    #[serde(default)]
    pub(crate) series: Vec<Stretch>,
}

/// A stretch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stretch {
    /// Its end, in seconds from the run's start.
    pub(crate) seconds: f64,
    pub(crate) per_second: f64,
    pub(crate) p99_micros: f64,
}

impl Figures {
    /// Reads a report: that of `stress --raw`, that of `stress` through the driver, latte's, or cassandra-stress's. None: a figure is missing.
    pub(crate) fn of_report(text: &str) -> Option<Figures> {
        match serde_json::from_str(text) {
            Ok(report) => Figures::of_json(&report),
            Err(_) => cassandra_stress::figures(text),
        }
    }

    fn of_json(report: &Value) -> Option<Figures> {
        match report {
            _ if report.get("total").is_some() => Figures::of_driver(report),
            _ if report.get("result").is_some() => Figures::of_latte(report),
            _ => Figures::of_raw(report),
        }
    }

    fn of_raw(report: &Value) -> Option<Figures> {
        let kinds = report["latency_micros"].as_object()?;
        Some(Figures {
            operations: report["operations"].as_f64()?,
            seconds: report["seconds"].as_f64()?,
            per_second: report["operations_per_second"].as_f64()?,
            server_cpu_micros: report["server_cpu_micros_per_operation"].as_f64(),
            generator_cpu_micros: report["generator_cpu_micros_per_operation"].as_f64(),
            latency_micros: kinds
                .iter()
                .map(|(kind, times)| Some((kind.to_lowercase(), percentiles(times, 1.0)?)))
                .collect::<Option<_>>()?,
            errors: ["errors", "missing", "wrong"].iter().filter_map(|count| report[count].as_u64()).sum(),
            is_rate_kept: report["rate_kept"].as_bool(),
            series: Vec::new(),
        })
    }

    fn of_driver(report: &Value) -> Option<Figures> {
        let kinds = report["kinds"].as_object()?;
        // With a schedule, what counts is the time from when an operation was due.
        let times = |kind: &Value| match &kind["response_time_ms"] {
            Value::Null => percentiles(&kind["service_time_ms"], 1000.0),
            times => percentiles(times, 1000.0),
        };
        Some(Figures {
            operations: report["total"]["operations"].as_f64()?,
            seconds: report["seconds"].as_f64()?,
            per_second: report["total"]["operations_per_second"].as_f64()?,
            server_cpu_micros: report["server_cpu_micros_per_operation"].as_f64(),
            generator_cpu_micros: report["generator_cpu_micros_per_operation"].as_f64(),
            latency_micros: kinds
                .iter()
                .map(|(kind, measures)| Some((kind.to_lowercase(), times(measures)?)))
                .collect::<Option<_>>()?,
            errors: report["total"]["errors"].as_u64().unwrap_or(0),
            is_rate_kept: report["rate_kept"].as_bool(),
            series: report["intervals"]
                .as_array()
                .map_or_else(Vec::new, |list| list.iter().filter_map(stretch).collect()),
        })
    }

    /// Its percentiles are named once and stand in milliseconds behind each other. One with errors is none.
    fn of_latte(report: &Value) -> Option<Figures> {
        let result = &report["result"];
        let (requests, errors) = (result["request_count"].as_f64()?, result["error_count"].as_u64()?);
        let names = report["percentiles"].as_array()?;
        let values = &result["request_latency"]["percentiles"];
        let percentile = |name: &&str| {
            let share: f64 = name.trim_start_matches('p').parse().ok()?;
            let is_it = |value: &Value| value.as_f64().is_some_and(|value| (value - share).abs() < 1e-3);
            let millis = values.get(names.iter().position(is_it)?)?["value"].as_f64()?;
            Some(((*name).to_owned(), millis * 1000.0))
        };
        let times = PERCENTILES.iter().map(percentile).collect::<Option<_>>()?;
        (errors == 0).then_some(Figures {
            operations: requests,
            seconds: result["elapsed_time_s"].as_f64()?,
            per_second: result["req_throughput"]["value"].as_f64()?,
            server_cpu_micros: None,
            generator_cpu_micros: Some(result["cpu_time_s"].as_f64()? * 1e6 / requests),
            latency_micros: BTreeMap::from([("request".to_owned(), times)]),
            errors: 0,
            is_rate_kept: None,
            series: Vec::new(),
        })
    }

    /// A figure that systems are compared by, if the run has it.
    pub(crate) fn metric(&self, metric: Metric) -> Option<f64> {
        let worst = |percentile: &str| {
            self.latency_micros.values().filter_map(|times| times.get(percentile).copied()).reduce(f64::max)
        };
        match metric {
            Metric::Throughput => Some(self.per_second),
            Metric::Cpu => self.server_cpu_micros,
            Metric::P50 => worst("p50"),
            Metric::P99 => worst("p99"),
            Metric::P999 => worst("p99.9"),
            Metric::Start | Metric::IdleMemory => None,
            Metric::GeneratorCpu => self.generator_cpu_micros,
        }
    }
}

fn percentiles(times: &Value, unit: f64) -> Option<BTreeMap<String, f64>> {
    PERCENTILES.iter().map(|name| Some(((*name).to_owned(), times[*name].as_f64()? * unit))).collect()
}

fn stretch(interval: &Value) -> Option<Stretch> {
    Some(Stretch {
        seconds: interval["seconds"].as_f64()?,
        per_second: interval["operations_per_second"].as_f64()?,
        p99_micros: interval["p99_ms"].as_f64()? * 1000.0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thousands_are_apart() {
        let told = [0.4, 999.0, 1000.0, 396_161.4, 12_345_678.0].map(grouped);
        assert_eq!(told, ["0", "999", "1,000", "396,161", "12,345,678"]);
    }

    #[test]
    fn the_raw_generators_report_is_read() {
        let times =
            json!({"count": 5, "mean": 1, "p50": 10.5, "p90": 11, "p95": 11, "p99": 12.5, "p99.9": 13, "max": 99});
        let slower = json!({"p50": 11.5, "p95": 11, "p99": 12, "p99.9": 14});
        let mut report = json!({
            "operations": 5, "seconds": 2.0, "operations_per_second": 2.5, "generator_cpu_micros_per_operation": 0.5,
            "server_cpu_micros_per_operation": null, "latency_micros": {"read": times, "write": slower},
        });
        let figures = Figures::of_json(&report).unwrap();
        assert_eq!(figures.metric(Metric::Throughput), Some(2.5));
        assert_eq!(figures.metric(Metric::Cpu), None);
        assert_eq!(figures.metric(Metric::P50), Some(11.5), "the worst kind's");
        assert_eq!(figures.metric(Metric::P99), Some(12.5));
        assert_eq!(figures.is_rate_kept, None);
        (report["rate_kept"], report["errors"], report["wrong"]) = (json!(false), json!(2), json!(1));
        let figures = Figures::of_json(&report).unwrap();
        assert_eq!((figures.is_rate_kept, figures.errors), (Some(false), 3));
        report["latency_micros"]["read"]["p99"] = Value::Null;
        assert_eq!(Figures::of_json(&report), None);
    }

    #[test]
    fn the_drivers_report_is_read() {
        let times = json!({"p50": 0.5, "p95": 0.6, "p99": 0.7, "p99.9": 0.8});
        let late = json!({"p50": 5, "p95": 6, "p99": 7, "p99.9": 8});
        let total = json!({"operations": 10, "operations_per_second": 5.0, "errors": 3});
        let report = json!({
            "seconds": 2.0, "rate_kept": false, "generator_cpu_micros_per_operation": 20.0,
            "server_cpu_micros_per_operation": 30.0, "total": total,
            "kinds": {"READ": {"service_time_ms": times, "response_time_ms": null},
                      "WRITE": {"service_time_ms": times, "response_time_ms": late}},
            "intervals": [{"seconds": 1.0, "operations_per_second": 4.0, "p99_ms": 3.0}],
        });
        let figures = Figures::of_json(&report).unwrap();
        assert_eq!(figures.latency_micros["read"]["p50"], 500.0);
        assert_eq!(figures.latency_micros["write"]["p50"], 5000.0, "from when it was due");
        assert_eq!((figures.is_rate_kept, figures.series.len()), (Some(false), 1));
        assert_eq!(figures.metric(Metric::Cpu), Some(30.0));
        assert_eq!(figures.errors, 3);
    }

    #[test]
    fn lattes_report_is_read() {
        let value = |value: f64| json!({"n": 1, "value": value, "std_err": null});
        let mut report = json!({
            "percentiles": [50.0, 95.0, 99.0, 99.900_001_5],
            "result": {
                "elapsed_time_s": 2.0, "cpu_time_s": 0.001, "request_count": 10, "error_count": 0, "req_throughput": value(5.0),
                "request_latency": {"percentiles": [value(0.5), value(0.6), value(0.7), value(0.8)]},
            },
        });
        let figures = Figures::of_json(&report).unwrap();
        assert_eq!(figures.latency_micros["request"]["p99.9"], 800.0);
        assert_eq!((figures.per_second, figures.generator_cpu_micros), (5.0, Some(100.0)));
        report["result"]["error_count"] = json!(1);
        assert_eq!(Figures::of_json(&report), None, "what failed was not measured");
    }

    #[test]
    fn an_advantage_is_above_one_where_the_first_is_better() {
        assert_eq!(Metric::Throughput.advantage(6.0, 2.0), 3.0);
        assert_eq!(Metric::Cpu.advantage(2.0, 6.0), 3.0);
    }
}
