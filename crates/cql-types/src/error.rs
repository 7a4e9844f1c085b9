//! What is wrong with a value.

/// Bytes that are no value of a type, or text that cannot be made one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A value of a fixed length has another one.
    #[error("Expected {expected} byte{} for a {ty} ({actual})", if *expected == 1 { "" } else { "s" })]
    Length {
        /// The type.
        ty: &'static str,
        /// The lengths it may have.
        expected: usize,
        /// The length it has.
        actual: usize,
    },
    /// The bytes are not what the type holds.
    #[error("{reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// The text cannot be read as the type.
    #[error("Unable to coerce '{text}' to a {ty}: {reason}")]
    Text {
        /// The text, cut if long.
        text: String,
        /// The type.
        ty: String,
        /// What is wrong.
        reason: String,
    },
    /// A constant of that look does not fit the type.
    #[error("Invalid {kind} constant ({text}) for type {ty}")]
    Kind {
        /// The look, in Cassandra's words: `STRING`, `INTEGER`…
        kind: &'static str,
        /// The constant's text, cut if long.
        text: String,
        /// The type.
        ty: String,
    },
    /// The type nests too deep.
    #[error("a value may nest {} deep at most", crate::NESTING_DEPTH_MAX)]
    TooDeep,
}

impl ValueError {
    pub(crate) fn malformed(reason: impl Into<String>) -> ValueError {
        ValueError::Malformed { reason: reason.into() }
    }
}
