//! `cargo xtask planted`: plants one bug after the other and runs the suite that must catch it.
//!
//! The tests' build has them all; which one is planted is said at the start of a server or a test. First every suite must pass with none
//! planted, so that a failure speaks of the bug.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use planted::{BUGS, Description, Suite};

use crate::process::{self, Output, in_lane, say};
use crate::report::{self, Counts, Passed};
use crate::{built, tests, workspace};

/// How long one run of a suite may take: five times what the longest takes on a quiet machine, for there are slow ones. A server that hangs has
/// caught the bug as well, in a poor way: it counts as survived.
const RUN_TIME_MAX: Duration = Duration::from_secs(300);
/// Power cuts per run: a bug is seen at the first or second, and some only when a segment is full.
const CUTS: &str = "25";
/// Operations of the engine's model test.
const MODEL_OPERATIONS: &str = "1000";
const LONG_TEST: &str = "reads::memtables_and_files_read_as_one_memtable";
/// Where files are kept in memory.
const MEMORY_FOLDER: &str = "/dev/shm";
/// It waits for what a planted bug keeps from coming about, as the test of the full disk does.
const RESERVE_TEST: &str = "a_nearly_full_disk_keeps_its_reserve";

/// What is run.
struct Built {
    helenus: PathBuf,
    power: PathBuf,
    engine: PathBuf,
    simulator: PathBuf,
}

/// Builds, and runs every bug that `only` names, or all.
pub fn run(only: &[String]) -> Result<(), String> {
    let passed = phase(Duration::from_secs(7200), only)?;
    println!("{} caught, {} survived", passed.counts.passed, passed.counts.failed);
    if passed.success { Ok(()) } else { Err(String::new()) }
}

/// The same as a phase of `ci`: each bug is a test, which passes when a suite fails.
pub fn phase(budget: Duration, only: &[String]) -> Result<Passed, String> {
    if let Some(unknown) = only.iter().find(|name| !BUGS.iter().any(|bug| bug.name == **name)) {
        return Err(format!("there is no planted bug {unknown}; {}", names()));
    }
    tests::require_power()?;
    let built = build(budget)?;
    let bugs: Vec<_> = BUGS.iter().filter(|bug| only.is_empty() || only.iter().any(|name| name == bug.name)).collect();
    for suite in [Suite::Storage, Suite::Simulation, Suite::Power, Suite::Faults] {
        if bugs.iter().any(|bug| bug.suite == suite) {
            let output = run_suite(&built, suite, None)?;
            if !output.success {
                say(&output.lines.join("\n"));
                return Err(format!("the suite {suite:?} fails with no bug planted"));
            }
        }
    }
    // The simulator has one thread, and the engine's tests wait for much: both at once. What wants a disk of its own comes by itself.
    let of = |suites: [Suite; 2]| bugs.iter().copied().filter(move |bug| suites.contains(&bug.suite));
    let name = process::lane();
    let caught = std::thread::scope(|scope| {
        let simulated = scope.spawn(|| in_lane(name, || catch_all(&built, of([Suite::Simulation; 2]))));
        let stored = catch_all(&built, of([Suite::Storage; 2]));
        let simulated = simulated.join().expect("a lane does not panic");
        Ok::<_, String>(stored?.and(simulated?))
    })?;
    let caught = caught.and(catch_all(&built, of([Suite::Power, Suite::Faults]))?);
    Ok(Passed { note: format!("{} bugs caught", caught.counts.passed), ..caught })
}

/// Plants one bug after the other.
fn catch_all(built: &Built, bugs: impl Iterator<Item = &'static Description>) -> Result<Passed, String> {
    let mut all = Passed::held();
    for bug in bugs {
        let began = Instant::now();
        let output = run_suite(built, bug.suite, Some(bug.name))?;
        // It must be the suite that says so: a process that was ended or could not begin has caught nothing.
        let says_so = |line: &String| is_failed_test(line) || report::summary(line).is_some_and(failed);
        let is_caught = !output.success && output.lines.iter().any(says_so);
        let word = if is_caught { "caught" } else { "SURVIVED" };
        let seconds = began.elapsed().as_secs_f64();
        let suite = format!("{:?}", bug.suite);
        let line = format!("{word:<9} {:<32} {suite:<10} {seconds:>5.1} s  {}", bug.name, bug.sentence);
        say(&line);
        let counts = Counts { passed: u64::from(is_caught), failed: u64::from(!is_caught) };
        let said = if is_caught { Vec::new() } else { vec![line] };
        all = all.and(Passed { counts, success: is_caught, said, ..Passed::default() });
    }
    Ok(all)
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

fn run_suite(built: &Built, suite: Suite, bug: Option<&str>) -> Result<Output, String> {
    let mut command = match suite {
        Suite::Storage => Command::new(&built.engine),
        Suite::Power => Command::new(&built.power),
        Suite::Faults => Command::new(&built.power),
        Suite::Simulation => Command::new(&built.simulator),
    };
    match suite {
        // What only takes long, and catches no bug that the others do not.
        Suite::Storage => drop(command.args(["--skip", LONG_TEST]).env("HELENUS_MODEL_OPERATIONS", MODEL_OPERATIONS)),
        Suite::Power => drop(command.args(["power::what_was_acknowledged", "--test-threads=1"])),
        Suite::Faults => drop(command.args(["power::faults::", "--skip", RESERVE_TEST, "--test-threads=1"])),
        Suite::Simulation => drop(command.arg("hunt").args(bug.map(|name| format!("--plant={name}")))),
    }
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
    let is_enough = |line: &str| suite == Suite::Storage && is_failed_test(line);
    let output = process::run_unprinted_until(&mut command, RUN_TIME_MAX, &is_enough);
    let _ = std::fs::remove_dir_all(&in_memory);
    output
}

/// The server and the suites, as the tests have them: with all bugs compiled in. Not the release profile: what is asked is not how
/// fast they are.
fn build(budget: Duration) -> Result<Built, String> {
    Ok(Built {
        helenus: built::program("helenus", budget)?,
        simulator: built::program("helenus-sim", budget)?,
        engine: built::test("crates/storage", "engine", budget)?.program,
        power: built::test("tests", "recovery", budget)?.program,
    })
}

#[cfg(test)]
mod tests_of_the_list {
    use super::*;

    #[test]
    fn the_page_tells_of_every_bug_and_of_its_suite() {
        let page = std::fs::read_to_string(workspace::root().join("docs/internals/planted-bugs.md"))
            .expect("the page is there");
        for bug in BUGS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", bug.name)));
            let row = row.unwrap_or_else(|| panic!("docs/internals/planted-bugs.md has no row for {}", bug.name));
            assert!(row.contains(bug.sentence), "{}: the page says something else: {row}", bug.name);
            assert!(row.contains(&format!("| {:?} |", bug.suite)), "{}: the page names another suite: {row}", bug.name);
        }
    }
}
