//! Counters as other replicas see them: none has more of this node's parts than this node's disk.
//!
//! An addition is in memory before it is synced. A read that shows it to another replica, or lets a coordinator repair others with it, would leave those with a
//! later clock than this node has after a power cut. A wall clock that went back meanwhile then gives the node's next addition, which is acknowledged, a lower clock,
//! and reconciliation drops it.

use planted::Bug;
use schema::TableId;

use crate::shard::{LogSequence, Shard};

/// The sequence that must be synced before what `shard` shows of a table goes to another replica, or is reconciled with what others have; `None`: none, as it is no
/// table of counters, all of it is on the disk, or the keyspace or the log acknowledges writes that are not.
pub fn counters_unsynced(shard: &Shard, table: TableId) -> Option<LogSequence> {
    let engine = shard.engine_ref();
    let state = engine.tables.get(table).filter(|state| state.definition.is_counter())?;
    match shard.planted().is(Bug::CounterShownBeforeSynced) {
        true => None,
        false => shard.log().unsynced_since(state.mark),
    }
}
