//! How values lie inside collections and tuples: an i32 length, negative for null, and the bytes.

use stdx::Reader;

use crate::ValueError;

/// The next value inside a collection, tuple or user-defined type; `None` is null.
pub(crate) fn element<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, ValueError> {
    let short = |_| ValueError::malformed("Not enough bytes to read a value inside a collection or tuple");
    let length = reader.i32().map_err(short)?;
    match usize::try_from(length) {
        Ok(length) => reader.bytes(length).map(Some).map_err(short),
        Err(_) => Ok(None),
    }
}
