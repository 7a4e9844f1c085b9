//! The editor of lines at a terminal: history in a file of its owner, completion, passwords that are not shown.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::validate::Validator;
use rustyline::{ColorMode, CompletionType, Config, Context, Helper};

use crate::completion::{self, Names};
use crate::history;
use crate::names::CachedNames;
use crate::reader::Line;
use crate::server::Server;

/// Statements that the history keeps.
const HISTORY_MAX: usize = 10_000;

/// An editor with its history. The session's own questions are asked by it too: lines that were typed ahead are in it, and each asks for the next of them.
#[derive(Clone)]
pub(crate) struct Editor {
    editor: Rc<RefCell<rustyline::Editor<Assistant, FileHistory>>>,
    /// The file; `None`: the history ends with the session.
    file: Option<PathBuf>,
}

impl Editor {
    /// An editor that completes names of the server.
    pub(crate) fn new(server: &Rc<RefCell<Server>>, file: Option<PathBuf>) -> Result<Editor, String> {
        let config = Config::builder()
            .max_history_size(HISTORY_MAX)
            .and_then(|builder| builder.history_ignore_dups(true))
            .map_err(|error| error.to_string())?
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            // The mask of a password is a highlight; nothing else has one.
            .color_mode(ColorMode::Forced)
            .build();
        let mut editor = rustyline::Editor::with_config(config).map_err(|error| error.to_string())?;
        let names = CachedNames::new(Rc::clone(server));
        let (names, asked) = (Rc::new(RefCell::new(names)), Asked::Statement);
        editor.set_helper(Some(Assistant { names, before: String::new(), asked }));
        if let Some(file) = &file {
            // A first session has no file yet.
            let _ = editor.load_history(file);
        }
        Ok(Editor { editor: Rc::new(RefCell::new(editor)), file })
    }

    /// The next line, with its end. `before`: what was read of its statement.
    pub(crate) fn line(&mut self, prompt: &str, before: &str) -> Line {
        match self.ask(prompt, before, Asked::Statement) {
            Ok(line) => Line::Text(format!("{line}\n")),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(ReadlineError::Eof) => Line::End,
            Err(error) => Line::Failed(error.to_string()),
        }
    }

    /// Asks for a password. It is in no history.
    ///
    /// # Errors
    /// The person gave up.
    pub(crate) fn password(&mut self) -> Result<String, String> {
        self.ask("Password: ", "", Asked::Password).map_err(|error| error.to_string())
    }

    /// Waits for Enter after a text. False: the person pressed Ctrl-C or Ctrl-D, and wants no more.
    pub(crate) fn waits_for_enter(&mut self, text: &str) -> bool {
        self.ask(text, "", Asked::Enter).is_ok()
    }

    fn ask(&mut self, prompt: &str, before: &str, asked: Asked) -> Result<String, ReadlineError> {
        let mut editor = self.editor.borrow_mut();
        if let Some(assistant) = editor.helper_mut() {
            before.clone_into(&mut assistant.before);
            assistant.asked = asked;
        }
        editor.readline(prompt)
    }

    /// Adds a text to the history and to its file, unless it has a password.
    pub(crate) fn remember(&mut self, text: &str) {
        let Some(line) = history::line(text) else { return };
        let is_new = self.editor.borrow_mut().add_history_entry(line).unwrap_or(false);
        let Some(file) = self.file.clone().filter(|_| is_new) else { return };
        // A history that cannot be written is none that a person should be stopped for.
        if prepare(&file).is_ok() {
            let _ = self.editor.borrow_mut().append_history(&file);
        }
    }

    /// The last lines of the history.
    pub(crate) fn remembered(&self, count: usize) -> Vec<String> {
        let editor = self.editor.borrow();
        let history = editor.history();
        let line = |index| history.get(index, SearchDirection::Forward).ok().flatten();
        (history.len().saturating_sub(count)..history.len())
            .filter_map(line)
            .map(|found| found.entry.into_owned())
            .collect()
    }
}

/// Makes the folder of a history, and lets its owner alone read the file.
fn prepare(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if file.exists() {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// The subject of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Statement,
    Password,
    Enter,
}

/// Completes statements, and hides passwords.
struct Assistant {
    names: Rc<RefCell<CachedNames>>,
    /// The lines of the statement before the one that is typed.
    before: String,
    asked: Asked,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        if self.asked != Asked::Statement {
            return Ok((at, Vec::new()));
        }
        let typed = format!("{}{}", self.before, &line[..at]);
        let names: &mut dyn Names = &mut *self.names.borrow_mut();
        let (start, candidates) = completion::complete(&typed, names);
        // A word begins on the line that is typed, or at its start.
        Ok((start.saturating_sub(self.before.len()), candidates))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, at: usize) -> Cow<'l, str> {
        match self.asked {
            Asked::Password => Mask.highlight(line, at),
            _ => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, line: &str, at: usize, kind: CmdKind) -> bool {
        self.asked == Asked::Password && Mask.highlight_char(line, at, kind)
    }
}
impl Validator for Assistant {}
impl Helper for Assistant {}

/// Shows as many spaces as were typed.
struct Mask;

impl Completer for Mask {
    type Candidate = String;
}
impl Hinter for Mask {
    type Hint = String;
}
impl Highlighter for Mask {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(" ".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        !matches!(kind, CmdKind::MoveCursor)
    }
}
impl Validator for Mask {}
impl Helper for Mask {}

/// Asks for a password before there is a session. It is in no history.
///
/// # Errors
/// There is no terminal, or the person gave up.
pub(crate) fn password() -> Result<String, String> {
    let config = Config::builder().auto_add_history(false).color_mode(ColorMode::Forced).build();
    let mut editor = rustyline::Editor::<Mask, FileHistory>::with_config(config).map_err(|error| error.to_string())?;
    editor.set_helper(Some(Mask));
    editor.readline("Password: ").map_err(|error| error.to_string())
}
