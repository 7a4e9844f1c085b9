//! What is wrong with a value.

/// Bytes that are no value of a type, or text that cannot be made one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A value of a fixed length has another one.
    #[error("Expected {expected} ({actual})")]
    Length {
        /// The lengths it may have, in Cassandra's words: `8 or 0 byte long`.
        expected: &'static str,
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
    #[error("{reason}")]
    Text {
        /// What is wrong, in Cassandra's words, with the text, cut if long.
        reason: String,
    },
    /// The text cannot be read as the type, and Cassandra refuses the request for it rather than the value: no one adds to the words.
    #[error("{reason}")]
    Request {
        /// What is wrong, in Cassandra's words.
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

    /// `before 'text'`, the text cut if long.
    pub(crate) fn text(before: &str, text: &str) -> ValueError {
        ValueError::Text { reason: format!("{before} '{}'", cut(text)) }
    }
}

/// The start of a text, long enough for an error message.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}
