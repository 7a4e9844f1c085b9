//! `cargo xtask access matrix`: which role may run what, on Helenus as a real Cassandra says.
//!
//! The runner and the file of verdicts are a part of the tests: `tests/src/access.rs`, `tests/access/matrix.txt`.

use std::path::Path;
use std::time::Duration;

use crate::drivers::sample::Sample;
use crate::peers::cassandra::{Cassandra, Purpose};
use crate::peers::port::free_port;
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, build_product, environment};
use crate::{built, process};

const TIME: Duration = Duration::from_secs(3600);
/// All rows, not a third of them.
const ALL: &str = "all";

/// `cargo xtask access matrix [--record [ROW…]]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["matrix"] => {
            build_product(TIME)?;
            runner(&["matrix", "check", ALL])
        }
        ["matrix", "--record", ref rows @ ..] => {
            // Before the server starts, which would wait for the compiler.
            built::test("tests", "peers", BUILD_TIME)?;
            let purpose = Purpose::AnswersOfGuarded;
            let server = Cassandra::start(purpose, free_port()?, None)?;
            let argument = server.argument(purpose);
            runner(&[&["matrix", "record", argument.as_str()], rows].concat())
        }
        _ => Err("the task is `access matrix`, or `access matrix --record`".into()),
    }
}

/// The part of the CI: a third of the statements against Helenus, of a soak all.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let sample = match Sample::chosen(effort)? {
        Sample::All => ALL.to_owned(),
        Sample::Third(number) => number.to_string(),
    };
    stalls::watched("access", effort, |file| {
        Ok(Passed::of(&run_runner(&["matrix", "check", &sample], Some(file), budget)?))
    })
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
