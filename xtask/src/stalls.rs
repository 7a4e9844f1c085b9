//! Stalls of the servers under test: printed always, and held against them if they come again.
//!
//! A server counts a stall in processor time, and so does not count time in which the kernel ran somebody else. But a machine may be a
//! guest, whose host takes its processors away and does not say so: that time looks like work. It falls anywhere, while a poll that
//! is too long is too long again. So where a suite's servers stalled, the suite is run once more; what stalls in the same configuration
//! again has failed.
//!
//! The judges (`tests/src/verdict.rs`, `tests/drivers/python/server.py`) write each stall into the file that `HELENUS_STALLS_TO` names,
//! with the configuration before it, and leave the verdict to this. Run by hand, without that name, they fail at the first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::report::{Counts, Passed};
use crate::workspace;

/// Names the file to the judges.
pub const STALLS_TO: &str = "HELENUS_STALLS_TO";

/// Runs a suite, and once more if its servers stalled. `run` is told the file that it must name to the judges.
pub fn judged(suite: &str, mut run: impl FnMut(&Path) -> Result<Passed, String>) -> Result<Passed, String> {
    let file = file_of(suite)?;
    let first = run(&file)?;
    let stalls = Stalls::read(&file);
    if stalls.lines.is_empty() || !first.success {
        stalls.print(suite);
        return Ok(first);
    }
    stalls.print(suite);
    println!("{suite}: once more, since a stall that comes again in the same configuration is a defect");
    let file = file_of(suite)?;
    let mut second = run(&file)?;
    let again = Stalls::read(&file);
    again.print(suite);
    if stalls.come_again(&again) {
        println!("{suite}: FAILED, it stalled twice");
        second.success = false;
        second.counts = second.counts.and(Counts { passed: 0, failed: 1 });
    }
    Ok(second)
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
            println!("{suite}: {line}");
        }
    }

    /// The first word of each line.
    fn configurations(&self) -> BTreeSet<&str> {
        self.lines.iter().filter_map(|line| line.split_whitespace().next()).collect()
    }

    fn come_again(&self, later: &Stalls) -> bool {
        !self.configurations().is_disjoint(&later.configurations())
    }
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
            Ok(Passed { counts: Counts { passed: 5, failed: 0 }, success: true, note: String::new() })
        });
        (outcome.expect("it runs"), count)
    }

    #[test]
    fn without_a_stall_a_suite_runs_once() {
        let (passed, count) = run("judged once", &[""]);
        assert_eq!((passed.success, count), (true, 1));
    }

    #[test]
    fn a_stall_that_comes_again_is_a_failure() {
        let (passed, count) = run("judged twice", &["uring-1 stall\nepoll-2 stall\n", "epoll-2 stall elsewhere\n"]);
        assert_eq!((passed.success, passed.counts.failed, count), (false, 1, 2));
    }

    #[test]
    fn one_that_does_not_is_none() {
        for second in ["", "epoll-2 stall\n"] {
            let (passed, count) = run("judged and passed", &["uring-1 stall\n", second]);
            assert_eq!((passed.success, count), (true, 2));
        }
    }
}
