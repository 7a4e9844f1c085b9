//! The phase `drivers`: every driver's suite against the release binary, several at once.
//!
//! Each suite starts its runtime once and goes through its configurations. Most of its time it waits, for the
//! server's syncs or for a driver that gathers events, so that two lanes of suites fill two cores. That is sound since each has its own
//! servers on ports of its own, the servers count a stall in the time of the processor, not of the clock, and a suite in which one was
//! counted is run again.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::peers::python::Environment;
use crate::peers::{go, java, node};
use crate::process::{in_lane, say};
use crate::report::{Counts, Passed};
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, black_box, environment};
use crate::{built, process, workspace};

/// A driver's name and the command that runs its suite.
type Suite = (&'static str, fn() -> Result<Command, String>);

/// About as long as each other.
const LANES: [&[Suite]; 2] = [
    &[("Python cassandra-driver, cqlsh", python_cassandra)],
    &[
        ("Python scylla-driver", python_scylla),
        ("Java", || Ok(java::suite())),
        ("gocql", || Ok(go::suite())),
        ("Node", || Ok(node::suite())),
        ("Rust scylla", rust),
    ],
];

/// Fetches and compiles what the suites need.
pub fn prepare() -> Result<(), String> {
    Environment::Cassandra.programs()?;
    Environment::Scylla.programs()?;
    go::prepare()?;
    node::prepare()?;
    java::prepare()
}

/// Runs every suite.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    prepare()?;
    let deadline = Instant::now() + budget;
    let name = process::lane();
    let lanes = std::thread::scope(|scope| {
        let lanes = LANES.map(|suites| scope.spawn(move || in_lane(name, || lane(suites, deadline, effort))));
        lanes.map(|lane| lane.join().map_err(|_| "a lane of suites panicked".to_string()))
    });
    lanes.into_iter().try_fold(Passed::held(), |all, lane| Ok(all.and(lane?)))
}

/// One suite after the other. One that cannot start has failed, and does not keep the others from running.
fn lane(suites: &[Suite], deadline: Instant, effort: Effort) -> Passed {
    let mut all = Passed::held();
    for (name, command) in suites {
        let began = Instant::now();
        let passed = stalls::watched(name, effort, |file| {
            let mut command = command()?;
            let budget = deadline.saturating_duration_since(Instant::now());
            let output = process::run_unprinted(environment(&mut command, effort).env(STALLS_TO, file), budget)?;
            let mut passed = Passed::of(&output);
            passed.success &= passed.counts.passed > 0;
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

fn python_cassandra() -> Result<Command, String> {
    pytest(
        Environment::Cassandra,
        &["test_driver.py", "test_types.py", "test_system.py", "test_cqlsh.py", "test_cqlsh_schema.py"],
    )
}

fn python_scylla() -> Result<Command, String> {
    pytest(Environment::Scylla, &["test_driver.py", "test_types.py", "test_shard_aware.py"])
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::workspace;

    /// In every suite of `configurations.txt` each value of a column meets each value of every other, but for what cannot be.
    #[test]
    fn the_configurations_hold_every_pair() {
        let text =
            std::fs::read_to_string(workspace::root().join("tests/drivers/configurations.txt")).expect("is there");
        let lines: Vec<Vec<&str>> =
            text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.iter().all(|line| line.len() == 5), "five columns");
        for suites in ["full", "plain"] {
            let lines: Vec<&[&str]> =
                lines.iter().filter(|line| line[0] == suites && line[1] != "refused").map(|line| &line[1..]).collect();
            for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                let pairs: BTreeSet<_> = lines.iter().map(|line| (line[first], line[second])).collect();
                let firsts: BTreeSet<_> = pairs.iter().map(|pair| pair.0).collect();
                let seconds: BTreeSet<_> = pairs.iter().map(|pair| pair.1).collect();
                let mut missing: Vec<_> = firsts
                    .iter()
                    .flat_map(|one| seconds.iter().map(move |two| (*one, *two)))
                    .filter(|pair| !pairs.contains(pair))
                    .collect();
                // Version 5 has no Snappy.
                missing.retain(|pair| *pair != ("5", "snappy"));
                assert!(missing.is_empty(), "{suites}: {missing:?} meet in no line");
            }
        }
    }
}
