//! Logged batches that span shards or nodes: synced here as a whole before any part is delivered, and kept in mind until
//! all parts are. What to deliver is the coordinator's to know. See `docs/internals/batch-log.md`.

use std::collections::BTreeMap;

use mutation::MutationRef;
use schema::TableId;

use crate::error::ApplyError;
use crate::shard::{LogSequence, Shard};

/// Bytes of unfinished batches that a shard keeps; beyond them it takes no new one.
const UNFINISHED_BYTES_MAX: usize = 64 << 20;
/// The same, counted.
const UNFINISHED_MAX: usize = 4096;

/// The name of a batch: the place of its record in its shard's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId {
    /// The start of the process at which it was logged.
    pub(crate) boot: u64,
    /// The log sequence before its record.
    pub(crate) sequence: u64,
}

/// A batch that was logged and is not known to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedBatch {
    /// Its name.
    pub id: BatchId,
    /// Its mutations, as they were logged, without those that were truncated since.
    pub mutations: Vec<Vec<u8>>,
}

/// The unfinished batches of a shard, by name, with what they hold at a start.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    batches: BTreeMap<BatchId, usize>,
    bytes: usize,
    /// Tables that were truncated while there were unfinished batches, each with the log's end at that time.
    truncated: BTreeMap<TableId, u64>,
    /// Those that the log held at the start, until the coordinator takes them.
    found: Vec<UnfinishedBatch>,
}

impl Unfinished {
    fn add(&mut self, id: BatchId, bytes: usize) {
        self.bytes += bytes;
        let replaced = self.batches.insert(id, bytes);
        assert!(replaced.is_none(), "a place in the log is used once");
    }

    fn remove(&mut self, id: BatchId) {
        self.bytes -= self.batches.remove(&id).unwrap_or(0);
        if self.batches.is_empty() {
            self.truncated.clear();
        }
    }

    /// The table was truncated when this was the end of the log.
    pub(crate) fn truncate(&mut self, table: TableId, sequence: LogSequence) {
        if !self.batches.is_empty() {
            self.truncated.insert(table, sequence.0);
        }
    }

    /// Takes over one that the log held.
    pub(crate) fn find(&mut self, batch: UnfinishedBatch) {
        self.add(batch.id, batch.mutations.iter().map(Vec::len).sum());
        self.found.push(batch);
    }

    /// Takes over one that was logged anew at this start.
    pub(crate) fn find_again(&mut self, batch: UnfinishedBatch) {
        self.found.push(batch);
    }
}

impl Shard {
    /// Appends a batch to the log without applying it. When the sequence is synced its parts may be delivered, and the
    /// batch will be whole whatever happens then.
    pub fn log_batch(&self, mutations: &[&[u8]]) -> Result<(BatchId, LogSequence), ApplyError> {
        let length: usize = mutations.iter().map(|mutation| mutation.len()).sum();
        {
            let unfinished = self.unfinished();
            if unfinished.batches.len() >= UNFINISHED_MAX || unfinished.bytes + length > UNFINISHED_BYTES_MAX {
                return Err(ApplyError::Overloaded { used: unfinished.bytes, budget: UNFINISHED_BYTES_MAX });
            }
        }
        self.append_batch_record(mutations)
    }

    /// [`Shard::log_batch`] without regard to how many there are.
    pub(crate) fn append_batch_record(&self, mutations: &[&[u8]]) -> Result<(BatchId, LogSequence), ApplyError> {
        let log = self.log();
        log.check(crate::commitlog::CommitLog::batch_length(mutations))?;
        let (id, sequence) = log.append_logged_batch(mutations);
        self.unfinished().add(id, mutations.iter().map(|mutation| mutation.len()).sum());
        Ok((id, sequence))
    }

    /// All parts of the batch are applied and durable: a start does not deliver it again. The note of that need not be
    /// waited for, since delivering twice is delivering once. Where there is no room for it in the log, the batch is
    /// delivered again at the next start.
    pub fn finish_batch(&self, id: BatchId) {
        self.unfinished().remove(id);
        if let Err(error) = self.log().append_batch_done(id) {
            tracing::debug!(%error, "a delivered batch is not noted as such: the next start delivers it again");
        }
    }

    /// The batches that the log held at the start and that are to be delivered now. A second call gives none.
    pub fn take_unfinished_batches(&self) -> Vec<UnfinishedBatch> {
        std::mem::take(&mut self.unfinished().found)
    }

    /// Whether a mutation of a batch of this shard is still to be delivered: its table is there, and was not truncated since
    /// the batch was logged.
    pub fn is_batch_wanted(&self, id: BatchId, mutation: &[u8]) -> bool {
        let Ok(mutation) = MutationRef::decode(mutation) else { return false };
        let truncated = self.unfinished().truncated.get(&mutation.table()).copied();
        let is_truncated = truncated.is_some_and(|end| id.boot < self.log().position().boot || id.sequence < end);
        !is_truncated && self.engine().tables.get(mutation.table()).is_some()
    }

    /// How many batches are logged and not finished.
    pub fn unfinished_batches(&self) -> usize {
        self.unfinished().batches.len()
    }

    /// Everything up to here has been appended to the log.
    pub fn appended(&self) -> LogSequence {
        self.log().appended()
    }
}
