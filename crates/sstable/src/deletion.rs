//! Deletions as the indexes hold them. (Source: Cassandra 5.0's `DeletionTime`.)

use mutation::Deletion;
use stdx::{ReadError, Reader};

/// What stands for "nothing is deleted".
const NONE: u8 = 0x80;

/// Appends what may be a deletion, as versions from `oa` on have it: a byte for none, else [`put_deleted`].
pub(crate) fn put(deletion: Option<Deletion>, out: &mut Vec<u8>) {
    match deletion {
        None => out.push(NONE),
        Some(deletion) => out.extend_from_slice(&deletion.to_bytes()),
    }
}

/// The inverse of [`put`]. Timestamps are not negative there, so the sign's bit is free.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    if reader.peek().first() == Some(&NONE) {
        reader.u8()?;
        return Ok(None);
    }
    reader.array().map(|bytes| Some(Deletion::from_bytes(bytes)))
}

/// As versions before `oa` have it: the second first, then the timestamp; the smallest timestamp with the greatest second of 31 bits stands for none.
pub(crate) fn read_old(reader: &mut Reader<'_>) -> Result<Option<Deletion>, ReadError> {
    let local_deletion_time = reader.u32()?;
    let timestamp = reader.i64()?;
    let is_none = timestamp == i64::MIN && local_deletion_time == i32::MAX.cast_unsigned();
    Ok((!is_none).then_some(Deletion { timestamp, local_deletion_time }))
}
