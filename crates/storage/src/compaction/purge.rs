//! What a compaction leaves out: what is shadowed, what was deleted or expired long ago, and cells of dropped columns.
//!
//! A tombstone goes only when nothing outside the compaction may be as old as it. Source of the rules: Cassandra's `DeletionPurger`,
//! `BTreeRow.purge` and `AbstractCell.purge`.

use std::cell::Cell;
use std::rc::Rc;

use mutation::{CellRef, Deletion, RowBuilder, RowRef};
use planted::{Bug, Planted};
use schema::{ColumnId, Table};
use topology::Token;

/// What holds for a whole compaction.
pub struct Rules {
    /// The table as it was when the compaction began.
    pub table: Rc<Table>,
    /// The second for which it is told what has expired.
    pub now: u32,
    /// What was deleted, or expired, before this second may be purged; `None`: nothing may.
    pub gc_before: Option<u32>,
    /// Columns that the table has no more and whose cells are kept where they are newer than the drop.
    pub dropped: Vec<ColumnId>,
    /// Whether anything was left out that entries of the row cache may still have.
    pub has_purged: Cell<bool>,
    /// A bug that was planted on purpose.
    pub planted: Planted,
}

impl Rules {
    /// Those of a copy: nothing is left out but what is hidden, and cells of dropped columns, unless they are newer than the drop and of `dropped`.
    pub fn nothing_purged(table: &Rc<Table>, dropped: Vec<ColumnId>, planted: Planted) -> Rules {
        let (table, has_purged) = (Rc::clone(table), Cell::new(false));
        Rules { table, now: 0, gc_before: None, dropped, has_purged, planted }
    }
}

/// What holds for one partition.
pub struct Purge<'r> {
    rules: &'r Rules,
    outside: &'r dyn Fn(Token, &[u8]) -> i64,
    token: Token,
    key: &'r [u8],
    /// The least timestamp outside, once it was asked for: so all of the partition is judged alike.
    least: Cell<Option<i64>>,
}

impl<'r> Purge<'r> {
    /// For the partition of `key`; `outside` gives the least timestamp of what others may hold of it.
    pub fn new(rules: &'r Rules, outside: &'r dyn Fn(Token, &[u8]) -> i64, token: Token, key: &'r [u8]) -> Self {
        Purge { rules, outside, token, key, least: Cell::new(None) }
    }

    fn may_purge(&self, timestamp: i64, local_deletion_time: u32) -> bool {
        if self.rules.gc_before.is_none_or(|before| local_deletion_time >= before) {
            return false;
        }
        if self.rules.planted.is(Bug::TombstonePurgedEarly) {
            return true;
        }
        let least = match self.least.get() {
            Some(least) => least,
            None => {
                let least = (self.outside)(self.token, self.key);
                self.least.set(Some(least));
                least
            }
        };
        timestamp < least
    }

    /// What is left of a deletion.
    pub fn deletion(&self, deletion: Option<Deletion>) -> Option<Deletion> {
        deletion.filter(|deletion| {
            let is_purged = self.may_purge(deletion.timestamp, deletion.local_deletion_time);
            if is_purged {
                self.rules.has_purged.set(true);
                stdx::sometimes!("tombstone purged");
            }
            !is_purged
        })
    }

    /// Puts what is left of a row under a deletion from outside it into `out`. False: nothing is.
    pub fn row(&self, row: &RowRef<'_>, shadow: Option<Deletion>, out: &mut Vec<u8>) -> bool {
        out.clear();
        if shadow.is_none() && self.stays(row) {
            out.extend_from_slice(row.bytes());
            return !row.is_empty();
        }
        let deletion = row.deletion().filter(|own| shadow.is_none_or(|shadow| own.max(shadow) != shadow));
        let strictest = Deletion::max_of(deletion, shadow);
        let is_kept = |timestamp: i64| strictest.is_none_or(|deletion| !deletion.deletes(timestamp));
        let mut builder = RowBuilder::begin(out);
        if let Some(deletion) = self.deletion(deletion) {
            builder.deletion(deletion);
        }
        let liveness = row.liveness().filter(|liveness| is_kept(liveness.timestamp));
        let is_over = |timestamp: i64, expiry: Option<mutation::Expiry>| {
            expiry.is_some_and(|expiry| {
                !expiry.is_live(self.rules.now) && self.may_purge(timestamp, expiry.local_deletion_time)
            })
        };
        match liveness.filter(|liveness| !is_over(liveness.timestamp, liveness.expiry)) {
            Some(liveness) => builder.liveness(liveness),
            None => self.rules.has_purged.set(self.rules.has_purged.get() || liveness.is_some()),
        };
        for cell in row.cells().filter(|cell| is_kept(cell.timestamp)) {
            if let Some(cell) = self.cell(cell) {
                builder.cell(out, &cell);
            }
        }
        builder.finish(out);
        !RowRef::trusted(out).is_empty()
    }

    /// Whether a row is of the usual kind, of which nothing can be left out: an INSERT or UPDATE without a time to live.
    fn stays(&self, row: &RowRef<'_>) -> bool {
        // Of a uniform row one cell's expiry is that of all, and of its liveness.
        let lasts = row.is_uniform() && row.cells().next().is_some_and(|cell| cell.expiry.is_none());
        lasts && row.deletion().is_none() && self.rules.table.dropped.is_empty()
    }

    /// What is left of a cell.
    fn cell<'c>(&self, cell: CellRef<'c>) -> Option<CellRef<'c>> {
        let left = self.left_of(cell);
        if left != Some(cell) {
            self.rules.has_purged.set(true);
        }
        left
    }

    fn left_of<'c>(&self, cell: CellRef<'c>) -> Option<CellRef<'c>> {
        if self.is_of_dropped(&cell) {
            return None;
        }
        if let Some(second) = cell.tombstone {
            return Some(cell).filter(|_| !self.may_purge(cell.timestamp, second));
        }
        let Some(expiry) = cell.expiry.filter(|expiry| !expiry.is_live(self.rules.now)) else { return Some(cell) };
        stdx::sometimes!("expired cell compacted");
        // Grace runs from when the value was written: all replicas have had that long to hear of it.
        let written = expiry.local_deletion_time.saturating_sub(expiry.ttl);
        let is_purged =
            self.may_purge(cell.timestamp, expiry.local_deletion_time) || self.may_purge(cell.timestamp, written);
        (!is_purged).then_some(CellRef { expiry: None, tombstone: Some(written), value: &[], ..cell })
    }

    fn is_of_dropped(&self, cell: &CellRef<'_>) -> bool {
        let table = &*self.rules.table;
        if table.dropped.is_empty() {
            return false;
        }
        if table.column_by_id(cell.column).is_some() {
            return table.hides(cell.column, cell.timestamp);
        }
        let dropped = table.dropped.values().find(|dropped| dropped.column.id == cell.column);
        let is_newer = dropped.is_some_and(|dropped| cell.timestamp > dropped.dropped_at_micros);
        !(is_newer && self.rules.dropped.contains(&cell.column))
    }
}

#[cfg(test)]
mod tests;
