//! One run of the generator, and what it measured.

use std::fmt;
use std::process::Command;

use super::cores::GENERATOR_CORE;
use crate::{process, workspace};

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Whole rows inserted.
    Write,
    /// Whole rows by key.
    Read,
}

impl Workload {
    /// As the generator calls it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Write => "write",
            Workload::Read => "read",
        }
    }
}

/// How much.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Rows of the table.
    pub rows: u64,
    /// Operations measured.
    pub operations: u64,
    /// Operations before, unmeasured.
    pub warmup: u64,
}

/// A run's figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measurement {
    /// Operations a second.
    pub per_second: f64,
    /// The server's CPU time per operation, in microseconds.
    pub server_micros: f64,
    /// The generator's.
    pub generator_micros: f64,
    /// Latencies in microseconds: of reads where there are any, else of writes.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
}

impl fmt::Display for Measurement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:>9.0}/s, server {:>6.2} µs, generator {:>5.2} µs, p50 {:>6.0} µs, p99 {:>6.0} µs",
            self.per_second, self.server_micros, self.generator_micros, self.p50, self.p99
        )
    }
}

/// Runs the generator against the server at `address`.
pub fn run(address: &str, pid: u32, workload: Workload, load: Load, echo: bool) -> Result<Measurement, String> {
    let (rows, operations, warmup) = (load.rows.to_string(), load.operations.to_string(), load.warmup.to_string());
    let core = GENERATOR_CORE.to_string();
    let mut arguments = vec![workload.name(), "--connections", "1", "--depth", "128", "--rows", &rows];
    arguments.extend(["--operations", &operations, "--warmup", &warmup, "--cpu", &core]);
    // The order of rows must not be the order in which they were written, or the processor's caches guess it.
    arguments.extend(["--distribution", if workload == Workload::Write { "seq" } else { "uniform" }]);
    if echo {
        arguments.push("--echo");
    }
    generate(address, pid, &arguments)
}

/// Runs the generator with these arguments against the server at `address`.
pub fn generate(address: &str, pid: u32, arguments: &[&str]) -> Result<Measurement, String> {
    let mut command = Command::new(workspace::product("helenus"));
    command.args(["stress", "--raw"]).args(arguments).args(["--node", address]);
    let report = workspace::target().join("scratch/stress.json");
    std::fs::create_dir_all(workspace::target().join("scratch"))
        .map_err(|error| format!("cannot make a scratch folder: {error}"))?;
    command.arg("--pid").arg(pid.to_string()).arg("--json").arg(&report);
    process::quiet(&mut command)?;
    let text =
        std::fs::read_to_string(&report).map_err(|error| format!("cannot read {}: {error}", report.display()))?;
    measurement(&text).ok_or_else(|| format!("the generator's report lacks a figure:\n{text}"))
}

fn measurement(report: &str) -> Option<Measurement> {
    let latencies = ["\"read\":", "\"write\":"].iter().find_map(|kind| report.find(kind)).map(|at| &report[at..])?;
    Some(Measurement {
        per_second: number(report, "operations_per_second")?,
        server_micros: number(report, "server_cpu_micros_per_operation")?,
        generator_micros: number(report, "generator_cpu_micros_per_operation")?,
        p50: number(latencies, "p50")?,
        p99: number(latencies, "p99")?,
        p999: number(latencies, "p99.9")?,
    })
}

/// The number after a key. The report is our own generator's, flat but for the latencies, so that a JSON reader would be more code than use.
fn number(report: &str, key: &str) -> Option<f64> {
    let after = report.split_once(&format!("\"{key}\":"))?.1.trim_start();
    let end = after.find([',', '}', '\n']).unwrap_or(after.len());
    after[..end].trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_report_is_read() {
        let report = "{\n  \"operations_per_second\": 250000.5,\n  \"generator_cpu_micros_per_operation\": 0.9,\n  \
            \"server_cpu_micros_per_operation\": 3.25,\n  \"latency_micros\": {\n    \
            \"write\": {\"count\": 5, \"mean\": 7, \"p50\": 10.5, \"p90\": 11, \"p99\": 12.5, \"p99.9\": 13, \"max\": 99}\n  }\n}";
        let measurement = measurement(report).expect("all there");
        assert_eq!((measurement.per_second, measurement.server_micros, measurement.p99), (250_000.5, 3.25, 12.5));
        assert!(super::measurement("{\"server_cpu_micros_per_operation\": null}").is_none());
    }
}
