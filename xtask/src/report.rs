//! Phases with their times, what failed in them, and the test runners' own counts summed.
//!
//! Times fail nothing. They are printed beside what they usually are, with the processor time of the phase's commands and the machine's pace,
//! and written to `ci/record.txt` of the target folder with all figures that the tests tell.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::pace::Pace;
use crate::process::{self, Output, say};
use crate::workspace;

/// A phase that has not ended after this long hangs, and is ended. How long a phase takes fails nothing.
const HUNG_AFTER: Duration = Duration::from_secs(1800);
/// Prefix of a figure in the output of a test: `figure: 16.00 ms: from start to first answer (aim 60.00)`.
const FIGURE: &str = "figure: ";
/// Suffix of a figure that missed its aim.
const MISSED: &str = "MISSED";

/// How many lines of a runner that failed are said again at the end, and how many letters of each.
const SAID_LINES_MAX: usize = 80;
const SAID_LETTERS_MAX: usize = 400;
/// How many of what failed are named in the table.
const NAMED_MAX: usize = 5;

/// How many tests ran, as their runners said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed.
    pub passed: u64,
    /// Failed, or broken before they could.
    pub failed: u64,
}

impl Counts {
    /// Both sums.
    pub fn and(self, other: Counts) -> Counts {
        Counts { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// Reads every summary line of the test runners in the output. Go's has none, and tells each test's verdict instead.
    pub fn of(lines: &[String]) -> Counts {
        lines.iter().filter_map(|line| summary(line)).fold(verdicts_of_go(lines), Counts::and)
    }
}

/// Whether the line is a runner's summary.
pub fn summary(line: &str) -> Option<Counts> {
    let line = plain(line);
    let line = line.trim();
    if line.starts_with("test result: ") {
        return Some(Counts { passed: number_before(line, " passed"), failed: number_before(line, " failed") });
    }
    // Surefire: "[INFO] Tests run: 627, Failures: 1, Errors: 2, Skipped: 3"; a line with the time is of one class, and in the sum.
    let words = line.split_once("] ").map_or(line, |(_, words)| words);
    if words.starts_with("Tests run: ") && !words.contains("Time elapsed") {
        let number = |word| number_after(words, word);
        let failed = number("Failures: ") + number("Errors: ");
        let passed = number("Tests run: ").saturating_sub(failed + number("Skipped: "));
        return Some(Counts { passed, failed });
    }
    // node --test: "ℹ pass 12", "ℹ fail 1" and so on, a line each.
    if let Some(words) = line.strip_prefix("ℹ ") {
        let failed = number_after(words, "fail ") + number_after(words, "cancelled ");
        return Some(Counts { passed: number_after(words, "pass "), failed })
            .filter(|counts| *counts != Counts::default());
    }
    // pytest: "===== 1 failed, 12 passed in 3.21s =====", or the same without the drawing when quiet.
    let text = line.trim_matches('=').trim();
    let timed =
        text.rsplit_once(" in ").is_some_and(|(_, time)| time.starts_with(|digit: char| digit.is_ascii_digit()));
    let counted = [" passed", " failed", " error"].iter().any(|word| text.contains(word));
    (timed && counted && text.starts_with(|digit: char| digit.is_ascii_digit())).then(|| Counts {
        passed: number_before(text, " passed"),
        failed: number_before(text, " failed") + number_before(text, " error"),
    })
}

/// The line without colour codes.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

fn number_before(line: &str, word: &str) -> u64 {
    let Some(at) = line.find(word) else { return 0 };
    let digits = line[..at].rsplit(|character: char| !character.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

fn number_after(line: &str, word: &str) -> u64 {
    let Some((_, rest)) = line.split_once(word) else { return 0 };
    rest.split(|character: char| !character.is_ascii_digit()).next().unwrap_or_default().parse().unwrap_or(0)
}

/// `go test -v` says "--- PASS: TestA/part (0.01s)" of each test and of its parts; those that have parts are not counted.
fn verdicts_of_go(lines: &[String]) -> Counts {
    let verdict = |line: &str| {
        let (words, is_passed) =
            ["--- PASS: ", "--- FAIL: "].iter().zip([true, false]).find_map(|(head, is_passed)| {
                line.trim_start().strip_prefix(head).map(|words| (words.to_string(), is_passed))
            })?;
        words.split_once(" (").map(|(name, _)| (name.to_string(), is_passed))
    };
    let verdicts: Vec<(String, bool)> = lines.iter().filter_map(|line| verdict(line)).collect();
    let wholes: BTreeSet<&str> =
        verdicts.iter().flat_map(|(name, _)| name.match_indices('/').map(|(at, _)| &name[..at])).collect();
    let leaves = verdicts.iter().filter(|(name, _)| !wholes.contains(name.as_str()));
    leaves.fold(Counts::default(), |counts, (_, is_passed)| {
        counts.and(Counts { passed: u64::from(*is_passed), failed: u64::from(!is_passed) })
    })
}

/// What a phase hands back when it holds.
#[derive(Default)]
pub struct Passed {
    /// What its test runners counted.
    pub counts: Counts,
    /// Whether what it ran succeeded; a runner can count failures and still hand its counts back.
    pub success: bool,
    /// A few words for the table.
    pub note: String,
    /// What those said that failed.
    pub said: Vec<String>,
    /// Lines for the summary that fail nothing: stalls, and figures beside their aims.
    pub told: Vec<String>,
}

impl Passed {
    /// Of something that counts nothing.
    pub fn held() -> Passed {
        Passed { success: true, ..Passed::default() }
    }

    /// Of what a test runner said.
    pub fn of(output: &Output) -> Passed {
        let said = if output.success { Vec::new() } else { complaints(&output.lines) };
        let told = output.lines.iter().filter_map(|line| figure(line)).collect();
        Passed { counts: Counts::of(&output.lines), success: output.success, said, told, ..Passed::default() }
    }

    /// Of both, held if both held.
    pub fn and(mut self, other: Passed) -> Passed {
        self.said.extend(other.said);
        self.told.extend(other.told);
        let notes = [self.note, other.note];
        self.note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
        Passed { counts: self.counts.and(other.counts), success: self.success && other.success, ..self }
    }
}

/// The figure that a line tells. A runner may have begun the line with the test's name.
fn figure(line: &str) -> Option<String> {
    line.find(FIGURE).map(|at| plain(&line[at..]))
}

/// The last of what a runner said, without what went well.
fn complaints(lines: &[String]) -> Vec<String> {
    let told = lines.iter().map(|line| plain(line)).filter(|line| !went_well(line.trim()));
    let told: Vec<String> = told.map(|line| line.chars().take(SAID_LETTERS_MAX).collect()).collect();
    told[told.len().saturating_sub(SAID_LINES_MAX)..].to_vec()
}

fn went_well(line: &str) -> bool {
    const HEADS: [&str; 7] =
        ["test result: ok", "Running ", "running ", "Compiling ", "Finished ", "Doc-tests ", "--- PASS"];
    const TAILS: [&str; 3] = [" ... ok", " ... ignored", " PASSED"];
    line.is_empty() || HEADS.iter().any(|head| line.starts_with(head)) || TAILS.iter().any(|tail| line.ends_with(tail))
}

/// The names of what failed, as the runners give them: `    name` in a list of "failures:", "FAILED file::name", "--- FAIL: name (0.01s)",
/// and a planted bug that survived.
fn names_of_failed(said: &[String]) -> Vec<&str> {
    let mut names = Vec::new();
    for line in said {
        let listed = line.strip_prefix("    ").filter(|name| !name.starts_with(' ') && !name.contains(' '));
        let marked =
            ["FAILED ", "--- FAIL: ", "SURVIVED "].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        if let Some(name) = listed.or_else(|| marked?.split_whitespace().next())
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The work of a phase; its argument is the time after which it counts as hung.
pub type Work<'a> = Box<dyn FnOnce(Duration) -> Result<Passed, String> + Send + 'a>;

/// A phase of a run.
pub struct Phase<'a> {
    /// Its name in the table.
    pub name: &'static str,
    /// The seconds that it takes on the machine on record.
    pub usual: u64,
    /// Its work.
    pub work: Work<'a>,
}

struct Row {
    name: &'static str,
    usual: u64,
    took: Duration,
    /// Processor time of the commands that it ran.
    cpu: Duration,
    pace: f64,
    outcome: Result<Passed, String>,
}

impl Row {
    fn held(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|passed| passed.success)
    }

    /// What those said that failed.
    fn said(&self) -> Vec<String> {
        match &self.outcome {
            Ok(passed) => passed.said.clone(),
            Err(message) => complaints(&message.lines().map(str::to_owned).collect::<Vec<_>>()),
        }
    }

    fn told(&self) -> &[String] {
        self.outcome.as_ref().map_or(&[], |passed| &passed.told)
    }

    /// The row of the table.
    fn line(&self) -> (String, Counts) {
        let (outcome, counts) = described(self);
        let times = [self.took.as_secs_f64(), self.cpu.as_secs_f64()];
        let usual = self.usual;
        let line = format!(
            "{:<12} {:>6.0} s {:>6.0} s {usual:>6} s {:>6.2}  {outcome}",
            self.name, times[0], times[1], self.pace
        );
        (line, counts)
    }
}

/// The phases of a run, in order.
pub struct Report {
    began: Instant,
    usual: u64,
    pace: Pace,
    rows: Vec<Row>,
}

impl Report {
    /// A run that takes so many seconds on the machine on record.
    pub fn begin(usual: u64) -> Report {
        Report { began: Instant::now(), usual, pace: Pace::begin(), rows: Vec::new() }
    }

    /// Runs a phase. Returns whether it held.
    pub fn phase(&mut self, phase: Phase<'_>) -> bool {
        let row = carried_out(phase, &self.pace);
        self.rows.push(row);
        self.rows.last().is_some_and(Row::held)
    }

    /// Runs lanes of phases beside each other.
    pub fn lanes(&mut self, lanes: Vec<Vec<Phase<'_>>>) {
        let pace = &self.pace;
        let rows = std::thread::scope(|scope| {
            let run = |lane: Vec<_>| lane.into_iter().map(|phase| carried_out(phase, pace)).collect::<Vec<_>>();
            let running: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(move || run(lane))).collect();
            running.into_iter().map(|lane| lane.join().expect("no lane panics")).collect::<Vec<_>>()
        });
        self.rows.extend(rows.into_iter().flatten());
    }

    /// Prints what failed and what is worth a look, the table and, alone on the last line, the sum of the runners' counts.
    pub fn finish(self) -> Result<(), String> {
        let took = self.began.elapsed();
        for row in &self.rows {
            row.said().iter().for_each(|line| println!("{}: {line}", row.name));
        }
        let told = || self.rows.iter().flat_map(|row| row.told().iter().map(move |line| (row.name, line)));
        let is_worth_a_look = |line: &str| !line.starts_with(FIGURE) || line.ends_with(MISSED);
        let worth: Vec<_> = told().filter(|(_, line)| is_worth_a_look(line)).collect();
        if !worth.is_empty() {
            println!("\nworth a look (nothing fails by the clock; `cargo xtask soak` judges):");
            worth.iter().for_each(|(name, line)| println!("  {name}: {line}"));
        }
        let mut table =
            vec![format!("{:<12} {:>8} {:>8} {:>8} {:>6}  outcome", "phase", "time", "cpu", "usual", "pace")];
        let mut counts = Counts::default();
        for row in &self.rows {
            let (line, seen) = row.line();
            counts = counts.and(seen);
            table.push(line);
        }
        let pace = self.pace.since(self.began);
        let (seconds, cpu) = (took.as_secs_f64(), process::children_cpu().as_secs_f64());
        table.push(format!("{:<12} {seconds:>6.0} s {cpu:>6.0} s {:>6} s {pace:>6.2}", "all", self.usual));
        table.push(format!("at the usual pace: {:.0} s, {:.0} s of processor time", seconds / pace, cpu / pace));
        println!("\n{}", table.join("\n"));
        let figures = told().map(|(name, line)| format!("{name}: {line}"));
        record(&table.into_iter().chain(figures).collect::<Vec<_>>())?;
        println!("{} passed, {} failed", counts.passed, counts.failed);
        if counts.failed == 0 { Ok(()) } else { Err(String::new()) }
    }
}

/// Runs a phase, whose name stands before each line that it prints.
fn carried_out(phase: Phase<'_>, pace: &Pace) -> Row {
    let Phase { name, usual, work } = phase;
    process::in_lane(name, || {
        say(&format!("=== {name}"));
        let began = Instant::now();
        let outcome = work(HUNG_AFTER);
        let took = began.elapsed();
        if let Err(message) = &outcome {
            say(message);
        }
        say(&format!("=== {name} ended after {:.0} s", took.as_secs_f64()));
        Row { name, usual, took, cpu: process::lane_cpu(name), pace: pace.since(began), outcome }
    })
}

/// Keeps the table and all figures in the target folder.
fn record(lines: &[String]) -> Result<(), String> {
    let folder = workspace::target().join("ci");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    workspace::write(&folder.join("record.txt"), &(lines.join("\n") + "\n"))
}

/// A row's outcome in words, and its counts: a phase that failed without a runner counting so is one failure.
fn described(row: &Row) -> (String, Counts) {
    match &row.outcome {
        Ok(passed) => {
            let mut counts = passed.counts;
            let verdict = if passed.success && counts.failed == 0 {
                "ok"
            } else {
                counts.failed = counts.failed.max(1);
                "FAILED"
            };
            let counted = if passed.counts == Counts::default() {
                String::new()
            } else {
                format!(", {} passed, {} failed", passed.counts.passed, passed.counts.failed)
            };
            let names = names_of_failed(&passed.said);
            let mut named = String::new();
            if !names.is_empty() {
                named = format!(": {}", names[..names.len().min(NAMED_MAX)].join(", "));
                if names.len() > NAMED_MAX {
                    named.push_str(", …");
                }
            }
            let note = if passed.note.is_empty() { String::new() } else { format!(", {}", passed.note) };
            (format!("{verdict}{counted}{named}{note}"), counts)
        }
        Err(message) => {
            (format!("FAILED: {}", message.lines().next().unwrap_or_default()), Counts { passed: 0, failed: 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_summaries_are_read() {
        let lines: Vec<String> = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored",
            "=========== 1 failed, 7 passed, 2 skipped in 3.21s ===========",
            "5 passed in 0.10s",
            "\u{1b}[32m\u{1b}[1m4 passed\u{1b}[0m\u{1b}[32m in 0.5s\u{1b}[0m",
            "2 errors in 1.0s",
            "the 3 passed tests took long in 3 cases",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(Counts::of(&lines[..6]), Counts { passed: 12 + 3 + 7 + 5 + 4, failed: 2 + 1 + 2 });
        assert_eq!(summary(&lines[6]), None);
    }

    #[test]
    fn other_languages_runners_are_read() {
        let count = |lines: &[&str]| Counts::of(&lines.iter().map(|line| (*line).to_string()).collect::<Vec<_>>());
        let surefire = [
            "[ERROR] Tests run: 75, Failures: 1, Errors: 2, Skipped: 0, Time elapsed: 9.531 s <<< FAILURE! -- in DriverTest",
            "[ERROR] Tests run: 627, Failures: 1, Errors: 2, Skipped: 4",
        ];
        assert_eq!(count(&surefire), Counts { passed: 620, failed: 3 });
        let node = ["ℹ tests 14", "ℹ suites 2", "ℹ pass 11", "ℹ fail 2", "ℹ cancelled 1", "ℹ duration_ms 23.5"];
        assert_eq!(count(&node), Counts { passed: 11, failed: 3 });
        let go = [
            "=== RUN   TestDriver",
            "--- FAIL: TestDriver (1.20s)",
            "    --- FAIL: TestDriver/uring (1.00s)",
            "        --- PASS: TestDriver/uring/typing (0.10s)",
            "            --- PASS: TestDriver/uring/typing/map<text,_int> (0.10s)",
            "        --- FAIL: TestDriver/uring/keys (0.10s)",
            "--- PASS: TestAlone (0.00s)",
            "ok  \thelenus/drivers\t1.3s",
        ];
        assert_eq!(count(&go), Counts { passed: 2, failed: 1 });
    }

    #[test]
    fn of_a_runner_that_failed_the_complaints_are_kept() {
        let said = |lines: &[&str], success| {
            let lines = lines.iter().map(|line| (*line).to_string()).collect();
            Passed::of(&Output { lines, success }).said
        };
        let lines =
            ["running 2 tests", "test a ... ok", "", "test b ... FAILED", "test result: FAILED. 1 passed; 1 failed"];
        assert_eq!(said(&lines, false), [lines[3], lines[4]]);
        assert!(said(&lines, true).is_empty());
        let many: Vec<String> = (0..200).map(|number| number.to_string()).collect();
        let last = said(&many.iter().map(String::as_str).collect::<Vec<_>>(), false);
        assert_eq!((last.len(), last.last().map(String::as_str)), (SAID_LINES_MAX, Some("199")));
        assert_eq!(said(&["x".repeat(1000).as_str()], false)[0].len(), SAID_LETTERS_MAX);
    }

    #[test]
    fn what_failed_is_named_in_the_table() {
        let said = [
            "failures:",
            "---- memory::grows stdout ----",
            "thread 'memory::grows' (7) panicked at crates/runtime/tests/contract/cancel.rs:153:5:",
            "    at some place",
            "failures:",
            "    memory::grows",
            "    memory::shrinks",
            "test result: FAILED. 1 passed; 2 failed",
            "FAILED test_types.py::test_map[uring-1] - assert 1 == 2",
            "    --- FAIL: TestDriver/uring (1.00s)",
            "SURVIVED  crc-unchecked                    Storage      3.0 s  The checksums are not compared.",
        ]
        .map(String::from);
        let names = ["memory::grows", "memory::shrinks", "test_types.py::test_map[uring-1]", "TestDriver/uring"];
        assert_eq!(names_of_failed(&said), [&names[..], &["crc-unchecked"]].concat());
        let passed = Passed { counts: Counts { passed: 9, failed: 6 }, said: said.into(), ..Passed::default() };
        let outcome = |passed| {
            let (took, cpu, outcome) = (Duration::ZERO, Duration::ZERO, Ok(passed));
            let row = Row { name: "unit", usual: 0, took, cpu, pace: 1.0, outcome };
            described(&row).0
        };
        let mut more = Passed { counts: passed.counts, said: passed.said.clone(), ..Passed::default() };
        let all = format!("FAILED, 9 passed, 6 failed: {}, crc-unchecked", names.join(", "));
        assert_eq!(outcome(passed), all);
        more.said.push("    one::more".into());
        assert_eq!(outcome(more), format!("{all}, …"));
        assert_eq!(outcome(Passed::held()), "ok");
    }

    fn phase(work: impl FnOnce() -> Result<Passed, String> + Send + 'static) -> Phase<'static> {
        Phase { name: "lint", usual: 0, work: Box::new(|_| work()) }
    }

    #[test]
    fn a_failed_phase_counts_even_when_no_runner_said_so() {
        let mut report = Report::begin(60);
        assert!(!report.phase(phase(|| Err("clippy complains".into()))));
        assert_eq!(report.rows[0].line().1, Counts { passed: 0, failed: 1 });
        assert!(report.phase(phase(|| Ok(Passed::held()))));
        assert_eq!(report.rows[1].line().1, Counts::default());
    }

    #[test]
    fn lanes_run_beside_each_other_and_their_rows_keep_their_order() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let waits = phase(move || receiver.recv().map(|()| Passed::held()).map_err(|_| "nobody sent".into()));
        let sends = phase(move || sender.send(()).map(|()| Passed::held()).map_err(|_| "nobody received".into()));
        let mut report = Report::begin(60);
        report.lanes(vec![vec![waits, phase(|| Err("no".into()))], vec![sends]]);
        assert_eq!(report.rows.iter().map(Row::held).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn figures_are_kept_and_the_test_they_stand_behind_is_not() {
        let line = "test footprint::idle ... figure: 1.20 % of a core (aim 1.00 %) MISSED".to_string();
        let output = Output { lines: vec![line, "no figure".into()], success: true };
        assert_eq!(Passed::of(&output).told, ["figure: 1.20 % of a core (aim 1.00 %) MISSED"]);
    }
}
