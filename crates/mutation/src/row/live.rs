//! A row as a reader sees it: without what is deleted or expired.

use schema::ColumnId;
use stdx::Reader;

use crate::counter::CounterRef;
use crate::life::{Deletion, Expiry, Liveness};
use crate::row::{CellRef, Cells, RowRef};

/// A row with the deletions that apply to it and the moment of the read. It hands out only what lives then.
#[derive(Debug, Clone, Copy)]
pub struct LiveRow<'a> {
    row: RowRef<'a>,
    /// What is this old is deleted; `None`: nothing is.
    shadow: Option<i64>,
    /// Whether that is the row's own deletion.
    is_shadow_own: bool,
    now_in_seconds: u32,
}

impl<'a> LiveRow<'a> {
    /// What lives of `row` at `now_in_seconds` under its own deletion and `shadow`, the one of its partition or of a
    /// range.
    #[inline]
    pub fn new(row: RowRef<'a>, shadow: Option<Deletion>, now_in_seconds: u32) -> Self {
        let all = Deletion::max_of(row.deletion(), shadow);
        LiveRow { row, shadow: all.map(|all| all.timestamp), is_shadow_own: all != shadow, now_in_seconds }
    }

    #[inline]
    fn is_kept(&self, timestamp: i64) -> bool {
        self.shadow.is_none_or(|shadow| timestamp > shadow)
    }

    /// The liveness that the row has from an INSERT, if it lives.
    #[inline]
    pub fn liveness(&self) -> Option<Liveness> {
        let liveness = self.row.liveness()?;
        let lives = self.is_kept(liveness.timestamp) && liveness.is_live(self.now_in_seconds);
        lives.then_some(liveness)
    }

    /// Whether there is a row at all: it was inserted and lives, or one of its cells does.
    #[inline]
    pub fn is_live(&self) -> bool {
        self.liveness().is_some() || self.cells().next().is_some()
    }

    /// The live cells in the order of their columns: those absent are null.
    #[inline]
    pub fn cells(&self) -> LiveCells<'a> {
        let mut cells = self.row.cells();
        // Those of a uniform row live all, or none of them does.
        let lives = |expiry: Option<Expiry>| expiry.is_none_or(|expiry| expiry.is_live(self.now_in_seconds));
        if cells.is_uniform && !(self.is_kept(cells.base_timestamp) && lives(cells.base_expiry)) {
            cells.reader = Reader::new(&[]);
        }
        LiveCells { cells, row: *self }
    }

    /// The live cell of `column`. To read several columns, walk [`LiveRow::cells`] instead.
    pub fn cell(&self, column: ColumnId) -> Option<CellRef<'a>> {
        self.cells().take_while(|cell| cell.column <= column).find(|cell| cell.column == column)
    }

    /// The live counters: their columns and states. [`LiveRow::cells`] gives their counts alone.
    pub fn counters(&self) -> impl Iterator<Item = (ColumnId, CounterRef<'a>)> + use<'a> {
        let row = *self;
        let live = row.row.cells().filter(move |cell| cell.is_counter && row.is_kept(cell.timestamp));
        live.map(|cell| (cell.column, CounterRef::trusted(cell.value)))
    }

    /// Whether it lives and all its cells were written, and end, with it: nothing in it is deleted or expired.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.row.is_uniform() && self.is_live()
    }

    /// The cells that are deleted or expired, but for those that a deletion from outside the cell covers.
    pub(crate) fn dead_cells(&self) -> impl Iterator<Item = CellRef<'a>> + use<'a> {
        let row = *self;
        row.row.cells().filter(move |cell| row.is_kept(cell.timestamp) && !cell.is_live(row.now_in_seconds))
    }

    /// Since when the row itself is deleted or expired, seconds since 1970, unless a deletion of more than it covers that.
    pub(crate) fn dead_since(&self) -> Option<u32> {
        let own = self.row.deletion().filter(|_| self.is_shadow_own);
        let expired = || {
            let liveness = self.row.liveness().filter(|liveness| self.is_kept(liveness.timestamp))?;
            liveness.expiry.filter(|expiry| !expiry.is_live(self.now_in_seconds))
        };
        own.map(|own| own.local_deletion_time).or_else(|| Some(expired()?.local_deletion_time))
    }

    /// Bytes of the whole row as it is stored, from above for what lives in it.
    #[inline]
    pub fn stored_length(&self) -> usize {
        self.row.bytes().len()
    }

    /// The moment of the read, seconds since 1970: what is left of a ttl is counted from here.
    #[inline]
    pub fn now_in_seconds(&self) -> u32 {
        self.now_in_seconds
    }
}

/// The live cells of a row, in the order of their columns.
#[derive(Debug, Clone)]
pub struct LiveCells<'a> {
    cells: Cells<'a>,
    row: LiveRow<'a>,
}

impl<'a> Iterator for LiveCells<'a> {
    type Item = CellRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<CellRef<'a>> {
        if self.cells.is_uniform { self.cells.next_uniform() } else { self.next_other() }
    }
}

impl<'a> LiveCells<'a> {
    /// The next of a row that is not uniform.
    fn next_other(&mut self) -> Option<CellRef<'a>> {
        loop {
            let cell = self.cells.next_other()?;
            if self.row.is_kept(cell.timestamp) && cell.is_live(self.row.now_in_seconds) {
                let CellRef { column, timestamp, expiry, tombstone, path, .. } = cell;
                return Some(CellRef {
                    column,
                    timestamp,
                    expiry,
                    tombstone,
                    path,
                    value: cell.shown(),
                    is_counter: false,
                });
            }
        }
    }
}
