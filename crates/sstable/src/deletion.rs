//! Deletions of partitions and of ranges that are open, as the data and the indexes hold them. (Source: Cassandra 5.0's `DeletionTime`.)
//!
//! ```text
//! from oa    80 for none │ timestamp: i64 │ local deletion time: u32
//! before     local deletion time: u32 │ timestamp: i64, the smallest for none
//! ```

use mutation::Deletion;
use stdx::{ReadError, Reader};

use crate::Version;

/// What stands for "nothing is deleted".
const NONE: u8 = 0x80;

/// Appends what may be a deletion, as versions from `oa` on have it.
///
/// A timestamp that begins like the mark of "nothing is deleted" is 290,000 years before 1970: it deletes nothing.
pub(crate) fn put(deletion: Option<Deletion>, out: &mut Vec<u8>) {
    match deletion.filter(|deletion| deletion.timestamp.to_be_bytes()[0] != NONE) {
        None => out.push(NONE),
        Some(deletion) => out.extend_from_slice(&deletion.to_bytes()),
    }
}

/// What may be a deletion, as `version` has it.
#[inline]
pub(crate) fn read(version: Version, reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    if version.has_marked_live_partitions() { read_marked(reader) } else { read_old(reader) }
}

/// The inverse of [`put`]. Cassandra knows no such deletion with a negative timestamp; those that we write are read.
#[inline]
fn read_marked(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    // Before the first byte is there, no more than that is wanted.
    let mut behind = *reader;
    if behind.u8()? == NONE {
        *reader = behind;
        return Ok(None);
    }
    reader.array().map(|bytes| Some(Deletion::from_bytes(bytes)))
}

fn read_old(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    let local_deletion_time = reader.u32()?;
    let timestamp = reader.i64()?;
    Ok((timestamp != i64::MIN).then_some(Deletion { timestamp, local_deletion_time }))
}
