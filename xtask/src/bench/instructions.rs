//! `cargo xtask bench --instructions [--record]`: how many instructions the server executes for a request, counted by callgrind.
//!
//! They are the same on a busy machine as on a quiet one, so a growth of a few per cent is seen where times would hide it. The server is the
//! one that a change is tested with (profile `release`), with one shard, on epoll, since callgrind knows no io_uring; what the kernel does is not
//! counted. The figures that hold lie in `bench/instructions.txt`. `--profile dist` counts the shipped build's beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::callgrind::Counted;
use super::load::{self, Workload};
use super::subject::Server;
use crate::report::Passed;
use crate::workspace;

/// A request may take so many times the instructions on record.
const GROWTH_MAX: f64 = 1.05;
const WORKLOADS: [Workload; 2] = [Workload::Write, Workload::Read];
const OPERATIONS: u64 = 20_000;
const HEAD: &str = "\
# Instructions that the server executes for a request: `cargo xtask bench --instructions --record` writes them,
# and CI holds that they grow by no more than a twentieth.
";

/// Instructions for a request of each workload.
type Figures = BTreeMap<String, u64>;

/// `cargo xtask bench --instructions`; `--record` keeps what it finds.
pub fn run(records: bool) -> Result<(), String> {
    match records {
        true => workspace::write(&file(), &text(&measure()?)),
        false => check().map(|words| println!("{words}")),
    }
}

/// Counts, and says how that compares with what is on record; an error if a request has grown by more than it may.
fn check() -> Result<String, String> {
    judged(&measure()?, &recorded()?)
}

/// The phase of `ci`.
pub fn gate() -> Result<Passed, String> {
    check().map(|note| Passed { note, ..Passed::held() })
}

/// What has grown, in words; an error if anything has by more than it may.
fn judged(found: &Figures, recorded: &Figures) -> Result<String, String> {
    let mut words = Vec::new();
    let mut holds = true;
    for (workload, &count) in found {
        let &before = recorded.get(workload).ok_or_else(|| format!("no figure of {workload} is on record"))?;
        let growth = count as f64 / before as f64;
        holds &= growth <= GROWTH_MAX;
        words.push(format!("{workload} {count} instructions, {growth:.3} times those on record"));
    }
    let words = words.join("; ");
    match holds {
        true => Ok(words),
        false => Err(format!(
            "{words}; at most {GROWTH_MAX} times. If it is worth that: `cargo xtask bench --instructions --record`"
        )),
    }
}

fn measure() -> Result<Figures, String> {
    let counted = Counted::start::<&str>("instructions", false, &[])?;
    // Uncounted: what happens only once, and the rows that the reads find.
    for workload in WORKLOADS {
        ask(&counted.server, workload)?;
    }
    counted.begin()?;
    let mut found = Figures::new();
    for workload in WORKLOADS {
        counted.zero()?;
        ask(&counted.server, workload)?;
        let count: u64 = counted.dump()?.iter().map(|dump| dump.total).sum();
        found.insert(workload.name().to_owned(), count / OPERATIONS);
    }
    Ok(found)
}

fn ask(server: &Server, workload: Workload) -> Result<(), String> {
    let operations = OPERATIONS.to_string();
    let arguments =
        [workload.name(), "--connections", "1", "--depth", "128", "--rows", &operations, "--operations", &operations];
    load::generate(&server.address, server.child.id(), &arguments).map(drop)
}

fn file() -> PathBuf {
    workspace::root().join("bench/instructions.txt")
}

fn recorded() -> Result<Figures, String> {
    let file = file();
    let text = fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    figures(&text).ok_or_else(|| format!("{} is not lines of a workload and a number", file.display()))
}

fn figures(text: &str) -> Option<Figures> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| line.split_once(' ').and_then(|(name, count)| Some((name.to_owned(), count.parse().ok()?))))
        .collect()
}

fn text(figures: &Figures) -> String {
    let lines = figures.iter().map(|(workload, count)| format!("{workload} {count}\n"));
    HEAD.to_owned() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: u64, read: u64) -> Figures {
        [("write".to_owned(), write), ("read".to_owned(), read)].into()
    }

    #[test]
    fn what_is_recorded_is_read() {
        assert_eq!(figures(&text(&of(5000, 4000))), Some(of(5000, 4000)));
        assert_eq!(figures("write many\n"), None);
    }

    #[test]
    fn a_request_may_grow_by_a_twentieth() {
        let recorded = of(5000, 4000);
        assert!(judged(&of(5250, 3000), &recorded).is_ok());
        assert!(judged(&of(5251, 3000), &recorded).is_err());
        assert!(judged(&of(5000, 4201), &recorded).is_err());
        assert!(judged(&recorded, &figures("write 5000").expect("a figure")).is_err(), "reads were not recorded");
    }
}
