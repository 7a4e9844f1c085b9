//! Garbage collection as a person asks for it: each file of a table is rewritten alone, without what other files hide of it.
//!
//! A compaction leaves out what is hidden among its inputs; what lies in files that no strategy brings together stays. This costs a rewrite of
//! each file, and lookups in the others instead of merges. (Source: Cassandra's `CompactionManager.performGarbageCollection`,
//! `GarbageSkipper`.)

use schema::{Table, TableId};

use crate::compaction::compactor::Job;
use crate::compaction::strategy::{CompactionOptions, Cut, Task, Why};
use crate::compaction::task::{CompactionError, Garbage, How};
use crate::shard::Shard;

/// How every compaction of a table is to be done, by its `provide_overlapping_tombstones`.
pub(super) fn how(table: &Table) -> How<'static> {
    let option = table.options.compaction.get("provide_overlapping_tombstones");
    match option.map(|word| word.to_ascii_uppercase()).as_deref() {
        Some("ROW") => How::Collect(Garbage::Deleted),
        Some("CELL") => How::Collect(Garbage::Overwritten),
        _ => How::Merge,
    }
}

impl Shard {
    /// Rewrites each of the table's files that are live now, those with the oldest data first, and purges what may be. What was not flushed yet is left
    /// alone, and hides nothing. A file that is compacted meanwhile is passed over.
    pub async fn collect_garbage(&self, table: TableId, garbage: Garbage) -> Result<(), CompactionError> {
        let Some((_, mut files)) = self.files_of(table) else { return Ok(()) };
        files.sort_by_key(|file| file.sstable.timestamps().1);
        for file in files {
            let _turn = self.compactor().turn.acquire().await;
            let Some((definition, files)) = self.files_of(table) else { return Ok(()) };
            let is_it = |other: &crate::tables::LiveFile| std::rc::Rc::ptr_eq(&other.sstable, &file.sstable);
            let Some(place) = files.iter().position(is_it) else { continue };
            let options = CompactionOptions::of(&definition.options.compaction);
            let (descriptions, _) = self.describe(&definition, &files);
            let level = descriptions[place].level;
            let task = Task { inputs: vec![place], expired: Vec::new(), cut: Cut::Never, level, why: Why::Request };
            let only_repaired = options.common.only_purge_repaired;
            let done = self.run_task(&definition, &files, &task, only_repaired, How::Collect(garbage)).await?;
            if let Some(done) = done {
                stdx::sometimes!("garbage collected");
                self.note(&Job { table: definition, options, files, descriptions, task }, done);
            }
        }
        Ok(())
    }
}
