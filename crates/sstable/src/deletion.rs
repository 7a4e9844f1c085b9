//! Deletions as the indexes hold them. (Source: Cassandra 5.0's `DeletionTime`.)

use mutation::Deletion;
use stdx::{ReadError, Reader};

use crate::Version;

/// What stands for "nothing is deleted".
const NONE: u8 = 0x80;

/// Appends what may be a deletion, as versions from `oa` on have it: a byte for none, else the timestamp and the second.
pub(crate) fn put(deletion: Option<Deletion>, out: &mut Vec<u8>) {
    match deletion {
        None => out.push(NONE),
        Some(deletion) => out.extend_from_slice(&deletion.to_bytes()),
    }
}

/// What may be a deletion, as `version` has it.
pub(crate) fn read_of(version: Version, reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    if version.has_marked_live_partitions() { read(reader) } else { read_old(reader) }
}

/// The inverse of [`put`]. Timestamps are not negative there, so the sign's bit is free.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    if reader.peek().first() == Some(&NONE) {
        reader.u8()?;
        return Ok(None);
    }
    reader.array().map(|bytes| Some(Deletion::from_bytes(bytes)))
}

/// As versions before `oa` have it: the second first, then the timestamp, of which the smallest stands for none.
fn read_old(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    let local_deletion_time = reader.u32()?;
    let timestamp = reader.i64()?;
    Ok((timestamp != i64::MIN).then_some(Deletion { timestamp, local_deletion_time }))
}
