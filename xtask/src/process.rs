//! Running a command with its output passed on line by line, kept for counting, and a deadline.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What a command said.
pub struct Output {
    /// Standard output and error, in the order in which the lines came.
    pub lines: Vec<String>,
    /// Whether it ended with code 0 within its time.
    pub success: bool,
}

/// Whether what a command says is printed as it comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Printed,
    KeptOnly,
}

/// Why the lines of a command end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It has ended.
    Itself,
    /// It has said what was waited for.
    Said,
    /// Its time is over.
    Budget,
}

/// Runs the command, prints what it says, and ends it with all its children when `budget` is over.
pub fn run(command: &mut Command, budget: Duration) -> Result<Output, String> {
    println!("+ {}", shown(command));
    run_with(command, budget, Echo::Printed, &|_| false)
}

/// The same, only keeping what it says: for a run whose failures are no failures of this one.
pub fn run_unprinted(command: &mut Command, budget: Duration) -> Result<Output, String> {
    run_with(command, budget, Echo::KeptOnly, &|_| false)
}

/// The same; ends it, with all its children, at the first line for which `is_enough`. That is no success.
pub fn run_unprinted_until(
    command: &mut Command,
    budget: Duration,
    is_enough: &dyn Fn(&str) -> bool,
) -> Result<Output, String> {
    run_with(command, budget, Echo::KeptOnly, is_enough)
}

fn run_with(
    command: &mut Command,
    budget: Duration,
    echo: Echo,
    is_enough: &dyn Fn(&str) -> bool,
) -> Result<Output, String> {
    let deadline = Instant::now() + budget;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    let (sender, lines) = channel();
    let readers = [
        forward(child.stdout.take().expect("piped above"), sender.clone(), echo),
        forward(child.stderr.take().expect("piped above"), sender, echo),
    ];
    let (mut kept, end) = collect(&lines, deadline, is_enough);
    if end == End::Budget {
        println!("over its budget of {} s: ended", budget.as_secs());
    }
    if end != End::Itself {
        kill_group(&child);
    }
    let status = child.wait().map_err(|error| format!("cannot wait for {}: {error}", shown(command)))?;
    for reader in readers {
        reader.join().map_err(|_| "a reader of output panicked".to_string())?;
    }
    kept.extend(lines.try_iter());
    Ok(Output { lines: kept, success: end == End::Itself && status.success() })
}

/// Runs the command and fails when it does.
pub fn must(command: &mut Command, budget: Duration) -> Result<Output, String> {
    let output = run(command, budget)?;
    if output.success { Ok(output) } else { Err(format!("failed: {}", shown(command))) }
}

/// Runs the command silently; its standard output when it succeeds.
pub fn quiet(command: &mut Command) -> Result<String, String> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("failed: {}\n{said}", shown(command)))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn forward(stream: impl Read + Send + 'static, lines: Sender<String>, echo: Echo) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            if echo == Echo::Printed {
                println!("{line}");
            }
            // The receiver is gone only when the run was given up.
            let _ = lines.send(line);
        }
    })
}

/// Lines until both streams end, one is enough or the deadline comes.
fn collect(lines: &Receiver<String>, deadline: Instant, is_enough: &dyn Fn(&str) -> bool) -> (Vec<String>, End) {
    let mut kept = Vec::new();
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let is_last = is_enough(&line);
                kept.push(line);
                if is_last {
                    return (kept, End::Said);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return (kept, End::Itself),
            Err(RecvTimeoutError::Timeout) => return (kept, End::Budget),
        }
    }
}

/// Ends the child's process group: a test runner's servers must not outlive it.
fn kill_group(child: &Child) {
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_and_failure_seen() {
        let output = run(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]), Duration::from_secs(10))
            .expect("starts");
        assert!(!output.success);
        assert_eq!(output.lines.len(), 2);
    }

    #[test]
    fn a_command_that_has_said_enough_is_ended() {
        let began = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two; sleep 30"]);
        let output = run_unprinted_until(&mut command, Duration::from_secs(20), &|line| line == "two").expect("starts");
        assert!(!output.success && output.lines == ["one", "two"]);
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_command_over_its_budget_is_ended_with_its_children() {
        let began = Instant::now();
        let output =
            run(Command::new("sh").args(["-c", "sleep 30 & sleep 30"]), Duration::from_millis(200)).expect("starts");
        assert!(!output.success);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
