//! `helenus-sim`: runs simulated clusters, and prints what a failure needs to be seen again.

#![allow(clippy::disallowed_methods, reason = "the simulator is outside of the worlds it makes")]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use sim::each_call::{EachCall, each_call};
use sim::enumerate::{Course, EnumerateOptions, Enumerated, enumerate};
use sim::flips::flips;
use sim::hunt::hunt;
use sim::random::{RandomOptions, Totals, random};
use sim::run::run;
use sim::scenario::{BUILT_IN, Scenario};
use sim::sequences::{SEQUENCES, Sequence};
use sim::witness::{WITNESSES, Witness};
use sim::{access, clusters, members, nemesis, requests};

/// Failures after which nothing further is begun.
const FAILURES_MAX: usize = 10;

/// Runs simulated clusters.
#[derive(Parser)]
#[command(name = "helenus-sim")]
struct Arguments {
    /// Print the nodes' log from this level on.
    #[arg(long, default_value = "off", global = true)]
    log: tracing::metadata::LevelFilter,
    /// Plant this bug in every node, in a build with bugs.
    #[cfg(feature = "planted")]
    #[arg(long, global = true, value_parser = planted::Planted::named)]
    plant: Option<planted::Planted>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One scenario with one seed.
    Run {
        /// A built-in scenario's name, or a file.
        #[arg(long)]
        scenario: String,
        #[arg(long)]
        seed: u64,
    },
    /// Many seeds.
    Random {
        /// Only these scenarios; otherwise all.
        #[arg(long)]
        scenario: Vec<String>,
        #[arg(long, default_value_t = u64::MAX)]
        seeds: u64,
        /// At least so many, however long they take.
        #[arg(long, default_value_t = 0)]
        seeds_min: u64,
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// One seed of so many runs twice.
        #[arg(long, default_value_t = 100)]
        twice_every: u64,
        /// Fail if a mark was never reached.
        #[arg(long)]
        all_marks: bool,
    },
    /// Clusters that agree on their schema, under all troubles: the scenario `group`.
    Group {
        #[arg(long, default_value_t = u64::MAX)]
        seeds: u64,
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        /// One seed of so many runs twice.
        #[arg(long, default_value_t = 100)]
        twice_every: u64,
        /// Fail if a mark of the plans' steps was never reached.
        #[arg(long)]
        all_marks: bool,
    },
    /// Clusters whose nodes judge who is up, under troubles of links, nodes and clocks: the scenario `members`.
    Members {
        #[arg(long, default_value_t = u64::MAX)]
        seeds: u64,
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        /// One seed of so many runs twice.
        #[arg(long, default_value_t = 100)]
        twice_every: u64,
        /// Fail if one of the scenario's marks was never reached.
        #[arg(long)]
        all_marks: bool,
    },
    /// Requests on a ring under troubles of links, nodes, disks and clocks.
    Requests {
        /// Scenarios: quorum, counters, batches, hints, truncate, map, serial, operations; or workloads: cas-register, list-append, wr-register, counter, set, map,
        /// batch-set, write-isolation; otherwise all scenarios, by turns.
        names: Vec<String>,
        #[arg(long, default_value_t = u64::MAX)]
        seeds: u64,
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        /// One seed of so many runs twice.
        #[arg(long, default_value_t = 100)]
        twice_every: u64,
        /// Fail if one of the scenarios' marks was never reached.
        #[arg(long)]
        all_marks: bool,
        /// Print each seed's trace, which any other run of that seed must have too, by whatever build.
        #[arg(long)]
        traces: bool,
        /// Expect this part of the product too: hints, fence, batch-copies, scan-repair, synced-counters, paxos, ballot-lists, operations.
        #[arg(long)]
        expect: Vec<String>,
    },
    /// The sequences that break careless versions of the metadata group and of requests.
    Sequences {
        /// Their names; otherwise all.
        names: Vec<String>,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 10)]
        seeds: u64,
    },
    /// Starts from images of the disk at every boundary of a workload.
    Enumerate {
        #[arg(long, default_value_t = 2000)]
        images: u64,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// No further workload is begun after so many.
        #[arg(long, default_value_t = u64::from(u32::MAX))]
        seconds: u64,
        /// Only this image of the first seed.
        #[arg(long)]
        only: Option<usize>,
        /// The course: writes, upkeep (compactions, a snapshot and its way back), refresh, batches, or operations (nodes that join and leave).
        #[arg(long, default_value_t = Course::Writes)]
        course: Course,
    },
    /// Power cuts beside statements about roles, on one node and on three.
    Access {
        /// Power cuts of each seed, spread over all moments.
        #[arg(long, default_value_t = 60)]
        cuts: usize,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 1)]
        seeds: u64,
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Only the cut of this number, of the first seed with as many cuts.
        #[arg(long)]
        only: Option<usize>,
        /// Fail if a mark was never reached.
        #[arg(long)]
        all_marks: bool,
    },
    /// Some images and seeds, until the first that fails.
    Hunt,
    /// The runs that planted bugs name.
    Witness {
        /// Their names; otherwise all.
        names: Vec<String>,
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 1)]
        seeds: u64,
    },
    /// Bits that turn over on the disk.
    Flips {
        #[arg(long, default_value_t = 200)]
        count: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Disk calls that fail.
    Faults {
        /// Each call of a run, once with EIO and once with ENOSPC.
        #[arg(long)]
        each_call: bool,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Only this call.
        #[arg(long)]
        only: Option<u64>,
        /// Of more calls only so many, spread over the run.
        #[arg(long, default_value_t = u64::MAX)]
        calls: u64,
    },
}

/// The summary, as test runners print it.
fn counted(runs: u64, failed: usize) -> Result<(), String> {
    let passed = runs.saturating_sub(failed as u64);
    let word = if failed == 0 && runs > 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {passed} passed; {failed} failed");
    if word == "ok" { Ok(()) } else { Err(format!("{failed} failed of {runs}")) }
}

fn enumerated(all: &Enumerated) -> Result<(), String> {
    for (seed, image, what, violations) in &all.failures {
        println!("FAILED: workload {seed}, image {image}: {what}");
        violations.iter().for_each(|what| println!("  {what}"));
        let course = all.course;
        println!(
            "  again: cargo run -p helenus-sim -- enumerate --course {course} --first-seed {seed} --only {image} --log info"
        );
    }
    println!(
        "{} images of {} boundaries of {} workloads in {:.1?}; {} more were like one before",
        all.images, all.boundaries, all.workloads, all.real, all.repeated
    );
    println!("marks {:?}", all.marks);
    counted(all.images, all.failures.len())
}

fn each_called(seed: u64, all: &EachCall) -> Result<(), String> {
    for (call, error, violations) in &all.failures {
        println!("FAILED: disk call {call} with {error:?}");
        violations.iter().for_each(|what| println!("  {what}"));
        println!("  again: cargo run -p helenus-sim -- faults --each-call --seed {seed} --only {call} --log info");
    }
    println!(
        "{} runs of {} disk calls in {:.1?}; {} refused to start or ended with an error",
        all.runs, all.calls, all.real, all.refused
    );
    println!("marks {:?}", all.marks);
    counted(all.runs, all.failures.len())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_max_level(arguments.log).with_writer(std::io::stderr).without_time().init();
    #[cfg(feature = "planted")]
    let planted = arguments.plant.unwrap_or_default();
    #[cfg(not(feature = "planted"))]
    let planted = planted::Planted::NONE;
    let result = match arguments.command {
        Command::Run { scenario, seed } => one(&scenario, seed, planted),
        Command::Access { cuts, first_seed, seeds, threads, only, all_marks } => {
            let options = access::AccessOptions { seed: first_seed, cuts, only, threads, planted };
            cut_beside_roles(options, first_seed..first_seed.saturating_add(seeds), all_marks)
        }
        Command::Hunt => match hunt(planted) {
            (all, None) => enumerated(&all),
            (_, Some(totals)) => report(&totals, false),
        },
        Command::Witness { names, first_seed, seeds } => witnessed(&names, first_seed..first_seed + seeds, planted),
        Command::Enumerate { images, first_seed, threads, seconds, only, course } => {
            let at_most = Duration::from_secs(seconds);
            enumerated(&enumerate(&EnumerateOptions {
                course,
                images,
                first_seed,
                threads,
                at_most,
                workloads_max: u64::MAX,
                only,
                failures_max: FAILURES_MAX,
                planted,
            }))
        }
        Command::Flips { count, seed } => {
            let all = flips(seed, count);
            for (seed, violations) in &all.failures {
                println!("FAILED: flip, seed {seed}");
                violations.iter().for_each(|what| println!("  {what}"));
                println!("  again: cargo run -p helenus-sim -- flips --count 1 --seed {seed} --log info");
            }
            let (runs, refused, shortened) = (all.runs, all.refused, all.shortened);
            println!("{runs} damaged disks in {:.1?}: {refused} refused, {shortened} shortened", all.real);
            counted(all.runs, all.failures.len())
        }
        Command::Faults { each_call: false, .. } => Err("say --each-call".to_owned()),
        Command::Faults { seed, threads, only, calls, .. } => each_called(seed, &each_call(seed, threads, only, calls)),
        Command::Group { seeds, seconds, first_seed, twice_every, all_marks } => {
            grouped(&clusters::random(first_seed, seeds, Duration::from_secs(seconds), twice_every, planted), all_marks)
        }
        Command::Members { seeds, seconds, first_seed, twice_every, all_marks } => {
            judged(&members::random(first_seed, seeds, Duration::from_secs(seconds), twice_every, planted), all_marks)
        }
        Command::Requests { names, seeds, seconds, first_seed, twice_every, all_marks, traces, expect } => {
            let at_most = Duration::from_secs(seconds);
            let seeds = requests::Seeds { first: first_seed, count: seeds, at_most, twice_every };
            requested(&names, &seeds, &expect, planted, all_marks, traces)
        }
        Command::Sequences { names, first_seed, seeds } => {
            sequenced(&names, first_seed..first_seed.saturating_add(seeds), planted)
        }
        Command::Random { scenario, seeds, seeds_min, seconds, first_seed, threads, twice_every, all_marks } => {
            let scenarios = if scenario.is_empty() {
                BUILT_IN.iter().filter_map(|(name, _)| Scenario::built_in(name)).map(Ok).collect()
            } else {
                scenario.iter().map(|name| load(name)).collect::<Result<Vec<_>, _>>()
            };
            scenarios.and_then(|mut scenarios: Vec<Scenario>| {
                scenarios.iter_mut().for_each(|scenario| scenario.node.planted = planted);
                let at_most = Duration::from_secs(seconds);
                report(
                    &random(&RandomOptions {
                        scenarios,
                        first_seed,
                        seeds,
                        seeds_min,
                        at_most,
                        until_marks: all_marks,
                        threads,
                        twice_every,
                        failures_max: FAILURES_MAX,
                    }),
                    all_marks,
                )
            })
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("helenus-sim: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Every witness with every seed. One without a verdict is an error of its own, and counts as neither.
fn witnessed(names: &[String], seeds: std::ops::Range<u64>, planted: planted::Planted) -> Result<(), String> {
    let find = |name: &String| Witness::named(name).ok_or_else(|| format!("there is no witness {name}"));
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let witnesses = if found.is_empty() { WITNESSES.to_vec() } else { found };
    let (mut runs, mut failed) = (0, 0);
    for witness in witnesses {
        for seed in seeds.clone() {
            let began = std::time::Instant::now();
            let name = witness.name;
            let violations = witness.check(seed, planted).map_err(|what| format!("{name}, seed {seed}: {what}"))?;
            let word = if violations.is_empty() { "holds" } else { "FAILED" };
            println!("{word} {name}, seed {seed}, {:.2} s", began.elapsed().as_secs_f64());
            violations.iter().for_each(|what| println!("  {what}"));
            runs += 1;
            failed += usize::from(!violations.is_empty());
        }
    }
    counted(runs, failed)
}

/// Every sequence with every seed. A seed that does not bring its sequence about fails too.
fn sequenced(names: &[String], seeds: std::ops::Range<u64>, planted: planted::Planted) -> Result<(), String> {
    let find = |name: &String| Sequence::named(name).ok_or_else(|| format!("there is no sequence {name}"));
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let (mut runs, mut failed) = (0, 0);
    // One that cannot hold yet is run by its name alone.
    let due = || SEQUENCES.into_iter().filter(Sequence::is_due).collect();
    for sequence in if found.is_empty() { due() } else { found } {
        for seed in seeds.clone() {
            runs += 1;
            let violations = sequence.run(seed, planted).unwrap_or_else(|what| vec![what]);
            if violations.is_empty() {
                continue;
            }
            failed += 1;
            println!("FAILED: {}, seed {seed}", sequence.name);
            violations.iter().for_each(|what| println!("  {what}"));
            println!("  again: cargo run -p helenus-sim -- sequences {} --first-seed {seed} --seeds 1", sequence.name);
        }
    }
    counted(runs, failed)
}

/// Power cuts of some seeds beside statements about roles.
fn cut_beside_roles(
    options: access::AccessOptions,
    seeds: std::ops::Range<u64>,
    all_marks: bool,
) -> Result<(), String> {
    let (mut runs, mut failed, mut marks) = (0, 0, std::collections::BTreeMap::new());
    for seed in seeds {
        let all = access::run(&access::AccessOptions { seed, ..options });
        for (number, what, violations) in all.failures.iter().take(FAILURES_MAX) {
            println!("FAILED: access, seed {seed}, cut {number}: {what}");
            violations.iter().for_each(|what| println!("  {what}"));
            let cuts = options.cuts;
            println!(
                "  again: cargo run -p helenus-sim -- access --cuts {cuts} --first-seed {seed} --only {number} --log info"
            );
        }
        println!(
            "seed {seed}: {} power cuts of {} moments in {:.1?}; {} statements acknowledged in all runs, {} of them GRANT and REVOKE",
            all.runs, all.moments, all.real, all.acknowledged, all.granted_or_revoked
        );
        all.marks.into_iter().for_each(|(name, count)| *marks.entry(name).or_default() += count);
        runs += all.runs;
        failed += all.failures.len();
        if failed >= FAILURES_MAX {
            break;
        }
    }
    println!("marks {marks:?}");
    let marks: &std::collections::BTreeMap<&str, u64> = &marks;
    let unreached: Vec<&str> = access::MARKS.into_iter().filter(|mark| !marks.contains_key(mark)).collect();
    if !unreached.is_empty() {
        println!("no run came by {unreached:?}");
    }
    counted(runs, failed + if all_marks { unreached.len() } else { 0 })
}

fn grouped(totals: &clusters::Totals, all_marks: bool) -> Result<(), String> {
    for (seed, violations) in &totals.failures {
        println!("FAILED: group, seed {seed}");
        violations.iter().for_each(|what| println!("  {what}"));
        println!("  again: cargo run -p helenus-sim -- group --first-seed {seed} --seeds 1 --log info");
    }
    println!("{} clusters ({} of them twice)", totals.seeds, totals.twice);
    println!("{} changes, {} troubles, refused {:?}", totals.changed, totals.troubles, totals.refused);
    println!("a change worked {:?} after healing at most; marks {:?}", totals.healed_at_most, totals.marks);
    println!("{} nodes were refused with an exchanged disk", totals.out);
    let unreached: Vec<&str> =
        nemesis::MARKS.iter().filter(|mark| !totals.marks.contains_key(**mark)).copied().collect();
    if !unreached.is_empty() {
        println!("no run came by {unreached:?}");
    }
    counted(totals.seeds, totals.failures.len() + if all_marks { unreached.len() } else { 0 })
}

fn judged(totals: &members::Totals, all_marks: bool) -> Result<(), String> {
    for (seed, violations) in &totals.failures {
        println!("FAILED: members, seed {seed}");
        violations.iter().for_each(|what| println!("  {what}"));
        println!("  again: cargo run -p helenus-sim -- members --first-seed {seed} --seeds 1 --log info");
    }
    println!("{} clusters ({} of them twice)", totals.seeds, totals.twice);
    println!(
        "{} troubles, {} departures, {} events; marks {:?}",
        totals.troubles, totals.departures, totals.events, totals.marks
    );
    println!("down within {:?}, up again within {:?}", totals.down_at_most, totals.up_at_most);
    let unreached: Vec<&str> =
        members::MARKS.iter().filter(|mark| !totals.marks.contains_key(**mark)).copied().collect();
    if !unreached.is_empty() {
        println!("no run came by {unreached:?}");
    }
    counted(totals.seeds, totals.failures.len() + if all_marks { unreached.len() } else { 0 })
}

/// Seeds of the scenarios of requests. One that shows nothing fails too.
fn requested(
    names: &[String],
    seeds: &requests::Seeds,
    expect: &[String],
    planted: planted::Planted,
    all_marks: bool,
    traces: bool,
) -> Result<(), String> {
    let find = |name: &String| requests::Scenario::named(name).ok_or_else(|| format!("there is no scenario {name}"));
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let scenarios = if found.is_empty() { requests::SCENARIOS.to_vec() } else { found };
    let part = |name: &String| requests::Part::named(name).ok_or_else(|| format!("there is no part {name}"));
    let mut expected: requests::Expected = requests::LANDED.iter().copied().collect();
    expected.extend(expect.iter().map(part).collect::<Result<Vec<_>, _>>()?);
    let totals = requests::random(&scenarios, seeds, &expected, planted);
    for (scenario, seed, trace) in totals.traces.iter().filter(|_| traces) {
        println!("{scenario}, seed {seed}: trace {trace:016x}");
    }

    let again = |scenario: &str, seed: u64| {
        let more: String = expect.iter().map(|part| format!(" --expect {part}")).collect();
        println!(
            "  again: cargo run -p helenus-sim -- requests {scenario} --first-seed {seed} --seeds 1{more} --log info"
        );
    };
    for (scenario, seed, violations) in &totals.failures {
        println!("FAILED: {scenario}, seed {seed}");
        violations.iter().for_each(|what| println!("  {what}"));
        again(scenario, *seed);
    }
    for (scenario, seed, why) in &totals.shows_nothing {
        println!("FAILED SETUP: {scenario}, seed {seed}: {why}");
        again(scenario, *seed);
    }
    println!("{} clusters {:?} ({} of them twice)", totals.seeds, totals.scenarios, totals.twice);
    println!(
        "{} changes acknowledged, {} reads judged, {} truncations, {} troubles; of a seed at least {} changes and {} troubles",
        totals.acknowledged,
        totals.reads,
        totals.truncated,
        totals.troubles,
        totals.acknowledged_at_least,
        totals.troubles_at_least
    );
    println!(
        "unknown outcomes: {} of {} changes ({:.1} %), at most {:.1} % of a seed; errors {:?}",
        totals.unknown,
        totals.sent,
        100.0 * totals.unknown as f64 / totals.sent.max(1) as f64,
        totals.unknown_at_most,
        totals.refused
    );
    println!("marks {:?}", totals.marks);
    let of_scenarios = scenarios.iter().flat_map(|scenario| scenario.marks(&expected));
    let wanted = requests::MARKS.into_iter().chain(of_scenarios);
    let unreached: Vec<&str> = wanted.filter(|mark| !totals.marks.contains_key(mark)).collect();
    if !unreached.is_empty() {
        println!("no run came by {unreached:?}");
    }
    counted(totals.seeds, totals.failed() + if all_marks { unreached.len() } else { 0 })
}

fn load(name: &str) -> Result<Scenario, String> {
    if let Some(scenario) = Scenario::built_in(name) {
        return Ok(scenario);
    }
    let text = std::fs::read_to_string(name).map_err(|error| format!("no scenario is called {name}: {error}"))?;
    Scenario::parse(name, &text).map_err(|error| error.to_string())
}

fn one(name: &str, seed: u64, planted: planted::Planted) -> Result<(), String> {
    let mut scenario = load(name)?;
    scenario.node.planted = planted;
    let outcome = run(&scenario, seed);
    println!("{}, seed {seed}: trace {:016x}, {:?} simulated", scenario.name, outcome.trace_hash, outcome.simulated);
    println!("  rows {}, acknowledged {}, refused {:?}", outcome.written, outcome.acknowledged, outcome.refused);
    println!("  starts {}, refused {}, faults {:?}", outcome.starts, outcome.starts_refused, outcome.faults);
    println!("  marks {:?}", outcome.marks);
    if outcome.violations.is_empty() {
        return Ok(());
    }
    print_failure(&scenario.name, seed, &outcome.violations);
    Err("it does not hold".to_owned())
}

fn print_failure(scenario: &str, seed: u64, violations: &[String]) {
    println!("FAILED: scenario {scenario}, seed {seed}");
    violations.iter().for_each(|what| println!("  {what}"));
    println!("  again: cargo run -p helenus-sim -- run --scenario {scenario} --seed {seed} --log info");
}

fn report(totals: &Totals, all_marks: bool) -> Result<(), String> {
    for (scenario, seed, violations) in &totals.failures {
        print_failure(scenario, *seed, violations);
    }
    let speed = totals.simulated.as_secs_f64() / totals.real.as_secs_f64();
    println!("{} seeds ({} of them twice) in {:.1?}", totals.seeds, totals.twice, totals.real);
    println!("{:.2} simulated hours, {speed:.1} for each real one", totals.simulated.as_secs_f64() / 3600.0);
    println!("rows {}, acknowledged {}, refused {:?}", totals.written, totals.acknowledged, totals.refused);
    println!("starts {}, faults {:?}", totals.starts, totals.faults);
    println!("marks {:?}", totals.marks);
    let unreached = totals.unreached();
    if !unreached.is_empty() {
        println!("no run came by {unreached:?}");
    }
    counted(totals.seeds, totals.failures.len() + if all_marks { unreached.len() } else { 0 })
}
