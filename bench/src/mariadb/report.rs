//! The report of a run, for people and as JSON. What is measured has the names that `helenus stress --raw --json` gives it.

use std::fmt::Write;
use std::time::Duration;

use super::load::{Load, Outcome};

/// The percentiles that are told: their names, and of how many of 1000 requests they tell.
const PERCENTILES: [(&str, usize); 5] = [("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p99.9", 999)];

/// What a run measured, and under which conditions.
pub struct Report<'a> {
    /// What was asked for.
    pub load: &'a Load,
    /// What came of it.
    pub outcome: &'a Outcome,
}

impl Report<'_> {
    /// The report for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let (load, outcome, tally) = (self.load, self.outcome, &self.outcome.tally);
        writeln!(
            out,
            "{}: {} operations in {:.3} s, {:.0} a second ({} clients{})",
            load.workload.name(),
            tally.operations(),
            outcome.elapsed.as_secs_f64(),
            self.operations_per_second(),
            load.clients,
            if load.is_hot { ", one row" } else { "" },
        )?;
        let latencies = tally.latencies();
        write!(out, "  latency µs: mean {:.1}", latencies.mean())?;
        for (name, per_mille) in PERCENTILES {
            write!(out, ", {name} {:.1}", latencies.quantile(per_mille))?;
        }
        writeln!(out, ", max {:.1}", latencies.max())?;
        write!(out, "  CPU per operation: generator {:.3} µs", self.micros_per_operation(outcome.generator_cpu))?;
        if let Some(cpu) = outcome.server_cpu {
            write!(out, ", server {:.3} µs", self.micros_per_operation(cpu))?;
        }
        writeln!(out, "\n  errors {}, missing rows {}, wrong rows {}", tally.errors, tally.missing, tally.wrong)
    }

    /// The report for programs. Latencies are in microseconds.
    pub fn json(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) -> std::fmt::Result {
        let (load, outcome, tally) = (self.load, self.outcome, &self.outcome.tally);
        writeln!(out, "{{")?;
        writeln!(out, "  \"workload\": \"{}\",", load.workload.name())?;
        writeln!(out, "  \"rows\": {},", if load.is_hot { 1 } else { load.keys })?;
        writeln!(out, "  \"value_bytes\": {},", load.value_bytes)?;
        writeln!(out, "  \"connections\": {},", load.clients)?;
        writeln!(out, "  \"depth\": 1,")?;
        writeln!(out, "  \"operations\": {},", tally.operations())?;
        writeln!(out, "  \"seconds\": {:.6},", outcome.elapsed.as_secs_f64())?;
        writeln!(out, "  \"operations_per_second\": {:.1},", self.operations_per_second())?;
        writeln!(out, "  \"errors\": {},", tally.errors)?;
        writeln!(out, "  \"missing\": {},", tally.missing)?;
        writeln!(out, "  \"wrong\": {},", tally.wrong)?;
        let generator = self.micros_per_operation(outcome.generator_cpu);
        writeln!(out, "  \"generator_cpu_micros_per_operation\": {generator:.4},")?;
        match outcome.server_cpu {
            Some(cpu) => {
                let server = self.micros_per_operation(cpu);
                writeln!(out, "  \"server_cpu_micros_per_operation\": {server:.4},")?;
            }
            None => writeln!(out, "  \"server_cpu_micros_per_operation\": null,")?,
        }
        let latencies = tally.latencies();
        writeln!(out, "  \"latency_micros\": {{")?;
        write!(out, "    \"{}\": {{\"count\": {}, ", load.workload.name(), tally.operations())?;
        write!(out, "\"mean\": {:.3}", latencies.mean())?;
        for (name, per_mille) in PERCENTILES {
            write!(out, ", \"{name}\": {:.3}", latencies.quantile(per_mille))?;
        }
        writeln!(out, ", \"max\": {:.3}}}\n  }}\n}}", latencies.max())
    }

    fn operations_per_second(&self) -> f64 {
        let seconds = self.outcome.elapsed.as_secs_f64();
        if seconds > 0.0 { self.outcome.tally.operations() as f64 / seconds } else { 0.0 }
    }

    fn micros_per_operation(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.outcome.tally.operations().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::{Tally, Workload};

    #[test]
    fn the_report_for_programs_has_the_names_of_the_other_generator() {
        let load = Load {
            address: ([127, 0, 0, 1], 3306).into(),
            workload: Workload::Read,
            clients: 2,
            requests: 1,
            keys: 10,
            is_hot: false,
            value_bytes: 60,
            warmup: 0,
            server: Some(7),
        };
        let mut tally = Tally::default();
        tally.add(Duration::from_micros(10), Ok(()));
        tally.add(Duration::from_micros(30), Ok(()));
        let cpu = Duration::from_micros(50);
        let elapsed = Duration::from_millis(1);
        let outcome = Outcome { elapsed, tally, generator_cpu: cpu, server_cpu: Some(2 * cpu) };
        let text = Report { load: &load, outcome: &outcome }.json();
        for line in [
            "\"operations\": 2,",
            "\"seconds\": 0.001000,",
            "\"operations_per_second\": 2000.0,",
            "\"errors\": 0,",
            "\"missing\": 0,",
            "\"wrong\": 0,",
            "\"generator_cpu_micros_per_operation\": 25.0000,",
            "\"server_cpu_micros_per_operation\": 50.0000,",
            "\"latency_micros\": {",
            "\"read\": {\"count\": 2, \"mean\": 20.000, \"p50\": 10.000, \"p90\": 30.000, \"p95\": 30.000, \
             \"p99\": 30.000, \"p99.9\": 30.000, \"max\": 30.000}",
        ] {
            assert!(text.lines().any(|found| found.trim() == line), "{line} in {text}");
        }
    }
}
