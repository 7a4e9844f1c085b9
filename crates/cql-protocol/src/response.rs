//! What servers send.
//!
//! Each `write_` function appends a whole frame, header included, to the caller's buffer. What comes before the message
//! (warnings, a tracing id) and what is done to it (compression) is rare, so it is added to a frame that is written:
//! [`insert_warnings`], [`insert_tracing_id`] and [`crate::compression::compress_frame`].

mod auth;
mod error;
mod error_codec;
mod event;
mod prefix;
mod prepared;
mod rows;
mod schema_change;
mod specs;
mod supported;

use stdx::Reader;

pub use auth::{write_auth_challenge, write_auth_success, write_authenticate};
pub use error::{ErrorBody, ErrorCode, ErrorKind, Failures, WriteType};
pub use error_codec::write_error;
pub use event::{Event, StatusChange, TopologyChange, write_event};
pub use prefix::{ResponsePrefix, insert_tracing_id, insert_warnings};
pub use prepared::{Prepared, PreparedReply, write_prepared};
pub use rows::{RowValues, Rows, RowsHead, RowsIter, RowsWriter};
pub use schema_change::{SchemaChange, SchemaChangeKind, SchemaTarget, write_schema_change};
pub use specs::{ColumnSpec, DecodedSpec, EncodedSpecs, Specs};
pub use supported::write_supported;

use crate::{DecodeError, Flags, FrameHeader, Opcode, Version, header, notation};

/// The kinds of RESULT.
pub(crate) mod result_kind {
    pub(crate) const VOID: i32 = 1;
    pub(crate) const ROWS: i32 = 2;
    pub(crate) const SET_KEYSPACE: i32 = 3;
    pub(crate) const PREPARED: i32 = 4;
    pub(crate) const SCHEMA_CHANGE: i32 = 5;
}

/// A response's frame that is being appended to a buffer.
#[derive(Debug, Clone, Copy)]
pub struct ResponseFrame {
    start: usize,
}

impl ResponseFrame {
    /// Appends a header; what is appended next is the body.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, version: Version, stream: i16, opcode: Opcode) -> ResponseFrame {
        debug_assert!(!opcode.is_request());
        ResponseFrame { start: header::begin(out, version, Flags::NONE, stream, opcode) }
    }

    /// Writes the body's length into the header.
    #[inline]
    pub fn finish(out: &mut [u8], frame: ResponseFrame) {
        header::finish(out, frame.start);
    }

    /// Where the frame begins in its buffer.
    #[inline]
    pub fn start(&self) -> usize {
        self.start
    }
}

/// Appends a RESULT without anything in it: what most writes are answered with.
#[inline]
pub fn write_void(out: &mut Vec<u8>, version: Version, stream: i16) {
    let header = FrameHeader { version, flags: Flags::NONE, stream, opcode: Opcode::Result, length: 4 };
    let mut frame = [0; header::HEADER_LENGTH + 4];
    frame[..header::HEADER_LENGTH].copy_from_slice(&header.encode());
    frame[header::HEADER_LENGTH..].copy_from_slice(&result_kind::VOID.to_be_bytes());
    out.extend_from_slice(&frame);
}

/// Appends READY.
pub fn write_ready(out: &mut Vec<u8>, version: Version, stream: i16) {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::Ready);
    ResponseFrame::finish(out, frame);
}

/// Appends the answer to USE.
pub fn write_set_keyspace(out: &mut Vec<u8>, version: Version, stream: i16, keyspace: &str) {
    let frame = begin_result(out, version, stream, result_kind::SET_KEYSPACE);
    notation::write_string(out, keyspace);
    ResponseFrame::finish(out, frame);
}

/// Begins a RESULT of a kind.
#[inline]
pub(crate) fn begin_result(out: &mut Vec<u8>, version: Version, stream: i16, kind: i32) -> ResponseFrame {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::Result);
    out.extend_from_slice(&kind.to_be_bytes());
    frame
}

/// Any response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response<'a> {
    /// The request failed.
    Error(ErrorBody),
    /// Done, nothing to say.
    Ready,
    /// The client must authenticate with the class of this name.
    Authenticate(&'a str),
    /// What STARTUP may ask for.
    Supported(Vec<(String, Vec<String>)>),
    /// A statement's result.
    Result(ResultBody<'a>),
    /// Something happened.
    Event(Event),
    /// A step of authentication.
    AuthChallenge(Option<&'a [u8]>),
    /// Authentication has succeeded.
    AuthSuccess(Option<&'a [u8]>),
}

/// What a RESULT holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultBody<'a> {
    /// Nothing.
    Void,
    /// Rows.
    Rows(Rows<'a>),
    /// The keyspace in use from now on.
    SetKeyspace(&'a str),
    /// A prepared statement.
    Prepared(Prepared),
    /// The schema was changed.
    SchemaChange(SchemaChange),
}

impl<'a> Response<'a> {
    /// Decodes a body that is not, or no longer, compressed, with what comes before its message.
    pub fn decode(header: &FrameHeader, body: &'a [u8]) -> Result<(ResponsePrefix, Response<'a>), DecodeError> {
        let mut reader = Reader::new(body);
        let prefix = ResponsePrefix::read(&mut reader, header.flags)?;
        let response = Response::read(&mut reader, header)?;
        Ok((prefix, response))
    }

    fn read(reader: &mut Reader<'a>, header: &FrameHeader) -> Result<Response<'a>, DecodeError> {
        Ok(match header.opcode {
            Opcode::Error => Response::Error(ErrorBody::read(reader, header.version)?),
            Opcode::Ready => Response::Ready,
            Opcode::Authenticate => Response::Authenticate(notation::read_string(reader)?),
            Opcode::Supported => Response::Supported(supported::read(reader)?),
            Opcode::Result => Response::Result(ResultBody::read(reader, header.version)?),
            Opcode::Event => Response::Event(Event::read(reader)?),
            Opcode::AuthChallenge => Response::AuthChallenge(notation::read_bytes(reader)?),
            Opcode::AuthSuccess => Response::AuthSuccess(notation::read_bytes(reader)?),
            opcode => return Err(DecodeError::UnexpectedMessage { name: opcode.name() }),
        })
    }
}

impl<'a> ResultBody<'a> {
    fn read(reader: &mut Reader<'a>, version: Version) -> Result<ResultBody<'a>, DecodeError> {
        Ok(match reader.i32()? {
            result_kind::VOID => ResultBody::Void,
            result_kind::ROWS => ResultBody::Rows(Rows::read(reader, version)?),
            result_kind::SET_KEYSPACE => ResultBody::SetKeyspace(notation::read_string(reader)?),
            result_kind::PREPARED => ResultBody::Prepared(Prepared::read(reader, version)?),
            result_kind::SCHEMA_CHANGE => ResultBody::SchemaChange(SchemaChange::read(reader)?),
            kind => return Err(DecodeError::UnknownCode { what: "a kind of result", code: kind as u32 }),
        })
    }
}

#[cfg(test)]
mod tests;
