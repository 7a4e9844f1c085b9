//! One cell, and the times in it, which are counted from the header's smallest.
//!
//! ```text
//! flags │ vint timestamp unless 0x08 │ vint local deletion time if deleted or expiring, unless 0x10
//!       │ vint ttl if expiring, unless 0x10 │ vint length, path in a column of several │ value unless 0x04
//! ```
//!
//! A value's length is a vint before it, unless all values of the type are of one length.

use mutation::{Deletion, Expiry, Liveness};
use stdx::{ReadError, Reader, varint};

use crate::data::flags::{self, cell as flag};
use crate::header::{EncodingStats, read_int, write_int};

/// Why bytes cannot be read: they end, or they are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Read(ReadError),
    Wrong(&'static str),
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Fault::Read(error)
    }
}

impl From<&'static str> for Fault {
    fn from(what: &'static str) -> Self {
        Fault::Wrong(what)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Read(error) => error.fmt(f),
            Fault::Wrong(what) => f.write_str(what),
        }
    }
}

/// How times are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    from: EncodingStats,
}

impl Times {
    pub(super) fn new(from: EncodingStats) -> Self {
        Times { from }
    }

    #[inline]
    pub(super) fn read_timestamp(&self, reader: &mut Reader<'_>) -> Result<i64, Fault> {
        Ok(self.from.timestamp_min.wrapping_add(reader.varint()?.cast_signed()))
    }

    #[inline]
    pub(super) fn read_local_deletion_time(&self, reader: &mut Reader<'_>) -> Result<u32, Fault> {
        Ok(self.from.local_deletion_time_min.wrapping_add(read_int(reader.varint()?)?))
    }

    #[inline]
    pub(super) fn read_ttl(&self, reader: &mut Reader<'_>) -> Result<u32, Fault> {
        match self.from.ttl_min.wrapping_add(read_int(reader.varint()?)?) {
            0 => Err(Fault::Wrong("what expires has no ttl")),
            ttl => Ok(ttl),
        }
    }

    /// A deletion; `None`: it says that nothing is deleted.
    #[inline]
    pub(super) fn read_deletion(&self, reader: &mut Reader<'_>) -> Result<Option<Deletion>, Fault> {
        let timestamp = self.read_timestamp(reader)?;
        let local_deletion_time = self.read_local_deletion_time(reader)?;
        Ok((timestamp != flags::LIVE_TIMESTAMP).then_some(Deletion { timestamp, local_deletion_time }))
    }

    #[inline]
    pub(super) fn write_timestamp(&self, timestamp: i64, out: &mut Vec<u8>) {
        varint::encode(timestamp.wrapping_sub(self.from.timestamp_min).cast_unsigned(), out);
    }

    #[inline]
    pub(super) fn write_local_deletion_time(&self, seconds: u32, out: &mut Vec<u8>) {
        write_int(seconds.wrapping_sub(self.from.local_deletion_time_min), out);
    }

    #[inline]
    pub(super) fn write_ttl(&self, ttl: u32, out: &mut Vec<u8>) {
        write_int(ttl.wrapping_sub(self.from.ttl_min), out);
    }

    /// A deletion; `None` is written too, as one that deletes nothing.
    pub(super) fn write_deletion(&self, deletion: Option<Deletion>, out: &mut Vec<u8>) {
        let live = Deletion { timestamp: flags::LIVE_TIMESTAMP, local_deletion_time: flags::LIVE_LOCAL_DELETION_TIME };
        let deletion = deletion.unwrap_or(live);
        self.write_timestamp(deletion.timestamp, out);
        self.write_local_deletion_time(deletion.local_deletion_time, out);
    }
}

/// A cell as it is written: its path and value in Cassandra's form.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawCell<'a> {
    pub timestamp: i64,
    pub expiry: Option<Expiry>,
    pub tombstone: Option<u32>,
    pub path: &'a [u8],
    pub value: &'a [u8],
}

/// How the values and paths of a column's cells are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub has_path: bool,
    /// The values' length, if it is not written.
    pub fixed_length: Option<usize>,
}

impl<'a> RawCell<'a> {
    #[inline]
    pub(super) fn read(
        reader: &mut Reader<'a>,
        times: &Times,
        liveness: Option<Liveness>,
        layout: Layout,
    ) -> Result<Self, Fault> {
        let flags = reader.u8()?;
        let has = |bit: u8| flags & bit != 0;
        if flags & !flag::ALL != 0 || (has(flag::IS_DELETED) && has(flag::IS_EXPIRING)) {
            return Err(Fault::Wrong("invalid flags of a cell"));
        }
        let timestamp = match (has(flag::USE_ROW_TIMESTAMP), liveness) {
            (false, _) => times.read_timestamp(reader)?,
            (true, Some(liveness)) => liveness.timestamp,
            (true, None) => return Err(Fault::Wrong("a cell has the timestamp of a row that has none")),
        };
        let (mut expiry, mut tombstone) = (None, None);
        if has(flag::USE_ROW_TTL) {
            expiry = liveness.and_then(|liveness| liveness.expiry);
            if expiry.is_none() || !has(flag::IS_EXPIRING) {
                return Err(Fault::Wrong("a cell has the ttl of a row that has none"));
            }
        } else if has(flag::IS_EXPIRING) {
            let local_deletion_time = times.read_local_deletion_time(reader)?;
            expiry = Some(Expiry { ttl: times.read_ttl(reader)?, local_deletion_time });
        } else if has(flag::IS_DELETED) {
            tombstone = Some(times.read_local_deletion_time(reader)?);
        }
        let path = if layout.has_path { reader.varint_bytes()? } else { &[] };
        let value = match (has(flag::HAS_EMPTY_VALUE), layout.fixed_length) {
            (true, _) => &[],
            (false, Some(length)) => reader.bytes(length)?,
            (false, None) => reader.varint_bytes()?,
        };
        Ok(RawCell { timestamp, expiry, tombstone, path, value })
    }

    pub(super) fn write(&self, times: &Times, liveness: Option<Liveness>, layout: Layout, out: &mut Vec<u8>) {
        let has_row_timestamp = liveness.is_some_and(|liveness| liveness.timestamp == self.timestamp);
        let has_row_ttl = self.expiry.is_some() && liveness.is_some_and(|liveness| liveness.expiry == self.expiry);
        let mut flags = 0;
        let mut set = |bit: u8, condition: bool| flags |= if condition { bit } else { 0 };
        set(flag::IS_DELETED, self.tombstone.is_some());
        set(flag::IS_EXPIRING, self.expiry.is_some());
        set(flag::HAS_EMPTY_VALUE, self.value.is_empty());
        set(flag::USE_ROW_TIMESTAMP, has_row_timestamp);
        set(flag::USE_ROW_TTL, has_row_ttl);
        out.push(flags);
        if !has_row_timestamp {
            times.write_timestamp(self.timestamp, out);
        }
        if let Some(local_deletion_time) = self.tombstone {
            times.write_local_deletion_time(local_deletion_time, out);
        } else if let Some(expiry) = self.expiry.filter(|_| !has_row_ttl) {
            times.write_local_deletion_time(expiry.local_deletion_time, out);
            times.write_ttl(expiry.ttl, out);
        }
        if layout.has_path {
            varint::encode(self.path.len() as u64, out);
            out.extend_from_slice(self.path);
        }
        if self.value.is_empty() {
            return;
        }
        match layout.fixed_length {
            Some(length) => assert_eq!(self.value.len(), length, "a value has its type's length"),
            None => varint::encode(self.value.len() as u64, out),
        }
        out.extend_from_slice(self.value);
    }
}
