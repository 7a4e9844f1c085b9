//! What comes between a response's header and its message: tracing id, warnings, custom payload, in this order, each if
//! its flag is set.

use stdx::Reader;

use crate::header::{self, HEADER_LENGTH};
use crate::{DecodeError, Flags, Version, notation};

/// Where the flags are in a header.
const FLAGS_AT: usize = 1;
/// Bytes of a tracing id.
const TRACING_ID_LENGTH: usize = 16;

/// What came before a response's message. A custom payload is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponsePrefix {
    /// The id under which the request was traced.
    pub tracing_id: Option<[u8; TRACING_ID_LENGTH]>,
    /// Warnings for whoever reads the client's log.
    pub warnings: Vec<String>,
}

impl ResponsePrefix {
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_>, flags: Flags) -> Result<ResponsePrefix, DecodeError> {
        let mut prefix = ResponsePrefix::default();
        if flags.contains(Flags::TRACING) {
            prefix.tracing_id = Some(reader.array()?);
        }
        if flags.contains(Flags::WARNING) {
            prefix.warnings = notation::read_string_list(reader)?;
        }
        if flags.contains(Flags::CUSTOM_PAYLOAD) {
            notation::skip_bytes_map(reader)?;
        }
        Ok(prefix)
    }
}

/// Adds warnings to the frame that begins at `start`, is the buffer's last, and has none yet. No warnings: no change. Version 3
/// has no room for them.
pub fn insert_warnings<S: AsRef<str>>(out: &mut Vec<u8>, start: usize, warnings: &[S]) {
    let is_v3 = out[start] & 0x7f == Version::V3.number();
    if warnings.is_empty() || is_v3 {
        return;
    }
    let mut list = Vec::new();
    notation::write_string_list(&mut list, warnings);
    let traced = out[start + FLAGS_AT] & Flags::TRACING.0 != 0;
    let at = start + HEADER_LENGTH + if traced { TRACING_ID_LENGTH } else { 0 };
    insert(out, start, at, &list, Flags::WARNING);
}

/// Adds a tracing id to the frame that begins at `start`, is the buffer's last, and has none yet.
pub fn insert_tracing_id(out: &mut Vec<u8>, start: usize, id: [u8; TRACING_ID_LENGTH]) {
    insert(out, start, start + HEADER_LENGTH, &id, Flags::TRACING);
}

fn insert(out: &mut Vec<u8>, start: usize, at: usize, bytes: &[u8], flag: Flags) {
    out.splice(at..at, bytes.iter().copied());
    out[start + FLAGS_AT] |= flag.0;
    header::finish(out, start);
}
