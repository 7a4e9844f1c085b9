//! Why a schema statement is refused. One variant per CQL error code.

/// A refused schema statement; the message is what the client reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The statement is malformed in a way the grammar does not catch: SYNTAX_ERROR.
    #[error("{message}")]
    Syntax {
        /// What the client reads.
        message: String,
    },
    /// The statement makes no sense with this schema: INVALID.
    #[error("{message}")]
    Invalid {
        /// What the client reads.
        message: String,
    },
    /// An option is wrong: CONFIG_ERROR.
    #[error("{message}")]
    Configuration {
        /// What the client reads.
        message: String,
    },
    /// The keyspace or table is there already: ALREADY_EXISTS.
    #[error("{message}")]
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table; empty when the keyspace itself is meant.
        table: String,
        /// What the client reads.
        message: String,
    },
    /// The user may not do that, whoever it is: UNAUTHORIZED.
    #[error("{message}")]
    Unauthorized {
        /// What the client reads.
        message: String,
    },
}

impl SchemaError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        SchemaError::Invalid { message: message.into() }
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        SchemaError::Configuration { message: message.into() }
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        SchemaError::Syntax { message: message.into() }
    }
}
