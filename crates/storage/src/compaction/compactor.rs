//! A shard's compactions in the background: one task, which asks each table's strategy and runs one compaction at a time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use runtime::sync::{Notify, Semaphore};
use runtime::{Group, Instant, Runtime};
use schema::{Table, TableId};
use sstable::Generation;
use topology::Token;

use crate::compaction::garbage;
use crate::compaction::strategy::{self, CompactionOptions, FileDescription, INPUTS_MAX, TableFacts, Task, Why};
use crate::compaction::task::{Compacted, CompactionError};
use crate::figures::{EndedCompaction, RunningCompaction};
use crate::shard::Shard;
use crate::tables::LiveFile;

/// Between two looks without being woken: tombstones grow old by themselves.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The rest of a table after a failure, and the longest one.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(300);
/// The longest one when the disk has no room: someone may make some at any time.
const DISK_FULL_RETRY_MAX: Duration = Duration::from_secs(10);
/// The rest when a table's files changed under a compaction.
const CHANGED_REST: Duration = Duration::from_millis(100);
/// The rest of a table whose compaction was stopped.
const STOPPED_REST: Duration = Duration::from_secs(60);
/// The least that a disk that is nearly full leaves to a task.
const INPUTS_MIN: usize = 2;
/// How long another shard's record may be on its way to the disk.
const SWEEP_REST: Duration = Duration::from_secs(1);
/// How much the last flush counts in the mean of all.
const FLUSH_WEIGHT: f64 = 0.5;

/// What a shard's compactions share.
pub(crate) struct Compactor {
    /// There may be something to compact.
    pub(super) wake: Notify,
    /// Held while files are exchanged, and while files are discarded.
    pub(crate) exchange: Semaphore,
    /// Held by the compaction that runs.
    pub(super) turn: Semaphore,
    tables: RefCell<BTreeMap<TableId, OfTable>>,
    /// Bytes a second; 0: no limit.
    pub(super) throughput: Cell<u64>,
    /// Before this nothing more is written.
    paced_until: Cell<Option<Instant>>,
    /// Whether all shards are open. One that is not may be about to name a file that no manifest names yet.
    are_all_open: Cell<bool>,
    /// Whether shared files were released since the last sweep.
    has_released: Cell<bool>,
    /// Tables that an operator has told to be left alone.
    pub(super) left_alone: RefCell<BTreeSet<TableId>>,
    /// The compaction under way.
    pub(super) running: RefCell<Option<RunningCompaction>>,
    pub(super) begun: Cell<u64>,
    /// Whether an operator has stopped it, and the signal for when it sleeps.
    pub(super) is_stopped: Cell<bool>,
    pub(super) stop: Notify,
    /// The last ones that ended, oldest first.
    pub(super) history: RefCell<VecDeque<EndedCompaction>>,
    /// Compactions so far, and what they did together.
    pub(crate) compactions: Cell<u64>,
    pub(crate) compacted: Cell<Compacted>,
}

/// What is kept of a table between two compactions.
#[derive(Default)]
struct OfTable {
    expired_checked: Option<Instant>,
    compacted_up_to: Vec<Option<Token>>,
    /// The mean of its flushes, bytes.
    flush_bytes: f64,
    /// After a failure: no further try before, and how long the next rest is.
    rests_until: Option<Instant>,
    rest: Duration,
    /// The most inputs; 0: as many as there may be.
    inputs_max: usize,
    last_error: String,
}

/// Something to do.
pub(super) struct Job {
    pub(super) table: Rc<Table>,
    pub(super) options: CompactionOptions,
    pub(super) files: Vec<LiveFile>,
    pub(super) descriptions: Vec<FileDescription>,
    pub(super) task: Task,
}

impl Compactor {
    pub(crate) fn new(throughput: u64) -> Self {
        Compactor {
            wake: Notify::new(),
            exchange: Semaphore::new(1),
            turn: Semaphore::new(1),
            tables: RefCell::default(),
            throughput: Cell::new(throughput),
            paced_until: Cell::new(None),
            are_all_open: Cell::new(false),
            has_released: Cell::new(true),
            left_alone: RefCell::default(),
            running: RefCell::default(),
            begun: Cell::new(0),
            is_stopped: Cell::new(false),
            stop: Notify::new(),
            history: RefCell::default(),
            compactions: Cell::new(0),
            compacted: Cell::new(Compacted::default()),
        }
    }

    /// A file of so many bytes was flushed.
    pub(crate) fn flushed(&self, table: TableId, bytes: u64) {
        let mut tables = self.tables.borrow_mut();
        let mean = &mut tables.entry(table).or_default().flush_bytes;
        let bytes = bytes as f64;
        *mean = if *mean == 0.0 { bytes } else { *mean + (bytes - *mean) * FLUSH_WEIGHT };
        self.wake.notify();
    }

    /// Files came to a table otherwise than by a flush.
    pub(crate) fn files_came(&self) {
        self.wake.notify();
    }

    /// All shards are open.
    pub(crate) fn all_are_open(&self) {
        self.are_all_open.set(true);
        self.wake.notify();
    }

    /// Waits until so many more bytes may be written.
    pub(crate) async fn throttle(&self, runtime: &Runtime, bytes: u64) {
        self.has_written(bytes);
        let throughput = self.throughput.get();
        if throughput == 0 {
            return;
        }
        let now = runtime.now();
        let from = self.paced_until.get().filter(|until| *until > now).unwrap_or(now);
        let until = from + Duration::from_secs_f64(bytes as f64 / throughput as f64);
        self.paced_until.set(Some(until));
        self.sleep_until(runtime, until).await;
    }
}

/// Whether a table's expired files are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpiredFiles {
    /// As often as its strategy says.
    WhenDue,
    /// Also if it was done a moment ago.
    Sought,
    /// Not: they have to stay.
    Kept,
}

impl Shard {
    /// Starts the shard's compactions in the background.
    pub(crate) fn start_compactor(&self) {
        if !self.options().compacts {
            return;
        }
        let shard = self.clone();
        self.runtime().spawn(Group::Compaction, async move { shard.compact_for_ever().await });
    }

    async fn compact_for_ever(&self) {
        while !self.compactor().are_all_open.get() {
            self.compactor().wake.notified().await;
        }
        loop {
            if self.compact_once().await {
                continue;
            }
            self.sweep_released().await;
            // Woken or not, it looks again.
            let _ = self.runtime().timeout(self.until_next_look(), self.compactor().wake.notified()).await;
        }
    }

    /// When to look again if nothing wakes it: sooner if a table rests after a failure.
    fn until_next_look(&self) -> Duration {
        let now = self.runtime().now();
        let tables = self.compactor().tables.borrow();
        let rests = tables.values().filter_map(|of_table| of_table.rests_until);
        let rest = rests.map(|until| until.saturating_since(now)).filter(|rest| !rest.is_zero()).min();
        rest.map_or(LOOK_EVERY, |rest| rest.min(LOOK_EVERY))
    }

    /// Runs what is to be compacted next. False: there is nothing.
    async fn compact_once(&self) -> bool {
        let _turn = self.compactor().turn.acquire().await;
        let Some(mut job) = self.next_compaction().await else { return false };
        if job.task.why == Why::Expired && self.has_memtables(job.table.id) {
            // What lies in memory may be as old: it is known of files alone.
            if self.flush(job.table.id).await.is_err() {
                self.note_failure(&job, "its memtable cannot be flushed".to_owned(), false);
                return true;
            }
            let Some(again) = self.job_of(job.table.id, ExpiredFiles::Sought) else { return true };
            // The flush may have made a file that has to stay.
            if again.task.why == Why::Expired && !self.may_drop_expired(&again).await {
                return true;
            }
            job = again;
        }
        self.run(&job).await;
        true
    }

    fn has_memtables(&self, table: TableId) -> bool {
        let engine = self.engine_ref();
        engine.tables.get(table).is_some_and(|table| !table.memtable.is_empty() || !table.frozen.is_empty())
    }

    /// Runs a job and notes how it ended.
    async fn run(&self, job: &Job) {
        let only_repaired = job.options.common.only_purge_repaired;
        match self.run_task(&job.table, &job.files, &job.task, only_repaired, garbage::how(&job.table)).await {
            // Its files are others now; what is chosen of them a moment later is another task.
            Ok(None) => self.runtime().sleep(CHANGED_REST).await,
            Ok(Some(done)) => self.note(job, done),
            Err(CompactionError::Stopped) => self.note_stopped(job),
            Err(error) => self.note_failure(job, error.to_string(), error.is_disk_full()),
        }
    }

    pub(super) fn note(&self, job: &Job, done: Compacted) {
        let compactor = self.compactor();
        stdx::sometimes!("compacted");
        tracing::debug!(
            shard = self.runtime().shard().0,
            table = %format!("{}.{}", job.table.keyspace, job.table.name),
            why = ?job.task.why, inputs = done.inputs, outputs = done.outputs, bytes = done.bytes,
            "compacted"
        );
        compactor.compactions.set(compactor.compactions.get() + 1);
        let all = compactor.compacted.get();
        compactor.compacted.set(Compacted {
            inputs: all.inputs + done.inputs,
            outputs: all.outputs + done.outputs,
            bytes: all.bytes + done.bytes,
        });
        let inputs = || job.task.inputs.iter().chain(&job.task.expired);
        if inputs().any(|file| job.files[*file].is_shared) {
            compactor.has_released.set(true);
        }
        let mut tables = compactor.tables.borrow_mut();
        let of_table = tables.entry(job.table.id).or_default();
        (of_table.rests_until, of_table.rest, of_table.inputs_max) = (None, Duration::ZERO, 0);
        of_table.last_error.clear();
        if let Why::Level(level) = job.task.why {
            let of_level = job.task.inputs.iter().filter(|file| job.descriptions[**file].level == level);
            let last = of_level.map(|file| job.descriptions[*file].tokens.1).max();
            of_table.compacted_up_to.resize(of_table.compacted_up_to.len().max(level as usize + 1), None);
            of_table.compacted_up_to[level as usize] = last;
        }
    }

    /// It would be chosen again at once: the table rests, and what it waits for is for others.
    fn note_stopped(&self, job: &Job) {
        let table = format!("{}.{}", job.table.keyspace, job.table.name);
        tracing::info!(shard = self.runtime().shard().0, table, "compaction stopped by an operator");
        let mut tables = self.compactor().tables.borrow_mut();
        tables.entry(job.table.id).or_default().rests_until = Some(self.runtime().now() + STOPPED_REST);
    }

    fn note_failure(&self, job: &Job, error: String, is_disk_full: bool) {
        stdx::sometimes!("compaction failed");
        let mut tables = self.compactor().tables.borrow_mut();
        let of_table = tables.entry(job.table.id).or_default();
        let rest_max = if is_disk_full { DISK_FULL_RETRY_MAX } else { RETRY_MAX };
        of_table.rest = (of_table.rest * 2).clamp(RETRY_FIRST, rest_max);
        of_table.rests_until = Some(self.runtime().now() + of_table.rest);
        if is_disk_full {
            // Fewer inputs take less room.
            let inputs = job.task.inputs.len();
            of_table.inputs_max = (inputs / 2).max(INPUTS_MIN);
        }
        if of_table.last_error != error {
            let table = format!("{}.{}", job.table.keyspace, job.table.name);
            tracing::warn!(shard = self.runtime().shard().0, table, error, "compaction failed; retrying");
            of_table.last_error = error;
        }
    }

    /// What is to be compacted next: of the table with most files that has anything.
    async fn next_compaction(&self) -> Option<Job> {
        let mut tables: Vec<(usize, TableId)> = {
            let engine = self.engine_ref();
            engine.tables.iter().map(|table| (table.files.len(), table.id)).filter(|(files, _)| *files > 0).collect()
        };
        tables.sort_by_key(|(files, id)| (std::cmp::Reverse(*files), *id));
        for (_, id) in tables {
            let now = self.runtime().now();
            let rests = self.compactor().tables.borrow().get(&id).and_then(|of_table| of_table.rests_until);
            if rests.is_none_or(|until| until <= now)
                && let Some(job) = self.job_of(id, ExpiredFiles::WhenDue)
            {
                if job.task.why != Why::Expired || self.may_drop_expired(&job).await {
                    return Some(job);
                }
                stdx::sometimes!("expired file kept");
                if let Some(job) = self.job_of(id, ExpiredFiles::Kept) {
                    return Some(job);
                }
            }
            self.runtime().maybe_yield().await;
        }
        None
    }

    /// Whether expired files may go: what they hide must not come back either.
    async fn may_drop_expired(&self, job: &Job) -> bool {
        let only_repaired = job.options.common.only_purge_repaired;
        match self.inputs(&job.table, &job.files, &job.task) {
            Some(inputs) => self.may_purge(&job.table, &inputs, only_repaired).await,
            None => false,
        }
    }

    /// What a table's strategy wants.
    fn job_of(&self, id: TableId, expired: ExpiredFiles) -> Option<Job> {
        let (table, files) = self.files_of(id)?;
        let options = CompactionOptions::of(&table.options.compaction);
        if !self.compacts_unasked(&table) {
            return None;
        }
        let now = self.runtime().now();
        let (descriptions, mut facts) = self.describe(&table, &files);
        if let (Some(seconds), true) = (options.expired_check_seconds(), expired != ExpiredFiles::Kept) {
            let mut tables = self.compactor().tables.borrow_mut();
            let checked = &mut tables.entry(id).or_default().expired_checked;
            let is_due = checked.is_none_or(|checked| now.saturating_since(checked).as_secs() >= seconds);
            facts.checks_expired = is_due || expired == ExpiredFiles::Sought;
            if facts.checks_expired {
                *checked = Some(now);
            }
        }
        let mut task = strategy::choose(&options, &descriptions, &facts)?;
        if self.planted().is(Bug::OverlappingLevel)
            && let Why::Level(level) = task.why
        {
            let is_within = level > 0 && task.inputs.iter().all(|file| descriptions[*file].level == level);
            // What sets a level right would hide the mistake.
            if is_within && task.inputs.len() > 1 {
                return None;
            }
            task.inputs.retain(|file| descriptions[*file].level == level);
        }
        Some(Job { table, options, files, descriptions, task })
    }

    /// The table as it is now, and its files.
    pub(crate) fn files_of(&self, id: TableId) -> Option<(Rc<Table>, Vec<LiveFile>)> {
        let engine = self.engine_ref();
        let table = engine.tables.get(id)?;
        Some((table.definition.clone(), table.files.clone()))
    }

    /// What the strategies know of files.
    pub(super) fn describe(&self, table: &Table, files: &[LiveFile]) -> (Vec<FileDescription>, TableFacts) {
        let now = u64::try_from(self.runtime().wall_clock_micros() / 1_000_000).unwrap_or(0);
        let shards = u64::from(self.sharder().shards);
        let tables = self.compactor().tables.borrow();
        let of_table = tables.get(&table.id);
        let facts = TableFacts {
            now,
            gc_grace_seconds: u64::from(table.options.gc_grace_seconds),
            partitions: files.iter().map(|file| file.sstable.partitions()).sum(),
            flush_bytes: of_table.map_or(0, |of_table| of_table.flush_bytes as u64),
            checks_expired: false,
            compacted_up_to: of_table.map_or_else(Vec::new, |of_table| of_table.compacted_up_to.clone()),
            inputs_max: of_table.map_or(0, |of_table| of_table.inputs_max),
        };
        let gc_before = i64::try_from(facts.gc_before()).unwrap_or(i64::MAX);
        let describe = |file: &LiveFile| {
            let (sstable, stats) = (&file.sstable, &file.sstable.statistics().stats);
            let part = if file.is_shared { shards } else { 1 };
            let cells = stats.cell_counts.sum();
            let droppable = stats.tombstone_drop_times.count_until(gc_before) as f64;
            FileDescription {
                bytes: sstable.disk_bytes() / part,
                tokens: sstable.token_range(),
                partitions: sstable.partitions().div_ceil(part),
                timestamps: sstable.timestamps(),
                local_deletion_time_max: stats.local_deletion_time_max,
                droppable: if cells > 0.0 { droppable / cells } else { droppable.min(1.0) },
                level: stats.level,
                written_at: written_at(&sstable.descriptor().generation),
            }
        };
        let descriptions = files.iter().map(describe).collect();
        let inputs_max = if facts.inputs_max == 0 { INPUTS_MAX } else { facts.inputs_max };
        (descriptions, TableFacts { inputs_max, ..facts })
    }

    /// Compacts all files of a table, also where nothing asks for it, and purges what may be. What was not flushed yet is left alone.
    pub async fn compact(&self, table: TableId) -> Result<(), CompactionError> {
        let _turn = self.compactor().turn.acquire().await;
        loop {
            let Some((definition, files)) = self.files_of(table) else { return Ok(()) };
            let options = CompactionOptions::of(&definition.options.compaction);
            let (descriptions, facts) = self.describe(&definition, &files);
            let facts = TableFacts { inputs_max: INPUTS_MAX, ..facts };
            let Some(task) = strategy::choose_all(&options, &descriptions, &facts) else { return Ok(()) };
            let is_last = task.inputs.len() == files.len();
            let only_repaired = options.common.only_purge_repaired;
            let begun = copies_begun(self, table);
            let Some(done) =
                self.run_task(&definition, &files, &task, only_repaired, garbage::how(&definition)).await?
            else {
                if begun != copies_begun(self, table) {
                    // What it purged may hide what a copy brings. The next try purges nothing as long as that is there.
                    continue;
                }
                return Ok(());
            };
            self.note(&Job { table: definition, options, files, descriptions, task }, done);
            if is_last {
                return Ok(());
            }
        }
    }

    /// On shard 0: has shared files removed that no shard names any more.
    async fn sweep_released(&self) {
        if self.runtime().shard().0 != 0 || !self.compactor().has_released.get() {
            return;
        }
        let has_any = || self.manifest().contents().gone.iter().any(|gone| gone.is_shared);
        if !has_any() {
            self.compactor().has_released.set(false);
            return;
        }
        if self.wait_in_force().await.is_err() {
            return;
        }
        if let Err(error) = self.sweep_shared_while_written(SWEEP_REST).await {
            tracing::warn!(%error, "cannot delete shared sstables that no shard needs; retrying later");
        }
    }
}

/// Copies of the table that have begun on the shard. `None`: it is not there.
fn copies_begun(shard: &Shard, table: TableId) -> Option<u64> {
    shard.engine_ref().tables.get(table).map(|table| table.copies_begun)
}

/// When a file was written, by its generation: seconds since 1970; 0 if that does not say it.
fn written_at(generation: &Generation) -> u64 {
    /// Seconds from the beginning of UUIDs' time to that of Unix's.
    const UNIX_EPOCH: u64 = 12_219_292_800;
    let Generation::Unique(text) = generation else { return 0 };
    let mut parts = text.split('_');
    let mut part = || u64::from_str_radix(parts.next()?, 36).ok();
    let seconds = part().zip(part()).map(|(days, seconds)| days.saturating_mul(86_400).saturating_add(seconds));
    seconds.map_or(0, |seconds| seconds.saturating_sub(UNIX_EPOCH))
}
