//! Clusterings and the prefixes of them at which ranges begin and end.
//!
//! ```text
//! for each 32 values: vint, two bits a value (01 empty, 10 null) │ each other value, its length before it unless fixed
//! a bound: kind │ u16 count │ values
//! ```
//!
//! Nulls are the last values of rows of tables WITH COMPACT STORAGE that were named by the first clustering columns alone. `mutation` has such a
//! row without them.

use mutation::{ClusteringRef, Deletion};
use stdx::{Reader, varint};

use crate::data::cell::Fault;
use crate::data::flags::bound;
use crate::marker::Marker;

const VALUES_PER_HEADER: usize = 32;
const IS_EMPTY: u64 = 1;
const IS_NULL: u64 = 2;

/// Reads the values of the first clustering columns, as many as there are lengths, into `out`, as `mutation` has them: without the nulls at the end.
/// A null before a value, which no program writes, is an empty value.
#[inline]
pub(crate) fn read_values(
    reader: &mut Reader<'_>,
    fixed_lengths: &[Option<usize>],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    out.clear();
    let count = u8::try_from(fixed_lengths.len()).map_err(|_| Fault::Wrong("there are too many clustering columns"))?;
    out.push(count);
    // The end of the last value that is there, and how many there are up to it.
    let (mut end, mut present, mut place) = (out.len(), 0, 0);
    for block in fixed_lengths.chunks(VALUES_PER_HEADER) {
        let mut header = reader.varint()?;
        for fixed_length in block {
            let value = match (header & (IS_EMPTY | IS_NULL), fixed_length) {
                (0, Some(length)) => reader.bytes(*length)?,
                (0, None) => reader.varint_bytes()?,
                _ => &[],
            };
            varint::encode(value.len() as u64, out);
            out.extend_from_slice(value);
            place += 1;
            if header & (IS_EMPTY | IS_NULL) != IS_NULL {
                (end, present) = (out.len(), place);
            }
            header >>= 2;
        }
        if header != 0 {
            return Err(Fault::Wrong("a clustering has more values than the table has columns"));
        }
    }
    if present < count {
        // A row that has no value at all is none that could be named: of it the first is empty.
        let kept = present.max(1).min(count);
        out.truncate(if present == 0 { out.len().min(2) } else { end });
        out[0] = kept;
    }
    Ok(())
}

/// Appends a row's clustering, of which the columns for which it has no values are null.
pub(crate) fn write_row_values(values: ClusteringRef<'_>, fixed_lengths: &[Option<usize>], out: &mut Vec<u8>) {
    if values.len() == fixed_lengths.len() {
        return write_values(values, fixed_lengths, out);
    }
    let mut values = values.components();
    for block in fixed_lengths.chunks(VALUES_PER_HEADER) {
        let of_block: Vec<&[u8]> = values.by_ref().take(block.len()).collect();
        let flags = (0..block.len()).map(|place| match of_block.get(place) {
            None => IS_NULL,
            Some([]) => IS_EMPTY,
            Some(_) => 0,
        });
        varint::encode(flags.enumerate().fold(0, |header, (place, flag)| header | flag << (place * 2)), out);
        for (value, fixed_length) in of_block.into_iter().zip(block) {
            write_value(value, *fixed_length, out);
        }
    }
}

/// Appends the values of a clustering or of a prefix of one.
pub(crate) fn write_values(values: ClusteringRef<'_>, fixed_lengths: &[Option<usize>], out: &mut Vec<u8>) {
    assert!(values.len() <= fixed_lengths.len(), "a clustering has at most the table's columns");
    let mut lengths = fixed_lengths.iter();
    let mut values = values.components();
    while values.size_hint().0 > 0 {
        let block = values.clone().take(VALUES_PER_HEADER);
        let header = block.enumerate().fold(0, |header, (place, value)| match value.is_empty() {
            true => header | IS_EMPTY << (place * 2),
            false => header,
        });
        varint::encode(header, out);
        for (value, fixed_length) in values.by_ref().take(VALUES_PER_HEADER).zip(lengths.by_ref()) {
            write_value(value, *fixed_length, out);
        }
    }
}

#[inline]
fn write_value(value: &[u8], fixed_length: Option<usize>, out: &mut Vec<u8>) {
    match fixed_length {
        _ if value.is_empty() => {}
        Some(length) => assert_eq!(value.len(), length, "a value has its type's length"),
        None => varint::encode(value.len() as u64, out),
    }
    out.extend_from_slice(value);
}

/// A bound's kind: on which side of its prefix's rows it is, and what it does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoundKind {
    pub after: bool,
    pub closes: bool,
    pub opens: bool,
}

impl BoundKind {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let (after, closes, opens) = match reader.u8()? {
            bound::EXCLUSIVE_END => (false, true, false),
            bound::INCLUSIVE_START => (false, false, true),
            bound::EXCLUSIVE_END_INCLUSIVE_START => (false, true, true),
            bound::INCLUSIVE_END_EXCLUSIVE_START => (true, true, true),
            bound::INCLUSIVE_END => (true, true, false),
            bound::EXCLUSIVE_START => (true, false, true),
            _ => return Err(Fault::Wrong("unknown kind of bound")),
        };
        Ok(BoundKind { after, closes, opens })
    }

    pub(crate) fn of(marker: &Marker<'_>) -> Self {
        BoundKind { after: marker.after, closes: marker.closes.is_some(), opens: marker.opens.is_some() }
    }

    pub(crate) fn byte(self) -> u8 {
        match (self.after, self.closes, self.opens) {
            (false, true, false) => bound::EXCLUSIVE_END,
            (false, false, true) => bound::INCLUSIVE_START,
            (false, true, true) => bound::EXCLUSIVE_END_INCLUSIVE_START,
            (true, true, true) => bound::INCLUSIVE_END_EXCLUSIVE_START,
            (true, true, false) => bound::INCLUSIVE_END,
            (true, false, true) => bound::EXCLUSIVE_START,
            (_, false, false) => panic!("a marker closes a deletion or opens one"),
        }
    }

    /// What a marker of this kind closes and opens by its deletions: of two, the first ends.
    pub(crate) fn deletions(self, first: Deletion, second: Option<Deletion>) -> (Option<Deletion>, Option<Deletion>) {
        match (self.closes, self.opens) {
            (true, true) => (Some(first), second),
            (true, false) => (Some(first), None),
            _ => (None, Some(first)),
        }
    }
}

/// Reads how many values a bound has: as many of the table's lengths.
pub(crate) fn read_prefix_lengths<'l>(
    reader: &mut Reader<'_>,
    fixed_lengths: &'l [Option<usize>],
) -> Result<&'l [Option<usize>], Fault> {
    let count = usize::from(reader.u16()?);
    fixed_lengths.get(..count).ok_or(Fault::Wrong("a bound has more values than the table has clustering columns"))
}
