//! The report of a run, for people and as JSON.

use std::fmt::Write;
use std::time::Duration;

use crate::StressError;
use crate::cpu_time::CpuTimes;
use crate::raw::arguments::{Arguments, Distribution};
use crate::raw::statistics::{Latencies, Statistics};

/// The percentiles that are told, with their names.
const PERCENTILES: [(&str, f64); 5] = [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];

/// What a run measured, and under which conditions.
pub(crate) struct Report<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) reactor: &'static str,
    pub(crate) elapsed: Duration,
    pub(crate) statistics: &'a Statistics,
    pub(crate) cpu: CpuTimes,
}

impl Report<'_> {
    fn operations_per_second(&self) -> f64 {
        self.statistics.operations() as f64 / self.elapsed.as_secs_f64()
    }

    fn micros_per_operation(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e6 / self.statistics.operations() as f64
    }

    /// The latencies of each kind of operation that took place.
    fn latencies(&self) -> impl Iterator<Item = (&'static str, &Latencies)> {
        [("read", &self.statistics.reads), ("write", &self.statistics.writes)]
            .into_iter()
            .filter(|(_, latencies)| latencies.count() > 0)
    }

    /// The report for people.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let (arguments, statistics) = (self.arguments, self.statistics);
        writeln!(
            out,
            "{}: {} operations in {:.3} s, {:.0} a second ({} connections, depth {}, {}{}{})",
            arguments.workload.name(),
            statistics.operations(),
            self.elapsed.as_secs_f64(),
            self.operations_per_second(),
            arguments.connections,
            arguments.depth,
            self.reactor,
            arguments.rate.map_or_else(String::new, |rate| format!(", target rate {rate} a second")),
            if arguments.echo { ", against an echo server" } else { "" },
        )?;
        if let (Some(rate), Some(why)) = (arguments.rate, &statistics.late) {
            let done = self.operations_per_second();
            writeln!(out, "  THE RATE WAS NOT KEPT: {rate} a second were asked for, {done:.0} were done; {why}")?;
        }
        write!(out, "  latency µs {:>10}", "mean")?;
        for (name, _) in PERCENTILES {
            write!(out, " {name:>9}")?;
        }
        writeln!(out, " {:>9}", "max")?;
        for (name, latencies) in self.latencies() {
            write!(out, "  {name:<10} {:>10.1}", latencies.mean_nanos() / 1e3)?;
            for (_, percentile) in PERCENTILES {
                write!(out, " {:>9.1}", latencies.percentile_nanos(percentile) as f64 / 1e3)?;
            }
            writeln!(out, " {:>9.1}", latencies.max_nanos() as f64 / 1e3)?;
        }
        write!(out, "  CPU per operation: generator {:.3} µs", self.micros_per_operation(self.cpu.generator))?;
        if let Some(cpu) = self.cpu.server {
            write!(out, ", server {:.3} µs", self.micros_per_operation(cpu))?;
        }
        writeln!(out)?;
        if !arguments.echo {
            let verified = if arguments.no_verify { " (values not compared)" } else { "" };
            writeln!(
                out,
                "  errors {}, missing rows {}, wrong rows {}{verified}",
                statistics.errors, statistics.missing, statistics.wrong
            )?;
        }
        Ok(())
    }

    /// The report for programs. Latencies are in microseconds.
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) -> std::fmt::Result {
        let (arguments, statistics) = (self.arguments, self.statistics);
        writeln!(out, "{{")?;
        writeln!(out, "  \"workload\": \"{}\",", arguments.workload.name())?;
        writeln!(out, "  \"echo\": {},", arguments.echo)?;
        writeln!(
            out,
            "  \"distribution\": \"{}\",",
            match arguments.distribution {
                Distribution::Seq => "seq",
                Distribution::Uniform => "uniform",
            }
        )?;
        writeln!(out, "  \"consistency\": \"{}\",", arguments.consistency)?;
        writeln!(out, "  \"protocol\": {},", arguments.protocol.number())?;
        writeln!(out, "  \"reactor\": \"{}\",", self.reactor)?;
        writeln!(out, "  \"rows\": {},", arguments.rows)?;
        writeln!(out, "  \"value_bytes\": {},", arguments.value_bytes)?;
        writeln!(out, "  \"connections\": {},", arguments.connections)?;
        writeln!(out, "  \"depth\": {},", arguments.depth)?;
        match arguments.rate {
            Some(rate) => writeln!(out, "  \"rate\": {rate},\n  \"rate_kept\": {},", statistics.late.is_none())?,
            None => writeln!(out, "  \"rate\": null,\n  \"rate_kept\": null,")?,
        }
        writeln!(out, "  \"verified\": {},", !arguments.no_verify && !arguments.echo)?;
        writeln!(out, "  \"operations\": {},", statistics.operations())?;
        writeln!(out, "  \"seconds\": {:.6},", self.elapsed.as_secs_f64())?;
        writeln!(out, "  \"operations_per_second\": {:.1},", self.operations_per_second())?;
        writeln!(out, "  \"errors\": {},", statistics.errors)?;
        writeln!(out, "  \"missing\": {},", statistics.missing)?;
        writeln!(out, "  \"wrong\": {},", statistics.wrong)?;
        let generator = self.micros_per_operation(self.cpu.generator);
        writeln!(out, "  \"generator_cpu_micros_per_operation\": {generator:.4},")?;
        match self.cpu.server {
            Some(cpu) => {
                let server = self.micros_per_operation(cpu);
                writeln!(out, "  \"server_cpu_micros_per_operation\": {server:.4},")?;
            }
            None => writeln!(out, "  \"server_cpu_micros_per_operation\": null,")?,
        }
        writeln!(out, "  \"latency_micros\": {{")?;
        let kinds: Vec<_> = self.latencies().collect();
        for (index, (name, latencies)) in kinds.iter().enumerate() {
            write!(out, "    \"{name}\": {{\"count\": {}, ", latencies.count())?;
            write!(out, "\"mean\": {:.3}", latencies.mean_nanos() / 1e3)?;
            for (name, percentile) in PERCENTILES {
                write!(out, ", \"{name}\": {:.3}", latencies.percentile_nanos(percentile) as f64 / 1e3)?;
            }
            let comma = if index + 1 < kinds.len() { "," } else { "" };
            writeln!(out, ", \"max\": {:.3}}}{comma}", latencies.max_nanos() as f64 / 1e3)?;
        }
        writeln!(out, "  }}\n}}")
    }

    /// An error if any operation failed, or if the rate was not kept.
    pub(crate) fn verdict(&self) -> Result<(), StressError> {
        let statistics = self.statistics;
        match (&statistics.first_failure, self.arguments.rate, &statistics.late) {
            (Some(first), ..) => Err(StressError::Failures {
                operations: statistics.operations(),
                errors: statistics.errors,
                missing: statistics.missing,
                wrong: statistics.wrong,
                first: first.clone(),
            }),
            (None, Some(asked), Some(reason)) => {
                Err(StressError::Late { asked, done: self.operations_per_second(), reason: reason.clone() })
            }
            _ => Ok(()),
        }
    }
}
