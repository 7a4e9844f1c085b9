//! The drivers on a ring of three nodes: each driver's suite of its own, one after the other on the same ring.
//!
//! `tests/drivers/python/ring.py` runs the nodes and carries out what the suites ask for, while this keeps its standard input open. It ends the nodes when that
//! ends, however this process does. After a suite that failed the others have a new ring: it may have left nodes down.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::{pytest, python};
use crate::built;
use crate::peers::{go, java, node};
use crate::process::{self, say};
use crate::report::{Counts, Passed};
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, black_box, environment};
use crate::workspace;

/// Names the nodes' addresses to the suites.
pub const RING: &str = "HELENUS_RING";
/// Names the socket that takes commands for the ring, or on which a ring in troubles awaits the suites.
pub const RING_COMMANDS: &str = "HELENUS_RING_COMMANDS";

/// A driver's suite.
struct Suite {
    name: &'static str,
    command: fn() -> Result<Command, String>,
}

const SUITES: [Suite; 6] = [
    Suite {
        name: "ring, Python cassandra-driver",
        command: || pytest(python::Environment::Cassandra, &["test_witness.py", "test_ring.py"]),
    },
    Suite { name: "ring, Python scylla-driver", command: || pytest(python::Environment::Scylla, &["test_ring.py"]) },
    Suite { name: "ring, Java", command: || Ok(java::ring_suite()) },
    Suite { name: "ring, gocql", command: || Ok(go::ring_suite()) },
    Suite { name: "ring, Node", command: || Ok(node::ring_suite()) },
    Suite { name: "ring, Rust scylla", command: rust },
];

fn rust() -> Result<Command, String> {
    Ok(black_box(&built::test("tests", "clients", BUILD_TIME)?, &["ring::", "--ignored"]))
}

/// Runs every suite. What keeps the ring from starting is a failure of this lane alone.
pub fn lane(deadline: Instant, effort: Effort) -> Passed {
    let began = Instant::now();
    let passed = stalls::watched("ring", effort, |file| {
        let mut all = Passed::held();
        let mut waiting = SUITES.iter();
        while !waiting.as_slice().is_empty() {
            all = all.and(on_one_ring(&mut waiting, file, deadline, effort)?);
        }
        Ok(all)
    });
    let passed = passed.unwrap_or_else(failure);
    let Counts { passed: held, failed } = passed.counts;
    say(&format!("ring: {held} passed, {failed} failed in {:.0} s", began.elapsed().as_secs_f64()));
    passed
}

/// Runs suites on a new ring until one fails or none is left, and at least one.
fn on_one_ring(
    waiting: &mut std::slice::Iter<'_, Suite>,
    stalls: &Path,
    deadline: Instant,
    effort: Effort,
) -> Result<Passed, String> {
    let ring = Ring::start(stalls, effort)?;
    let mut all = Passed::held();
    for suite in waiting.by_ref() {
        let passed = on_ring(suite, &ring, deadline, effort).unwrap_or_else(failure);
        all = all.and(passed);
        if !all.success {
            break;
        }
    }
    // Its verdict, on events and logs, is a test like those of the suites.
    let verdict = match ring.stop() {
        Ok(()) => Passed { counts: Counts { passed: 1, failed: 0 }, ..Passed::held() },
        Err(message) => failure(message),
    };
    Ok(all.and(verdict))
}

fn on_ring(suite: &Suite, ring: &Ring, deadline: Instant, effort: Effort) -> Result<Passed, String> {
    let mut command = (suite.command)()?;
    command.env(RING, &ring.addresses).env(RING_COMMANDS, &ring.commands);
    let began = Instant::now();
    let output = process::run_unprinted(environment(&mut command, effort), deadline.saturating_duration_since(began))?;
    let mut passed = Passed::of(&output);
    passed.success &= passed.counts.passed > 0;
    if !passed.success {
        say(&output.lines.join("\n"));
    }
    let Counts { passed: held, failed } = passed.counts;
    say(&format!("{}: {held} passed, {failed} failed in {:.0} s", suite.name, began.elapsed().as_secs_f64()));
    Ok(passed)
}

/// A failure that no runner counted.
pub fn failure(message: String) -> Passed {
    say(&message);
    Passed { counts: Counts { passed: 0, failed: 1 }, said: vec![message], ..Passed::default() }
}

/// A ring that runs.
struct Ring {
    process: Child,
    addresses: String,
    commands: String,
}

impl Ring {
    fn start(stalls: &Path, effort: Effort) -> Result<Ring, String> {
        let mut command = Command::new("python3");
        command.arg(workspace::root().join("tests/drivers/python/ring.py"));
        environment(&mut command, effort).env(STALLS_TO, stalls).env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal for this process group is not for it: it has nodes to end first.
        let mut process = command.process_group(0).spawn().map_err(|error| format!("cannot start python3: {error}"))?;
        let mut lines = BufReader::new(process.stdout.take().expect("piped above")).lines();
        let mut line = || lines.next().and_then(Result::ok).filter(|line| !line.is_empty());
        let (addresses, commands) = (line(), line());
        match (addresses, commands) {
            (Some(addresses), Some(commands)) => Ok(Ring { process, addresses, commands }),
            _ => Err(end(process).err().unwrap_or_else(|| "the ring ended before it was ready".to_owned())),
        }
    }

    /// Ends the nodes, which must have sent no event without a reason and have nothing to complain of.
    fn stop(self) -> Result<(), String> {
        end(self.process)
    }
}

/// Closes the standard input of the ring, and waits for its verdict.
fn end(mut process: Child) -> Result<(), String> {
    drop(process.stdin.take());
    let output = process.wait_with_output().map_err(|error| format!("cannot wait for the ring: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the ring failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}
