//! What counts as a tombstone that a read met. Operators bound that number, so it is counted as Cassandra counts it. (Source: its
//! `ReadCommand.withMetricsRecording`.)

use schema::{ColumnId, Table};

use crate::life::Deletion;
use crate::row::LiveRow;

/// How the tombstones of one read are counted.
#[derive(Debug, Clone, Copy)]
pub struct TombstoneRule<'t> {
    table: &'t Table,
    /// What was deleted before this, seconds since 1970, may be purged and does not count.
    gc_before: u32,
    /// Whether static rows are read for what they hold.
    counts_statics: bool,
}

impl<'t> TombstoneRule<'t> {
    /// For reads of `table` at `now_in_seconds`.
    #[inline]
    pub fn new(table: &'t Table, now_in_seconds: u32, counts_statics: bool) -> Self {
        let gc_before = now_in_seconds.saturating_sub(table.options.gc_grace_seconds);
        TombstoneRule { table, gc_before, counts_statics }
    }

    /// Those in a row: cells that are deleted or expired. A row that is deleted or expired as a whole, without such a cell, is one.
    #[inline]
    pub fn of_row(&self, row: &LiveRow<'_>) -> u32 {
        if row.is_plain() { 0 } else { self.of_mixed_row(row) }
    }

    /// Those in a static row, if it is read.
    pub fn of_static(&self, row: &LiveRow<'_>) -> u32 {
        if self.counts_statics { self.of_row(row) } else { 0 }
    }

    /// Whether a static row that lives counts as a row.
    #[inline]
    pub fn counts_statics(&self) -> bool {
        self.counts_statics
    }

    fn of_mixed_row(&self, row: &LiveRow<'_>) -> u32 {
        let (mut cells, mut is_cleared) = (0, false);
        for cell in row.dead_cells() {
            let since = cell.tombstone.or(cell.expiry.map(|expiry| expiry.local_deletion_time));
            if !since.is_some_and(|since| self.counts(since)) {
                continue;
            }
            // The deletion of all elements is none of them.
            match cell.path.is_empty() && cell.is_tombstone() && self.has_elements(cell.column) {
                true => is_cleared = true,
                false => cells += 1,
            }
        }
        let is_deleted = || is_cleared || row.dead_since().is_some_and(|since| self.counts(since));
        match cells {
            0 if !row.is_live() && is_deleted() => 1,
            cells => cells,
        }
    }

    /// Those in a change of what is deleted from one place of a partition on: a range that begins is two, for it ends too; one that
    /// follows another at once is one.
    #[inline]
    pub fn of_change(&self, before: Option<Deletion>, after: Option<Deletion>) -> u32 {
        let counts = |deletion: Option<Deletion>| deletion.is_some_and(|one| self.counts(one.local_deletion_time));
        match (counts(before), counts(after)) {
            _ if before == after => 0,
            (false, true) => 2,
            (true, true) => 1,
            (_, false) => 0,
        }
    }

    fn counts(&self, since: u32) -> bool {
        since >= self.gc_before
    }

    fn has_elements(&self, column: ColumnId) -> bool {
        self.table.column_index_by_id(column).is_some_and(|index| self.table.columns()[index].ty.is_multi_cell())
    }
}
