//! The `helenus` binary: reads the command line and hands over.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

use std::process::ExitCode;

use clap::Parser;
use helenus::cli::{Command, CommandLine};

/// mimalloc: small and quick for the many short-lived vectors of requests that must wait, and it gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            // Help and version are no failures. A closed terminal is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match line.command {
        None => helenus::serve::serve(&line.serve),
        Some(Command::Serve(arguments)) => helenus::serve::serve(&arguments),
        Some(Command::Study(arguments)) => told_code(study::run(&arguments)),
        Some(Command::Sstable(arguments)) => told(filetools::run(arguments)),
        Some(Command::Doctor(arguments)) => told_code(doctor::run(&arguments)),
        Some(Command::Cluster(arguments)) => told(local_cluster::run(&arguments)),
        // Their arguments are their own affair: Cassandra's spellings, and Cassandra's exit codes.
        Some(Command::Cql { arguments }) => shell::run(arguments),
        Some(Command::Stress { words }) => stress::run(words),
        Some(Command::Nodetool { arguments }) => {
            nodetool::run(arguments, |folder| filetools::read_roles(folder).map_err(|error| error.to_string()))
        }
    }
}

/// The exit code, and why it is not 0.
fn told(outcome: Result<(), impl std::fmt::Display>) -> ExitCode {
    told_code(outcome.map(|()| ExitCode::SUCCESS))
}

/// The same, of a command that says in its exit code what it found.
fn told_code(outcome: Result<ExitCode, impl std::fmt::Display>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("helenus: {error}");
            ExitCode::FAILURE
        }
    }
}
