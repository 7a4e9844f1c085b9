//! Columns that a table lost, and of which a memtable still has something to say.
//!
//! A column that comes back shows what was written later than it was dropped (`Table::hides`): with `ALTER TABLE … DROP … USING TIMESTAMP`
//! that may be cells from before the statement. So a file names such a column, as Cassandra's do; whoever reads the file knows it among
//! the table's dropped ones. A column of which all is older is left out, with its cells: nobody will see them, and a file that does
//! not name it can be served by a table that never had it.

use std::rc::Rc;

use runtime::Runtime;
use schema::{ColumnId, Table};

use crate::memtable::{FlushItem, FlushWalk, Memtable};

/// The columns that the table has no more, of which the memtable has cells that are newer than the drop.
pub(crate) async fn still_written(runtime: &Runtime, memtable: &Rc<Memtable>, table: &Table) -> Vec<ColumnId> {
    let gone = table.dropped.values().filter(|dropped| table.column(&dropped.column.name).is_none());
    let mut gone: Vec<(ColumnId, i64)> = gone.map(|dropped| (dropped.column.id, dropped.dropped_at_micros)).collect();
    let mut found = Vec::new();
    let mut walk = FlushWalk::over(memtable.clone());
    while !gone.is_empty() {
        let row = match walk.next() {
            None => break,
            Some(FlushItem::Row(_, row)) => Some(row),
            Some(FlushItem::Partition { static_row, .. }) => static_row,
            Some(FlushItem::Marker(_) | FlushItem::PartitionEnd) => None,
        };
        for cell in row.iter().flat_map(|row| row.cells()) {
            let is_newer = |(id, dropped_at): &(ColumnId, i64)| *id == cell.column && cell.timestamp > *dropped_at;
            if let Some(at) = gone.iter().position(is_newer) {
                found.push(gone.swap_remove(at).0);
            }
        }
        runtime.maybe_yield().await;
    }
    found
}
