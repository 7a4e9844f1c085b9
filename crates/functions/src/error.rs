//! Why a call cannot be resolved, or fails. The words are Cassandra's.

use cql_types::CqlType;

/// A call that cannot be resolved. Sentences that show an argument need its text: [`ResolveError::message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// No function has this name. Cassandra has a sentence for calls in selections and another for those in terms, so the
    /// caller words it.
    Unknown {
        /// The name as it was called.
        name: String,
    },
    /// Too many or too few arguments, or arguments of wrong types, in words that show none of them.
    Invalid {
        /// The sentence.
        message: String,
    },
    /// A sentence about some argument, which stands at `{}`.
    Argument {
        /// The sentence before the argument.
        before: String,
        /// Which argument.
        index: usize,
        /// The sentence behind it.
        after: String,
    },
    /// No operation of the operator takes such arguments.
    Operands {
        /// The operator.
        operator: char,
    },
    /// Several operations of the operator take such arguments.
    Ambiguous {
        /// The operator.
        operator: char,
    },
}

impl ResolveError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        ResolveError::Invalid { message: message.into() }
    }

    pub(crate) fn argument(before: impl Into<String>, index: usize, after: impl Into<String>) -> Self {
        ResolveError::Argument { before: before.into(), index, after: after.into() }
    }

    /// The sentence, with the arguments as `shown` shows them.
    pub fn message(&self, shown: &dyn Fn(usize) -> String) -> String {
        match self {
            ResolveError::Unknown { name } => format!("Unknown function '{name}'"),
            ResolveError::Invalid { message } => message.clone(),
            ResolveError::Argument { before, index, after } => format!("{before}{}{after}", shown(*index)),
            ResolveError::Operands { operator } => {
                format!("the '{operator}' operation is not supported between {} and {}", shown(0), shown(1))
            }
            ResolveError::Ambiguous { operator } => format!(
                "Ambiguous '{operator}' operation with args {} and {}: use type hint to disambiguate, example '(int) ?'",
                shown(0),
                shown(1)
            ),
        }
    }
}

/// A call that fails for the values it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// INVALID, to the client.
    #[error("{message}")]
    Invalid {
        /// Why.
        message: String,
    },
    /// FUNCTION_FAILURE, to the client.
    #[error("{message}")]
    Failed {
        /// The function's name, or the operator.
        function: String,
        /// The arguments' types.
        arguments: Vec<CqlType>,
        /// Why.
        message: String,
    },
    /// SERVER_ERROR, to the client: where Cassandra throws what nobody catches.
    #[error("{message}")]
    Server {
        /// Why.
        message: String,
    },
}

impl FunctionError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        FunctionError::Invalid { message: message.into() }
    }

    pub(crate) fn server(message: impl Into<String>) -> Self {
        FunctionError::Server { message: message.into() }
    }
}
