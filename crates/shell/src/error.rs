//! Why something was not done, in the words that cqlsh's users know.

use std::io;

use cql_protocol::{Consistency, ErrorBody, ErrorKind, Failures};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The server says no.
    #[error("{}", server_error(.0))]
    Server(ErrorBody),
    /// No answer came in time.
    #[error("OperationTimedOut: no answer from {host} within {seconds} s; --request-timeout gives it more")]
    TimedOut { host: String, seconds: u64 },
    /// The user pressed Ctrl-C.
    #[error("")]
    Interrupted,
    /// The connection failed. The next request makes another.
    #[error("ConnectionException: connection to {host} lost: {reason}")]
    Lost { host: String, reason: String },
    /// The answer is none to the request.
    #[error("ProtocolError: {reason}")]
    Unexpected { reason: String },
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("Connection error: {reason}")]
pub(crate) struct ConnectError {
    /// The refusal, and the server.
    pub(crate) reason: String,
    /// The server wants a lower version of the protocol.
    pub(crate) is_version: bool,
}

impl ConnectError {
    /// Makes one of what a system call says.
    pub(crate) fn io(host: &str) -> impl Fn(io::Error) -> ConnectError {
        let host = host.to_owned();
        move |error| ConnectError { reason: format!("cannot connect to {host}: {error}"), is_version: false }
    }
}

/// An error of the server as the Python driver's class and text.
pub(crate) fn server_error(error: &ErrorBody) -> String {
    let message = &error.message;
    let summary =
        format!("Error from server: code={:04x} [{}] message=\"{message}\"", error.code() as u32, summary(error));
    match &error.kind {
        ErrorKind::ServerError => format!("ServerError: {message}"),
        ErrorKind::ProtocolError => format!("ProtocolException: {message}"),
        ErrorKind::BadCredentials => format!("BadCredentials: {message}"),
        ErrorKind::Overloaded => format!("OverloadedErrorMessage: {message}"),
        ErrorKind::IsBootstrapping => format!("IsBootstrappingErrorMessage: {message}"),
        ErrorKind::TruncateError => format!("TruncateError: {message}"),
        ErrorKind::CdcWriteFailure => format!("CDCWriteException: {message}"),
        ErrorKind::CasWriteUnknown { .. } => format!("CasWriteUnknown: {message}"),
        ErrorKind::SyntaxError => format!("SyntaxException: {message}"),
        ErrorKind::ConfigError => format!("ConfigurationException: {message}"),
        ErrorKind::Unprepared { .. } => format!("PreparedQueryNotFound: {message}"),
        ErrorKind::Unauthorized => format!("Unauthorized: {summary}"),
        ErrorKind::Invalid => format!("InvalidRequest: {summary}"),
        ErrorKind::FunctionFailure { .. } => format!("FunctionFailure: {summary}"),
        ErrorKind::AlreadyExists { keyspace, table } if table.is_empty() => {
            format!("AlreadyExists: Keyspace '{keyspace}' already exists")
        }
        ErrorKind::AlreadyExists { keyspace, table } => {
            format!("AlreadyExists: Table '{keyspace}.{table}' already exists")
        }
        ErrorKind::Unavailable { consistency, required, alive } => format!(
            "Unavailable: {summary} info={{'consistency': '{consistency}', 'required_replicas': {required}, 'alive_replicas': {alive}}}"
        ),
        ErrorKind::WriteTimeout { consistency, received, block_for, write_type, .. } => {
            let responses = responses(*consistency, *received, *block_for);
            format!("WriteTimeout: {summary} info={{{responses}, 'write_type': '{}'}}", write_type.name())
        }
        ErrorKind::ReadTimeout { consistency, received, block_for, .. } => {
            format!("ReadTimeout: {summary} info={{{}}}", responses(*consistency, *received, *block_for))
        }
        ErrorKind::ReadFailure { consistency, received, block_for, failures, .. } => {
            let responses = responses(*consistency, *received, *block_for);
            format!("ReadFailure: {summary} info={{{responses}, {}}}", failed(failures))
        }
        ErrorKind::WriteFailure { consistency, received, block_for, failures, .. } => {
            let responses = responses(*consistency, *received, *block_for);
            format!("WriteFailure: {summary} info={{{responses}, {}}}", failed(failures))
        }
    }
}

/// The driver's words for a code.
fn summary(error: &ErrorBody) -> &'static str {
    match error.kind {
        ErrorKind::BadCredentials => "Bad credentials",
        ErrorKind::Unavailable { .. } => "Unavailable exception",
        ErrorKind::WriteTimeout { .. } | ErrorKind::ReadTimeout { .. } => {
            "Coordinator node timed out waiting for replica nodes' responses"
        }
        ErrorKind::ReadFailure { .. } => "Replica(s) failed to execute read",
        ErrorKind::WriteFailure { .. } => "Replica(s) failed to execute write",
        ErrorKind::FunctionFailure { .. } => "User Defined Function failure",
        ErrorKind::Unauthorized => "Unauthorized",
        ErrorKind::Invalid => "Invalid query",
        _ => "Server error",
    }
}

fn responses(consistency: Consistency, received: i32, required: i32) -> String {
    format!("'consistency': '{consistency}', 'required_responses': {required}, 'received_responses': {received}")
}

fn failed(failures: &Failures) -> String {
    match failures {
        Failures::Count(count) => format!("'failures': {count}"),
        Failures::Reasons(reasons) => {
            let listed: Vec<String> =
                reasons.iter().map(|(address, code)| format!("'{address}': '0x{code:04x}'")).collect();
            format!("'failures': {}, 'error_code_map': {{{}}}", reasons.len(), listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cqlsh 6.2.2 printed them; `Unavailable` without the driver's list of hosts around it.
    #[test]
    fn errors_are_those_of_the_python_driver() {
        let shown = |kind: ErrorKind, message: &str| server_error(&ErrorBody::new(kind, message));
        let message = "line 1:0 no viable alternative at input 'SELEKT'";
        assert_eq!(shown(ErrorKind::SyntaxError, message), format!("SyntaxException: {message}"));
        assert_eq!(
            shown(ErrorKind::Invalid, "keyspace nowhere does not exist"),
            "InvalidRequest: Error from server: code=2200 [Invalid query] message=\"keyspace nowhere does not exist\""
        );
        let exists = ErrorKind::AlreadyExists { keyspace: "g".to_owned(), table: "t".to_owned() };
        assert_eq!(shown(exists, "any"), "AlreadyExists: Table 'g.t' already exists");
        let unavailable = ErrorKind::Unavailable { consistency: Consistency::Three, required: 3, alive: 1 };
        assert_eq!(
            shown(unavailable, "Cannot achieve consistency level THREE"),
            "Unavailable: Error from server: code=1000 [Unavailable exception] message=\"Cannot achieve consistency level \
             THREE\" info={'consistency': 'THREE', 'required_replicas': 3, 'alive_replicas': 1}"
        );
    }
}
