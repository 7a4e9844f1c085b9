//! The `helenus` binary: reads the command line and hands over.

mod allocator;

use std::process::ExitCode;

use clap::Parser;
use helenus::cli::{Command, CommandLine};

fn main() -> ExitCode {
    allocator::configure();
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
        Some(Command::Stress(arguments)) => match stress::run(*arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("helenus: {error}");
                ExitCode::FAILURE
            }
        },
    }
}
