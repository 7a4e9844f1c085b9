//! The shell's own commands.

use std::io;
use std::path::Path;

use client::Login;
use cql_protocol::Consistency;

use super::{Modes, Outer, Session, describe};
use crate::command::{Capture, Command, Described, Paging, Show};
use crate::connection::Way;
use crate::error::CallError;
use crate::format::{Colour, painted};
use crate::reader::Reader;
use crate::server::Server;
use crate::{copy, files, help};

/// Files that may source one another.
const DEPTH_MAX: usize = 32;

impl Session {
    pub(super) fn command(&mut self, command: Command, reader: Option<&mut Reader>) {
        match command {
            Command::Statement | Command::Describe(_) => {}
            Command::Consistency(level) => self.set_consistency(level),
            Command::SerialConsistency(level) => self.set_serial_consistency(level),
            Command::Show(Show::Version) => self.show_version(),
            Command::Show(Show::Host) => self.show_host(),
            Command::Show(Show::Session(id)) => self.trace(id),
            Command::Source(path) => self.source(Path::new(&path)),
            Command::Capture(capture) => self.capture(capture),
            Command::Login { username, password } => self.log_in(username, password),
            Command::Tracing(switch) => self.modes.traces = self.switched("TRACING", self.modes.traces, switch),
            Command::Expand(switch) => self.modes.expands = self.switched("EXPAND", self.modes.expands, switch),
            Command::Paging(paging) => self.set_paging(paging),
            Command::Copy(copy) => copy::run(self, &copy, reader),
            Command::Help(topics) => self.help(&topics),
            Command::History(count) => self.history(count, reader),
            Command::Clear => self.output.clear(),
            Command::Exit => self.ends = true,
        }
    }

    /// Asks the server to describe something, and prints it.
    pub(super) fn describe(&mut self, statement: &str, described: Described) {
        let found = self.server.borrow_mut().rows(statement.trim_end(), Consistency::LocalOne);
        match found {
            Ok(found) => describe::print(&found, described, self.keyspace.is_some(), &mut self.output),
            // As cqlsh has it: the sentence alone.
            Err(CallError::Server(error)) => self.error(&error.message),
            Err(error) => self.failed(&error),
        }
    }

    fn set_consistency(&mut self, level: Option<Consistency>) {
        match level {
            None => self.output.say(&format!("Current consistency level is {}.", self.modes.consistency)),
            Some(level) => {
                self.modes.consistency = level;
                self.output.say(&format!("Consistency level set to {level}."));
            }
        }
    }

    fn set_serial_consistency(&mut self, level: Option<Consistency>) {
        match level {
            None => self.output.say(&format!("Current serial consistency level is {}.", self.modes.serial_consistency)),
            Some(level) => {
                self.modes.serial_consistency = level;
                self.output.say(&format!("Serial consistency level set to {level}."));
            }
        }
    }

    /// The state of a switch after what was asked for, which is said.
    fn switched(&mut self, name: &str, present: bool, switch: Option<bool>) -> bool {
        let word = |is_on| if is_on { "ON" } else { "OFF" };
        let (verb, after) = match switch {
            None => ("is", present),
            Some(after) if after == present => ("is already", after),
            Some(after) => ("set to", after),
        };
        self.output.say(&format!("{name} {verb} {}", word(after)));
        after
    }

    fn set_paging(&mut self, paging: Option<Paging>) {
        match paging {
            Some(Paging::Rows(rows)) => {
                self.modes.pages = true;
                self.modes.page_rows = rows;
            }
            Some(Paging::On) => self.modes.pages = self.switched("PAGING", self.modes.pages, Some(true)),
            Some(Paging::Off) => self.modes.pages = self.switched("PAGING", self.modes.pages, Some(false)),
            None => self.modes.pages = self.switched("PAGING", self.modes.pages, None),
        }
        match self.modes.pages {
            true => self.output.say(&format!("Page size: {}", self.modes.page_rows)),
            false => self.modes.page_rows = super::PAGE_ROWS,
        }
    }

    /// Where the session is connected, and with what.
    pub(crate) fn greet(&mut self) {
        self.show_host();
        self.show_version();
        self.output.say("Use HELP for help.");
    }

    fn show_host(&mut self) {
        let text = "SELECT cluster_name FROM system.local";
        let found = self.server.borrow_mut().rows(text, Consistency::One);
        match found {
            Ok(found) => {
                let cluster = crate::format::escape_controls(&found.text(0, "cluster_name"));
                let cluster = painted(&cluster, self.output.is_coloured().then_some(Colour::Blue));
                let target = self.server.borrow().way().target.to_string();
                self.output.print(&format!("Connected to {cluster} at {target}\n"));
            }
            Err(error) => self.failed(&error),
        }
    }

    fn show_version(&mut self) {
        let text = "SELECT release_version, cql_version FROM system.local";
        let found = self.server.borrow_mut().rows(text, Consistency::One);
        match found {
            Ok(found) => {
                let own = env!("CARGO_PKG_VERSION");
                let (release, cql) = (found.text(0, "release_version"), found.text(0, "cql_version"));
                let version = self.server.borrow_mut().connection().map(|connection| connection.version().number());
                let version = version.map_or_else(|_| "?".to_owned(), |version| version.to_string());
                self.output.say(&format!(
                    "[helenus cql {own} | Cassandra {release} | CQL spec {cql} | Native protocol v{version}]"
                ));
            }
            Err(error) => self.failed(&error),
        }
    }

    fn source(&mut self, path: &Path) {
        let expanded = files::expanded(path);
        let text = match self.depth < DEPTH_MAX {
            true => files::statements(&expanded),
            false => Err(io::Error::other(format!("more than {DEPTH_MAX} files source one another"))),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => return self.error(&format!("Could not open '{}': {error}", expanded.display())),
        };
        let outer = self.begin_file();
        self.depth += 1;
        self.run(&mut Reader::of_text(&path.display().to_string(), &text));
        self.depth -= 1;
        self.end_file(outer);
    }

    /// Gives a sourced file a state of its own; what comes back is the one around it.
    fn begin_file(&mut self) -> Outer {
        let own = Modes { traces: self.modes.traces, ..Modes::default() };
        Outer {
            modes: std::mem::replace(&mut self.modes, own),
            place: self.place.take(),
            is_interactive: std::mem::take(&mut self.is_interactive),
            keyspace: self.keyspace.clone(),
            capture: self.output.take_capture(),
            server: self.server_before.take(),
        }
    }

    /// Goes on after a sourced file: what it captured, its login and its keyspace end with it, as in cqlsh, where a file has a session of its own.
    fn end_file(&mut self, outer: Outer) {
        if let Some(server) = std::mem::replace(&mut self.server_before, outer.server) {
            *self.server.borrow_mut() = server;
        }
        self.output.set_capture(outer.capture);
        (self.modes, self.place, self.is_interactive) = (outer.modes, outer.place, outer.is_interactive);
        self.keyspace = outer.keyspace;
        // EXIT ends the file, not the session.
        self.ends = false;
        self.server.borrow_mut().return_to(self.keyspace.as_deref());
    }

    fn capture(&mut self, capture: Capture) {
        let captured = self.output.captured().map(|path| path.display().to_string());
        match (capture, captured) {
            (Capture::Shown, None) => self.output.say("Currently not capturing query output."),
            (Capture::Shown, Some(path)) => {
                self.output.say(&format!("Currently capturing query output to '{path}'."));
            }
            (Capture::Off, None) => self.error("Not currently capturing output."),
            (Capture::Off, Some(_)) => {
                let _ = self.output.capture(None);
            }
            (Capture::To(_), Some(path)) => {
                self.error(&format!("Already capturing output to {path}. Use CAPTURE OFF to disable."));
            }
            (Capture::To(path), None) => {
                let path = files::expanded(Path::new(&path));
                match self.output.capture(Some(&path)) {
                    Ok(()) => self.output.say(&format!("Now capturing query output to '{}'.", path.display())),
                    Err(error) => self.error(&format!("Could not open '{}' for append: {error}", path.display())),
                }
            }
        }
    }

    /// Connects as another role. Without success the session stays as it was.
    fn log_in(&mut self, username: String, password: Option<String>) {
        let password = match (password, &mut self.editor) {
            (Some(password), _) => password,
            (None, Some(editor)) if self.is_interactive => match editor.password() {
                Ok(password) => password,
                Err(reason) => return self.error(&reason),
            },
            (None, _) => return self.error("LOGIN needs a password where no terminal is there to ask for it."),
        };
        let mut way: Way = self.server.borrow().way().clone();
        way.access.login = Some(Login { username, password });
        let opened = Server::open(&way).map_err(|error| error.to_string()).and_then(|mut server| {
            let entered = self.keyspace.as_deref().map_or(Ok(()), |keyspace| server.enter(keyspace));
            entered.map(|()| server).map_err(|error| error.to_string())
        });
        match opened {
            Ok(server) => {
                let before = self.server.replace(server);
                // The session around a sourced file goes on with the login that it had.
                if self.depth > 0 && self.server_before.is_none() {
                    self.server_before = Some(before);
                }
            }
            Err(reason) => self.error(&reason),
        }
    }

    fn help(&mut self, topics: &[String]) {
        if topics.is_empty() {
            return self.output.say(&help::overview());
        }
        for topic in topics {
            match help::topic(topic) {
                Some(text) => self.output.say(text),
                None => self.error(&format!("*** No help on {topic}")),
            }
        }
    }

    fn history(&mut self, count: Option<usize>, reader: Option<&mut Reader>) {
        self.history_lines = count.unwrap_or(self.history_lines);
        let lines = reader.map(|reader| reader.remembered(self.history_lines)).unwrap_or_default();
        for line in lines {
            self.output.say(&line);
        }
    }
}
