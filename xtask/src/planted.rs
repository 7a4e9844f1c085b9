//! `cargo xtask planted`: plants one bug after the other and runs the witness that must catch it.
//!
//! A witness is one test of a suite, or one run of the simulator. Where it catches nothing the whole suite is run. The tests' build has all
//! bugs; which one is planted is said at the start of a server or a test. First every witness, and every suite before it is relied on, must
//! pass with none planted, so that a failure speaks of the bug.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use planted::{BUGS, Description, Suite};

use crate::process::{self, Output, in_lane, say};
use crate::report::{self, Counts, Passed};
use crate::tests::Effort;
use crate::{built, tests, workspace};

/// The longest run of a suite: five times what the longest takes on a quiet machine, for there are slow ones. A server that hangs has
/// caught the bug as well, in a poor way: it counts as survived.
const RUN_TIME_MAX: Duration = Duration::from_secs(300);
/// Power cuts per run: a bug is seen at the first or second, and some only when a segment is full.
const CUTS: &str = "25";
/// Operations of the engine's model test.
const MODEL_OPERATIONS: &str = "1000";
/// The tests of a group's nodes, among those of their crate.
const GROUP_TESTS: [&str; 5] = ["tests::asking", "tests::bugs", "tests::chance", "tests::driver", "tests::members"];
const LONG_TEST: &str = "reads::memtables_and_files_read_as_one_memtable";
/// Where files are kept in memory.
const MEMORY_FOLDER: &str = "/dev/shm";
/// It waits for what a planted bug keeps from coming about, as the test of the full disk does.
const RESERVE_TEST: &str = "a_nearly_full_disk_keeps_its_reserve";
/// The suites that run one after the other; the lanes run at once. Most of the time of the power tests a server starts.
const LANES: [&[Suite]; 2] = [
    &[
        Suite::Consensus,
        Suite::Index,
        Suite::Group,
        Suite::Membership,
        Suite::Requests,
        Suite::Connections,
        Suite::Coordinator,
        Suite::Query,
        Suite::Audit,
        Suite::Simulation,
        Suite::Storage,
    ],
    &[Suite::Power, Suite::Faults],
];
/// Runs whole suites too.
const WHOLE: &str = "--whole";

/// The binaries under test and the suites.
struct Built {
    helenus: PathBuf,
    power: PathBuf,
    engine: PathBuf,
    consensus: PathBuf,
    index: PathBuf,
    group: PathBuf,
    membership: PathBuf,
    requests: PathBuf,
    connections: PathBuf,
    coordinator: PathBuf,
    query: PathBuf,
    audit: PathBuf,
    simulator: PathBuf,
}

/// The part of a suite that is run.
enum Part<'w> {
    Witnesses(BTreeSet<&'w str>),
    Whole,
}

/// Builds, and plants every bug that the arguments name, or all.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let effort = if arguments.iter().any(|argument| argument == WHOLE) { Effort::Soak } else { Effort::Ci };
    let only: Vec<String> = arguments.iter().filter(|argument| *argument != WHOLE).cloned().collect();
    let passed = phase(Duration::from_secs(7200), &only, effort)?;
    println!("{}; {} caught, {} survived", passed.note, passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// The same as a phase of `ci`: each bug is a test, which passes when a witness or a suite fails. A soak runs the suites in any case.
pub fn phase(budget: Duration, only: &[String], effort: Effort) -> Result<Passed, String> {
    if let Some(unknown) = only.iter().find(|name| !BUGS.iter().any(|bug| bug.name == **name)) {
        return Err(format!("there is no planted bug {unknown}; {}", names()));
    }
    tests::require_power()?;
    let built = build(budget)?;
    let bugs: Vec<_> = BUGS.iter().filter(|bug| only.is_empty() || only.iter().any(|name| name == bug.name)).collect();
    let name = process::lane();
    let found = std::thread::scope(|scope| {
        let lanes = LANES.map(|suites| {
            let (built, bugs) = (&built, &bugs);
            let of = |suite| bugs.iter().copied().filter(move |bug| bug.suite == suite);
            let run_lane = move || {
                let found = suites.iter().map(|&suite| catch_all(built, suite, of(suite), effort));
                Ok::<_, String>(found.collect::<Result<Vec<Vec<Found>>, _>>()?.concat())
            };
            scope.spawn(move || in_lane(name, run_lane))
        });
        lanes.map(|lane| lane.join().expect("a lane does not panic"))
    });
    let found = found.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    Ok(summed(&found))
}

/// The end of a planted bug.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    bug: &'static str,
    by: By,
    line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Witness,
    /// By the suite alone: the witness does not do any more, and another one is to be named.
    Suite,
    Nothing,
}

fn summed(found: &[Found]) -> Passed {
    let of = |by: By| found.iter().filter(move |found| found.by == by);
    let survived = of(By::Nothing).count();
    let caught = found.len() - survived;
    let by_suite: Vec<&str> = of(By::Suite).map(|found| found.bug).collect();
    let note = match by_suite[..] {
        [] => format!("{caught} bugs caught"),
        _ => format!("{caught} bugs caught; BY THE SUITE, NOT BY ITS WITNESS: {}", by_suite.join(", ")),
    };
    let told = of(By::Suite).map(|found| found.line.clone()).collect();
    let counts = Counts { passed: caught as u64, failed: survived as u64 };
    let said = of(By::Nothing).map(|found| found.line.clone()).collect();
    Passed { counts, success: survived == 0, note, said, told }
}

/// Plants a suite's bugs, one after the other.
fn catch_all(
    built: &Built,
    suite: Suite,
    bugs: impl Iterator<Item = &'static Description>,
    effort: Effort,
) -> Result<Vec<Found>, String> {
    let bugs: Vec<_> = bugs.collect();
    if bugs.is_empty() {
        return Ok(Vec::new());
    }
    let witnesses: BTreeSet<&str> = bugs.iter().map(|bug| bug.witness).collect();
    let count = witnesses.len() as u64;
    let output = run_part(built, suite, &Part::Witnesses(witnesses), None)?;
    let passed = Counts::of(&output.lines).passed;
    if !output.success || passed < count {
        say(&output.lines.join("\n"));
        return Err(format!("{suite:?}: with no bug planted {passed} of {count} witnesses pass"));
    }
    let mut is_suite_sound = false;
    let mut all = Vec::new();
    for bug in bugs {
        let began = Instant::now();
        let witness = Part::Witnesses(BTreeSet::from([bug.witness]));
        let is_witnessed = is_caught(&run_part(built, suite, &witness, Some(bug.name))?);
        let is_whole_run = effort == Effort::Soak || !is_witnessed;
        if is_whole_run && !is_suite_sound {
            let output = run_part(built, suite, &Part::Whole, None)?;
            if !output.success {
                say(&output.lines.join("\n"));
                return Err(format!("the suite {suite:?} fails with no bug planted"));
            }
            is_suite_sound = true;
        }
        let is_caught = !is_whole_run || is_caught(&run_part(built, suite, &Part::Whole, Some(bug.name))?);
        let found = told(bug, is_witnessed, is_caught, began.elapsed());
        say(&found.line);
        all.push(found);
    }
    Ok(all)
}

/// `is_caught`: by the whole suite, if that was run.
fn told(bug: &Description, is_witnessed: bool, is_caught: bool, took: Duration) -> Found {
    let by = match (is_caught, is_witnessed) {
        (true, true) => By::Witness,
        (true, false) => By::Suite,
        (false, _) => By::Nothing,
    };
    let word = if by == By::Nothing { "SURVIVED" } else { "caught" };
    let how = match by {
        By::Suite => format!("caught by the suite, NOT BY ITS WITNESS {}", bug.witness),
        _ => bug.witness.to_owned(),
    };
    let suite = format!("{:?}", bug.suite);
    let seconds = took.as_secs_f64();
    let line = format!("{word:<9} {:<32} {suite:<10} {seconds:>5.1} s  {how}", bug.name);
    Found { bug: bug.name, by, line }
}

/// It must be the test runner that says so: a process that was ended or could not begin has caught nothing.
fn is_caught(output: &Output) -> bool {
    let says_so = |line: &String| is_failed_test(line) || report::summary(line).is_some_and(failed);
    !output.success && output.lines.iter().any(says_so)
}

fn failed(counts: Counts) -> bool {
    counts.failed > 0
}

/// Whether a test runner says of one test that it failed.
fn is_failed_test(line: &str) -> bool {
    line.starts_with("test ") && line.ends_with(" ... FAILED")
}

fn names() -> String {
    let names: Vec<&str> = BUGS.iter().map(|bug| bug.name).collect();
    format!("there are {}", names.join(", "))
}

fn run_part(built: &Built, suite: Suite, part: &Part<'_>, bug: Option<&str>) -> Result<Output, String> {
    let mut command = match suite {
        Suite::Storage => Command::new(&built.engine),
        Suite::Consensus => Command::new(&built.consensus),
        Suite::Index => Command::new(&built.index),
        Suite::Group => Command::new(&built.group),
        Suite::Membership => Command::new(&built.membership),
        Suite::Requests => Command::new(&built.requests),
        Suite::Connections => Command::new(&built.connections),
        Suite::Coordinator => Command::new(&built.coordinator),
        Suite::Query => Command::new(&built.query),
        Suite::Audit => Command::new(&built.audit),
        Suite::Power | Suite::Faults => Command::new(&built.power),
        Suite::Simulation => Command::new(&built.simulator),
    };
    match (suite, part) {
        (
            Suite::Storage
            | Suite::Consensus
            | Suite::Index
            | Suite::Group
            | Suite::Membership
            | Suite::Requests
            | Suite::Connections
            | Suite::Coordinator
            | Suite::Query
            | Suite::Audit,
            Part::Witnesses(names),
        ) => {
            command.args(names);
        }
        (Suite::Power | Suite::Faults, Part::Witnesses(names)) => {
            command.args(names).arg("--test-threads=1");
        }
        (Suite::Simulation, Part::Witnesses(names)) => {
            command.arg("witness").args(names);
        }
        // What only takes long, and catches no bug that the others do not.
        (Suite::Storage, Part::Whole) => {
            command.args(["--skip", LONG_TEST]);
        }
        (
            Suite::Consensus
            | Suite::Index
            | Suite::Membership
            | Suite::Requests
            | Suite::Connections
            | Suite::Coordinator
            | Suite::Query
            | Suite::Audit,
            Part::Whole,
        ) => {}
        (Suite::Group, Part::Whole) => {
            command.args(GROUP_TESTS);
        }
        (Suite::Power, Part::Whole) => {
            command.args(["power::what_was_acknowledged", "--test-threads=1"]);
        }
        (Suite::Faults, Part::Whole) => {
            command.args(["power::faults::", "--skip", RESERVE_TEST, "--test-threads=1"]);
        }
        (Suite::Simulation, Part::Whole) => {
            command.arg("hunt");
        }
    }
    if suite == Suite::Simulation {
        command.args(bug.map(|name| format!("--plant={name}")));
    }
    command.env("HELENUS_MODEL_OPERATIONS", MODEL_OPERATIONS);
    let in_memory = Path::new(MEMORY_FOLDER).join(format!("helenus-planted-{}", std::process::id()));
    if suite == Suite::Storage && std::fs::create_dir_all(&in_memory).is_ok() {
        // These bugs are not of the kind that a disk shows, and its syncs are most of the time that the suite takes.
        command.env("HELENUS_SCRATCH", &in_memory);
    }
    command.env("HELENUS_BINARY", &built.helenus).env("HELENUS_CUTS", CUTS).env("RUST_BACKTRACE", "0");
    // A server of the tests' build is several times slower: how long it holds a core says nothing, least of all of a bug.
    command.env("HELENUS_STALLS", "allowed");
    command.env_remove("HELENUS_SOAK").current_dir(workspace::root().join("tests"));
    match bug {
        Some(name) => command.env("HELENUS_PLANT", name),
        None => command.env_remove("HELENUS_PLANT"),
    };
    // Unprinted: that tests fail is what is hoped for, and no reader of the whole run should take them for its own.
    // The first test that fails has caught it. A suite with a disk of its own is left to clear that away.
    let is_enough =
        |line: &str| !matches!(suite, Suite::Power | Suite::Faults | Suite::Simulation) && is_failed_test(line);
    let output = process::run_unprinted_until(&mut command, RUN_TIME_MAX, &is_enough);
    // Its own alone: the other lane's suites end while this one's files are in use.
    if suite == Suite::Storage {
        let _ = std::fs::remove_dir_all(&in_memory);
    }
    output
}

/// The server and the suites, as the tests have them: with all bugs compiled in. Not the release profile: what is asked is not how
/// fast they are.
fn build(budget: Duration) -> Result<Built, String> {
    Ok(Built {
        helenus: built::program("helenus", budget)?,
        simulator: built::program("helenus-sim", budget)?,
        engine: built::test("crates/storage/tests", "engine", budget)?.program,
        consensus: built::test("crates/raft", "consensus", budget)?.program,
        index: built::unit_tests("crates/index", "helenus-index", budget)?.program,
        group: built::unit_tests("crates/metadata", "helenus-metadata", budget)?.program,
        membership: built::unit_tests("crates/membership", "helenus-membership", budget)?.program,
        requests: built::unit_tests("crates/cluster", "helenus-cluster", budget)?.program,
        connections: built::unit_tests("crates/server", "helenus-server", budget)?.program,
        coordinator: built::test("crates/cluster", "coordinator", budget)?.program,
        query: built::test("crates/query", "engine", budget)?.program,
        audit: built::unit_tests("crates/audit", "helenus-audit", budget)?.program,
        power: built::test("tests", "recovery", budget)?.program,
    })
}

#[cfg(test)]
mod tests_of_the_list {
    use super::*;

    #[test]
    fn the_page_tells_of_every_bug_its_suite_and_its_witness() {
        let page = std::fs::read_to_string(workspace::root().join("docs/internals/planted-bugs.md"))
            .expect("the page is there");
        for bug in BUGS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", bug.name)));
            let row = row.unwrap_or_else(|| panic!("docs/internals/planted-bugs.md has no row for {}", bug.name));
            assert!(row.contains(bug.sentence), "{}: the page says something else: {row}", bug.name);
            let caught_by = format!("| {:?} | `{}` |", bug.suite, bug.witness);
            assert!(row.ends_with(&caught_by), "{}: the page names another suite or witness: {row}", bug.name);
        }
    }

    #[test]
    fn every_witness_that_is_a_test_is_in_the_sources() {
        for bug in BUGS {
            let folder = match bug.suite {
                Suite::Storage => "crates/storage/tests/engine",
                Suite::Consensus => "crates/raft/tests/consensus",
                Suite::Index => "crates/index/src",
                Suite::Group => "crates/metadata/src",
                Suite::Membership => "crates/membership/src",
                Suite::Requests => "crates/cluster/src",
                Suite::Connections => "crates/server/src",
                Suite::Coordinator => "crates/cluster/tests/coordinator",
                Suite::Query => "crates/query/tests/engine",
                Suite::Audit => "crates/audit/src",
                Suite::Power | Suite::Faults => "tests/power",
                // Its own tests look for these.
                Suite::Simulation => continue,
            };
            let (module, test) = bug.witness.rsplit_once("::").expect("a test is named with its module");
            let path_of =
                |module: &str| workspace::root().join(folder).join(module.replace("::", "/")).with_extension("rs");
            // Tests stand beside the code, in its file or in one of their own.
            let own = path_of(module);
            let path = if own.exists() { own } else { path_of(module.strip_suffix("::tests").unwrap_or(module)) };
            let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let is_there = source.contains(&format!("fn {test}()"));
            assert!(is_there, "{}: {} has no test {test}", bug.name, path.display());
        }
    }

    #[test]
    fn what_the_suite_alone_catches_passes_and_is_said_aloud() {
        let bug = &BUGS[0];
        let told = |is_witnessed, is_caught| told(bug, is_witnessed, is_caught, Duration::from_secs(1));
        let passed = summed(&[told(true, true), told(false, true)]);
        assert!(
            passed.success && passed.note.ends_with(&format!("NOT BY ITS WITNESS: {}", bug.name)),
            "{}",
            passed.note
        );
        let survived = summed(&[told(true, true), told(false, false)]);
        assert_eq!((survived.success, survived.counts), (false, Counts { passed: 1, failed: 1 }));
        assert_eq!(survived.said.len(), 1);
    }
}
