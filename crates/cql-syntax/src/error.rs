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
