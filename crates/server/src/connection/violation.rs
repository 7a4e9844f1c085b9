//! What a client must not send, and how it is told.

use cql_protocol::{DecodeError, ErrorBody, HeaderError, Version, write_error};

/// Bytes that are no request, or one at the wrong time.
#[derive(Debug)]
pub(super) struct Violation {
    /// The reply.
    pub(super) error: ErrorBody,
    /// The version and stream to answer with where the header could be read.
    pub(super) version: Option<Version>,
    pub(super) stream: i16,
    /// Whether what follows can still be understood. If not, the connection ends once all replies are sent.
    pub(super) fatal: bool,
}

impl Violation {
    /// A protocol error after which the connection ends.
    pub(super) fn protocol(text: impl Into<String>) -> Violation {
        Violation { error: ErrorBody::protocol_error(text.into()), version: None, stream: 0, fatal: true }
    }

    /// A frame that is not taken and whose bytes are skipped; the next one is.
    pub(super) fn skipped(error: ErrorBody, version: Version, stream: i16) -> Violation {
        Violation { error, version: Some(version), stream, fatal: false }
    }

    /// The same where the frame's bounds are known, so that the next one can be understood.
    pub(super) fn passed_over(self) -> Violation {
        Violation { fatal: false, ..self }
    }

    /// The same with the stream of the frame at fault.
    pub(super) fn on(self, version: Version, stream: i16) -> Violation {
        Violation { version: Some(version), stream, ..self }
    }

    /// The same where no header tells the version: that of the frames before.
    pub(super) fn in_version(self, version: Option<Version>) -> Violation {
        Violation { version, ..self }
    }

    /// Appends the error frame.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_error(out, self.version.unwrap_or(Version::V4), self.stream, &self.error);
    }
}

/// The body of a whole frame: where the next one begins is known.
impl From<DecodeError> for Violation {
    fn from(error: DecodeError) -> Violation {
        Violation { fatal: false, ..Violation::protocol(error.to_string()) }
    }
}

impl From<HeaderError> for Violation {
    fn from(error: HeaderError) -> Violation {
        Violation::protocol(error.to_string()).on(error.reply_version(), error.stream())
    }
}
