//! What an operator sees of compactions, and may change of them while the node runs.

use std::rc::Rc;

use schema::{Table, TableId};

use crate::compaction::compactor::Compactor;
use crate::compaction::strategy::{self, CompactionOptions};
use crate::figures::RunningCompaction;
use crate::shard::Shard;

impl Compactor {
    /// Counts what the compaction under way has written.
    pub(super) fn has_written(&self, bytes: u64) {
        if let Some(running) = &mut *self.running.borrow_mut() {
            running.written += bytes;
        }
    }
}

/// A compaction under way; dropped, it is not any more.
pub(super) struct Running {
    shard: Shard,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shard.compactor().running.replace(None);
    }
}

impl Shard {
    /// A compaction of so many bytes of data begins.
    pub(super) fn compaction_begins(&self, table: &Rc<Table>, input: u64) -> Running {
        let compactor = self.compactor();
        let number = compactor.begun.get() + 1;
        compactor.begun.set(number);
        let (keyspace, table) = (table.keyspace.clone(), table.name.clone());
        compactor.running.replace(Some(RunningCompaction { number, keyspace, table, written: 0, input }));
        Running { shard: self.clone() }
    }

    /// The compaction under way: a shard runs one at a time.
    pub fn running_compaction(&self) -> Option<RunningCompaction> {
        self.compactor().running.borrow().clone()
    }

    /// Whether a table's strategy wants a compaction now. What is asked for by age alone is not looked for.
    pub fn wants_compaction(&self, table: TableId) -> bool {
        let Some((definition, files)) = self.files_of(table) else { return false };
        if files.is_empty() || !self.compacts_unasked(&definition) {
            return false;
        }
        let options = CompactionOptions::of(&definition.options.compaction);
        let (descriptions, facts) = self.describe(&definition, &files);
        strategy::choose(&options, &descriptions, &facts).is_some()
    }

    /// Whether a table is compacted unasked: it says so, and no operator has told otherwise.
    pub fn compacts_unasked(&self, table: &Table) -> bool {
        CompactionOptions::of(&table.options.compaction).common.is_enabled
            && !self.compactor().left_alone.borrow().contains(&table.id)
    }

    /// Has a table compacted unasked or left alone, until the process ends. A compaction that runs goes on.
    pub fn set_autocompaction(&self, table: TableId, is_on: bool) {
        if is_on {
            self.compactor().left_alone.borrow_mut().remove(&table);
            self.compactor().wake.notify();
        } else {
            self.compactor().left_alone.borrow_mut().insert(table);
        }
    }

    /// What this shard's compactions may write, bytes of data a second; 0: no limit.
    pub fn compaction_throughput(&self) -> u64 {
        self.compactor().throughput.get()
    }

    /// Changes that, from the next bytes on.
    pub fn set_compaction_throughput(&self, bytes: u64) {
        self.compactor().throughput.set(bytes);
    }
}
