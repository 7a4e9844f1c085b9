//! The load generator behind `helenus stress`.
//!
//! `--raw` loads have a client of their own on the runtime, made to cost far less than the server that it measures. See `docs/guide/stress.md`.

mod error;
mod random;
mod raw;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use error::StressError;

/// The command line of a `--raw` load.
#[derive(Debug, Parser)]
#[command(name = "helenus stress", about = "Generate load on a server and measure it", max_term_width = 120)]
struct RawLine {
    #[command(flatten)]
    arguments: raw::Arguments,
}

/// Does what the words behind `stress` say. 0: done, and all operations did what they should. 1: why not is on standard error.
pub fn run(words: Vec<OsString>) -> ExitCode {
    match RawLine::try_parse_from(std::iter::once(OsString::from("helenus stress")).chain(words)) {
        Ok(line) => told(raw::run(line.arguments)),
        Err(error) => {
            // Help is no failure. A closed terminal is nobody to tell.
            let _ = error.print();
            if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}

/// The exit code, and why it is not 0.
fn told(outcome: Result<(), StressError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("helenus: {error}");
            ExitCode::FAILURE
        }
    }
}
