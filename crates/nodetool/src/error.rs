//! Why a command failed.

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments make no sense together, or name what is not there.
    #[error("{sentence}")]
    Usage {
        /// Reason.
        sentence: String,
    },
    /// No connection.
    #[error("cannot connect to the admin API at {host}:{port} (--host, --port): {reason}; {hint}")]
    Unreachable {
        /// Where it was looked for.
        host: String,
        /// The port there.
        port: u16,
        /// Error of the system or the name server.
        reason: String,
        /// Hint at the cause.
        hint: &'static str,
    },
    /// A connection, and then no answer.
    #[error(
        "{request} to {host}:{port} timed out after {seconds} s; the node may be too busy, or hang: --timeout waits longer"
    )]
    TimedOut {
        /// Host of the node.
        host: String,
        /// The port there.
        port: u16,
        /// The request.
        request: String,
        /// Timeout.
        seconds: u64,
    },
    /// A connection that ended, or what is no HTTP.
    #[error("{request} to {host}:{port} failed: {reason}{hint}")]
    Broken {
        /// Host of the node.
        host: String,
        /// The port there.
        port: u16,
        /// The request.
        request: String,
        /// The response instead.
        reason: String,
        /// Hint at the cause, or nothing.
        hint: &'static str,
    },
    /// More than any answer is.
    #[error("response to {request} exceeds {bytes_max} bytes")]
    TooLong {
        /// The request.
        request: String,
        /// Limit of a response.
        bytes_max: u64,
    },
    /// An answer of another form than was expected.
    #[error("invalid response to {request}: {reason}")]
    Garbled {
        /// The request.
        request: String,
        /// Reason.
        reason: String,
    },
    /// A repair ended, and not all of it is done. Cassandra's words.
    #[error(
        "Repair job has failed with the error message: {sentence}. Check the logs on the repair participants for further details"
    )]
    RepairFailed {
        /// The node's own sentence.
        sentence: String,
    },
    /// The node says no.
    #[error("{sentence}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// The node's own sentence.
        sentence: String,
    },
}

impl ToolError {
    /// Makes an error of wrong arguments.
    pub(crate) fn usage(sentence: impl Into<String>) -> ToolError {
        ToolError::Usage { sentence: sentence.into() }
    }

    /// Cassandra's: 1 for what the operator can mend (the arguments, where the node is), 2 for what failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            ToolError::Usage { .. } | ToolError::Unreachable { .. } => 1,
            ToolError::Refused { status, .. } if *status < 500 => 1,
            _ => 2,
        }
    }
}
