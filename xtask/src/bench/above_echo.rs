//! Cost of a request above the bare echo server: `cargo xtask bench --quick`, and the speed phase of a soak.
//!
//! Echo server, Helenus with `periodic` and with `group` take turns, each measured once per round, and the medians of the rounds are told: a machine's mood then falls on all of
//! them alike. Helenus starts anew for each round, since its rows stay in memory.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use super::load::{Load, Measurement, Workload};
use super::subject::Subject;
use super::table::Results;
use crate::report::Passed;
use crate::tools::{self, TASKSET};
use crate::{process, workspace};

/// What a request may cost beyond the echo server's, in microseconds of server CPU: of a read, and of a write that does not wait for a sync.
const GATE_MICROS_ABOVE_ECHO: f64 = 4.0;
/// What a write that is synced before it is acknowledged may cost, as a multiple of one that is not: above that syncs are not shared. A bound in
/// microseconds would judge the machine, since a sync is mostly the kernel's and the hypervisor's work.
const GATE_SYNC_RATIO: f64 = 2.0;
/// What it should cost. It is told and does not fail the gate: the rounds of one run on a shared machine differ by a third.
const SYNC_RATIO_AIM: f64 = 1.3;

const ROUNDS: usize = 3;
const WORKLOADS: [Workload; 2] = [Workload::Write, Workload::Read];
const LOAD: Load = Load { rows: 200_000, operations: 400_000, warmup: 100_000 };

/// `cargo xtask bench --quick`: of the servers that are named, or of all; and how long a synced write waits.
pub fn run(only: Option<&str>, rounds: Option<usize>) -> Result<(), String> {
    let results = measure(only, rounds.unwrap_or(ROUNDS))?;
    measure_sync()?;
    let verdict = verdict(&results);
    println!("{verdict}");
    if verdict.holds { Ok(()) } else { Err(String::new()) }
}

/// The same for a soak: a ratio in one run, on a machine that nothing else uses.
pub fn gate(budget: Duration) -> Result<Passed, String> {
    let began = Instant::now();
    tools::require(&[TASKSET])?;
    let verdict = verdict(&measure(None, ROUNDS)?);
    if !verdict.holds {
        return Err(verdict.to_string());
    }
    if began.elapsed() > budget {
        return Err(format!("took {} s", began.elapsed().as_secs()));
    }
    Ok(Passed { note: verdict.to_string(), ..Passed::held() })
}

fn measure(only: Option<&str>, rounds: usize) -> Result<Results, String> {
    let names: Vec<&str> =
        only.map_or_else(|| Subject::ALL.map(Subject::name).to_vec(), |names| names.split(',').collect());
    let subject = |name: &str| Subject::ALL.into_iter().find(|subject| subject.name() == name);
    let subjects: Vec<Subject> = names.iter().map(|name| subject(name)).collect::<Option<_>>().ok_or_else(|| {
        format!("--only {}: must be of {}", names.join(","), Subject::ALL.map(Subject::name).join(", "))
    })?;
    let mut samples: BTreeMap<(Workload, Subject), Vec<Measurement>> = BTreeMap::new();
    for round in 1..=rounds {
        for &subject in &subjects {
            for (workload, measurement) in subject.measure(&WORKLOADS, LOAD)? {
                println!("round {round}: {:<10} {:<6} {measurement}", subject.name(), workload.name());
                samples.entry((workload, subject)).or_default().push(measurement);
            }
        }
    }
    let results = Results::of(samples);
    println!("\n{results}");
    Ok(results)
}

/// Tells how long a write waits for the disk, beside a bare write.
fn measure_sync() -> Result<(), String> {
    let mut command = Command::new(workspace::product("sync"));
    process::must(command.arg(workspace::scratch("sync")?), Duration::from_secs(120)).map(|_| ())
}

/// Whether the gate holds, and by how much.
struct Verdict {
    holds: bool,
    words: Vec<String>,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.words.join("; "))
    }
}

fn verdict(results: &Results) -> Verdict {
    let mut verdict = Verdict { holds: true, words: Vec::new() };
    for workload in [Workload::Write, Workload::Read] {
        let cost = |subject| results.median(workload, subject).map(|measurement| measurement.server_micros);
        let (echo, periodic, group) = (cost(Subject::Echo), cost(Subject::Periodic), cost(Subject::Group));
        for (name, cost) in [("periodic", periodic), ("group", group)] {
            if let (Some(echo), Some(cost)) = (echo, cost) {
                let above = cost - echo;
                let is_synced = workload == Workload::Write && name == "group";
                verdict.holds &= is_synced || above <= GATE_MICROS_ABOVE_ECHO;
                verdict.words.push(format!("{} {name} echo + {above:.2} µs", workload.name()));
            }
        }
        if let (Workload::Write, Some(periodic), Some(group)) = (workload, periodic, group) {
            let ratio = group / periodic;
            verdict.holds &= ratio <= GATE_SYNC_RATIO;
            verdict
                .words
                .push(format!("synced first {ratio:.2} times that (at most {GATE_SYNC_RATIO}, aim {SYNC_RATIO_AIM})"));
        }
    }
    verdict.words.push(format!("all others at most {GATE_MICROS_ABOVE_ECHO} µs above echo"));
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(echo: f64, periodic: f64, group: f64) -> Results {
        let sample = |server_micros| vec![Measurement { server_micros, ..Measurement::default() }];
        let costs = [(Subject::Echo, echo), (Subject::Periodic, periodic), (Subject::Group, group)];
        let workloads = [Workload::Write, Workload::Read];
        Results::of(
            workloads
                .iter()
                .flat_map(|&workload| costs.iter().map(move |&(subject, cost)| ((workload, subject), sample(cost))))
                .collect(),
        )
    }

    #[test]
    fn the_gate_can_fail() {
        assert!(verdict(&results(1.0, 4.9, 5.0)).holds);
        assert!(!verdict(&results(1.0, 5.1, 5.0)).holds, "a write");
        assert!(!verdict(&results(1.0, 4.0, 5.1)).holds, "a read");
        assert!(!verdict(&results(1.0, 2.0, 4.1)).holds, "a write that is synced first");
    }
}
