//! The CQL native protocol, versions 3, 4 and 5: frames, segments, requests and responses, in both directions.
//!
//! Requests are decoded borrowed, without taking memory; responses are appended to the caller's buffer. Nothing here
//! does I/O or knows what a statement means. No input makes it panic. See `docs/internals/protocol.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod class_name;
pub mod compression;
mod consistency;
mod crc;
mod error;
mod header;
pub mod notation;
mod opcode;
pub mod request;
pub mod response;
pub mod segment;
mod type_option;
mod version;

pub use compression::Compression;
pub use consistency::Consistency;
pub use error::DecodeError;
pub use header::{FRAME_LENGTH_MAX, Flags, FrameHeader, HEADER_LENGTH, HeaderError};
pub use opcode::Opcode;
pub use request::{
    AuthResponse, Batch, BatchBuilder, BatchKind, BatchQuery, BatchStatement, EventKinds, Execute, Options, Prepare,
    Query, QueryParams, Register, Request, RequestFrame, Startup, Value, Values, ValuesBuffer,
};
pub use response::{
    ColumnSpec, EncodedSpecs, ErrorBody, ErrorCode, ErrorKind, Event, Failures, Prepared, PreparedReply, Response,
    ResponseFrame, ResultBody, Rows, RowsHead, RowsWriter, SchemaChange, SchemaChangeKind, SchemaTarget, Specs,
    StatusChange, TopologyChange, WriteType, write_auth_challenge, write_auth_success, write_authenticate, write_error,
    write_event, write_prepared, write_ready, write_schema_change, write_set_keyspace, write_supported, write_void,
};
pub use segment::Codec;
pub use type_option::{read_type, write_type};
pub use version::{UnsupportedVersion, Version};
