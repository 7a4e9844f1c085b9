//! [`Shard`]: one shard's engine.

use std::rc::Rc;

use mutation::ReadCommand;
use runtime::Runtime;
use schema::{Schema, TableId};
use topology::Sharder;

use crate::error::{ApplyError, OpenError, Poisoned};
use crate::options::{ReplayPosition, StorageOptions, Truncations};
use crate::sink::{ReadEnd, RowSink};

/// How many bytes of records were appended to the shard's commit log since the process started: a write is on the disk
/// when the synced sequence is at least its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogSequence(pub u64);

/// When an applied write may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ack {
    /// At once.
    Now,
    /// When the log is synced up to this.
    When(LogSequence),
}

/// A shard's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageStats {
    /// Bytes of memtable chunks in use.
    pub memory_used: usize,
    /// Bytes that memtables may use.
    pub memory_budget: usize,
    /// Mutations applied since the start, without replay.
    pub mutations: u64,
    /// Partitions in memtables.
    pub partitions: u64,
    /// Bytes of records appended since the start.
    pub log_appended: u64,
    /// Groups written since the start.
    pub log_groups: u64,
    /// Bytes written to segments since the start, padding included.
    pub log_written: u64,
    /// Segments on the disk that hold records still needed.
    pub log_segments: u64,
    /// Records replayed at the start.
    pub replayed_records: u64,
}

/// One shard's engine. Clones are the same engine.
#[derive(Clone)]
pub struct Shard {
    inner: Rc<()>,
}

impl Shard {
    /// Opens the shard's folder, replays its commit log and is ready to serve. If the process was started with another
    /// shard count before, the records of all old segments whose tokens this shard owns now are made its own; the
    /// caller then has [`Shard::retire_old_segments`] called once every shard is open.
    pub async fn open(
        runtime: &Runtime,
        options: StorageOptions,
        sharder: Sharder,
        schema: &Schema,
        truncations: &Truncations,
    ) -> Result<Shard, OpenError> {
        let _ = (runtime, options, sharder, schema, truncations);
        todo!()
    }

    /// Applies one encoded mutation: appends it to the log, merges it into the memtable.
    pub fn apply(&self, mutation: &[u8]) -> Result<Ack, ApplyError> {
        let _ = (mutation, &self.inner);
        todo!()
    }

    /// Applies mutations as one record of the log: after a crash all of them are there or none.
    pub fn apply_batch(&self, mutations: &[&[u8]]) -> Result<Ack, ApplyError> {
        let _ = mutations;
        todo!()
    }

    /// How far the log is synced.
    pub fn synced(&self) -> LogSequence {
        todo!()
    }

    /// Waits until the log is synced up to `sequence`.
    pub async fn wait_synced(&self, sequence: LogSequence) -> Result<(), Poisoned> {
        let _ = sequence;
        todo!()
    }

    /// Waits until the log's buffer has room again, or the log has failed.
    pub async fn room(&self) {
        todo!()
    }

    /// Hands the live rows that `command` asks for to `sink`. Bounded: a long read pauses.
    pub fn read(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> ReadEnd {
        let _ = (command, sink);
        todo!()
    }

    /// Takes over the tables of a schema; those that are gone are dropped with their data.
    pub fn update_schema(&self, schema: &Schema) {
        let _ = schema;
        todo!()
    }

    /// Drops the table's data. The caller makes the position durable, so that a replay leaves the data out, and then calls
    /// [`Shard::truncation_is_durable`].
    pub fn truncate(&self, table: TableId) -> ReplayPosition {
        let _ = table;
        todo!()
    }

    /// Lets the log forget what the table held before `position`.
    pub fn truncation_is_durable(&self, table: TableId, position: ReplayPosition) {
        let _ = (table, position);
        todo!()
    }

    /// Drops the table's data for good: its id does not come again.
    pub fn drop_table(&self, table: TableId) {
        let _ = table;
        todo!()
    }

    /// Removes the segments of other shard counts that lie in this shard's care. To be called when every shard is open.
    pub async fn retire_old_segments(&self) -> Result<(), OpenError> {
        todo!()
    }

    /// Writes and syncs everything that was applied.
    pub async fn drain(&self) -> Result<(), Poisoned> {
        todo!()
    }

    /// The shard's counters.
    pub fn stats(&self) -> StorageStats {
        todo!()
    }
}
