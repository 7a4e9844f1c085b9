//! A place that breaks a rule.

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path below the root.
    pub path: String,
    /// One-based line, 0 for the whole file.
    pub line: usize,
    /// The fault, and the remedy.
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, message: message.into() }
    }
}
