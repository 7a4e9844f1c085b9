//! The load generator behind `helenus stress`.
//!
//! Two generators: loads in cassandra-stress's words go through a driver, as a user's would; `--raw` loads have a client of their own on the
//! runtime, made to cost far less than the server that it measures. See `docs/guide/stress.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod backlog;
mod cpu_time;
mod distribution;
mod driver;
mod error;
mod random;
mod raw;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

pub use error::StressError;

const HELP: &str = "\
Generate load against a node and measure latency and throughput.

Through a driver, with the commands and options of cassandra-stress:
  helenus stress write n=1000000 -rate threads=100 -node 127.0.0.1
  helenus stress read n=1000000 -rate threads=100 fixed=20000/s -pop 'dist=gaussian(1..1000000)'
  helenus stress mixed 'ratio(write=2,read=8)' duration=1m -rate threads=100
  helenus stress counter_write | counter_read ...
  helenus stress user profile=table.yaml 'ops(insert=1,read1=2)' n=1000000 -rate threads=100
  helenus stress ycsb load workload=a recordcount=1000000 -rate threads=100
  helenus stress ycsb run workload=a recordcount=1000000 operationcount=1000000 -rate threads=100

  n=, duration=, err<, cl=, no-warmup, truncate=, ratio(), -rate, -pop, -col, -schema, -insert, -node, -port, -mode, -log,
  -credentials-file and -errors have the syntax and meaning of cassandra-stress; so has -transport, with PEM:
    -transport truststore=ca.crt keystore=client.pem
  A password that neither -mode password= nor -credentials-file has is taken from the variable HELENUS_PASSWORD.
  In addition:
  --json FILE   write the report to FILE as JSON, too
  --pid PIDS    process ids of the servers on this machine: report their CPU time, too
  --cpus N      threads of the driver [default: one per CPU]
  --seed N      seed of random rows [default: the time]
  --start-at T  start at this time, in seconds since 1970, together with other processes
  --sweep BOUND find the highest rate at which a latency meets a bound, for example p99<10ms

Merge the -log hdrfile= files of several processes that ran at the same time:
  helenus stress merge a.hdr b.hdr [--json FILE]

With a raw client, which uses less CPU than the server:
  helenus stress --raw write --rows 1000000
  helenus stress --raw --help
";

/// The command line of a `--raw` load.
#[derive(Debug, Parser)]
#[command(
    name = "helenus stress",
    about = "Generate load against a node with the raw client and measure it",
    max_term_width = 120
)]
struct RawLine {
    #[command(flatten)]
    arguments: raw::Arguments,
}

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Help,
    /// A load through the driver.
    Driver,
    /// Logs of several processes.
    Merge,
    Raw,
    /// A first word that says nothing.
    Unknown(String),
}

impl Asked {
    fn by(words: &[OsString]) -> Asked {
        let first = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        match first.as_str() {
            _ if words.iter().any(|word| word == "--raw") => Asked::Raw,
            "" | "help" | "--help" | "-h" => Asked::Help,
            "merge" => Asked::Merge,
            word if driver::is_command(word) => Asked::Driver,
            word if word.starts_with('-') => Asked::Raw,
            _ => Asked::Unknown(first),
        }
    }
}

/// The definition of the command line, for man pages and completions: the flags of `--raw` loads, under the help of both generators. The words of
/// the driver's loads are cassandra-stress's, which are read by a parser of their own.
pub fn command() -> clap::Command {
    RawLine::command().long_about(HELP)
}

/// Does what the words behind `stress` say. 0: done, and all operations did what they should. 1: why not is on standard error.
pub fn run(words: Vec<OsString>) -> ExitCode {
    match Asked::by(&words) {
        Asked::Help => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Asked::Driver => told(driver::run(&texts(&words))),
        Asked::Merge => told(driver::merge(&texts(&words[1..]))),
        Asked::Raw => raw_line(words),
        Asked::Unknown(word) => told(Err(StressError::Arguments {
            reason: format!("unknown load `{word}`; `stress help` lists the loads"),
        })),
    }
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn raw_line(words: Vec<OsString>) -> ExitCode {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_which_generator_is_meant() {
        let asked = |line: &str| Asked::by(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("write n=5 -rate threads=1"), Asked::Driver);
        assert_eq!(asked("MIXED n=5"), Asked::Driver);
        assert_eq!(asked("user profile=x"), Asked::Driver);
        for line in ["--raw write", "write --raw --rows 5", "--rows 5 --raw read", "--rows 5 read"] {
            assert_eq!(asked(line), Asked::Raw, "{line}");
        }
        for line in ["", "help", "--help"] {
            assert_eq!(asked(line), Asked::Help, "{line}");
        }
        assert_eq!(asked("merge a.hdr"), Asked::Merge);
        assert_eq!(asked("wirte n=5"), Asked::Unknown("wirte".to_owned()));
    }
}
