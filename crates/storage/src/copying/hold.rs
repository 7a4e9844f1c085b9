//! The hold on purging: as long as a table receives a range on a shard, its tombstones stay there.

use schema::TableId;

use super::CopyError;
use crate::shard::Shard;

/// While it is there no compaction of the table purges anything on this shard: what a copy brings may be older than a tombstone that is here. It begins
/// before the first source is opened, since what a source holds is as old as that, and ends when all is listed. A compaction that began before it and has
/// purged something gives its result up.
pub struct PurgeHold {
    shard: Shard,
    table: TableId,
    /// Which table of that id it is.
    made: u64,
}

impl std::fmt::Debug for PurgeHold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PurgeHold").field("table", &self.table).finish_non_exhaustive()
    }
}

impl PurgeHold {
    /// Nothing of the table is purged on the shard from here on.
    ///
    /// # Errors
    /// [`CopyError::Gone`]: there is no such table.
    pub fn begin(shard: &Shard, table: TableId) -> Result<PurgeHold, CopyError> {
        let mut engine = shard.engine();
        let state = engine.tables.get_mut(table).ok_or(CopyError::Gone)?;
        state.copies += 1;
        state.copies_begun += 1;
        let made = state.content.table;
        drop(engine);
        Ok(PurgeHold { shard: shard.clone(), table, made })
    }
}

impl Drop for PurgeHold {
    fn drop(&mut self) {
        let mut engine = self.shard.engine();
        if let Some(state) = engine.tables.get_mut(self.table).filter(|state| state.content.table == self.made) {
            state.copies -= 1;
        }
    }
}
