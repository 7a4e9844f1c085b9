//! What is wrong with a statement's text, and where.

/// The text is no CQL statement. Printed as Cassandra prints it, since tools read the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}:{column} {message}")]
pub struct SyntaxError {
    /// The line, counted from 1.
    pub line: u32,
    /// The character in the line, counted from 0.
    pub column: u32,
    /// What was found and what was wanted.
    pub message: String,
}

/// A [`SyntaxError`] whose place is still an offset. The parser makes one at each way that it tries in vain; to count lines
/// for each would make its time square in the text's length.
#[derive(Debug)]
pub(crate) struct Failure {
    pub offset: usize,
    pub message: String,
}

impl Failure {
    /// Counts the lines and characters before the failure's place in `text`.
    pub fn locate(self, text: &str) -> SyntaxError {
        let before = text.get(..self.offset).unwrap_or(text);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        SyntaxError {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            message: self.message,
        }
    }
}
