//! Errors of a component's bytes.

/// The bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {what}")]
pub struct Corrupt {
    /// Where, bytes from the beginning of what was given to be read.
    pub offset: u64,
    /// Reason.
    pub what: String,
}

impl Corrupt {
    /// At `offset`, `what` is wrong.
    pub fn new(offset: u64, what: impl Into<String>) -> Self {
        Corrupt { offset, what: what.into() }
    }

    /// The same, seen from something whose byte 0 is `base` bytes before this one's.
    pub fn from_base(self, base: u64) -> Self {
        Corrupt { offset: self.offset.saturating_add(base), ..self }
    }
}
