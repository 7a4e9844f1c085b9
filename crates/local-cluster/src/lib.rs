//! `helenus cluster`: a cluster of several nodes on one machine, for development and tests.
//!
//! Each node is a process of this same binary, at an address of its own on loopback, with its data, its log and its pid file in one [`Folder`]. The processes run on
//! after the command has ended; the next command finds them by their pid files and sends no signal to a process that is not the one that was started ([`process`]).
//! Readiness and tables are asked of the nodes' admin API ([`api`]). Nothing here knows the server's insides: a node is a command line, an address and HTTP.
//!
//! Not done here: nodes on several machines, configuration files.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it starts nodes and waits for them, beside no shard: it has clocks, files and processes of its own"
)]

mod api;
mod arguments;
mod commands;
mod error;
mod folder;
mod layout;
mod ownership;
mod pidfd;
mod process;
mod remove;
mod start;
mod system;
mod table;

use std::io::Write;

pub use arguments::{Arguments, Command, RemoveArguments, ReplaceArguments, StartArguments};
pub use error::LocalClusterError;

use folder::Folder;

/// Runs the command and prints its result.
pub fn run(arguments: &Arguments) -> Result<(), LocalClusterError> {
    let folder = Folder::at(&arguments.dir)?;
    let text = match &arguments.command {
        Command::Start(start) => start::start(&folder, start)?,
        Command::Add => start::add(&folder)?,
        Command::Remove(arguments) => remove::remove(&folder, arguments)?,
        Command::Replace(arguments) => start::replace(&folder, arguments.number)?,
        Command::Status => commands::status(&folder)?,
        Command::Stop => commands::stop(&folder)?,
        Command::Kill(nodes) => commands::kill(&folder, &nodes.numbers)?,
        Command::Pause(nodes) => commands::pause(&folder, &nodes.numbers)?,
        Command::Resume(nodes) => commands::resume(&folder, &nodes.numbers)?,
    };
    // A reader that has seen enough closes the pipe, which is no failure.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}
