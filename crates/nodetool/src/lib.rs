//! `helenus nodetool`: what an operator asks a node, in the commands and layouts of Cassandra's `nodetool`.
//!
//! A command asks the node's REST API (`docs/internals/admin.md`), makes a report of the answers, and prints it as text or as JSON.
//! Everything that is not this process (the node, the clock, the name server) is behind [`Surroundings`], so that a test runs a whole
//! command line against written answers. The crate knows nothing of storage or of queries: a node that answers the same paths
//! would do. See `docs/guide/nodetool.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod access;
mod answers;
mod arguments;
mod commands;
mod error;
mod histogram;
mod http;
mod layout;
mod members;
mod report;
mod spelling;
mod surroundings;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

pub use error::ToolError;

use arguments::Arguments;
use surroundings::Surroundings;

/// Reads the roles of a Cassandra's files in a folder, and gives them as JSON for a node's administrative port, or a sentence about why not. The binary gives
/// it: this crate knows no files of a database.
pub type RolesReader = fn(&Path) -> Result<String, String>;

/// The definition of the command line, for man pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Does what the arguments behind `nodetool` say. 0: done. 1: the arguments are wrong, or the node says no, or is not there.
/// 2: it failed.
pub fn run(arguments: Vec<OsString>, roles: RolesReader) -> ExitCode {
    let arguments = match parsed(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed terminal is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()));
        }
    };
    let mut node = match http::Client::new(&arguments, roles) {
        Ok(node) => node,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "nodetool: {error}");
            return ExitCode::from(error.exit_code());
        }
    };
    let mut told = Told::default();
    let code = answered(&arguments, &mut node, &mut told);
    let _ = std::io::stderr().lock().write_all(told.errors.as_bytes());
    let mut output = std::io::stdout().lock();
    match output.write_all(told.output.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::from(code),
        // Who reads the first lines only has what he wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(code),
        Err(source) => {
            let _ = writeln!(std::io::stderr(), "nodetool: cannot print: {source}");
            ExitCode::from(2)
        }
    }
}

/// What is printed, and where.
#[derive(Default)]
struct Told {
    output: String,
    errors: String,
}

fn parsed(arguments: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let arguments = spelling::long(arguments);
    if arguments.is_empty() {
        return Arguments::try_parse_from(["nodetool", "--help"]);
    }
    Arguments::try_parse_from(std::iter::once(OsString::from("nodetool")).chain(arguments))
}

/// Runs the command and gives its exit code.
fn answered(arguments: &Arguments, surroundings: &mut dyn Surroundings, told: &mut Told) -> u8 {
    for warning in arguments.warnings() {
        told.errors.push_str(&format!("nodetool: {warning}\n"));
    }
    match commands::run(&arguments.command, surroundings) {
        Ok(answer) => {
            told.output = if arguments.json { answer.json } else { answer.text };
            0
        }
        Err(error) => {
            told.errors.push_str(&format!("nodetool: {error}\n"));
            error.exit_code()
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests read their scripts, and have a server of their own")]
mod tests;
