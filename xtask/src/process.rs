//! Running a command with its output passed on line by line, kept for counting, and a deadline.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What a command said.
pub struct Output {
    /// Standard output and error, in the order in which the lines came.
    pub lines: Vec<String>,
    /// Whether it ended with code 0 within its time.
    pub success: bool,
}

/// Which lines of a command are printed as they arrive.
#[derive(Clone, Copy)]
enum Echo<'a> {
    All,
    None,
    /// All but those.
    Without(&'a (dyn Fn(&str) -> bool + Sync)),
}

impl Echo<'_> {
    fn prints(self, line: &str) -> bool {
        match self {
            Echo::All => true,
            Echo::None => false,
            Echo::Without(is_left_out) => !is_left_out(line),
        }
    }
}

thread_local! {
    /// The lane of this thread, printed before each of its lines.
    static LANE: Cell<&'static str> = const { Cell::new("") };
}

/// Carries out `work` with the name before each line that it prints: several lanes print at once.
pub fn in_lane<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let before = LANE.replace(name);
    let outcome = work();
    LANE.set(before);
    outcome
}

/// The lane that this thread prints in, for threads that it starts.
pub fn lane() -> &'static str {
    LANE.get()
}

/// Prints lines in this thread's lane.
pub fn say(text: &str) {
    let lane = LANE.get();
    for line in text.lines() {
        println!("{}{line}", head(lane));
    }
}

/// Prefix of a line of a lane.
fn head(lane: &str) -> String {
    if lane.is_empty() { String::new() } else { format!("{lane}| ") }
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
    say(&format!("+ {}", shown(command)));
    run_with(command, budget, Echo::All, &|_| false)
}

/// The same, without printing some lines, which are kept too.
pub fn run_without(
    command: &mut Command,
    budget: Duration,
    is_left_out: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Output, String> {
    say(&format!("+ {}", shown(command)));
    run_with(command, budget, Echo::Without(is_left_out), &|_| false)
}

/// The same, only keeping what it says: for a run whose failures are no failures of this one.
pub fn run_unprinted(command: &mut Command, budget: Duration) -> Result<Output, String> {
    run_with(command, budget, Echo::None, &|_| false)
}

/// The same; ends it, with all its children, at the first line for which `is_enough`. That is no success.
pub fn run_unprinted_until(
    command: &mut Command,
    budget: Duration,
    is_enough: &dyn Fn(&str) -> bool,
) -> Result<Output, String> {
    run_with(command, budget, Echo::None, is_enough)
}

fn run_with(
    command: &mut Command,
    budget: Duration,
    echo: Echo<'_>,
    is_enough: &dyn Fn(&str) -> bool,
) -> Result<Output, String> {
    let deadline = Instant::now() + budget;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    let (sender, lines) = channel();
    let (stdout, stderr) = (child.stdout.take().expect("piped above"), child.stderr.take().expect("piped above"));
    let lane = lane();
    let (mut kept, status, end) = std::thread::scope(|scope| {
        let to_error = sender.clone();
        scope.spawn(move || forward(stdout, &sender, lane, echo));
        scope.spawn(move || forward(stderr, &to_error, lane, echo));
        let (kept, end) = collect(&lines, deadline, is_enough);
        if end == End::Budget {
            say(&format!("no end within {} s: killed", budget.as_secs()));
        }
        if end != End::Itself {
            kill_group(&child);
        }
        // Before it is waited for: then the kernel forgets it.
        add_cpu(lane, cpu_when_ended(child.id()));
        (kept, child.wait(), end)
    });
    let status = status.map_err(|error| format!("cannot wait for {}: {error}", shown(command)))?;
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

fn forward(stream: impl Read, lines: &Sender<String>, lane: &str, echo: Echo<'_>) {
    for line in BufReader::new(stream).split(b'\n') {
        let Ok(line) = line else { return };
        let line = String::from_utf8_lossy(&line).into_owned();
        if echo.prints(&line) {
            println!("{}{line}", head(lane));
        }
        // The receiver is gone only when the run was given up.
        let _ = lines.send(line);
    }
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

/// Processor time of the commands of each lane.
static LANES_CPU: Mutex<BTreeMap<&'static str, Duration>> = Mutex::new(BTreeMap::new());

/// The kernel's unit of processor time in /proc: hundredths of a second on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

fn add_cpu(lane: &'static str, used: Duration) {
    *LANES_CPU.lock().expect("no holder panics").entry(lane).or_default() += used;
}

/// Processor time of the commands that have ended in a lane, and of what they waited for.
pub fn lane_cpu(lane: &str) -> Duration {
    LANES_CPU.lock().expect("no holder panics").get(lane).copied().unwrap_or_default()
}

/// Processor time of all processes that this one has waited for, and of those that they waited for.
pub fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&stat, 2..4)
}

/// Processor time of a process whose output has ended, and of its children that were waited for. Polls until the process is a zombie.
fn cpu_when_ended(pid: u32) -> Duration {
    for _ in 0..200 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if after_name(&stat).next() == Some("Z") {
            return ticks(&stat, 0..4);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Duration::ZERO
}

/// The words of `/proc/PID/stat` after the program's name, which may hold anything: the state is the first.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, words)| words).split_whitespace()
}

/// The sum of some of user time, system time and both of the children that were waited for, which are words 11 to 14 after the state.
fn ticks(stat: &str, which: std::ops::Range<usize>) -> Duration {
    let words = after_name(stat).skip(11 + which.start).take(which.len());
    let sum: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(sum as f64 / TICKS_PER_SECOND)
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
    fn processor_time_is_counted_by_lane() {
        let stat = "7 (a) b) Z 1 7 7 0 -1 4 0 0 0 0 100 20 3 5 20 0 1";
        assert_eq!(ticks(stat, 0..4), Duration::from_millis(1280));
        assert_eq!(ticks(stat, 2..4), Duration::from_millis(80));
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let output = in_lane("counted", || run_unprinted(Command::new("sh").args(["-c", busy]), Duration::MAX / 4));
        assert!(output.expect("starts").success);
        assert!(lane_cpu("counted") > Duration::ZERO && lane_cpu("other") == Duration::ZERO);
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
