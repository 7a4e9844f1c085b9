//! A row's blob: the same bytes in mutation, log and memtable. `docs/internals/mutation.md` has the layout.

mod builder;
mod live;
mod merge;

pub use builder::RowBuilder;
pub use live::{LiveCells, LiveRow};
pub use merge::{merge_rows, prevailing, shadow_row, supersedes, without_overwritten};

use schema::ColumnId;
use stdx::Reader;

use crate::counter::{COUNT_LENGTH, CounterRef};
use crate::error::DecodeError;
use crate::life::{Deletion, Expiry, Liveness};

/// Flags in a row's first byte.
mod row_flag {
    /// The base time is the row's liveness.
    pub const LIVENESS: u8 = 0x01;
    /// There is a base time.
    pub const BASE: u8 = 0x02;
    /// The base time expires.
    pub const EXPIRY: u8 = 0x04;
    /// There is a row deletion.
    pub const DELETION: u8 = 0x08;
    /// All cells are live, have the base time, its expiry or none, and no path: they are stored without flags.
    pub const UNIFORM: u8 = 0x10;
    /// What this version knows.
    pub const ALL: u8 = LIVENESS | BASE | EXPIRY | DELETION | UNIFORM;
}

/// Flags of a cell in a row that is not uniform.
mod cell_flag {
    /// The cell is a tombstone: a local deletion time and no value.
    pub const TOMBSTONE: u8 = 0x01;
    /// The cell expires.
    pub const EXPIRY: u8 = 0x02;
    /// The cell is an element of a column of several cells, and its path follows.
    pub const PATH: u8 = 0x04;
    /// The cell's timestamp is the base time's.
    pub const BASE: u8 = 0x08;
    /// The value is a counter's state.
    pub const COUNTER: u8 = 0x10;
    /// What this version knows.
    pub const ALL: u8 = TOMBSTONE | EXPIRY | PATH | BASE | COUNTER;
}

/// The value of one column in one row, as one write left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef<'a> {
    /// The column.
    pub column: ColumnId,
    /// The write's timestamp, microseconds.
    pub timestamp: i64,
    /// When the value ends, if it does. `None` for a tombstone.
    pub expiry: Option<Expiry>,
    /// When it was deleted, seconds since 1970: then it is a tombstone.
    pub tombstone: Option<u32>,
    /// Which element of a column of several cells it is, in an order of bytes; empty for all others. In such a column the
    /// cell with an empty path is the deletion of what was there, elements as old as itself or older.
    pub path: &'a [u8],
    /// The value; empty for a tombstone.
    pub value: &'a [u8],
    /// Whether the value is a counter's state: its count, eight bytes, then its parts ([`crate::counter`]). A reader of what
    /// lives is given the count alone, without this mark.
    pub is_counter: bool,
}

impl<'a> CellRef<'a> {
    /// The value as a reader is shown it: of a counter the count alone.
    #[inline]
    pub fn shown(&self) -> &'a [u8] {
        match self.is_counter {
            true => self.value.get(..COUNT_LENGTH).unwrap_or_default(),
            false => self.value,
        }
    }

    /// Whether it deletes rather than gives a value.
    #[inline]
    pub fn is_tombstone(&self) -> bool {
        self.tombstone.is_some()
    }

    /// Whether it gives a value at `now_in_seconds`.
    #[inline]
    pub fn is_live(&self, now_in_seconds: u32) -> bool {
        self.tombstone.is_none() && self.expiry.is_none_or(|expiry| expiry.is_live(now_in_seconds))
    }
}

/// A row's blob, with its head taken apart.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    bytes: &'a [u8],
    flags: u8,
    deletion: Option<Deletion>,
    base_timestamp: i64,
    base_expiry: Option<Expiry>,
    cells: &'a [u8],
}

impl<'a> RowRef<'a> {
    /// The row in `bytes`, all of which is checked.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let row = Self::head(bytes)?;
        let mut reader = Reader::new(row.cells);
        let mut last: Option<(u16, &[u8])> = None;
        let mut whole = None;
        let base = row.base_timestamp;
        while !reader.is_empty() {
            let cell = match row.is_uniform() {
                true => read_uniform_cell(&mut reader, base, row.base_expiry)?,
                false => read_cell(&mut reader, base)?,
            };
            let place = (cell.column.0, cell.path);
            if last.is_some_and(|last| last >= place) {
                return Err(DecodeError::OutOfOrder { column: u64::from(cell.column.0) });
            }
            last = Some(place);
            if cell.is_counter {
                CounterRef::decode(cell.value)?;
            }
            if cell.path.is_empty() {
                whole = Some((cell.column, cell.timestamp));
            } else if whole.is_some_and(|(column, timestamp)| column == cell.column && cell.timestamp <= timestamp) {
                return Err(DecodeError::Covered { column: cell.column.0 });
            }
        }
        Ok(row)
    }

    /// The row in bytes that were checked, or made here, before: the cells are not looked at. From other bytes the
    /// cells are nonsense or fewer; no panic.
    #[inline]
    pub fn trusted(bytes: &'a [u8]) -> Self {
        Self::head(bytes).unwrap_or(RowRef {
            bytes: &[],
            flags: 0,
            deletion: None,
            base_timestamp: 0,
            base_expiry: None,
            cells: &[],
        })
    }

    #[inline]
    fn head(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        if flags & !row_flag::ALL != 0 {
            return Err(DecodeError::Unknown { what: "a row's flags", value: flags });
        }
        let has = |flag: u8| flags & flag != 0;
        // Liveness, expiry and uniform cells all speak of a base time.
        if !has(row_flag::BASE) && has(row_flag::LIVENESS | row_flag::EXPIRY | row_flag::UNIFORM) {
            return Err(DecodeError::Unknown { what: "a row's flags", value: flags });
        }
        let deletion = match has(row_flag::DELETION) {
            true => Some(Deletion::from_bytes(reader.array()?)),
            false => None,
        };
        let base_timestamp = if has(row_flag::BASE) { reader.i64()? } else { 0 };
        let base_expiry = match has(row_flag::EXPIRY) {
            true => Some(Expiry { ttl: reader.u32()?, local_deletion_time: reader.u32()? }),
            false => None,
        };
        Ok(RowRef { bytes, flags, deletion, base_timestamp, base_expiry, cells: reader.rest() })
    }

    /// The blob.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// That the row was inserted, if it was.
    #[inline]
    pub fn liveness(&self) -> Option<Liveness> {
        match self.flags & row_flag::LIVENESS != 0 {
            true => Some(Liveness { timestamp: self.base_timestamp, expiry: self.base_expiry }),
            false => None,
        }
    }

    /// The row's deletion, if there is one.
    #[inline]
    pub fn deletion(&self) -> Option<Deletion> {
        self.deletion
    }

    /// Whether all cells share the base time and are stored without flags of their own.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.flags & row_flag::UNIFORM != 0
    }

    /// The columns and values of a uniform row; nothing else differs between its cells.
    #[inline]
    pub fn uniform_values(&self) -> Option<UniformValues<'a>> {
        self.is_uniform().then(|| UniformValues { reader: Reader::new(self.cells) })
    }

    /// Whether any of the cells is an element of a column of several cells.
    pub fn has_elements(&self) -> bool {
        !self.is_uniform() && self.cells().any(|cell| !cell.path.is_empty())
    }

    /// The bytes that say again what a value beside them says: a set's element and a map's key stand in the value too, and a list's or type's
    /// place is short. Cassandra, which has each once, does not count them.
    pub fn repeated_bytes(&self) -> usize {
        if self.is_uniform() {
            return 0;
        }
        self.cells().filter(|cell| !cell.is_tombstone()).map(|cell| cell.path.len()).sum()
    }

    /// Whether the row says nothing at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.deletion.is_none() && self.flags & row_flag::LIVENESS == 0 && self.cells.is_empty()
    }

    /// The cells, tombstones among them, in the order of their columns.
    #[inline]
    pub fn cells(&self) -> Cells<'a> {
        Cells {
            reader: Reader::new(self.cells),
            base_timestamp: self.base_timestamp,
            base_expiry: self.base_expiry,
            is_uniform: self.is_uniform(),
        }
    }

    /// The greatest timestamp in the row; `i64::MIN` if there is none.
    pub fn timestamp_max(&self) -> i64 {
        let of_deletion = self.deletion.map_or(i64::MIN, |deletion| deletion.timestamp);
        let of_liveness = self.liveness().map_or(i64::MIN, |liveness| liveness.timestamp);
        let of_head = of_deletion.max(of_liveness);
        if self.is_uniform() {
            return if self.cells.is_empty() { of_head } else { of_head.max(self.base_timestamp) };
        }
        self.cells().fold(of_head, |max, cell| max.max(cell.timestamp))
    }
}

/// The columns and values of a uniform row's cells.
#[derive(Debug, Clone)]
pub struct UniformValues<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for UniformValues<'a> {
    type Item = (ColumnId, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let column = read_column(&mut self.reader).ok()?;
        Some((column, self.reader.varint_bytes().ok()?))
    }
}

/// The cells of a row, in the order of their columns.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    reader: Reader<'a>,
    base_timestamp: i64,
    base_expiry: Option<Expiry>,
    is_uniform: bool,
}

impl<'a> Iterator for Cells<'a> {
    type Item = CellRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<CellRef<'a>> {
        if self.is_uniform { self.next_uniform() } else { self.next_other() }
    }
}

impl<'a> Cells<'a> {
    /// The next of a uniform row. Broken bytes cannot come here from `decode`; from `trusted` they end the row.
    #[inline]
    fn next_uniform(&mut self) -> Option<CellRef<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        read_uniform_cell(&mut self.reader, self.base_timestamp, self.base_expiry).ok()
    }

    /// The next of any other row. Apart, for the compiler makes a thousand instructions of copies of what it has just made here.
    #[inline(never)]
    fn next_other(&mut self) -> Option<CellRef<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        read_cell(&mut self.reader, self.base_timestamp).ok()
    }
}

#[inline]
fn read_column(reader: &mut Reader<'_>) -> Result<ColumnId, DecodeError> {
    let column = reader.varint()?;
    u16::try_from(column).map(ColumnId).map_err(|_| DecodeError::OutOfOrder { column })
}

/// Reads a cell of a uniform row. Always inlined: calls would make each read a twentieth dearer.
#[inline(always)]
fn read_uniform_cell<'a>(
    reader: &mut Reader<'a>,
    timestamp: i64,
    expiry: Option<Expiry>,
) -> Result<CellRef<'a>, DecodeError> {
    let column = read_column(reader)?;
    let value = reader.varint_bytes()?;
    Ok(CellRef { column, timestamp, expiry, tombstone: None, path: &[], value, is_counter: false })
}

fn read_cell<'a>(reader: &mut Reader<'a>, base_timestamp: i64) -> Result<CellRef<'a>, DecodeError> {
    let column = read_column(reader)?;
    let flags = reader.u8()?;
    let has = |flag: u8| flags & flag != 0;
    let is_counter = has(cell_flag::COUNTER);
    let is_odd = (has(cell_flag::TOMBSTONE) && has(cell_flag::EXPIRY))
        || (is_counter && has(cell_flag::TOMBSTONE | cell_flag::EXPIRY | cell_flag::PATH));
    if flags & !cell_flag::ALL != 0 || is_odd {
        return Err(DecodeError::Unknown { what: "a cell's flags", value: flags });
    }
    let timestamp = if has(cell_flag::BASE) { base_timestamp } else { reader.i64()? };
    let expiry = match has(cell_flag::EXPIRY) {
        true => Some(Expiry { ttl: reader.u32()?, local_deletion_time: reader.u32()? }),
        false => None,
    };
    let tombstone = if has(cell_flag::TOMBSTONE) { Some(reader.u32()?) } else { None };
    let path = if has(cell_flag::PATH) { reader.varint_bytes()? } else { &[] };
    let value = if has(cell_flag::TOMBSTONE) { &[] } else { reader.varint_bytes()? };
    Ok(CellRef { column, timestamp, expiry, tombstone, path, value, is_counter })
}

#[cfg(test)]
mod tests;
