//! Writes a row's blob to the end of a buffer.
//!
//! Cells are written as they come, without flags as long as all share one time. The first that differs has the earlier
//! ones rewritten with flags; cells that come out of order are put in order at the end. Both are rare: an INSERT gives
//! its columns in order with one timestamp.

use std::ops::Range;

use schema::ColumnId;
use stdx::varint;

use crate::life::{Deletion, Expiry, Liveness};
use crate::row::merge::prevailing;
use crate::row::{CellRef, RowRef, cell_flag, row_flag};

/// Builds one row at the end of a buffer. Deletion and liveness come before the cells.
#[derive(Debug)]
pub struct RowBuilder {
    start: usize,
    deletion: Option<Deletion>,
    liveness: Option<Liveness>,
    cells: Option<CellsSoFar>,
}

#[derive(Debug)]
struct CellsSoFar {
    start: usize,
    base: Liveness,
    is_uniform: bool,
    is_sorted: bool,
    last: ColumnId,
    /// Where the last cell's path stands in the buffer; empty without one.
    last_path: Range<usize>,
    /// The last cell without a path, if the row is not uniform: its column and timestamp.
    whole: Option<(ColumnId, i64)>,
}

impl CellsSoFar {
    /// Whether the cell without a path of the same column covers an element.
    fn covers(&self, out: &[u8], element: &CellRef<'_>) -> bool {
        let whole = match self.is_uniform {
            true => (self.start < out.len()).then_some((self.last, self.base.timestamp)),
            false => self.whole,
        };
        whole.is_some_and(|(column, timestamp)| column == element.column && element.timestamp <= timestamp)
    }
}

impl RowBuilder {
    /// A row that begins at the end of `out`. All later calls take the same buffer.
    #[inline]
    pub fn begin(out: &[u8]) -> Self {
        RowBuilder { start: out.len(), deletion: None, liveness: None, cells: None }
    }

    /// Whether nothing was said of the row so far.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_none() && self.liveness.is_none() && self.deletion.is_none()
    }

    /// The row was inserted.
    pub fn liveness(&mut self, liveness: Liveness) {
        assert!(self.cells.is_none(), "a row's liveness comes before its cells");
        self.liveness = Some(liveness);
    }

    /// What the row held is deleted.
    pub fn deletion(&mut self, deletion: Deletion) {
        assert!(self.cells.is_none(), "a row's deletion comes before its cells");
        self.deletion = Some(deletion);
    }

    /// Adds a cell. Of two for the same column and path the prevailing one stays, and an element that its column's cell
    /// without a path covers is left out.
    #[inline]
    pub fn cell(&mut self, out: &mut Vec<u8>, cell: &CellRef<'_>) {
        if !cell.path.is_empty() && self.cells.as_ref().is_some_and(|cells| cells.covers(out, cell)) {
            return;
        }
        let cells = match &mut self.cells {
            Some(cells) => cells,
            None => {
                let first = Liveness { timestamp: cell.timestamp, expiry: cell.expiry };
                let base = self.liveness.unwrap_or(first);
                write_head(out, self.deletion, Some(base), self.liveness.is_some());
                self.cells.insert(CellsSoFar {
                    start: out.len(),
                    base,
                    is_uniform: true,
                    is_sorted: true,
                    last: cell.column,
                    last_path: 0..0,
                    whole: None,
                })
            }
        };
        if cell.column <= cells.last && cells.start < out.len() {
            let is_next_path = cell.column == cells.last && cell.path > &out[cells.last_path.clone()];
            cells.is_sorted &= is_next_path;
        }
        let before = std::mem::replace(&mut cells.last, cell.column);
        if cells.is_uniform {
            if is_plain(cell, &cells.base) {
                write_uniform(out, cell.column, cell.value);
                return;
            }
            cells.whole = (cells.start < out.len()).then_some((before, cells.base.timestamp));
            make_mixed(out, cells);
        }
        if cell.path.is_empty() {
            cells.whole = Some((cell.column, cell.timestamp));
        }
        cells.last_path = write_mixed(out, cell, cells.base.timestamp);
    }

    /// Completes the row. It is everything in `out` from where it began.
    pub fn finish(self, out: &mut Vec<u8>) {
        let Some(cells) = self.cells else {
            write_head(out, self.deletion, self.liveness, self.liveness.is_some());
            return;
        };
        if !cells.is_sorted {
            sort_row(out, self.start, &cells);
            return;
        }
        if cells.is_uniform {
            out[self.start] |= row_flag::UNIFORM;
        }
    }
}

#[inline]
fn is_plain(cell: &CellRef<'_>, base: &Liveness) -> bool {
    cell.timestamp == base.timestamp
        && cell.expiry == base.expiry
        && cell.tombstone.is_none()
        && cell.path.is_empty()
        && !cell.is_counter
}

fn write_head(out: &mut Vec<u8>, deletion: Option<Deletion>, base: Option<Liveness>, is_liveness: bool) {
    let mut flags = 0;
    if is_liveness {
        flags |= row_flag::LIVENESS;
    }
    if let Some(base) = base {
        flags |= row_flag::BASE;
        if base.expiry.is_some() {
            flags |= row_flag::EXPIRY;
        }
    }
    if deletion.is_some() {
        flags |= row_flag::DELETION;
    }
    out.push(flags);
    if let Some(deletion) = deletion {
        out.extend_from_slice(&deletion.to_bytes());
    }
    if let Some(base) = base {
        out.extend_from_slice(&base.timestamp.to_be_bytes());
        if let Some(expiry) = base.expiry {
            write_expiry(out, expiry);
        }
    }
}

fn write_expiry(out: &mut Vec<u8>, expiry: Expiry) {
    out.extend_from_slice(&expiry.ttl.to_be_bytes());
    out.extend_from_slice(&expiry.local_deletion_time.to_be_bytes());
}

#[inline]
fn write_uniform(out: &mut Vec<u8>, column: ColumnId, value: &[u8]) {
    varint::encode(u64::from(column.0), out);
    varint::encode(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Writes a cell with flags. Gives where its path stands.
fn write_mixed(out: &mut Vec<u8>, cell: &CellRef<'_>, base_timestamp: i64) -> Range<usize> {
    varint::encode(u64::from(cell.column.0), out);
    let mut flags = 0;
    if cell.timestamp == base_timestamp {
        flags |= cell_flag::BASE;
    }
    if cell.expiry.is_some() {
        flags |= cell_flag::EXPIRY;
    }
    if cell.tombstone.is_some() {
        flags |= cell_flag::TOMBSTONE;
    }
    if !cell.path.is_empty() {
        flags |= cell_flag::PATH;
    }
    if cell.is_counter {
        assert!(flags & !cell_flag::BASE == 0, "a counter is a value of one cell that does not expire");
        flags |= cell_flag::COUNTER;
    }
    out.push(flags);
    if flags & cell_flag::BASE == 0 {
        out.extend_from_slice(&cell.timestamp.to_be_bytes());
    }
    if let Some(expiry) = cell.expiry {
        write_expiry(out, expiry);
    }
    if let Some(local_deletion_time) = cell.tombstone {
        out.extend_from_slice(&local_deletion_time.to_be_bytes());
    }
    if !cell.path.is_empty() {
        varint::encode(cell.path.len() as u64, out);
        out.extend_from_slice(cell.path);
    }
    let path = out.len() - cell.path.len()..out.len();
    if cell.tombstone.is_none() {
        varint::encode(cell.value.len() as u64, out);
        out.extend_from_slice(cell.value);
    }
    path
}

/// Rewrites the cells so far with flags: behind themselves, so that nothing is allocated but what the buffer keeps.
fn make_mixed(out: &mut Vec<u8>, cells: &mut CellsSoFar) {
    cells.is_uniform = false;
    let plain = cells.start..out.len();
    let (timestamp, expiry) = (cells.base.timestamp, cells.base.expiry);
    let flags = cell_flag::BASE | if expiry.is_some() { cell_flag::EXPIRY } else { 0 };
    let mut at = plain.start;
    while at < plain.end {
        let mut reader = stdx::Reader::new(&out[at..plain.end]);
        let Ok(cell) = super::read_uniform_cell(&mut reader, timestamp, expiry) else { break };
        let (column, length) = (cell.column, cell.value.len());
        at = plain.end - reader.remaining();
        varint::encode(u64::from(column.0), out);
        out.push(flags);
        if let Some(expiry) = expiry {
            write_expiry(out, expiry);
        }
        varint::encode(length as u64, out);
        out.extend_from_within(at - length..at);
    }
    out.drain(plain);
}

/// Writes the row anew with its cells in order and one for each column and path.
fn sort_row(out: &mut Vec<u8>, start: usize, cells: &CellsSoFar) {
    if cells.is_uniform {
        out[start] |= row_flag::UNIFORM;
    }
    let unsorted = out.split_off(start);
    let row = RowRef::trusted(&unsorted);
    let mut sorted: Vec<CellRef<'_>> = row.cells().collect();
    sorted.sort_by(|a, b| (a.column, a.path).cmp(&(b.column, b.path)));
    let mut builder = RowBuilder::begin(out);
    builder.deletion = row.deletion();
    builder.liveness = row.liveness();
    let mut cells = sorted.into_iter().peekable();
    while let Some(mut cell) = cells.next() {
        while let Some(other) = cells.next_if(|other| (other.column, other.path) == (cell.column, cell.path)) {
            cell = prevailing(cell, other);
        }
        builder.cell(out, &cell);
    }
    builder.finish(out);
}
