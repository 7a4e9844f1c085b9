//! The matrix's command; `cargo xtask access matrix` calls it with the server that it started.
//!
//! - `matrix record SERVER [ROW…]`: writes the real server's verdicts into `tests/access/matrix.txt`
//! - `matrix check PART`: one node of Helenus must give the same, on a part of the rows
//! - `matrix check-cluster PART`: three nodes must
//!
//! The SERVER is `guarded=hash@address`; the PART is `all`, or `number/count` for one of so many parts.

use std::process::ExitCode;

use helenus_tests::oracle::Peer;
use helenus_tests::{Part, access};

/// Carries out one command.
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["matrix", "record", server, ref rows @ ..] => match Peer::parse(server) {
            Some(peer) => access::record(&peer, rows),
            None => Err(format!("`{server}` is no server")),
        },
        ["matrix", "check", part] => Part::parse(part).and_then(access::check),
        ["matrix", "check-cluster", part] => Part::parse(part).and_then(access::check_cluster),
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
