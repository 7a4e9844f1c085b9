//! Where a session's text goes: results to standard output or to a captured file, words of the shell to standard output, errors to standard error.
//!
//! Text of a server goes to a terminal with escapes for control characters; values have theirs already.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::format::{Colour, escape_controls, painted};

/// A file that results go to, and its path.
pub(crate) struct Captured {
    path: PathBuf,
    file: File,
}

/// The places.
pub(crate) struct Output {
    capture: Option<Captured>,
    is_coloured: bool,
    is_terminal: bool,
    /// Standard output takes no more: the session has no reader.
    is_closed: bool,
}

impl Output {
    pub(crate) fn new(is_coloured: bool) -> Output {
        Output { capture: None, is_coloured, is_terminal: io::stdout().is_terminal(), is_closed: false }
    }

    /// True if results have colours now.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured && self.capture.is_none()
    }

    /// True if standard output was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The file that results go to.
    pub(crate) fn captured(&self) -> Option<&Path> {
        self.capture.as_ref().map(|captured| captured.path.as_path())
    }

    /// Sends results to a file, after what it has; `None`: to standard output.
    pub(crate) fn capture(&mut self, path: Option<&Path>) -> io::Result<()> {
        self.capture = match path {
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path)?;
                Some(Captured { path: path.to_owned(), file })
            }
            None => None,
        };
        Ok(())
    }

    /// Sends results to standard output, and gives the file that they went to.
    pub(crate) fn take_capture(&mut self) -> Option<Captured> {
        self.capture.take()
    }

    /// Sends results where they went before.
    pub(crate) fn set_capture(&mut self, capture: Option<Captured>) {
        self.capture = capture;
    }

    /// A result's text, whose values are ready for a terminal.
    pub(crate) fn result(&mut self, text: &str) {
        match &mut self.capture {
            None => self.print(text),
            Some(Captured { path, file }) => {
                if let Err(error) = file.write_all(text.as_bytes()) {
                    let lost = format!("cannot write {}: {error}; results are shown from here on", path.display());
                    self.capture = None;
                    self.error(&lost);
                }
            }
        }
    }

    /// A result's text as the server gave it.
    pub(crate) fn described(&mut self, text: &str) {
        match self.is_terminal && self.capture.is_none() {
            true => self.result(&escape_controls(text)),
            false => self.result(text),
        }
    }

    /// Words of the shell.
    pub(crate) fn say(&mut self, text: &str) {
        let text = if self.is_terminal { escape_controls(text) } else { text.to_owned() };
        self.print(&format!("{text}\n"));
    }

    /// Text that is ready, with colours of its own.
    pub(crate) fn print(&mut self, text: &str) {
        let mut stdout = io::stdout().lock();
        if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            self.is_closed = true;
        }
    }

    /// Clears a terminal.
    pub(crate) fn clear(&mut self) {
        if self.is_terminal {
            self.print("\x1b[H\x1b[2J\x1b[3J");
        }
    }

    /// An error.
    pub(crate) fn error(&mut self, text: &str) {
        let text = if io::stderr().is_terminal() { escape_controls(text) } else { text.to_owned() };
        // No place is left to tell of it.
        let _ = writeln!(io::stderr(), "{}", painted(&text, self.is_coloured.then_some(Colour::Red)));
    }
}
