//! What clients send.
//!
//! Decoded requests borrow from the frame's body and take no memory: lists are checked once by the decoder and walked
//! again by whoever uses them. Bytes after a message's end are ignored, as the protocol asks.

mod auth_response;
mod batch;
mod execute;
mod options;
mod prepare;
mod query;
mod query_params;
mod register;
mod startup;
mod values;

use stdx::Reader;

pub use auth_response::AuthResponse;
pub use batch::{Batch, BatchBuilder, BatchKind, BatchQuery, BatchStatement, BatchStatements};
pub use execute::Execute;
pub use options::Options;
pub use prepare::Prepare;
pub use query::Query;
pub use query_params::QueryParams;
pub use register::{EventKinds, Register};
pub use startup::{Startup, StartupOptions};
pub use values::{Value, ValueIter, ValueNames, Values, ValuesBuffer};

use crate::{DecodeError, Flags, FrameHeader, Opcode, Version, header, notation};

/// Any request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// Begins the connection.
    Startup(Startup<'a>),
    /// Asks what is supported.
    Options(Options),
    /// A statement as text.
    Query(Query<'a>),
    /// Prepares a statement.
    Prepare(Prepare<'a>),
    /// Runs a prepared statement.
    Execute(Execute<'a>),
    /// Several statements at once.
    Batch(Batch<'a>),
    /// Asks for events.
    Register(Register),
    /// A step of authentication.
    AuthResponse(AuthResponse<'a>),
}

impl<'a> Request<'a> {
    /// Decodes a body that is not, or no longer, compressed. A custom payload is skipped.
    #[inline]
    pub fn decode(header: &FrameHeader, body: &'a [u8]) -> Result<Request<'a>, DecodeError> {
        let version = header.version;
        let message = message(header, body)?;
        Ok(match header.opcode {
            Opcode::Execute => Request::Execute(Execute::decode(message, version)?),
            Opcode::Query => Request::Query(Query::decode(message, version)?),
            Opcode::Batch => Request::Batch(Batch::decode(message, version)?),
            Opcode::Prepare => Request::Prepare(Prepare::decode(message, version)?),
            Opcode::Startup => Request::Startup(Startup::decode(message)?),
            Opcode::Options => Request::Options(Options),
            Opcode::Register => Request::Register(Register::decode(message)?),
            Opcode::AuthResponse => Request::AuthResponse(AuthResponse::decode(message)?),
            opcode => return Err(DecodeError::UnexpectedMessage { name: opcode.name() }),
        })
    }

    /// The opcode of the frame that it belongs in.
    pub fn opcode(&self) -> Opcode {
        match self {
            Request::Startup(_) => Opcode::Startup,
            Request::Options(_) => Opcode::Options,
            Request::Query(_) => Opcode::Query,
            Request::Prepare(_) => Opcode::Prepare,
            Request::Execute(_) => Opcode::Execute,
            Request::Batch(_) => Opcode::Batch,
            Request::Register(_) => Opcode::Register,
            Request::AuthResponse(_) => Opcode::AuthResponse,
        }
    }

    /// Appends the whole frame.
    pub fn encode_frame(&self, version: Version, stream: i16, out: &mut Vec<u8>) {
        let frame = RequestFrame::begin(out, version, Flags::NONE, stream, self.opcode());
        match self {
            Request::Startup(request) => request.encode(out),
            Request::Options(_) => {}
            Request::Query(request) => request.encode(version, out),
            Request::Prepare(request) => request.encode(version, out),
            Request::Execute(request) => request.encode(version, out),
            Request::Batch(request) => request.encode(version, out),
            Request::Register(request) => request.encode(out),
            Request::AuthResponse(request) => request.encode(out),
        }
        RequestFrame::finish(out, frame);
    }
}

/// The message within a request's body: what is left after the custom payload, if the flags say that there is one.
#[inline]
pub fn message<'a>(header: &FrameHeader, body: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    if !header.flags.contains(Flags::CUSTOM_PAYLOAD) {
        return Ok(body);
    }
    if header.version < Version::V4 {
        return Err(DecodeError::CustomPayloadTooEarly);
    }
    let mut reader = Reader::new(body);
    notation::skip_bytes_map(&mut reader)?;
    Ok(reader.rest())
}

/// The id of the prepared statement that a request runs; of a batch, of its first. Nothing else of the message is looked at.
#[inline]
pub fn first_prepared(opcode: Opcode, message: &[u8]) -> Option<[u8; 16]> {
    /// Of an id: its length.
    const LENGTH_BYTES: usize = 2;
    /// Before the first statement of a batch: its kind, the count of statements, and what the first is.
    const BATCH_BYTES: usize = 4;
    const IS_PREPARED: u8 = 1;
    let place = match opcode {
        Opcode::Execute => 0,
        Opcode::Batch if message.get(BATCH_BYTES - 1) == Some(&IS_PREPARED) => BATCH_BYTES,
        _ => return None,
    };
    message.get(place + LENGTH_BYTES..)?.first_chunk().copied()
}

/// A request's frame that is being appended to a buffer.
#[derive(Debug, Clone, Copy)]
pub struct RequestFrame {
    start: usize,
}

impl RequestFrame {
    /// Appends a header; what is appended next is the body.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, version: Version, flags: Flags, stream: i16, opcode: Opcode) -> RequestFrame {
        debug_assert!(opcode.is_request());
        RequestFrame { start: header::begin(out, version, flags, stream, opcode) }
    }

    /// Writes the body's length into the header.
    #[inline]
    pub fn finish(out: &mut [u8], frame: RequestFrame) {
        header::finish(out, frame.start);
    }
}

#[cfg(test)]
mod tests;
