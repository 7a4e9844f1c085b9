//! The start of a write as the shard's log measures it, for what is delivered long after: does a truncation take it along, is its table
//! still there?

use schema::TableId;

use crate::error::ApplyError;
use crate::options::ReplayPosition;
use crate::shard::Shard;

/// The start of a write that is planned now: after all truncations so far, and before all later ones. An empty record is appended where
/// nothing was logged since a truncation; an error if the log does not take it.
pub fn write_start(shard: &Shard) -> Result<ReplayPosition, ApplyError> {
    shard.end_behind_truncations()
}

/// True if a truncation of the table takes along what a write has written that began at `start`, on this shard or on one that was there at an
/// earlier start of the process. Also while the truncation's position is not durable yet: it is decided.
pub fn is_truncated_after(shard: &Shard, table: TableId, start: ReplayPosition) -> bool {
    shard.truncations().takes_along(table, &start)
}

/// A table's `gc_grace_seconds`; `None`: there is no such table.
pub fn grace_seconds(shard: &Shard, table: TableId) -> Option<u32> {
    let engine = shard.engine_ref();
    engine.tables.get(table).map(|table| table.definition.options.gc_grace_seconds)
}

/// The number of the process's start.
pub fn boot(shard: &Shard) -> u64 {
    shard.options().boot
}
