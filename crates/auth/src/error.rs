//! Refusals, one variant for each error code of CQL.

/// A refused statement or request; the message is for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// SYNTAX_ERROR: a refusal that Cassandra's parser makes.
    #[error("{0}")]
    Syntax(String),
    /// INVALID: the statement makes no sense with this state.
    #[error("{0}")]
    Invalid(String),
    /// CONFIG_ERROR: a keyspace of a function's types does not exist.
    #[error("{0}")]
    Configuration(String),
    /// UNAUTHORIZED: the role may not do that.
    #[error("{0}")]
    Unauthorized(String),
}

pub(crate) fn invalid(message: impl Into<String>) -> AccessError {
    AccessError::Invalid(message.into())
}

pub(crate) fn unauthorized(message: impl Into<String>) -> AccessError {
    AccessError::Unauthorized(message.into())
}
