//! Records of CSV, as Python's `csv` reads and writes them, since cqlsh's files are of it.
//!
//! The crate `csv` was rejected: its reader takes escapes within quotes alone, and cqlsh writes a quote with an escape and no quotes around the field.

use super::options::Dialect;

/// The most bytes of a record: a lost quote must not take all memory.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// Appends a record and the end of its line.
pub(super) fn write(fields: &[String], dialect: &Dialect, out: &mut String) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(dialect.delimiter);
        }
        // An only field that is empty would be an empty line, which is no record.
        let is_lonely = fields.len() == 1 && field.is_empty();
        // An escaped quote stands without quotes around it, as Python has it.
        let is_doubled = dialect.escape.is_none() && field.contains(dialect.quote);
        let is_quoted = is_lonely || is_doubled || field.contains([dialect.delimiter, '\n', '\r']);
        if is_quoted {
            out.push(dialect.quote);
        }
        for character in field.chars() {
            if character == dialect.quote {
                out.push(dialect.escape.unwrap_or(dialect.quote));
            } else if Some(character) == dialect.escape {
                out.push(character);
            }
            out.push(character);
        }
        if is_quoted {
            out.push(dialect.quote);
        }
    }
    out.push_str("\r\n");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a field.
    Field,
    /// Within a field without quotes, or after a quoted part of one.
    Bare,
    Quoted,
    /// After a quote in a quoted field, where quotes are doubled.
    Quote,
    /// After an escape, in quotes or not.
    Escape {
        is_quoted: bool,
    },
}

/// Cuts lines into records, one of which may have several.
#[derive(Debug)]
pub(super) struct Records {
    dialect: Dialect,
    state: State,
    fields: Vec<String>,
    field: String,
    bytes: usize,
}

/// A record that goes on for ever.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record is longer than {RECORD_BYTES_MAX} bytes: a quote may be missing")]
pub(super) struct TooLong;

impl Records {
    pub(super) fn new(dialect: Dialect) -> Records {
        Records { dialect, state: State::Field, fields: Vec::new(), field: String::new(), bytes: 0 }
    }

    /// Takes a line with its end, of which a carriage return alone is one. Gives a record, if one ends with it; an empty line is none.
    pub(super) fn line(&mut self, line: &str) -> Result<Option<Vec<String>>, TooLong> {
        self.bytes += line.len();
        if self.bytes > RECORD_BYTES_MAX {
            return Err(TooLong);
        }
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        for character in content.chars() {
            self.take(character);
        }
        let goes_on = matches!(self.state, State::Quoted | State::Escape { .. });
        if goes_on && content.len() < line.len() {
            self.field.push(if line.ends_with('\r') { '\r' } else { '\n' });
            if let State::Escape { is_quoted } = self.state {
                self.state = if is_quoted { State::Quoted } else { State::Bare };
            }
            return Ok(None);
        }
        Ok(self.end())
    }

    /// The record that the file's end leaves without its quote.
    pub(super) fn end(&mut self) -> Option<Vec<String>> {
        let is_empty = self.fields.is_empty() && self.field.is_empty() && self.state == State::Field;
        self.bytes = 0;
        self.state = State::Field;
        if is_empty {
            return None;
        }
        self.fields.push(std::mem::take(&mut self.field));
        Some(std::mem::take(&mut self.fields))
    }

    fn take(&mut self, character: char) {
        let Dialect { delimiter, quote, escape } = self.dialect;
        let is_escape = Some(character) == escape;
        match self.state {
            State::Field | State::Bare if is_escape => self.state = State::Escape { is_quoted: false },
            State::Quoted if is_escape => self.state = State::Escape { is_quoted: true },
            State::Field if character == quote => self.state = State::Quoted,
            State::Quote if character == quote => {
                self.field.push(quote);
                self.state = State::Quoted;
            }
            State::Field | State::Bare | State::Quote if character == delimiter => {
                self.fields.push(std::mem::take(&mut self.field));
                self.state = State::Field;
                // A delimiter begins a field, also at the end of a line.
                if self.fields.len() == 1 {
                    self.fields.reserve(8);
                }
            }
            State::Quoted if character == quote => {
                self.state = if escape.is_none() { State::Quote } else { State::Bare };
            }
            State::Field | State::Bare | State::Quote => {
                self.field.push(character);
                self.state = State::Bare;
            }
            State::Quoted => self.field.push(character),
            State::Escape { is_quoted } => {
                self.field.push(character);
                self.state = if is_quoted { State::Quoted } else { State::Bare };
            }
        }
    }
}
