//! `helenus cql`: CQL at a terminal and in scripts, in the words and layouts of Cassandra's cqlsh.
//!
//! ```text
//!   reader ──► input ──► command ──► session ──► server ──► connection
//!   (editor,   (cut into  (told from   │  ▲                  (blocking socket,
//!    stdin,     statements) statements) │  └─ rows             cql-client's dialog)
//!    a file)                            ▼
//!                                      format ──► output
//! ```
//!
//! A shell is a client on no shard: it waits for its user or for its server and does nothing beside that, so its sockets and files block, and it has no runtime. A password is in no
//! history and on no command line of another process; a control character of a value never reaches a terminal. See `docs/internals/shell.md`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(
    clippy::disallowed_methods,
    reason = "a client on no shard: no runtime is there to open files and sockets, to sleep and to tell the time"
)]

mod arguments;
mod command;
mod completion;
mod connection;
mod copy;
mod cqlshrc;
mod editor;
mod error;
mod files;
mod format;
mod help;
mod history;
mod input;
mod names;
mod output;
mod reader;
mod server;
mod session;
mod settings;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::Arguments;
use connection::Interrupts;
use editor::Editor;
use reader::Reader;
use server::Server;
use session::Session;
use settings::Settings;

/// The exit code of a script of which a statement failed, and of arguments that are wrong.
const FAILED: u8 = 2;

/// The definition of the command line, for man pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Does what the arguments after `cql` say. 0: done. 1: no connection, or no access. 2: the arguments are wrong, or a statement of a script failed.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let name = OsString::from("helenus cql");
    let arguments = match Arguments::try_parse_from(std::iter::once(name).chain(arguments)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed terminal takes no message.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { FAILED } else { 0 });
        }
    };
    match started(arguments) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn started(arguments: Arguments) -> Result<ExitCode, String> {
    let settings = Settings::of(arguments, Interrupts::catch).map_err(|error| error.to_string())?;
    let file = match &settings.file {
        Some(path) => match files::statements(path) {
            Ok(text) => Some(Reader::of_text(&path.display().to_string(), &text)),
            Err(error) => return Err(format!("Can't open '{}': {error}", path.display())),
        },
        None => None,
    };
    let server = Server::open(&settings.way).map_err(|error| error.to_string())?;
    let Settings { style, sections, is_interactive, trace_wait, keyspace, execute, history, .. } = settings;
    let mut session = Session::new(server, style, sections, is_interactive, trace_wait);
    if let Some(keyspace) = keyspace {
        let entered = session.enter(&keyspace);
        entered.map_err(|error| format!("Connection error: unable to use keyspace '{keyspace}': {error}"))?;
    }
    match (execute, file) {
        (Some(text), _) => session.run_text(&text),
        (None, Some(mut file)) => session.run(&mut file),
        (None, None) if is_interactive => {
            session.greet();
            let editor = Editor::new(&session.server, history)?;
            session.editor = Some(editor.clone());
            session.run(&mut Reader::of_editor(editor));
        }
        (None, None) => session.run(&mut Reader::of_stdin()),
    }
    let has_failed = session.has_failed && !is_interactive;
    Ok(if has_failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
