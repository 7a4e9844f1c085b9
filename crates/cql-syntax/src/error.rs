//! What is wrong with a statement's text, and where.

use std::fmt;

/// The text is no CQL statement. Printed as Cassandra prints it, since tools read the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .place.map_or_else(String::new, |place| format!("{place} ")))]
pub struct SyntaxError {
    /// Where, unless it is about the statement as a whole.
    pub place: Option<Place>,
    /// What was found and what was wanted.
    pub message: String,
    /// The text can be read, but what it says cannot be: the statement is invalid rather than no CQL.
    pub is_invalid: bool,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u32,
    /// The character in the line, counted from 0.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}:{}", self.line, self.column)
    }
}

/// A [`SyntaxError`] whose place is still an offset. The parser makes one at each way that it tries in vain; to count lines
/// for each would make its time square in the text's length.
#[derive(Debug)]
pub(crate) struct Failure {
    offset: Option<usize>,
    message: String,
    is_invalid: bool,
}

impl Failure {
    /// What is wrong at a place.
    pub fn at(offset: usize, message: impl Into<String>) -> Failure {
        Failure { offset: Some(offset), message: message.into(), is_invalid: false }
    }

    /// What is wrong, where Cassandra names no place.
    pub fn without_place(message: impl Into<String>) -> Failure {
        Failure { offset: None, message: message.into(), is_invalid: false }
    }

    /// What can be read and cannot be.
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure { offset: None, message: message.into(), is_invalid: true }
    }

    /// Counts the lines and characters before the failure's place in `text`.
    pub fn locate(self, text: &str) -> SyntaxError {
        let place = |offset: usize| {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: u32::try_from(column).unwrap_or(u32::MAX) }
        };
        SyntaxError { place: self.offset.map(place), message: self.message, is_invalid: self.is_invalid }
    }
}
