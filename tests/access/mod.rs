//! The matrix's command; `cargo xtask access matrix` calls it with the server that it started.
//!
//! - `matrix record SERVER [ROW…]`: writes the real server's verdicts into `tests/access/matrix.txt`
//! - `matrix check SAMPLE`: Helenus must give the same, on all rows or on a third of them
//!
//! The SERVER is `guarded=hash@address`; the SAMPLE is `all` or a number.

use std::process::ExitCode;

use helenus_tests::access;
use helenus_tests::oracle::Peer;

/// Carries out one command.
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["matrix", "record", server, ref rows @ ..] => match Peer::parse(server) {
            Some(peer) => access::record(&peer, rows),
            None => Err(format!("`{server}` is no server")),
        },
        ["matrix", "check", sample] => access::check(sample),
        _ => Err(format!("`{}` is no command of the matrix", words.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
