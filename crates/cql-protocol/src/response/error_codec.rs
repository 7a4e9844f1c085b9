//! How an ERROR is laid down. (Source: `native_protocol_v5.spec`, section 9; the contentions of a conditional write's
//! timeout and the codes 0x1600 and 0x1700 as in Cassandra 5.0.)

use std::net::IpAddr;

use stdx::Reader;

use crate::response::{ErrorBody, ErrorCode, ErrorKind, Failures, ResponseFrame, WriteType};
use crate::{Consistency, DecodeError, Opcode, Version, notation};

/// Appends ERROR.
pub fn write_error(out: &mut Vec<u8>, version: Version, stream: i16, error: &ErrorBody) {
    let known = known_in(version, error);
    let error = known.as_ref().unwrap_or(error);
    let frame = ResponseFrame::begin(out, version, stream, Opcode::Error);
    out.extend_from_slice(&(error.code() as u32).to_be_bytes());
    notation::write_string(out, &error.message);
    write_kind(out, version, &error.kind);
    ResponseFrame::finish(out, frame);
}

/// The error in whose place one goes whose code the version does not have, as in Cassandra: a timeout has a timeout's words.
fn known_in(version: Version, error: &ErrorBody) -> Option<ErrorBody> {
    let timed_out = |received: i32| format!("Operation timed out - received only {received} responses.");
    let (kind, message) = match error.kind {
        ErrorKind::CasWriteUnknown { consistency, received, block_for } if version < Version::V5 => {
            let write_type = WriteType::Cas;
            let kind = ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions: None };
            (kind, timed_out(received))
        }
        ErrorKind::ReadFailure { consistency, received, block_for, data_present, .. } if version < Version::V4 => {
            (ErrorKind::ReadTimeout { consistency, received, block_for, data_present }, timed_out(received))
        }
        ErrorKind::WriteFailure { consistency, received, block_for, write_type, .. } if version < Version::V4 => {
            let kind = ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions: None };
            (kind, timed_out(received))
        }
        ErrorKind::FunctionFailure { .. } | ErrorKind::CdcWriteFailure if version < Version::V4 => {
            (ErrorKind::Invalid, error.message.clone())
        }
        _ => return None,
    };
    Some(ErrorBody { kind, message })
}

/// Appends what follows the message.
fn write_kind(out: &mut Vec<u8>, version: Version, kind: &ErrorKind) {
    match kind {
        ErrorKind::Unavailable { consistency, required, alive } => write_counts(out, *consistency, *required, *alive),
        ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions } => {
            write_counts(out, *consistency, *received, *block_for);
            notation::write_string(out, write_type.name());
            if version == Version::V5 && *write_type == WriteType::Cas {
                out.extend_from_slice(&contentions.unwrap_or(0).to_be_bytes());
            }
        }
        ErrorKind::ReadTimeout { consistency, received, block_for, data_present } => {
            write_counts(out, *consistency, *received, *block_for);
            out.push(u8::from(*data_present));
        }
        ErrorKind::ReadFailure { consistency, received, block_for, failures, data_present } => {
            write_counts(out, *consistency, *received, *block_for);
            write_failures(out, version, failures);
            out.push(u8::from(*data_present));
        }
        ErrorKind::WriteFailure { consistency, received, block_for, failures, write_type } => {
            write_counts(out, *consistency, *received, *block_for);
            write_failures(out, version, failures);
            notation::write_string(out, write_type.name());
        }
        ErrorKind::FunctionFailure { keyspace, function, arguments } => {
            notation::write_string(out, keyspace);
            notation::write_string(out, function);
            notation::write_string_list(out, arguments);
        }
        ErrorKind::CasWriteUnknown { consistency, received, block_for } => {
            write_counts(out, *consistency, *received, *block_for);
        }
        ErrorKind::AlreadyExists { keyspace, table } => {
            notation::write_string(out, keyspace);
            notation::write_string(out, table);
        }
        ErrorKind::Unprepared { id } => notation::write_short_bytes(out, id),
        ErrorKind::ServerError
        | ErrorKind::ProtocolError
        | ErrorKind::BadCredentials
        | ErrorKind::Overloaded
        | ErrorKind::IsBootstrapping
        | ErrorKind::TruncateError
        | ErrorKind::CdcWriteFailure
        | ErrorKind::SyntaxError
        | ErrorKind::Unauthorized
        | ErrorKind::Invalid
        | ErrorKind::ConfigError => {}
    }
}

fn write_counts(out: &mut Vec<u8>, consistency: Consistency, first: i32, second: i32) {
    notation::write_consistency(out, consistency);
    out.extend_from_slice(&first.to_be_bytes());
    out.extend_from_slice(&second.to_be_bytes());
}

/// Version 4 tells the number of failed replicas, version 5 each with its reason. A bare number has no such list: it
/// becomes an empty one.
fn write_failures(out: &mut Vec<u8>, version: Version, failures: &Failures) {
    match (version, failures) {
        (Version::V3 | Version::V4, Failures::Count(count)) => out.extend_from_slice(&count.to_be_bytes()),
        (Version::V3 | Version::V4, Failures::Reasons(reasons)) => notation::write_length(out, reasons.len()),
        (Version::V5, Failures::Count(_)) => notation::write_length(out, 0),
        (Version::V5, Failures::Reasons(reasons)) => {
            notation::write_length(out, reasons.len());
            for (address, reason) in reasons {
                notation::write_address(out, *address);
                out.extend_from_slice(&reason.to_be_bytes());
            }
        }
    }
}

fn read_failures(reader: &mut Reader<'_>, version: Version) -> Result<Failures, DecodeError> {
    let count = reader.u32()?;
    if version < Version::V5 {
        return Ok(Failures::Count(count));
    }
    // A list that grows as it is read: the count alone takes no memory.
    let mut reasons: Vec<(IpAddr, u16)> = Vec::new();
    for _ in 0..count {
        reasons.push((notation::read_address(reader)?, reader.u16()?));
    }
    Ok(Failures::Reasons(reasons))
}

impl ErrorBody {
    pub(super) fn read(reader: &mut Reader<'_>, version: Version) -> Result<ErrorBody, DecodeError> {
        let code = ErrorCode::of(reader.u32()?)?;
        let message = notation::read_string(reader)?.to_owned();
        let kind = read_kind(reader, version, code)?;
        Ok(ErrorBody { kind, message })
    }
}

fn read_kind(reader: &mut Reader<'_>, version: Version, code: ErrorCode) -> Result<ErrorKind, DecodeError> {
    Ok(match code {
        ErrorCode::ServerError => ErrorKind::ServerError,
        ErrorCode::ProtocolError => ErrorKind::ProtocolError,
        ErrorCode::BadCredentials => ErrorKind::BadCredentials,
        ErrorCode::Overloaded => ErrorKind::Overloaded,
        ErrorCode::IsBootstrapping => ErrorKind::IsBootstrapping,
        ErrorCode::TruncateError => ErrorKind::TruncateError,
        ErrorCode::CdcWriteFailure => ErrorKind::CdcWriteFailure,
        ErrorCode::SyntaxError => ErrorKind::SyntaxError,
        ErrorCode::Unauthorized => ErrorKind::Unauthorized,
        ErrorCode::Invalid => ErrorKind::Invalid,
        ErrorCode::ConfigError => ErrorKind::ConfigError,
        ErrorCode::FunctionFailure => ErrorKind::FunctionFailure {
            keyspace: notation::read_string(reader)?.to_owned(),
            function: notation::read_string(reader)?.to_owned(),
            arguments: notation::read_string_list(reader)?,
        },
        ErrorCode::AlreadyExists => ErrorKind::AlreadyExists {
            keyspace: notation::read_string(reader)?.to_owned(),
            table: notation::read_string(reader)?.to_owned(),
        },
        ErrorCode::Unprepared => ErrorKind::Unprepared { id: notation::read_short_bytes(reader)?.to_vec() },
        ErrorCode::Unavailable
        | ErrorCode::WriteTimeout
        | ErrorCode::ReadTimeout
        | ErrorCode::ReadFailure
        | ErrorCode::WriteFailure
        | ErrorCode::CasWriteUnknown => read_counted_kind(reader, version, code)?,
    })
}

/// The errors that begin with a level and two counts of replicas.
fn read_counted_kind(reader: &mut Reader<'_>, version: Version, code: ErrorCode) -> Result<ErrorKind, DecodeError> {
    let consistency = notation::read_consistency(reader)?;
    let (received, block_for) = (reader.i32()?, reader.i32()?);
    Ok(match code {
        ErrorCode::Unavailable => ErrorKind::Unavailable { consistency, required: received, alive: block_for },
        ErrorCode::WriteTimeout => {
            let write_type = WriteType::of_name(notation::read_string(reader)?)?;
            let counted = version == Version::V5 && write_type == WriteType::Cas;
            let contentions = if counted { Some(reader.u16()?) } else { None };
            ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions }
        }
        ErrorCode::ReadTimeout => {
            ErrorKind::ReadTimeout { consistency, received, block_for, data_present: reader.u8()? != 0 }
        }
        ErrorCode::ReadFailure => ErrorKind::ReadFailure {
            consistency,
            received,
            block_for,
            failures: read_failures(reader, version)?,
            data_present: reader.u8()? != 0,
        },
        ErrorCode::WriteFailure => ErrorKind::WriteFailure {
            consistency,
            received,
            block_for,
            failures: read_failures(reader, version)?,
            write_type: WriteType::of_name(notation::read_string(reader)?)?,
        },
        _ => ErrorKind::CasWriteUnknown { consistency, received, block_for },
    })
}
