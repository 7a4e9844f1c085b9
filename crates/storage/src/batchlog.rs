//! Logged batches that span shards or nodes: synced here as a whole before any part is delivered, and kept in mind until
//! all parts are. What to deliver is the coordinator's to know. See `docs/internals/batch-log.md`.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mutation::MutationRef;
use planted::Bug;
use runtime::Group;
use schema::TableId;

use crate::batch_head::BatchHead;
use crate::commitlog::{CommitLog, RecordChecksum};
use crate::error::ApplyError;
use crate::shard::{LogSequence, Shard};

/// Bytes of unfinished batches that a shard keeps; beyond them it takes no new one.
const UNFINISHED_BYTES_MAX: usize = 64 << 20;
/// The same, counted.
const UNFINISHED_MAX: usize = 4096;

/// What is said of either bound.
const UNFINISHED: &str = "it is of batches that are not delivered yet";

/// The rest before a full disk is tried again with the note that a batch is finished.
const NOTE_RETRY: Duration = Duration::from_millis(250);

/// The name of a batch: the place of its record in its shard's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId {
    /// The start of the process at which it was logged.
    pub(crate) boot: u64,
    /// The log sequence before its record.
    pub(crate) sequence: u64,
}

impl BatchId {
    /// The name of the batch whose record a start of the process, `boot`, wrote after `sequence` bytes of its shard's log.
    pub fn new(boot: u64, sequence: u64) -> BatchId {
        BatchId { boot, sequence }
    }

    /// Start and sequence.
    pub fn place(self) -> (u64, u64) {
        (self.boot, self.sequence)
    }
}

/// A batch that was logged and is not known to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedBatch {
    /// Its name.
    pub id: BatchId,
    /// Its age, and whose it is.
    pub head: BatchHead,
    /// Its mutations, as they were logged, without those that were truncated since.
    pub mutations: Vec<Vec<u8>>,
}

/// An unfinished batch, as it is accounted for.
#[derive(Debug, Clone, Copy)]
struct Logged {
    bytes: usize,
    created: i64,
}

/// The unfinished batches of a shard, by name, with what they hold at a start.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    batches: BTreeMap<BatchId, Logged>,
    bytes: usize,
    /// Tables that were truncated while there were unfinished batches, each with the log's end at that time.
    truncated: BTreeMap<TableId, u64>,
    /// Those that the log held at the start, until the coordinator takes them.
    found: Vec<UnfinishedBatch>,
    /// Finished ones of which the log does not say so yet.
    unnoted: VecDeque<BatchId>,
    /// Whether a task waits for the log to have room for them.
    is_noting: bool,
}

impl Unfinished {
    fn add(&mut self, id: BatchId, bytes: usize, created: i64) {
        self.bytes += bytes;
        let replaced = self.batches.insert(id, Logged { bytes, created });
        assert!(replaced.is_none(), "a place in the log is used once");
    }

    /// False: it is finished already.
    fn remove(&mut self, id: BatchId) -> bool {
        let Some(logged) = self.batches.remove(&id) else { return false };
        self.bytes -= logged.bytes;
        if self.batches.is_empty() {
            self.truncated.clear();
        }
        true
    }

    /// The table was truncated when this was the end of the log.
    pub(crate) fn truncate(&mut self, table: TableId, sequence: LogSequence) {
        if !self.batches.is_empty() {
            self.truncated.insert(table, sequence.0);
        }
    }

    /// Takes over one that the log held.
    pub(crate) fn find(&mut self, batch: UnfinishedBatch) {
        stdx::sometimes!("unfinished batch");
        self.add(batch.id, batch.mutations.iter().map(Vec::len).sum(), batch.head.created);
        self.found.push(batch);
    }

    /// Takes over one that was logged anew at this start.
    pub(crate) fn find_again(&mut self, batch: UnfinishedBatch) {
        stdx::sometimes!("unfinished batch of another shard count");
        self.found.push(batch);
    }
}

impl Shard {
    /// Appends a batch to the log without applying it. When the sequence is synced its parts may be delivered, and the
    /// batch will be whole whatever happens then. One call: for what [`is_small`](crate::is_small); the rest is for
    /// [`Shard::log_batch_in_steps`].
    pub fn log_batch(&self, head: &BatchHead, mutations: &[&[u8]]) -> Result<(BatchId, LogSequence), ApplyError> {
        self.check_unfinished(mutations.iter().map(|mutation| mutation.len()).sum())?;
        self.append_batch_record(head, mutations)
    }

    /// [`Shard::log_batch`], however large, letting others run in between. Waits for the log's buffer as often as it takes.
    pub async fn log_batch_in_steps(
        &self,
        head: &BatchHead,
        mutations: &[&[u8]],
    ) -> Result<(BatchId, LogSequence), ApplyError> {
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        self.check_unfinished(bytes)?;
        let log = self.log();
        let mut checksum = RecordChecksum::begin_logged_batch(head);
        for mutation in mutations {
            self.sum_up(&mut checksum, mutation).await;
        }
        loop {
            log.make_room(checksum.length()).await;
            self.check_unfinished(bytes)?;
            match log.check(checksum.length()) {
                Err(ApplyError::LogBusy) => self.room().await,
                checked => break checked?,
            }
        }
        let (id, sequence) = log.append_checked_logged_batch(mutations, &checksum);
        self.unfinished().add(id, bytes, head.created);
        Ok((id, sequence))
    }

    /// Whether one more batch may be unfinished.
    fn check_unfinished(&self, bytes: usize) -> Result<(), ApplyError> {
        let unfinished = self.unfinished();
        let count = unfinished.batches.len() + unfinished.unnoted.len();
        if count >= UNFINISHED_MAX || unfinished.bytes + bytes > UNFINISHED_BYTES_MAX {
            return Err(ApplyError::Overloaded {
                used: unfinished.bytes,
                budget: UNFINISHED_BYTES_MAX,
                why: UNFINISHED,
            });
        }
        Ok(())
    }

    /// [`Shard::log_batch`] without regard to how many there are.
    pub(crate) fn append_batch_record(
        &self,
        head: &BatchHead,
        mutations: &[&[u8]],
    ) -> Result<(BatchId, LogSequence), ApplyError> {
        let log = self.log();
        log.check(CommitLog::logged_batch_length(head, mutations))?;
        let (id, sequence) = log.append_logged_batch(head, mutations);
        self.unfinished().add(id, mutations.iter().map(|mutation| mutation.len()).sum(), head.created);
        Ok((id, sequence))
    }

    /// A start does not deliver the batch again: all its parts are applied and durable, or it is given up before any was. The
    /// note of that need not be waited for, since delivering twice is delivering once. Where the log has no room for it now, it
    /// gets it later. Nothing where it is finished already.
    pub fn finish_batch(&self, id: BatchId) {
        let mut unfinished = self.unfinished();
        if !unfinished.remove(id) {
            return;
        }
        unfinished.unnoted.push_back(id);
        if !unfinished.is_noting {
            drop(unfinished);
            self.note_finished();
        }
    }

    /// Notes what is finished, or has that done when there is room.
    fn note_finished(&self) {
        let Some(error) = self.note_some_finished() else { return };
        self.unfinished().is_noting = true;
        let shard = self.clone();
        self.runtime().spawn(Group::Maintenance, async move {
            let mut error = Some(error);
            while let Some(reason) = error {
                match reason {
                    ApplyError::LogBusy => shard.room().await,
                    _ => shard.runtime().sleep(NOTE_RETRY).await,
                }
                error = shard.note_some_finished();
            }
            shard.unfinished().is_noting = false;
        });
    }

    /// Notes as many as there is room for. `Some`: why no more.
    fn note_some_finished(&self) -> Option<ApplyError> {
        loop {
            let id = self.unfinished().unnoted.front().copied()?;
            match self.log().append_batch_done(id) {
                Ok(()) => _ = self.unfinished().unnoted.pop_front(),
                Err(ApplyError::Poisoned) => {
                    tracing::debug!("cannot record batches as delivered; the next start delivers them again");
                    self.unfinished().unnoted.clear();
                }
                Err(error) => return Some(error),
            }
        }
    }

    /// The batches that the log held at the start and that are to be delivered now. A second call gives none.
    pub fn take_unfinished_batches(&self) -> Vec<UnfinishedBatch> {
        let found = std::mem::take(&mut self.unfinished().found);
        if self.planted().is(Bug::BatchNotReplayed) { Vec::new() } else { found }
    }

    /// True if a mutation of a batch of this shard is still to be delivered: the batch is not finished; the table is there, and was not truncated since
    /// the batch was logged; and the write is not older than the table's `gc_grace_seconds`, after which tombstones of what it wrote may be purged.
    pub fn is_batch_wanted(&self, id: BatchId, mutation: &[u8]) -> bool {
        let Ok(mutation) = MutationRef::decode(mutation) else { return false };
        let Some(created) = batch_created(self, id) else { return false };
        let truncated = self.unfinished().truncated.get(&mutation.table()).copied();
        let is_truncated = truncated.is_some_and(|end| id.boot < self.log().position().boot || id.sequence < end);
        let engine = self.engine();
        let Some(table) = engine.tables.get(mutation.table()) else { return false };
        let grace = table.definition.options.gc_grace_seconds;
        let age = self.runtime().wall_clock_micros().saturating_sub(created);
        let is_too_old = i128::from(age) > i128::from(grace) * 1_000_000 && !self.planted().is(Bug::BatchOutlivesGrace);
        if is_too_old {
            stdx::sometimes!("a batch older than gc_grace_seconds is left out");
        }
        !is_truncated && !is_too_old
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

/// Wall clock when the write of an unfinished batch began, microseconds since 1970. `None`: it is finished.
pub fn batch_created(shard: &Shard, id: BatchId) -> Option<i64> {
    shard.unfinished().batches.get(&id).map(|logged| logged.created)
}

/// True if a batch of that name is logged on a shard and not finished.
pub fn is_batch_unfinished(shard: &Shard, id: BatchId) -> bool {
    shard.unfinished().batches.contains_key(&id)
}
