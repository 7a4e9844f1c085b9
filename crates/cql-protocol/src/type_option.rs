//! How a type is described in a result.
use cql_types::CqlType;
use stdx::Reader;
use crate::{DecodeError, Version};
/// Appends a type.
pub fn write_type(_out: &mut Vec<u8>, _version: Version, _ty: &CqlType) {}
/// Reads a type.
pub fn read_type(_reader: &mut Reader<'_>, _version: Version) -> Result<CqlType, DecodeError> { Err(DecodeError::UnknownType) }
