//! A session: lines to statements, statements to the server or to the shell's own commands, one after the other.
//!
//! State: the server, the keyspace, the levels, pages, layout, capture and tracing. A sourced file has the server, the keyspace and tracing of the session and defaults of the others, and leaves
//! all of them as they were.

mod commands;
mod describe;
mod header;
mod results;
mod trace;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Consistency;

use crate::command::{self, Command};
use crate::cqlshrc::Sections;
use crate::editor::Editor;
use crate::error::CallError;
use crate::format::Style;
use crate::history;
use crate::input::{Input, NoToken, Statement, Unreadable, Whole};
use crate::output::{Captured, Output};
use crate::reader::{Line, Reader};
use crate::server::Server;
use header::Kinds;

/// Rows of a page where nothing else is asked for.
const PAGE_ROWS: i32 = 100;

/// The state that a sourced file has of its own.
#[derive(Debug, Clone, Copy)]
struct Modes {
    consistency: Consistency,
    serial_consistency: Consistency,
    page_rows: i32,
    pages: bool,
    expands: bool,
    traces: bool,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            consistency: Consistency::One,
            serial_consistency: Consistency::Serial,
            page_rows: PAGE_ROWS,
            pages: true,
            expands: false,
            traces: false,
        }
    }
}

/// The state of a session while a sourced file runs.
struct Outer {
    modes: Modes,
    place: Option<(String, usize)>,
    is_interactive: bool,
    keyspace: Option<String>,
    capture: Option<Captured>,
    server: Option<Server>,
}

/// A session with a server.
pub(crate) struct Session {
    pub(crate) server: Rc<RefCell<Server>>,
    pub(crate) output: Output,
    pub(crate) style: Style,
    pub(crate) sections: Sections,
    /// The one that the session's questions are asked by, if a person is there.
    pub(crate) editor: Option<Editor>,
    keyspace: Option<String>,
    modes: Modes,
    /// Prompts, and pauses between pages.
    is_interactive: bool,
    trace_wait: Duration,
    kinds: Kinds,
    /// Lines of HISTORY.
    history_lines: usize,
    /// The name of what is read, and its line, for errors of scripts.
    place: Option<(String, usize)>,
    ends: bool,
    /// Sourced files that are open.
    depth: usize,
    /// The server of before a sourced file's LOGIN.
    server_before: Option<Server>,
    /// Some statement failed.
    pub(crate) has_failed: bool,
}

impl Session {
    pub(crate) fn new(
        server: Server,
        style: Style,
        sections: Sections,
        is_interactive: bool,
        trace_wait: Duration,
    ) -> Session {
        Session {
            server: Rc::new(RefCell::new(server)),
            output: Output::new(style.is_coloured),
            style,
            sections,
            editor: None,
            keyspace: None,
            modes: Modes::default(),
            is_interactive,
            trace_wait,
            kinds: Kinds::default(),
            history_lines: history::LINES_SHOWN,
            place: None,
            ends: false,
            depth: 0,
            server_before: None,
            has_failed: false,
        }
    }

    /// The keyspace of names without one.
    pub(crate) fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    /// The level of requests.
    pub(crate) fn consistency(&self) -> Consistency {
        self.modes.consistency
    }

    /// Begins in a keyspace.
    pub(crate) fn enter(&mut self, keyspace: &str) -> Result<(), CallError> {
        self.server.borrow_mut().enter(keyspace)?;
        self.keyspace = Some(keyspace.to_owned());
        Ok(())
    }

    /// Runs a text whole: that of the command line.
    pub(crate) fn run_text(&mut self, text: &str) {
        self.place = Some(("<stdin>".to_owned(), 1));
        let mut input = Input::default();
        input.push(text);
        if !text.ends_with(';') {
            input.push(";");
        }
        if !self.run_whole(&mut input, None) {
            self.error("Incomplete statement at end of file");
        }
    }

    /// Runs all lines of a reader.
    pub(crate) fn run(&mut self, reader: &mut Reader) {
        let mut input = Input::default();
        let mut empty_lines = 0;
        while !self.ends && !self.output.is_closed() {
            let prompt = self.prompt(input.is_blank(), &mut empty_lines);
            let line = reader.line(&prompt, &input);
            self.place = reader.place();
            match line {
                Line::Text(line) => {
                    empty_lines = if line.trim().is_empty() { empty_lines + 1 } else { 0 };
                    input.push(&line);
                    self.run_whole(&mut input, Some(reader));
                }
                Line::Interrupted => {
                    input.clear();
                    empty_lines = 0;
                }
                Line::End => {
                    if self.is_interactive {
                        self.output.print("\n");
                    }
                    if !input.is_blank() && !self.run_whole(&mut input, Some(reader)) {
                        self.error("Incomplete statement at end of file");
                    }
                    break;
                }
                Line::NoText(_) => {
                    self.error("the line is not UTF-8: it and what follows are not run");
                    break;
                }
                Line::Failed(error) => {
                    self.error(&format!("cannot read the next line: {error}"));
                    break;
                }
            }
        }
    }

    /// The prompt of a new statement, or of the next line of one.
    fn prompt(&self, is_new: bool, empty_lines: &mut usize) -> String {
        let user = match &self.server.borrow().way().access.login {
            Some(login) => format!("{}@", login.username),
            None => String::new(),
        };
        match (&self.keyspace, is_new) {
            (None, true) => format!("{user}cqlsh> "),
            (Some(keyspace), true) => format!("{user}cqlsh:{keyspace}> "),
            (_, false) if *empty_lines >= 3 => {
                *empty_lines = 0;
                "Statements end with a ';'. Ctrl-C gives up the one that is not complete.".to_owned()
            }
            (None, false) => "   ... ".to_owned(),
            (Some(keyspace), false) => format!("{}    ... ", " ".repeat(keyspace.chars().count())),
        }
    }

    /// Runs what has been read, if it is whole. False: more is to be read.
    fn run_whole(&mut self, input: &mut Input, mut reader: Option<&mut Reader>) -> bool {
        let Whole { text, statements } = match input.take_whole() {
            Ok(None) => return false,
            Ok(Some(whole)) => whole,
            Err(Unreadable { text, error }) => {
                self.no_token(&text, error);
                return true;
            }
        };
        if let Some(reader) = reader.as_deref_mut().filter(|_| !statements.is_empty()) {
            reader.remember(&text);
        }
        for statement in statements {
            self.statement(&text, &statement, reader.as_deref_mut());
            if self.ends || self.output.is_closed() {
                break;
            }
        }
        true
    }

    fn no_token(&mut self, text: &str, error: NoToken) {
        let (line, column, content) = error.place(text);
        let place = if self.is_interactive { String::new() } else { format!("line {line}, ") };
        self.error(&format!("Invalid syntax at {place}char {column}"));
        self.error(&format!("  {content}"));
        self.error(&format!(" {}^", " ".repeat(column)));
    }

    fn statement(&mut self, text: &str, statement: &Statement, reader: Option<&mut Reader>) {
        match command::parse(text, statement) {
            Err(improper) => self.error(&improper.to_string()),
            Ok(Command::Statement) => self.perform(statement.text(text)),
            Ok(Command::Describe(described)) => self.describe(statement.text(text), described),
            Ok(command) => self.command(command, reader),
        }
    }

    /// An error, with the place of its statement where it is of a script.
    pub(crate) fn error(&mut self, text: &str) {
        self.has_failed = true;
        let text = match &self.place {
            Some((name, line)) if !self.is_interactive || self.depth > 0 => format!("{name}:{line}:{text}"),
            _ => text.to_owned(),
        };
        self.output.error(&text);
    }

    /// Why a request was not answered.
    pub(crate) fn failed(&mut self, error: &CallError) {
        match error {
            CallError::Interrupted => self.output.print("\n"),
            error => self.error(&error.to_string()),
        }
    }
}
