//! Every driver through failures: all suites at once on a ring of three nodes that get into troubles.
//!
//! `tests/drivers/python/troubles.py` runs the nodes, in a network namespace of its own, and makes the troubles when all suites have joined. It prints what each suite saw,
//! and ends the nodes when its standard input ends, however this process does. Suites run in its namespace, since the nodes' addresses are there alone.

use std::io::{BufRead, BufReader, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::ring::{RING, RING_COMMANDS, failure};
use super::{pytest, python};
use crate::peers::{go, java, node};
use crate::process::{self, Output, in_lane, say};
use crate::report::{Counts, Passed};
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, black_box, environment};
use crate::tools::{self, IP, NSENTER, SETPRIV, TC, UNSHARE};
use crate::{built, workspace};

/// Programs that the ring and its network need.
const TOOLS: [tools::Tool; 5] = [IP, TC, UNSHARE, NSENTER, SETPRIV];

/// A driver's suite, built before any runs.
type Suite = (&'static str, Command);

fn suites() -> Result<[Suite; 6], String> {
    let test = built::test("tests", "clients", BUILD_TIME)?;
    Ok([
        ("Python cassandra-driver", pytest(python::Environment::Cassandra, &["test_troubles.py", "test_verdict.py"])?),
        ("Python scylla-driver", pytest(python::Environment::Scylla, &["test_troubles.py"])?),
        ("Java", java::troubles_suite()),
        ("gocql", go::troubles_suite()),
        ("Node", node::troubles_suite()),
        ("Rust scylla", black_box(&test, &["troubles::", "--ignored"])),
    ])
}

/// Fails with the apt line of what is missing.
pub fn require() -> Result<(), String> {
    tools::require(&TOOLS)
}

/// Runs every suite. What keeps the ring from starting is a failure of this lane alone.
pub fn lane(deadline: Instant, effort: Effort) -> Passed {
    let began = Instant::now();
    let passed = stalls::watched("troubles", effort, |file| through_troubles(file, deadline, effort));
    let passed = passed.unwrap_or_else(failure);
    let Counts { passed: held, failed } = passed.counts;
    say(&format!("troubles: {held} passed, {failed} failed in {:.0} s", began.elapsed().as_secs_f64()));
    passed
}

/// Runs all suites on one ring.
fn through_troubles(stalls: &Path, deadline: Instant, effort: Effort) -> Result<Passed, String> {
    let suites = suites()?;
    let ring = Ring::start(suites.len(), stalls, effort)?;
    let lane = process::lane();
    let outcomes = std::thread::scope(|scope| {
        let run = |suite: Suite| {
            in_lane(lane, || {
                let passed = on_ring(suite, &ring, deadline, effort).unwrap_or_else(failure);
                if !passed.success {
                    // The ring waits for all suites before it makes any trouble: without this one it would wait for good.
                    ring.close_input();
                }
                passed
            })
        };
        let running: Vec<_> = suites.into_iter().map(|suite| scope.spawn(move || run(suite))).collect();
        let ended = running.into_iter().map(|suite| suite.join());
        ended.map(|suite| suite.unwrap_or_else(|_| failure("a suite panicked".into()))).collect::<Vec<_>>()
    });
    let all = outcomes.into_iter().fold(Passed::held(), Passed::and);
    Ok(all.and(ring.stop()))
}

fn on_ring((name, command): Suite, ring: &Ring, deadline: Instant, effort: Effort) -> Result<Passed, String> {
    let mut command = ring.within(&command);
    command.env(RING, &ring.addresses).env(RING_COMMANDS, &ring.commands);
    let budget = deadline.saturating_duration_since(Instant::now());
    let output = process::run_unprinted(environment(&mut command, effort), budget)?;
    let mut passed = Passed::of(&output);
    passed.success &= passed.counts.passed > 0;
    if !passed.success {
        say(&format!("troubles, {name}:\n{}", output.lines.join("\n")));
    }
    Ok(passed)
}

/// A ring that runs.
struct Ring {
    process: Child,
    input: Mutex<Option<ChildStdin>>,
    output: BufReader<PipeReader>,
    addresses: String,
    commands: String,
}

impl Ring {
    fn start(suites: usize, stalls: &Path, effort: Effort) -> Result<Ring, String> {
        let failed = |error| format!("cannot start the ring in troubles: {error}");
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut command = Command::new("unshare");
        command.args(["--net", "python3"]).arg(workspace::root().join("tests/drivers/python/troubles.py"));
        command.arg(suites.to_string());
        environment(&mut command, effort).env(STALLS_TO, stalls).env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        // A signal for this process group is not for it: it has nodes to end first.
        let mut process = command.process_group(0).spawn().map_err(failed)?;
        // With it go this process's ends of the pipe that the ring writes to.
        drop(command);
        let input = Mutex::new(process.stdin.take());
        let mut ring =
            Ring { process, input, output: BufReader::new(reader), addresses: String::new(), commands: String::new() };
        let mut lines = ring.output.by_ref().lines().map_while(Result::ok);
        (ring.addresses, ring.commands) = match (lines.next(), lines.next()) {
            (Some(addresses), Some(commands)) if is_three_addresses(&addresses) => (addresses, commands),
            said => {
                let said: Vec<String> = [said.0, said.1].into_iter().flatten().chain(lines).collect();
                let _ = ring.process.wait();
                return Err(format!("the ring in troubles did not start; it needs root:\n{}", said.join("\n")));
            }
        };
        Ok(ring)
    }

    /// The command as it runs in the ring's namespace.
    fn within(&self, command: &Command) -> Command {
        let mut within = Command::new("nsenter");
        within.arg(format!("--net=/proc/{}/ns/net", self.process.id())).arg(command.get_program());
        within.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            within.current_dir(folder);
        }
        within
    }

    fn close_input(&self) {
        drop(self.input.lock().expect("no holder panics").take());
    }

    /// Ends the nodes; the verdict on all that the suites saw and the nodes' logs say, a test like those of the suites.
    fn stop(mut self) -> Passed {
        self.close_input();
        let lines: Vec<String> = self.output.by_ref().lines().map_while(Result::ok).collect();
        let success = self.process.wait().is_ok_and(|status| status.success());
        say(&lines.join("\n"));
        let counts = Counts { passed: u64::from(success), failed: u64::from(!success) };
        Passed { counts, ..Passed::of(&Output { lines, success }) }
    }
}

fn is_three_addresses(line: &str) -> bool {
    line.split(',').filter(|address| address.parse::<std::net::SocketAddr>().is_ok()).count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_addresses_is_told_from_a_complaint() {
        assert!(is_three_addresses("10.86.0.1:9042,10.86.0.2:9042,10.86.0.3:9042"));
        assert!(!is_three_addresses("unshare: unshare failed: Operation not permitted"));
    }
}
