//! `cargo xtask access matrix`: which role may run what, on Helenus as a real Cassandra says.
//!
//! The runner and the file of verdicts are a part of the tests: `tests/src/access.rs`, `tests/access/matrix.txt`.

use std::time::Duration;

use crate::built;
use crate::oracle;
use crate::peers::cassandra::{Cassandra, Purpose};
use crate::process;
use crate::tests::{BUILD_TIME, Effort, build_product, environment};

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
            let server = Cassandra::start(purpose, oracle::free_port()?, None)?;
            let argument = oracle::name(purpose, &server);
            runner(&[&["matrix", "record", argument.as_str()], rows].concat())
        }
        _ => Err("the task is `access matrix`, or `access matrix --record`".into()),
    }
}

fn runner(words: &[&str]) -> Result<(), String> {
    let mut runner = built::test("tests", "peers", BUILD_TIME)?.command();
    runner.arg("access").args(words);
    environment(&mut runner, Effort::Ci);
    let output = process::run(&mut runner, TIME)?;
    if output.success { Ok(()) } else { Err(String::new()) }
}
