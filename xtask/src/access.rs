//! `cargo xtask access matrix`: which role may run what, on Helenus as a real Cassandra says.
//!
//! The runner and the file of verdicts are a part of the tests: `tests/src/access.rs`, `tests/access/matrix.txt`.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::drivers::sample::Sample;
use crate::peers::cassandra::{Cassandra, Purpose};
use crate::peers::port::free_port;
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, build_product, environment};
use crate::{built, process, workspace};

const TIME: Duration = Duration::from_secs(3600);
/// All rows, not a part of them.
const ALL: &str = "all";
/// Of one node a change tries one of so many parts of the rows.
const PARTS: u64 = 3;
/// Of three nodes it tries one of so many: a change of access takes several times as long there.
const PARTS_OF_CLUSTER: u64 = 33;

/// `cargo xtask access matrix [--nodes 3 | --record [ROW…]]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["matrix"] => {
            build_product(TIME)?;
            runner(&["matrix", "check", ALL])
        }
        ["matrix", "--nodes", "3"] => {
            build_product(TIME)?;
            runner(&["matrix", "check-cluster", ALL])
        }
        ["matrix", "--record", ref rows @ ..] => {
            // Before the server starts, which would wait for the compiler.
            built::test("tests", "peers", BUILD_TIME)?;
            let purpose = Purpose::AnswersOfGuarded;
            let server = Cassandra::start(purpose, free_port()?, None)?;
            let argument = server.argument(purpose);
            runner(&[&["matrix", "record", argument.as_str()], rows].concat())
        }
        _ => Err("the task is `access matrix`, `access matrix --nodes 3` or `access matrix --record`".into()),
    }
}

/// The part of the CI: some of the statements against one node and against three, of a soak all.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let began = Instant::now();
    let (of_node, of_cluster) = match Sample::chosen(effort)? {
        Sample::All => (ALL.to_owned(), ALL.to_owned()),
        Sample::Third(number) => {
            // The sample's number chooses among thirds alone.
            let hash = workspace::commit_hash().unwrap_or(number);
            (format!("{number}/{PARTS}"), format!("{hash}/{PARTS_OF_CLUSTER}"))
        }
    };
    let tried = |suite: &str, command: &str, sample: &str| {
        let left = budget.saturating_sub(began.elapsed());
        stalls::watched(suite, effort, |file| {
            Ok(Passed::of(&run_runner(&["matrix", command, sample], Some(file), left)?))
        })
    };
    Ok(tried("access", "check", &of_node)?.and(tried("access on three nodes", "check-cluster", &of_cluster)?))
}

fn runner(words: &[&str]) -> Result<(), String> {
    let output = run_runner(words, None, TIME)?;
    if output.success { Ok(()) } else { Err(String::new()) }
}

/// Calls the runner. Without a file for stalls it fails at the first.
fn run_runner(words: &[&str], stalls: Option<&Path>, budget: Duration) -> Result<process::Output, String> {
    let mut runner = built::test("tests", "peers", BUILD_TIME)?.command();
    runner.arg("access").args(words);
    environment(&mut runner, Effort::Ci).envs(stalls.map(|file| (STALLS_TO, file)));
    process::run(&mut runner, budget)
}
