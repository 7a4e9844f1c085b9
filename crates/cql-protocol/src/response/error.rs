//! ERROR: why a request failed.

use std::net::IpAddr;

use crate::{Consistency, DecodeError};

/// The numbers by which drivers know errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the names are the protocol's, and `ErrorKind` says what each means")]
pub enum ErrorCode {
    ServerError = 0x0000,
    ProtocolError = 0x000a,
    BadCredentials = 0x0100,
    Unavailable = 0x1000,
    Overloaded = 0x1001,
    IsBootstrapping = 0x1002,
    TruncateError = 0x1003,
    WriteTimeout = 0x1100,
    ReadTimeout = 0x1200,
    ReadFailure = 0x1300,
    FunctionFailure = 0x1400,
    WriteFailure = 0x1500,
    CdcWriteFailure = 0x1600,
    CasWriteUnknown = 0x1700,
    SyntaxError = 0x2000,
    Unauthorized = 0x2100,
    Invalid = 0x2200,
    ConfigError = 0x2300,
    AlreadyExists = 0x2400,
    Unprepared = 0x2500,
}

impl ErrorCode {
    const ALL: [ErrorCode; 20] = [
        ErrorCode::ServerError,
        ErrorCode::ProtocolError,
        ErrorCode::BadCredentials,
        ErrorCode::Unavailable,
        ErrorCode::Overloaded,
        ErrorCode::IsBootstrapping,
        ErrorCode::TruncateError,
        ErrorCode::WriteTimeout,
        ErrorCode::ReadTimeout,
        ErrorCode::ReadFailure,
        ErrorCode::FunctionFailure,
        ErrorCode::WriteFailure,
        ErrorCode::CdcWriteFailure,
        ErrorCode::CasWriteUnknown,
        ErrorCode::SyntaxError,
        ErrorCode::Unauthorized,
        ErrorCode::Invalid,
        ErrorCode::ConfigError,
        ErrorCode::AlreadyExists,
        ErrorCode::Unprepared,
    ];

    /// The error of a number.
    pub fn of(code: u32) -> Result<ErrorCode, DecodeError> {
        Self::ALL
            .into_iter()
            .find(|known| *known as u32 == code)
            .ok_or(DecodeError::UnknownCode { what: "an error", code })
    }
}

/// What kind of write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteType {
    /// One statement's.
    Simple,
    /// A logged batch's, whose log is written: it will be finished.
    Batch,
    /// An unlogged batch's.
    UnloggedBatch,
    /// A counter's.
    Counter,
    /// That of a batch's log.
    BatchLog,
    /// A conditional statement's.
    Cas,
    /// A view's.
    View,
    /// One that the change-data-capture log must hold.
    Cdc,
}

impl WriteType {
    const ALL: [WriteType; 8] = [
        WriteType::Simple,
        WriteType::Batch,
        WriteType::UnloggedBatch,
        WriteType::Counter,
        WriteType::BatchLog,
        WriteType::Cas,
        WriteType::View,
        WriteType::Cdc,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            WriteType::Simple => "SIMPLE",
            WriteType::Batch => "BATCH",
            WriteType::UnloggedBatch => "UNLOGGED_BATCH",
            WriteType::Counter => "COUNTER",
            WriteType::BatchLog => "BATCH_LOG",
            WriteType::Cas => "CAS",
            WriteType::View => "VIEW",
            WriteType::Cdc => "CDC",
        }
    }

    /// The type of a name.
    pub(super) fn of_name(name: &str) -> Result<WriteType, DecodeError> {
        Self::ALL
            .into_iter()
            .find(|known| known.name() == name)
            .ok_or(DecodeError::UnknownName { what: "a type of write" })
    }
}

/// The replicas that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failures {
    /// How many: all that version 4 tells.
    Count(u32),
    /// Each with the code of its reason (version 5).
    Reasons(Vec<(IpAddr, u16)>),
}

/// An error and what its code adds to the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// A fault of the server.
    ServerError,
    /// The client broke the protocol.
    ProtocolError,
    /// The credentials are wrong.
    BadCredentials,
    /// Too few replicas are alive for the level.
    Unavailable {
        /// The level.
        consistency: Consistency,
        /// Replicas that it needs.
        required: i32,
        /// Replicas that are alive.
        alive: i32,
    },
    /// The server has no room for the request now.
    Overloaded,
    /// The node is not ready for reads.
    IsBootstrapping,
    /// TRUNCATE failed.
    TruncateError,
    /// Too few replicas acknowledged a write in time.
    WriteTimeout {
        /// The level.
        consistency: Consistency,
        /// Replicas that acknowledged.
        received: i32,
        /// Replicas that the level needs.
        block_for: i32,
        /// What kind of write.
        write_type: WriteType,
        /// Ballots lost, for a conditional write (version 5).
        contentions: Option<u16>,
    },
    /// Too few replicas answered a read in time.
    ReadTimeout {
        /// The level.
        consistency: Consistency,
        /// Replicas that answered.
        received: i32,
        /// Replicas that the level needs.
        block_for: i32,
        /// Whether the replica that was asked for data, not a digest, has answered.
        data_present: bool,
    },
    /// Replicas failed a read.
    ReadFailure {
        /// The level.
        consistency: Consistency,
        /// Replicas that answered.
        received: i32,
        /// Replicas that the level needs.
        block_for: i32,
        /// Replicas that failed.
        failures: Failures,
        /// Whether the replica that was asked for data, not a digest, has answered.
        data_present: bool,
    },
    /// A user-defined function failed.
    FunctionFailure {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        function: String,
        /// The types of its arguments, in CQL.
        arguments: Vec<String>,
    },
    /// Replicas failed a write.
    WriteFailure {
        /// The level.
        consistency: Consistency,
        /// Replicas that acknowledged.
        received: i32,
        /// Replicas that the level needs.
        block_for: i32,
        /// Replicas that failed.
        failures: Failures,
        /// What kind of write.
        write_type: WriteType,
    },
    /// The change-data-capture log has no room.
    CdcWriteFailure,
    /// Nobody knows whether a conditional write took place.
    CasWriteUnknown {
        /// The level.
        consistency: Consistency,
        /// Replicas that acknowledged.
        received: i32,
        /// Replicas that the level needs.
        block_for: i32,
    },
    /// The statement is not CQL.
    SyntaxError,
    /// The role may not do this.
    Unauthorized,
    /// The statement is CQL, but cannot be done.
    Invalid,
    /// The statement asks for a configuration that is not valid.
    ConfigError,
    /// The keyspace or table is there already.
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table, or the empty string.
        table: String,
    },
    /// The id is that of no prepared statement here.
    Unprepared {
        /// The id.
        id: Vec<u8>,
    },
}

impl ErrorKind {
    /// The number by which drivers know it.
    pub fn code(&self) -> ErrorCode {
        match self {
            ErrorKind::ServerError => ErrorCode::ServerError,
            ErrorKind::ProtocolError => ErrorCode::ProtocolError,
            ErrorKind::BadCredentials => ErrorCode::BadCredentials,
            ErrorKind::Unavailable { .. } => ErrorCode::Unavailable,
            ErrorKind::Overloaded => ErrorCode::Overloaded,
            ErrorKind::IsBootstrapping => ErrorCode::IsBootstrapping,
            ErrorKind::TruncateError => ErrorCode::TruncateError,
            ErrorKind::WriteTimeout { .. } => ErrorCode::WriteTimeout,
            ErrorKind::ReadTimeout { .. } => ErrorCode::ReadTimeout,
            ErrorKind::ReadFailure { .. } => ErrorCode::ReadFailure,
            ErrorKind::FunctionFailure { .. } => ErrorCode::FunctionFailure,
            ErrorKind::WriteFailure { .. } => ErrorCode::WriteFailure,
            ErrorKind::CdcWriteFailure => ErrorCode::CdcWriteFailure,
            ErrorKind::CasWriteUnknown { .. } => ErrorCode::CasWriteUnknown,
            ErrorKind::SyntaxError => ErrorCode::SyntaxError,
            ErrorKind::Unauthorized => ErrorCode::Unauthorized,
            ErrorKind::Invalid => ErrorCode::Invalid,
            ErrorKind::ConfigError => ErrorCode::ConfigError,
            ErrorKind::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            ErrorKind::Unprepared { .. } => ErrorCode::Unprepared,
        }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// What happened.
    pub kind: ErrorKind,
    /// The sentence for a person.
    pub message: String,
}

impl ErrorBody {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ErrorBody {
        ErrorBody { kind, message: message.into() }
    }

    /// A fault of the server.
    pub fn server_error(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::ServerError, message)
    }

    /// The client broke the protocol.
    pub fn protocol_error(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::ProtocolError, message)
    }

    /// The server has no room for the request now.
    pub fn overloaded(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::Overloaded, message)
    }

    /// The statement is not CQL.
    pub fn syntax_error(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::SyntaxError, message)
    }

    /// The statement is CQL, but cannot be done.
    pub fn invalid(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::Invalid, message)
    }

    /// The statement asks for a configuration that is not valid.
    pub fn config_error(message: impl Into<String>) -> ErrorBody {
        ErrorBody::new(ErrorKind::ConfigError, message)
    }

    /// The number by which drivers know it.
    pub fn code(&self) -> ErrorCode {
        self.kind.code()
    }
}

impl std::fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} ({:#06x}): {}", self.code(), self.code() as u32, self.message)
    }
}

impl std::error::Error for ErrorBody {}
