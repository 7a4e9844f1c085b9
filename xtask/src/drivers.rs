//! The phase `drivers`: every driver's suite against the release binary, several at once.
//!
//! Each suite starts its runtime once and goes through its configurations, of which a change runs a third: [`sample`] says which. Most of its time it waits, for the
//! server's syncs or for a driver that gathers events, so that two lanes of suites fill two cores. That is sound since each has its own
//! servers on ports of its own, the servers count a stall in the time of the processor, not of the clock, and a suite in which one was
//! counted is run again. Beside them a third lane has every driver on a [`ring`] of three nodes, which waits more still, and then all at once on one whose nodes get into
//! [`troubles`].

mod ring;
pub mod sample;
mod troubles;

use std::process::Command;
use std::time::{Duration, Instant};

use crate::peers::python::{self, Environment};
use crate::peers::{go, java, node};
use crate::process::{in_lane, say};
use crate::report::{Counts, Passed};
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, black_box, counted, environment};
use crate::{built, process, workspace};
use sample::{CONFIGURATIONS_FILE, Sample, Share};

/// A driver's suite.
struct Suite {
    name: &'static str,
    share: Share,
    command: fn() -> Result<Command, String>,
}

/// Begins a line of a suite that is shown whether it passes or not: it says how much the suite left out of its comparison.
const TOLD: &str = "shells: ";

/// About as long as each other. The drivers of each kind begin with different samples.
const LANES: [&[Suite]; 2] = [
    &[Suite::of("Python cassandra-driver, cqlsh", "full", 0, python_cassandra)],
    &[
        Suite::of("Python scylla-driver", "full", 1, python_scylla),
        Suite::of("Java", "full", 2, || Ok(java::suite())),
        Suite::of("gocql", "full", 0, || Ok(go::suite())),
        Suite::of("Node", "plain", 1, || Ok(node::suite())),
        Suite::of("Rust scylla", "four", 2, rust),
    ],
];

impl Suite {
    const fn of(name: &'static str, kind: &'static str, ahead: u64, command: fn() -> Result<Command, String>) -> Suite {
        Suite { name, share: Share { kind, ahead }, command }
    }
}

/// Fetches and compiles what the suites need.
pub fn prepare() -> Result<(), String> {
    troubles::require()?;
    Environment::Cassandra.programs()?;
    Environment::Scylla.programs()?;
    go::prepare()?;
    node::prepare()?;
    java::prepare()
}

/// Runs every suite.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    prepare()?;
    let sample = Sample::chosen(effort)?;
    println!("drivers: {}", sample.note("configurations"));
    let deadline = Instant::now() + budget;
    let name = process::lane();
    let lanes = std::thread::scope(|scope| {
        let ring = scope.spawn(|| in_lane(name, || ring::lane(deadline, effort).and(troubles::lane(deadline, effort))));
        let lanes = LANES.map(|suites| scope.spawn(move || in_lane(name, || lane(suites, sample, deadline, effort))));
        lanes
            .into_iter()
            .chain([ring])
            .map(|lane| lane.join().map_err(|_| "a lane of suites panicked".to_string()))
            .collect::<Vec<_>>()
    });
    let held = Passed { note: sample.note("configurations"), ..Passed::held() };
    lanes.into_iter().try_fold(held, |all, lane| Ok(all.and(lane?)))
}

/// Runs only the suites of the ring.
pub fn ring_alone(budget: Duration, effort: Effort) -> Result<Passed, String> {
    prepare()?;
    Ok(ring::lane(Instant::now() + budget, effort))
}

/// Runs only the suites of a ring whose nodes get into troubles.
pub fn troubles_alone(budget: Duration, effort: Effort) -> Result<Passed, String> {
    prepare()?;
    Ok(troubles::lane(Instant::now() + budget, effort))
}

/// One suite after the other. One that cannot start has failed, and does not keep the others from running.
fn lane(suites: &[Suite], sample: Sample, deadline: Instant, effort: Effort) -> Passed {
    let mut all = Passed::held();
    for Suite { name, share, command } in suites {
        let began = Instant::now();
        let passed = stalls::watched(name, effort, |file| {
            let mut command = command()?;
            command.env(CONFIGURATIONS_FILE, sample.write(name, *share)?);
            let budget = deadline.saturating_duration_since(Instant::now());
            let output = process::run_unprinted(environment(&mut command, effort).env(STALLS_TO, file), budget)?;
            let mut passed = Passed::of(&output);
            passed.success &= passed.counts.passed > 0;
            output.lines.iter().filter(|line| line.starts_with(TOLD)).for_each(|line| say(line));
            if !passed.success {
                say(&output.lines.join("\n"));
            }
            Ok(passed)
        });
        let passed = passed.unwrap_or_else(|message| {
            say(&message);
            Passed { counts: Counts { passed: 0, failed: 1 }, said: vec![message], ..Passed::default() }
        });
        let seconds = began.elapsed().as_secs_f64();
        say(&format!("{name}: {} passed, {} failed in {seconds:.0} s", passed.counts.passed, passed.counts.failed));
        all = all.and(passed);
    }
    all
}

/// An unmodified ccm drives a cluster through `contrib/ccm`. It has no configurations to choose from.
pub fn ccm(budget: Duration, effort: Effort) -> Result<Passed, String> {
    stalls::watched("ccm", effort, |file| {
        let mut command = pytest(Environment::Cassandra, &["test_ccm.py"])?;
        counted(environment(&mut command, effort).env(STALLS_TO, file), budget)
    })
}

fn python_cassandra() -> Result<Command, String> {
    pytest(
        Environment::Cassandra,
        &[
            "test_driver.py",
            "test_types.py",
            "test_system.py",
            "test_cql.py",
            "test_cql_terminal.py",
            "test_scripts.py",
            "test_copy.py",
            "test_cqlsh.py",
            "test_cqlsh_schema.py",
            "test_login.py",
            "test_tls.py",
        ],
    )
}

fn python_scylla() -> Result<Command, String> {
    // cqlsh is of the other environment.
    let but_cqlsh = "--deselect=test_tls.py::test_cqlsh";
    pytest(Environment::Scylla, &["test_driver.py", "test_types.py", "test_shard_aware.py", "test_tls.py", but_cqlsh])
}

fn rust() -> Result<Command, String> {
    Ok(black_box(&built::test("tests", "clients", BUILD_TIME)?, &["drivers::"]))
}

fn pytest(python: Environment, files: &[&str]) -> Result<Command, String> {
    let programs = python.programs()?;
    let folder = workspace::root().join("tests/drivers/python");
    let mut command = Command::new(programs.join("python"));
    command.args(["-m", "pytest", "-p", "no:cacheprovider", "--quiet", "--durations=5"]).args(files);
    // cqlsh is looked up on PATH; bytecode stays out of the work tree.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).env("PYTHONDONTWRITEBYTECODE", "1");
    command.current_dir(folder);
    Ok(command)
}
