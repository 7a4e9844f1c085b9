//! Why a dialog cannot go on.

use cql_protocol::ErrorBody;
use cql_protocol::segment::SegmentError;
use cql_protocol::{DecodeError, HeaderError};

/// Why a dialog cannot go on. The connection is of no use after any of them.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub enum DialogError {
    #[error("{0}")]
    Header(#[from] HeaderError),
    #[error("{0}")]
    Segment(#[from] SegmentError),
    #[error("{0}")]
    Message(#[from] DecodeError),
    #[error("a reply of {length} bytes exceeds the limit of {max}")]
    TooLong { length: usize, max: usize },
    /// The server asks for a login (its authenticator's Java class), and there is none.
    #[error("Remote end requires authentication")]
    LoginRequired { authenticator: String },
    /// The server refused the greeting or the login.
    #[error("{0}")]
    Refused(ErrorBody),
    #[error("unexpected reply to {request}: {reply}")]
    Unexpected { request: &'static str, reply: &'static str },
}
