//! `cargo xtask bench`: what a request costs, on one core, against the bare echo server and against a real Cassandra.
//!
//! The server under test has core 0 for itself and the generator core 1. Servers take turns (A B C A B C), each measured once per round,
//! and the medians of the rounds are told: a machine's mood then falls on all of them alike. Helenus starts anew for each round, since
//! its rows stay in memory; Cassandra is warmed once and stopped by a signal while others are measured.

mod files;
mod foreground;
mod instructions;
mod large;
mod load;
mod operators;
mod statements;
mod subject;
mod table;
mod updates;
mod verdict;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::report::Passed;
use crate::tests::build_release;
use crate::tools::{self, TASKSET};
use crate::{process, workspace};
use load::{Load, Measurement, Workload};
use subject::Subject;
use table::Results;

/// Where the server under test runs.
pub const SERVER_CORE: usize = 0;
/// Where the generator runs.
pub const GENERATOR_CORE: usize = 1;
/// What a request may cost beyond the echo server's, in microseconds of server CPU: of a read, and of a write that does not wait for a sync.
const GATE_MICROS_ABOVE_ECHO: f64 = 4.0;
/// What a write that is synced before it is acknowledged may cost, as a multiple of one that is not: above that syncs are not shared. A bound in
/// microseconds would judge the machine, since a sync is mostly the kernel's and the hypervisor's work.
const GATE_SYNC_RATIO: f64 = 2.0;
/// What it should cost. It is told and does not fail the gate: the rounds of one run on a shared machine differ by a third.
const SYNC_RATIO_AIM: f64 = 1.3;

/// How much is measured.
struct Plan {
    subjects: Vec<Subject>,
    workloads: Vec<Workload>,
    load: Load,
    rounds: usize,
}

/// What may be said behind `bench`.
const FLAGS: [&str; 10] = [
    "--quick",
    "--no-cassandra",
    "--only",
    "--rounds",
    "--large",
    "--foreground",
    "--updates",
    "--statements",
    "--instructions",
    "--record",
];

/// `cargo xtask bench`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // A whole bench takes minutes, which nobody wants for a word mistyped.
    if let Some(word) = arguments.iter().find(|word| word.starts_with('-') && !FLAGS.contains(&word.as_str())) {
        return Err(format!("bench: `{word}` is none of {}: `cargo xtask help` tells of them", FLAGS.join(" ")));
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    tools::require(&[TASKSET])?;
    build_release(Duration::from_secs(1800))?;
    let only = match arguments.iter().position(|argument| argument == "--only") {
        Some(at) => Some(arguments.get(at + 1).ok_or("--only wants names, such as echo,periodic")?),
        None => None,
    };
    if let Some(at) = arguments.iter().position(|argument| argument == "--large") {
        return large::run(arguments.get(at + 1).and_then(|count| count.parse().ok()));
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--foreground") {
        return foreground::run(arguments.get(at + 1).and_then(|count| count.parse().ok()));
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--updates") {
        let count = arguments.get(at + 1).and_then(|count| count.parse().ok());
        let is_wanted = |name: &str| {
            only.is_none_or(|names| names.split(',').any(|one| one == name))
                && !(has("--no-cassandra") && name.starts_with("cassandra"))
        };
        return updates::run(count, &is_wanted);
    }
    let rounds = match arguments.iter().position(|argument| argument == "--rounds") {
        Some(at) => Some(arguments.get(at + 1).and_then(|count| count.parse().ok()).ok_or("--rounds wants a number")?),
        None => None,
    };
    if has("--instructions") {
        return instructions::run(has("--record"));
    }
    if has("--statements") {
        return statements::run(rounds, !has("--no-cassandra"));
    }
    let mut subjects = vec![Subject::Echo, Subject::Periodic, Subject::Group];
    if !has("--quick") && !has("--no-cassandra") {
        subjects.push(Subject::Cassandra);
    }
    if let Some(names) = only {
        subjects.retain(|subject| names.split(',').any(|name| name == subject.name()));
    }
    let mut plan = if has("--quick") { quick(subjects) } else { full(subjects) };
    plan.rounds = rounds.unwrap_or(plan.rounds);
    let results = measure(&plan)?;
    println!("\n{results}");
    measure_sync()?;
    let verdict = verdict(&results);
    println!("{verdict}");
    if verdict.holds { Ok(()) } else { Err(String::new()) }
}

/// The speed gate of the CI: few operations, no Cassandra; and the instructions of a request.
pub fn gate(budget: Duration) -> Result<Passed, String> {
    let began = Instant::now();
    tools::require(&[TASKSET])?;
    let instructions = instructions::check()?;
    let results = measure(&quick(vec![Subject::Echo, Subject::Periodic, Subject::Group]))?;
    println!("\n{results}");
    let verdict = verdict(&results);
    if !verdict.holds {
        return Err(verdict.to_string());
    }
    if began.elapsed() > budget {
        return Err(format!("took {} s", began.elapsed().as_secs()));
    }
    Ok(Passed { note: format!("{verdict}; {instructions}"), ..Passed::held() })
}

fn quick(subjects: Vec<Subject>) -> Plan {
    let load = Load { rows: 200_000, operations: 400_000, warmup: 100_000 };
    Plan { subjects, workloads: vec![Workload::Write, Workload::Read], load, rounds: 3 }
}

fn full(subjects: Vec<Subject>) -> Plan {
    let load = Load { rows: 1_000_000, operations: 1_000_000, warmup: 200_000 };
    Plan { subjects, workloads: vec![Workload::Write, Workload::Read, Workload::Mixed], load, rounds: 5 }
}

fn measure(plan: &Plan) -> Result<Results, String> {
    let mut samples: BTreeMap<(Workload, Subject), Vec<Measurement>> = BTreeMap::new();
    let cassandra = match plan.subjects.contains(&Subject::Cassandra) {
        true => Some(subject::Warm::by_rows(plan.load)?),
        false => None,
    };
    for round in 1..=plan.rounds {
        for &subject in &plan.subjects {
            for (workload, measurement) in subject.measure(&plan.workloads, plan.load, cassandra.as_ref())? {
                println!("round {round}: {:<10} {:<6} {measurement}", subject.name(), workload.name());
                samples.entry((workload, subject)).or_default().push(measurement);
            }
        }
    }
    Ok(Results::of(samples))
}

/// Tells how long a write waits for the disk, beside a bare write.
fn measure_sync() -> Result<(), String> {
    let mut command = Command::new(workspace::release_binary("sync"));
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
