//! SUPPORTED: what STARTUP may ask for, and what a driver should know beforehand.

use stdx::Reader;

use crate::response::ResponseFrame;
use crate::{DecodeError, Opcode, Version, notation};

/// Appends SUPPORTED: each option with its values.
pub fn write_supported(out: &mut Vec<u8>, version: Version, stream: i16, options: &[(&str, &[&str])]) {
    let frame = ResponseFrame::begin(out, version, stream, Opcode::Supported);
    let count = u16::try_from(options.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    for (name, values) in options.iter().take(usize::from(count)) {
        notation::write_string(out, name);
        notation::write_string_list(out, values);
    }
    ResponseFrame::finish(out, frame);
}

/// Reads the options and their values.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<(String, Vec<String>)>, DecodeError> {
    let count = reader.u16()?;
    (0..count).map(|_| Ok((notation::read_string(reader)?.to_owned(), notation::read_string_list(reader)?))).collect()
}
