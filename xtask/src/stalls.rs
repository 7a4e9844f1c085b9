//! Stalls of the servers under test: printed and counted always, judged by a soak alone.
//!
//! A server counts a stall in processor time, and so does not count time in which the kernel ran somebody else. But a machine may be a
//! guest, whose host takes its processors away and does not say so: that time looks like work. So a change is not failed by one: it is a line
//! of the run's summary, with its place. A soak judges: a suite whose servers stalled runs again, and a third time if one stalled in the same
//! configuration at the same place, for what is taken away falls anywhere, while a poll that is too long is too long again. A machine that
//! is slow as a whole makes all polls long, which no repetition shows: the bound is as many times wider as the machine took longer than on
//! record for work that is always the same ([`pace`]).
//!
//! The judges (`tests/src/verdict.rs`, `tests/drivers/python/server.py`) write each stall into the file that `HELENUS_STALLS_TO` names,
//! with the configuration before it, and leave the verdict to this. Run by hand, without that name, they fail at the first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::process::say;
use crate::report::{Counts, Passed};
use crate::tests::Effort;
use crate::{pace, workspace};

/// Names the file to the judges.
pub const STALLS_TO: &str = "HELENUS_STALLS_TO";

/// How often a soak runs a suite at most.
const RUNS_MAX: usize = 3;

/// What a poll may take on the machine on record. The servers name what takes longer on any.
const MICROS_MAX: f64 = 5000.0;

/// Runs a suite, and says where its servers stalled; a soak repeats it if they did. `run` gets the file that it must name to the judges.
pub fn watched(
    suite: &str,
    effort: Effort,
    mut run: impl FnMut(&Path) -> Result<Passed, String>,
) -> Result<Passed, String> {
    if effort == Effort::Soak {
        return judged(suite, run);
    }
    let file = file_of(suite)?;
    let mut passed = run(&file)?;
    let stalls = Stalls::read(&file);
    stalls.print(suite);
    passed.told.extend(stalls.summary(suite));
    Ok(passed)
}

/// Runs a suite, and again if its servers stalled.
fn judged(suite: &str, mut run: impl FnMut(&Path) -> Result<Passed, String>) -> Result<Passed, String> {
    let mut stalls = Stalls::default();
    for count in 1..=RUNS_MAX {
        let file = file_of(suite)?;
        let (passed, slowness) = pace::beside(|| run(&file));
        let (passed, mut found) = (passed?, Stalls::read(&file));
        found.print(suite);
        let named = found.lines.len();
        found.lines.retain(|line| is_too_long(line, slowness));
        if found.lines.len() < named {
            say(&format!(
                "{suite}: {slowness:.1} times as slow a machine as on record: {} of these count",
                found.lines.len()
            ));
        }
        stalls = if count == 1 { found } else { stalls.that_come_again(&found) };
        if stalls.lines.is_empty() || !passed.success {
            return Ok(passed);
        }
        if count == RUNS_MAX {
            let said = stalls.lines.iter().map(|line| format!("{suite} stalled each time: {line}")).collect();
            let stalled = Passed { counts: Counts { passed: 0, failed: 1 }, said, ..Passed::default() };
            return Ok(passed.and(stalled));
        }
        say(&format!("{suite}: once more, since a stall that comes again is a defect"));
    }
    unreachable!("the last run returns")
}

/// An empty file for the suite's stalls.
fn file_of(suite: &str) -> Result<PathBuf, String> {
    let name: String = suite.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    Ok(workspace::scratch(&format!("stalls-{name}"))?.join("stalls.txt"))
}

/// What the judges wrote.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stalls {
    lines: Vec<String>,
}

impl Stalls {
    fn read(file: &Path) -> Stalls {
        // No judge had anything to write.
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Stalls::of(&text)
    }

    fn of(text: &str) -> Stalls {
        Stalls { lines: text.lines().map(str::to_owned).collect() }
    }

    fn print(&self, suite: &str) {
        for line in &self.lines {
            say(&format!("{suite}: {line}"));
        }
    }

    /// A line for each configuration and place, with how often and how long.
    fn summary(&self, suite: &str) -> Vec<String> {
        let mut by_origin: BTreeMap<Origin<'_>, (usize, f64)> = BTreeMap::new();
        for line in &self.lines {
            let (count, longest) = by_origin.entry(origin(line)).or_default();
            *count += 1;
            *longest = longest.max(micros(line).unwrap_or_default());
        }
        let word = |word: Option<&str>| word.unwrap_or("?").to_owned();
        let line = |((configuration, place, label), (count, longest)): (Origin<'_>, (usize, f64))| {
            let at = format!("{} {} {}", word(configuration), word(place), word(label));
            format!("{suite}: {count} polls over 5 ms at {at}, the longest of {:.1} ms", longest / 1000.0)
        };
        by_origin.into_iter().map(line).collect()
    }

    /// Those of the later run that were in this one too, by configuration and place.
    fn that_come_again(&self, later: &Stalls) -> Stalls {
        let known: BTreeSet<Origin<'_>> = self.lines.iter().map(|line| origin(line)).collect();
        Stalls { lines: later.lines.iter().filter(|line| known.contains(&origin(line))).cloned().collect() }
    }
}

/// Whether the poll would be too long on the machine on record too. A line that does not say how long it took is held to be.
fn is_too_long(line: &str, slowness: f64) -> bool {
    micros(line).is_none_or(|micros| micros > MICROS_MAX * slowness)
}

fn micros(line: &str) -> Option<f64> {
    line.split_whitespace().find_map(|word| word.strip_prefix("microseconds="))?.parse().ok()
}

/// A stall's configuration, and where the poll was spawned and what it said that it does, if it said so.
type Origin<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn origin(line: &str) -> Origin<'_> {
    let mut words = line.split_whitespace();
    let configuration = words.next();
    let value = |name: &str| words.clone().find_map(|word| word.strip_prefix(name));
    (configuration, value("place="), value("label="))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a suite whose servers write these lines, run by run. Gives the outcome and how often it ran.
    fn run(suite: &str, runs: &[&str]) -> (Passed, usize) {
        let mut count = 0;
        let outcome = judged(suite, |file| {
            std::fs::write(file, runs[count]).expect("the folder is there");
            count += 1;
            Ok(Passed { counts: Counts { passed: 5, failed: 0 }, ..Passed::held() })
        });
        (outcome.expect("it runs"), count)
    }

    #[test]
    fn without_a_stall_a_suite_runs_once() {
        let (passed, count) = run("judged once", &[""]);
        assert_eq!((passed.success, count), (true, 1));
    }

    #[test]
    fn a_stall_that_comes_each_time_is_a_failure() {
        let first = "uring-1 stall place=a.rs:1 label=x micros=7\nepoll-2 stall place=b.rs:2 micros=6\n";
        let again = "epoll-2 stall place=b.rs:2 micros=9\n";
        let (passed, count) = run("judged thrice", &[first, again, first]);
        assert_eq!((passed.success, passed.counts.failed, count), (false, 1, 3));
        assert_eq!(passed.said.len(), 1, "{:?}", passed.said);
        let (passed, count) = run("judged thrice without places", &["", "", ""].map(|_| "epoll-2 stall\n"));
        assert_eq!((passed.success, count), (false, 3));
    }

    #[test]
    fn a_change_is_told_of_stalls_and_not_failed() {
        let mut count = 0;
        let passed = watched("watched", Effort::Ci, |file| {
            count += 1;
            let lines = ["uring-1 stall place=a.rs:1 label=x microseconds=6000\n"; 2].concat();
            std::fs::write(file, lines + "epoll-2 stall\n").expect("the folder is there");
            Ok(Passed { counts: Counts { passed: 5, failed: 0 }, ..Passed::held() })
        });
        let passed = passed.expect("it runs");
        assert_eq!((passed.success, passed.counts.failed, count), (true, 0, 1));
        assert_eq!(passed.told[0], "watched: 1 polls over 5 ms at epoll-2 ? ?, the longest of 0.0 ms");
        assert_eq!(passed.told[1], "watched: 2 polls over 5 ms at uring-1 a.rs:1 x, the longest of 6.0 ms");
    }

    #[test]
    fn a_slow_machine_has_a_wider_bound() {
        let line = "uring-1 stall place=a.rs:1 label=x microseconds=7500 clock_microseconds=9999";
        assert!(is_too_long(line, 1.0) && is_too_long(line, 1.4));
        assert!(!is_too_long(line, 1.6));
        assert!(is_too_long("uring-1 stall", 4.0));
    }

    #[test]
    fn one_that_does_not_is_none() {
        let first = "uring-1 stall place=a.rs:1 label=x\n";
        for second in [
            "",
            "epoll-2 stall place=a.rs:1 label=x\n",
            "uring-1 stall place=b.rs:1 label=x\n",
            "uring-1 stall place=a.rs:1 label=y\n",
        ] {
            let (passed, count) = run("judged and passed", &[first, second]);
            assert_eq!((passed.success, count), (true, 2), "{second}");
        }
        let (passed, count) = run("judged and passed at last", &[first, first, "epoll-2 stall\n"]);
        assert_eq!((passed.success, count), (true, 3));
    }
}
