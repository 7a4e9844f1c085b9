//! Where lines come from: a terminal with an editor, standard input, or a text.

use std::io::{self, BufRead};

use crate::editor::Editor;
use crate::input::Input;

/// A source of lines.
pub(crate) struct Reader {
    source: Source,
    name: String,
    /// The number of the next line, from 1.
    next_line: usize,
}

enum Source {
    Editor(Box<Editor>),
    Stdin,
    Text(std::vec::IntoIter<String>),
}

/// A line that was asked for.
#[derive(Debug)]
pub(crate) enum Line {
    /// With its end.
    Text(String),
    /// A line whose bytes are no text, which is UTF-8.
    NoText(Vec<u8>),
    /// The person gave up what was typed.
    Interrupted,
    /// There is no more.
    End,
    Failed(String),
}

impl Reader {
    /// A person at a terminal.
    pub(crate) fn of_editor(editor: Editor) -> Reader {
        Reader { source: Source::Editor(Box::new(editor)), name: "<stdin>".to_owned(), next_line: 1 }
    }

    /// Standard input, which is no terminal.
    pub(crate) fn of_stdin() -> Reader {
        Reader { source: Source::Stdin, name: "<stdin>".to_owned(), next_line: 1 }
    }

    /// A file's text, and its name for errors.
    pub(crate) fn of_text(name: &str, text: &str) -> Reader {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        Reader { source: Source::Text(lines.into_iter()), name: name.to_owned(), next_line: 1 }
    }

    /// The name, and the number of the line after the last that was given: cqlsh counts so.
    pub(crate) fn place(&self) -> Option<(String, usize)> {
        Some((self.name.clone(), self.next_line))
    }

    /// The next line. `before`: what was read of its statement.
    pub(crate) fn line(&mut self, prompt: &str, before: &Input) -> Line {
        let line = match &mut self.source {
            Source::Editor(editor) => editor.line(prompt, before.text()),
            Source::Stdin => stdin_line(),
            Source::Text(lines) => lines.next().map_or(Line::End, Line::Text),
        };
        if matches!(line, Line::Text(_) | Line::NoText(_)) {
            self.next_line += 1;
        }
        line
    }

    /// A statement that was typed goes to the history.
    pub(crate) fn remember(&mut self, text: &str) {
        if let Source::Editor(editor) = &mut self.source {
            editor.remember(text);
        }
    }

    /// The last lines of the history.
    pub(crate) fn remembered(&self, count: usize) -> Vec<String> {
        match &self.source {
            Source::Editor(editor) => editor.remembered(count),
            _ => Vec::new(),
        }
    }
}

fn stdin_line() -> Line {
    let mut bytes = Vec::new();
    match io::stdin().lock().read_until(b'\n', &mut bytes) {
        Ok(0) => Line::End,
        Ok(_) => String::from_utf8(bytes).map_or_else(|error| Line::NoText(error.into_bytes()), Line::Text),
        Err(error) => Line::Failed(error.to_string()),
    }
}
