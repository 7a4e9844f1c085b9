//! Why bytes are not a message.

use stdx::ReadError;

/// A body that is not what its opcode promises. The server answers it with a protocol error that holds this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early, or a length or string in them is not one.
    #[error("Malformed message: {0}")]
    Read(#[from] ReadError),
    /// A consistency level that is not defined.
    #[error("Unknown code {code} for a consistency level")]
    UnknownConsistency {
        /// The code.
        code: u16,
    },
    /// A value whose length is below -2.
    #[error("Invalid value length {length}: a value has at least 0 bytes, or -1 for null, or -2 for not set")]
    InvalidValueLength {
        /// The length.
        length: i32,
    },
    /// The default timestamp that stands for "none" inside Cassandra and that it therefore refuses.
    #[error(
        "Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807] (got -9223372036854775808)"
    )]
    TimestampOutOfBounds,
    /// A batch that is neither logged, unlogged nor counter.
    #[error("Invalid batch type {kind}: must be 0 (logged), 1 (unlogged) or 2 (counter)")]
    UnknownBatchKind {
        /// The code.
        kind: u8,
    },
    /// A statement of a batch that is neither text nor prepared.
    #[error("Invalid query kind in BATCH messages. Must be 0 or 1 but got {kind}")]
    UnknownBatchStatementKind {
        /// The code.
        kind: u8,
    },
    /// A flag of a later version.
    #[error("Received frame with CUSTOM_PAYLOAD flag for native protocol version < 4")]
    CustomPayloadTooEarly,
    /// REGISTER asks for events that are not defined.
    #[error("Invalid event type in REGISTER: must be TOPOLOGY_CHANGE, STATUS_CHANGE or SCHEMA_CHANGE")]
    UnknownEventKind,
    /// The frame is a response where a request belongs, or the other way round.
    #[error("Unexpected {name} message")]
    UnexpectedMessage {
        /// The opcode's name.
        name: &'static str,
    },
    /// A result, error, event or change that is not defined.
    #[error("Unknown code {code:#06x} for {what}")]
    UnknownCode {
        /// Subject of the code.
        what: &'static str,
        /// The code.
        code: u32,
    },
    /// A name that is not defined.
    #[error("Unknown name for {what}")]
    UnknownName {
        /// Subject of the name.
        what: &'static str,
    },
    /// A type inside a type inside a type, and so on.
    #[error("A type is nested more than {limit} deep")]
    TypeTooDeep {
        /// The limit.
        limit: usize,
    },
    /// A type's text that is not understood.
    #[error("Unknown custom type")]
    UnknownType,
    /// A count that is negative, or more than the bytes can hold.
    #[error("The count of {what} is {count}, which the message cannot hold")]
    InvalidCount {
        /// Subject of the count.
        what: &'static str,
        /// The count.
        count: i64,
    },
    /// An address that has neither 4 nor 16 bytes.
    #[error("Invalid address length: {length} bytes")]
    InvalidAddress {
        /// Its length.
        length: u8,
    },
}
