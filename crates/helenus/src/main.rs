//! The `helenus` binary: reads the command line and hands over.

use std::process::ExitCode;

use clap::Parser;
use helenus::cli::{Command, CommandLine};

/// mimalloc: small and quick for the many short-lived vectors of requests that must wait, and it gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let line = CommandLine::parse();
    match line.command {
        None => helenus::serve::serve(&line.serve),
        Some(Command::Serve(arguments)) => helenus::serve::serve(&arguments),
        Some(Command::Stress(arguments)) => stress::run(*arguments),
    }
}
