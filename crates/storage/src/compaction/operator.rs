//! What an operator sees of compactions, and may change of them while the node runs.

use std::rc::Rc;

use runtime::{Instant, Runtime};
use schema::{Table, TableId};

use crate::compaction::compactor::Compactor;
use crate::compaction::strategy::{self, CompactionOptions};
use crate::compaction::task::CompactionError;
use crate::figures::{CompactionKind, EndedCompaction, RunningCompaction};
use crate::shard::Shard;

/// How many compactions that ended are remembered.
const HISTORY_MAX: usize = 100;

impl Compactor {
    /// Refuses to go on with the compaction under way if an operator has stopped it.
    pub(super) fn go_on(&self) -> Result<(), CompactionError> {
        if self.is_stopped.get() { Err(CompactionError::Stopped) } else { Ok(()) }
    }

    /// Sleeps until then, or until the compaction under way is stopped.
    pub(super) async fn sleep_until(&self, runtime: &Runtime, until: Instant) {
        while !self.is_stopped.get() {
            let left = until - runtime.now();
            // The signal may be for a compaction before this one.
            if left.is_zero() || runtime.timeout(left, self.stop.notified()).await.is_err() {
                return;
            }
        }
    }

    /// Keeps what a compaction came to.
    pub(super) fn remember(&self, ended: EndedCompaction) {
        let mut history = self.history.borrow_mut();
        if history.len() == HISTORY_MAX {
            history.pop_front();
        }
        history.push_back(ended);
    }

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
    pub(super) fn compaction_begins(&self, table: &Rc<Table>, kind: CompactionKind, input: u64) -> Running {
        let compactor = self.compactor();
        let number = compactor.begun.get() + 1;
        compactor.begun.set(number);
        compactor.is_stopped.set(false);
        let (keyspace, table) = (table.keyspace.clone(), table.name.clone());
        compactor.running.replace(Some(RunningCompaction { number, kind, keyspace, table, written: 0, input }));
        Running { shard: self.clone() }
    }

    /// The compaction under way: a shard runs one at a time.
    pub fn running_compaction(&self) -> Option<RunningCompaction> {
        self.compactor().running.borrow().clone()
    }

    /// Stops the compaction under way, if it has this number or none is asked for: it ends without exchanging files and removes what it
    /// has written. One that is exchanging them already comes to its end. False: there is no such compaction.
    pub fn stop_compaction(&self, number: Option<u64>) -> bool {
        let compactor = self.compactor();
        let running = compactor.running.borrow().as_ref().map(|running| running.number);
        let is_meant = running.is_some_and(|running| number.is_none_or(|number| number == running));
        if is_meant {
            compactor.is_stopped.set(true);
            compactor.stop.notify();
        }
        is_meant
    }

    /// The last compactions that came to their end, oldest first.
    pub fn compaction_history(&self) -> Vec<EndedCompaction> {
        self.compactor().history.borrow().iter().cloned().collect()
    }

    /// Keeps what the compaction under way came to, whose files were exchanged.
    pub(super) fn compaction_ended(&self, merged: Vec<u64>, bytes: (u64, u64)) {
        let running = self.running_compaction().expect("it is dropped when its task is over");
        self.compactor().remember(EndedCompaction {
            number: running.number,
            keyspace: running.keyspace,
            table: running.table,
            ended_ms: self.runtime().wall_clock_micros() / 1000,
            bytes_in: bytes.0,
            bytes_out: bytes.1,
            merged,
        });
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
