//! A value's text, plain and in colours, and its width.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::colour::{Colour, RESET};

/// Text that is ready for a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    plain: String,
    coloured: String,
    width: usize,
}

/// An end of a text that grows.
pub(super) struct Mark {
    plain: usize,
    coloured: usize,
    width: usize,
}

impl Shown {
    /// A text in one colour. It has no control characters and no escapes.
    pub(crate) fn of(text: &str, colour: Colour) -> Shown {
        let mut shown = Shown::default();
        shown.push(text, colour);
        shown
    }

    /// Where the text ends now.
    pub(super) fn mark(&self) -> Mark {
        Mark { plain: self.plain.len(), coloured: self.coloured.len(), width: self.width }
    }

    /// Takes back what was appended after a mark.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.plain.truncate(mark.plain);
        self.coloured.truncate(mark.coloured);
        self.width = mark.width;
    }

    /// Appends such a text.
    pub(crate) fn push(&mut self, text: &str, colour: Colour) {
        self.plain.push_str(text);
        let _ = write!(self.coloured, "{}{text}{RESET}", colour.sequence());
        self.width += text.width();
    }

    /// Appends text of a value: control characters as escapes, a backslash as two. In colours a backslash stands alone, since escapes differ from it by their colour.
    pub(crate) fn push_text(&mut self, text: &str, colour: Colour, is_coloured: bool) {
        let (from, mut alone) = (self.plain.len(), 0);
        self.coloured.push_str(colour.sequence());
        for character in text.chars() {
            if character == '\\' {
                self.plain.push_str("\\\\");
                self.coloured.push('\\');
                alone += usize::from(is_coloured);
            } else if is_control(character) {
                let at = self.plain.len();
                push_escape(character, &mut self.plain);
                let (escape, blob, own) = (&self.plain[at..], Colour::BLOB.sequence(), colour.sequence());
                let _ = write!(self.coloured, "{blob}{escape}{own}");
            } else {
                self.plain.push(character);
                self.coloured.push(character);
            }
        }
        self.coloured.push_str(RESET);
        self.width += self.plain[from..].width() - alone;
    }

    /// The columns of a terminal that it takes.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The text.
    pub(crate) fn text(&self, is_coloured: bool) -> &str {
        if is_coloured { &self.coloured } else { &self.plain }
    }

    /// The text at the left of a column.
    pub(crate) fn left(&self, width: usize, is_coloured: bool) -> String {
        format!("{}{}", self.text(is_coloured), " ".repeat(width.saturating_sub(self.width)))
    }

    /// The text at the right of a column.
    pub(crate) fn right(&self, width: usize, is_coloured: bool) -> String {
        format!("{}{}", " ".repeat(width.saturating_sub(self.width)), self.text(is_coloured))
    }
}

/// Those of C0 and C1, DEL, and the space that is not broken, which looks like another.
fn is_control(character: char) -> bool {
    matches!(character, '\0'..='\x1f' | '\x7f'..='\u{a0}')
}

fn push_escape(character: char, out: &mut String) {
    let _ = match character {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        other => write!(out, "\\x{:02x}", u32::from(other)),
    };
}

/// Text of a server for a terminal: all control characters but ends of lines and tabs as escapes.
pub(crate) fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            character if character.is_control() => push_escape(character, &mut out),
            character => out.push(character),
        }
    }
    out
}
