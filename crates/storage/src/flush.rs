//! Flushing: memtables become files while writes go on. One task per shard, which takes one memtable after the other.
//!
//! `docs/internals/manifest.md` says in which order things become durable, and why.

pub(crate) mod dropped;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use runtime::Group;
use runtime::sync::Notify;
use schema::{Table, TableId};
use sstable::helenus_component::{LogSpan, Origin};

use crate::error::{ApplyError, FlushError, OpenError};
use crate::generation::Generations;
use crate::manifest::{FileName, LiveRecord, Record};
use crate::memtable::{FlushItem, FlushWalk, Memtable};
use crate::options::ReplayPosition;
use crate::shard::{Engine, LogSequence, Shard};
use crate::space::{self, DiskReservation};
use crate::sstable::{Estimates, Sstable, SstableWriter, WriteError};
use crate::tables::{FilesChange, Frozen, LiveFile};

/// The part of the memory budget at which the largest memtable is flushed; the rest is for what is written meanwhile.
const MEMORY_PART: usize = 2;
/// The part of what is free then that is kept back, and given out as the flush gets on: so that who writes faster than the disk is
/// slowed, and does not stand still until the flush has ended.
const KEPT_BACK_PART: usize = 2;
/// The rest after a first failure, and the longest one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Between two looks whether this shard count's manifests hold, at a start.
const IN_FORCE_RETRY: Duration = Duration::from_millis(20);
/// Items of a memtable that are looked at for the smallest numbers in it.
const ESTIMATE_ITEMS: usize = 256;

/// A row of more bytes is written in steps.
const LONG_ROW: usize = 256 << 10;

/// What a shard's flushes share.
#[derive(Default)]
pub(crate) struct Flusher {
    /// There may be something to flush.
    pub(crate) wake: Notify,
    /// A flush has ended, well or not.
    ended: Notify,
    /// Flushes that failed so far.
    failures: Cell<u64>,
    /// Whether one has failed since one succeeded.
    is_failing: Cell<bool>,
    /// Memory was given out or back, or none will be.
    room: Notify,
    /// Writes that wait for that.
    waiting: Cell<usize>,
    /// Tables whose last flush failed, with how often in a row, and why; `None`: it did not come to a table. Others are flushed first.
    failing: RefCell<BTreeMap<Option<TableId>, (u64, FlushError)>>,
    /// Whether this shard count's manifests are known to hold.
    is_in_force: Cell<bool>,
    /// Tables' folders whose names are on the disk.
    durable_folders: RefCell<BTreeSet<String>>,
    /// The next frozen memtable's number.
    next_number: Cell<u64>,
    /// The log sequence of the last truncation in this process.
    truncated_at: Cell<Option<u64>>,
    pub(crate) generations: Generations,
    /// Whether a memtable is being written.
    is_writing: Cell<bool>,
    /// Files written so far.
    pub(crate) flushes: Cell<u64>,
}

impl Flusher {
    /// Whether a memtable is being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.is_writing.get()
    }

    /// Writes that wait for memory.
    pub(crate) fn writes_waiting(&self) -> usize {
        self.waiting.get()
    }

    /// Flushes that failed since the start.
    pub(crate) fn failure_count(&self) -> u64 {
        self.failures.get()
    }

    /// How often in a row a table's flush has failed, and why.
    fn failed(&self, table: TableId) -> Option<(u64, FlushError)> {
        self.failing.borrow().get(&Some(table)).cloned()
    }

    fn has_failed(&self, table: TableId) -> bool {
        self.failing.borrow().contains_key(&Some(table))
    }

    /// The number of the next frozen memtable.
    pub(crate) fn next_number(&self) -> u64 {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        number
    }

    /// Memory was given back by what is no flush.
    pub(crate) fn has_room(&self) {
        self.room.notify_all();
    }

    /// A truncation has ended: the table's flushes go on, and memory may have been given back.
    pub(crate) fn truncation_ended(&self) {
        self.wake.notify();
        self.ended.notify_all();
        self.room.notify_all();
    }

    /// Whether flushes make no room at present.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.get()
    }
}

/// What becomes of tables whose last flush failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failing {
    LeftOut,
    Last,
}

/// One frozen memtable that is to be written.
struct Job {
    table: Rc<Table>,
    frozen: Frozen,
}

impl Shard {
    /// Starts the shard's flushes.
    pub(crate) fn start_flusher(&self) {
        self.arm();
        let shard = self.clone();
        self.runtime().spawn(Group::Flush, async move { shard.flush_for_ever().await });
    }

    /// Has the flusher woken when memtables use their part of the budget.
    fn arm(&self) {
        let mut engine = self.engine();
        let threshold = engine.pool.budget() / MEMORY_PART;
        engine.pool.set_alarm(threshold);
    }

    /// Wakes the flusher if memory says so; writes do this themselves.
    #[inline]
    pub(crate) fn flush_if_due(&self) {
        let (is_due, is_cache_to_shrink) = {
            let engine = self.engine();
            (engine.pool.is_alarming(), engine.cache.is_to_shrink(engine.pool.used()))
        };
        if is_due {
            self.wake_flusher();
        }
        if is_cache_to_shrink {
            self.shrink_cache_in_background();
        }
    }

    #[cold]
    pub(crate) fn wake_flusher(&self) {
        // Once is enough: the flusher arms the alarm again when it has nothing more to do.
        self.engine().pool.set_alarm(usize::MAX);
        self.flusher().wake.notify();
    }

    /// Waits until a flush has made some room, or failed. Has one begun if none is due.
    pub(crate) async fn flush_makes_room(&self) {
        let flusher = self.flusher();
        let _waiting = Waits::begin(&flusher.waiting);
        self.wake_flusher();
        flusher.room.notified().await;
    }

    /// Notes that a table was truncated when this was the log's end.
    pub(crate) fn note_truncation(&self, sequence: u64) {
        self.flusher().truncated_at.set(Some(sequence));
    }

    /// Flushes what was written to a table so far. What fails is tried again by itself.
    pub async fn flush(&self, table: TableId) -> Result<(), FlushError> {
        let failed_before = self.flusher().failed(table);
        let Some(number) = self.freeze(table)? else { return Ok(()) };
        self.flusher().wake.notify();
        loop {
            if !self.is_frozen(table, number) {
                return Ok(());
            }
            let failed = self.flusher().failed(table);
            if failed != failed_before
                && let Some((_, error)) = failed
            {
                return Err(error);
            }
            self.flusher().ended.notified().await;
        }
    }

    /// Flushes all tables, or those of which the log has nothing. One that cannot be is no reason to leave others out; the first error is
    /// told.
    pub async fn flush_at_end(&self, is_for_all: bool) -> Result<(), FlushError> {
        let tables: Vec<TableId> = {
            let engine = self.engine();
            let meant = engine.tables.iter().filter(|table| is_for_all || !table.is_durable);
            meant.map(|table| table.id).collect()
        };
        let mut result = Ok(());
        for table in tables {
            let flushed = self.flush(table).await;
            result = result.and(flushed);
        }
        result
    }

    /// Freezes what was written to a table. Gives the number of the last frozen memtable of it, if there is one.
    fn freeze(&self, table: TableId) -> Result<Option<u64>, FlushError> {
        let mut engine = self.engine();
        let oldest_merge = engine.merging.iter().min().copied();
        let Some(table) = engine.tables.get_mut(table) else { return Ok(None) };
        if table.memtable.is_empty() {
            return Ok(table.frozen.back().map(|frozen| frozen.number));
        }
        let end = self.end_behind_truncations()?;
        let number = self.flusher().next_number();
        let mut covered = end;
        if let Some(LogSequence(begun)) = oldest_merge {
            stdx::sometimes!("flush beside a large write");
            covered.sequence = covered.sequence.min(begun);
        }
        table.freeze(number, end, covered);
        Ok(Some(number))
    }

    /// Tells the log that it needs no record so far of a table of which nothing is in memory. The log may keep some that nobody flushes: the
    /// table was dropped or truncated while its last records waited for their group, whose end counts as theirs.
    fn nothing_is_left_of(&self, table: TableId) {
        let mut covered = self.log().position();
        let is_there = {
            let engine = self.engine();
            covered.sequence = engine.merging.iter().map(|begun| begun.0).fold(covered.sequence, u64::min);
            engine.tables.get(table).is_some()
        };
        if is_there {
            self.log().flushed(table, covered);
        } else {
            self.log().drop_table(table);
        }
    }

    /// Where the log ends, which is behind all truncations so far: they do not take along what has this end.
    pub(crate) fn end_behind_truncations(&self) -> Result<ReplayPosition, ApplyError> {
        // Without writes to it the log may stand where it stood at a truncation.
        if self.flusher().truncated_at.get() == Some(self.log().appended().0) {
            self.log().append_nothing()?;
        }
        Ok(self.log().position())
    }

    /// Whether a memtable of the table, this one or one before it, is still to be written.
    fn is_frozen(&self, table: TableId, number: u64) -> bool {
        let engine = self.engine();
        let frozen = engine.tables.get(table).and_then(|table| table.frozen.front());
        frozen.is_some_and(|frozen| frozen.number <= number)
    }

    async fn flush_for_ever(&self) {
        let mut rest = RETRY_FIRST;
        loop {
            let ended = match self.next_job() {
                Ok(Some(job)) => {
                    let table = job.table.id;
                    self.flusher().is_writing.set(true);
                    let ended = self.write_out(job).await;
                    self.flusher().is_writing.set(false);
                    if ended.is_ok() {
                        let mut failing = self.flusher().failing.borrow_mut();
                        failing.retain(|failing, _| failing.is_some_and(|failing| failing != table));
                    }
                    ended.map_err(|error| (Some(table), error))
                }
                Ok(None) => {
                    // What could not be flushed was truncated or dropped.
                    self.flusher().is_failing.set(false);
                    self.flusher().failing.borrow_mut().clear();
                    self.arm();
                    self.flusher().wake.notified().await;
                    continue;
                }
                Err(error) => Err((None, error)),
            };
            // The flush held its memtable to the end.
            self.put_back();
            self.engine().pool.keep_back(0);
            self.trim_in_background();
            match ended {
                Ok(()) => {
                    rest = RETRY_FIRST;
                    self.flusher().is_failing.set(false);
                    self.flusher().room.notify_all();
                }
                Err((table, error)) => {
                    self.report(table, error);
                    if self.next_frozen(Failing::LeftOut).is_none() {
                        self.runtime().sleep(rest).await;
                        rest = (rest * 2).min(RETRY_MAX);
                    }
                }
            }
            self.flusher().ended.notify_all();
        }
    }

    /// Gives the memory of memtables that are in files back to the pool.
    pub(crate) fn put_back(&self) {
        let mut engine = self.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        tables.put_back(pool);
    }

    /// Tells of a flush that failed, of a table if it came to one.
    fn report(&self, table: Option<TableId>, error: FlushError) {
        let flusher = self.flusher();
        let before = flusher.failing.borrow_mut().remove(&table);
        if before.as_ref().is_none_or(|(_, before)| *before != error) {
            tracing::warn!(shard = self.runtime().shard().0, %error, "flush failed; retrying");
        }
        stdx::sometimes!("flush failed");
        flusher.failures.set(flusher.failures.get() + 1);
        flusher.failing.borrow_mut().insert(table, (before.map_or(0, |(times, _)| times) + 1, error));
        flusher.is_failing.set(true);
        flusher.room.notify_all();
        flusher.ended.notify_all();
    }

    /// What is to be written next: the memtable that was frozen first, or one that is frozen now for the sake of the log or of
    /// the memory. Those of tables whose last flush failed come last: a folder that cannot be written to is one table's misfortune.
    fn next_job(&self) -> Result<Option<Job>, FlushError> {
        if let Some(job) = self.next_frozen(Failing::LeftOut) {
            return Ok(Some(job));
        }
        let frozen = self.freeze_what_is_due();
        // Whether more could be frozen or not: what is frozen already can be tried again.
        match self.next_frozen(Failing::Last) {
            Some(job) => Ok(Some(job)),
            None => frozen.map(|()| None),
        }
    }

    /// Freezes memtables for the sake of the log, or one for that of the memory.
    fn freeze_what_is_due(&self) -> Result<(), FlushError> {
        if self.log().bytes_kept() > self.options().log_bytes_max {
            let oldest = self.log().oldest_tables().into_iter().filter(|&table| !self.is_truncation_open(table));
            for table in oldest.filter(|table| !self.flusher().has_failed(*table)) {
                stdx::sometimes!("flush for the log's sake");
                if self.freeze(table)?.is_none() {
                    self.nothing_is_left_of(table);
                }
            }
        }
        let largest = {
            let engine = self.engine();
            let is_due = engine.pool.used() >= engine.pool.budget() / MEMORY_PART || self.flusher().waiting.get() > 0;
            let written = engine.tables.iter().filter(|table| !table.memtable.is_empty() && !table.is_truncation_open);
            let flushable = written.filter(|table| !self.flusher().has_failed(table.id));
            flushable.max_by_key(|table| table.memtable.bytes()).map(|table| table.id).filter(|_| is_due)
        };
        if let Some(table) = largest
            && self.next_frozen(Failing::LeftOut).is_none()
        {
            stdx::sometimes!("flush for the memory's sake");
            self.freeze(table)?;
        }
        Ok(())
    }

    /// The memtable that was frozen first.
    fn next_frozen(&self, failing: Failing) -> Option<Job> {
        let engine = self.engine();
        let has_failed = |table| self.flusher().has_failed(table);
        let flushable = engine.tables.iter().filter(|table| !table.is_truncation_open);
        let frozen = flushable.filter_map(|table| Some((table, table.frozen.front()?, has_failed(table.id))));
        let meant = frozen.filter(|(.., has_failed)| failing == Failing::Last || !has_failed);
        let (table, frozen, _) = meant.min_by_key(|(_, frozen, has_failed)| (*has_failed, frozen.number))?;
        Some(Job { table: table.definition.clone(), frozen: frozen.clone() })
    }

    /// Makes a file of a frozen memtable, has it live, and lets go of what it takes the place of.
    async fn write_out(&self, job: Job) -> Result<(), FlushError> {
        self.wait_in_force().await?;
        // Were the file there first, a power cut could keep this table's part of a batch and lose another's.
        self.wait_synced(LogSequence(job.frozen.end.sequence)).await?;
        if FlushWalk::over(job.frozen.memtable.clone()).next().is_none() {
            // Rows that say nothing, of an UPDATE whose values are all unset: there is no file of no partition. What the log has of
            // them says as little when it is replayed.
            stdx::sometimes!("flush of nothing");
            if self.swap(&job, None) {
                self.log().flushed(job.table.id, job.frozen.covered);
            }
            return Ok(());
        }
        if self.planted().is(Bug::SegmentFreedEarly) {
            self.log().flushed(job.table.id, job.frozen.covered);
        }
        let Some((live, sstable)) = self.write_file(&job).await? else { return Ok(()) };
        stdx::sometimes!("flushed file whole");
        let bytes = sstable.disk_bytes();
        let mut rest = RETRY_FIRST;
        // The file is whole: only its record is to be tried again.
        while let Err(error) = self.manifest().append(Record::Live(live.clone())).await {
            self.report(Some(job.table.id), FlushError::Write { what: error.to_string() });
            self.runtime().sleep(rest).await;
            rest = (rest * 2).min(RETRY_MAX);
        }
        let merged = self.merge_into_cache(&job.table, &job.frozen).await;
        if self.swap(&job, Some(sstable)) {
            if let Some(covered) = live.covered {
                self.log().flushed(job.table.id, covered);
            }
            self.flusher().flushes.set(self.flusher().flushes.get() + 1);
            if let Some(table) = self.engine().tables.get_mut(job.table.id) {
                table.flushes += 1;
            }
            self.compactor().flushed(job.table.id, bytes);
            self.settle_cache(job.table.id, merged).await;
        } else {
            // It was truncated or dropped meanwhile. If that is durable, the file goes; else it will when it is.
            stdx::sometimes!("truncated during its flush");
            self.discard_if_truncated(live).await;
        }
        Ok(())
    }

    /// True if a truncation of the table has a position that is not durable yet.
    fn is_truncation_open(&self, table: TableId) -> bool {
        self.engine().tables.get(table).is_some_and(|table| table.is_truncation_open)
    }

    /// Waits until this shard count's manifests hold: files in others would be lost.
    pub(crate) async fn wait_in_force(&self) -> Result<(), FlushError> {
        while !self.flusher().is_in_force.get() {
            let in_force = self.manifests().are_in_force().await;
            match in_force.map_err(|error: OpenError| FlushError::Write { what: error.to_string() })? {
                true => self.flusher().is_in_force.set(true),
                false => self.runtime().sleep(IN_FORCE_RETRY).await,
            }
        }
        Ok(())
    }

    /// Writes the file and opens it. `None`: nobody wants it any more.
    async fn write_file(&self, job: &Job) -> Result<Option<(LiveRecord, Rc<Sstable>)>, FlushError> {
        let folder = self.table_folder(&job.table);
        let path = self.prepare_folder(&folder).await?;
        // Compressed it takes less.
        let (reserve, bytes) = (self.options().disk_reserve, job.frozen.memtable.bytes() as u64);
        let room = space::require(self.runtime(), &path, reserve, DiskReservation::Flush, bytes).await;
        room.map_err(|error| FlushError::Write { what: format!("{}: {error}", path.display()) })?;
        let generation = self.flusher().generations.next(self.runtime());
        let descriptor = sstable::Descriptor { version: sstable::Version::DA, generation: generation.clone() };
        let name = FileName { table: job.table.id, folder, descriptor: descriptor.clone() };
        let failed = |what: String| FlushError::Write { what };
        let begun = self.manifest().append(Record::Begun(name.clone())).await;
        begun.map_err(|error| failed(error.to_string()))?;
        let covered = Some(job.frozen.covered);
        let live = LiveRecord { name: name.clone(), is_shared: false, end: job.frozen.end, covered };
        if self.planted().is(Bug::ManifestBeforeData) {
            let early = self.manifest().append(Record::Live(live.clone())).await;
            early.map_err(|error| failed(error.to_string()))?;
        }
        stdx::sometimes!("flush writes a file");
        let written = self.write_components(job, &path, generation).await;
        let opened = match written {
            Ok(true) => {
                let opened = Sstable::open(self.runtime(), self.pages(), &path, descriptor, &job.table).await;
                opened.map_err(|error| failed(error.to_string()))
            }
            Ok(false) => {
                self.remove_leftovers(&name).await;
                return Ok(None);
            }
            Err(error) => Err(failed(error.to_string())),
        };
        match opened {
            Ok(sstable) => Ok(Some((live, sstable))),
            Err(error) => {
                self.remove_leftovers(&name).await;
                Err(error)
            }
        }
    }

    /// Writes the components. False: the table was truncated or dropped meanwhile, and there is nothing.
    async fn write_components(
        &self,
        job: &Job,
        path: &std::path::Path,
        generation: sstable::Generation,
    ) -> Result<bool, WriteError> {
        let Frozen { memtable, end, covered, .. } = &job.frozen;
        let known = self.manifest().contents().covered.get(&job.table.id).copied();
        let from = known.filter(|known| known.boot == end.boot).map_or(0, |known| known.sequence);
        let span = LogSpan { boot: end.boot, shard: end.shard, from: from.min(covered.sequence), to: end.sequence };
        let host = self.options().host.0;
        let origin = Origin { host, shard_count: self.sharder().shards, shard: end.shard, log: vec![span] };
        let dropped = dropped::still_written(self.runtime(), memtable, &job.table).await;
        let estimates = Estimates { dropped, ..estimate(memtable) };
        let mut progress = Progress::begin(self, memtable);
        let mut writer = SstableWriter::create(self.runtime(), path, generation, &job.table, estimates, origin).await?;
        let mut walk = FlushWalk::over(memtable.clone());
        loop {
            match walk.next() {
                Some(FlushItem::Partition { token, key, deletion, static_row }) => {
                    progress.partitions += 1;
                    writer.partition(token, key, deletion, static_row);
                }
                Some(FlushItem::Row(clustering, row)) if row.bytes().len() > LONG_ROW => {
                    writer.row_in_steps(clustering, row).await;
                }
                Some(FlushItem::Row(clustering, row)) => writer.row(clustering, row),
                Some(FlushItem::Marker(marker)) => writer.marker(&marker),
                Some(FlushItem::PartitionEnd) => {}
                None => break,
            }
            if writer.is_due() {
                if let Err(error) = writer.write_out().await {
                    writer.abandon().await;
                    return Err(error);
                }
                if !self.is_frozen(job.table.id, job.frozen.number) {
                    writer.abandon().await;
                    return Ok(false);
                }
                progress.give_out(self, writer.data_bytes());
            }
            self.runtime().maybe_yield().await;
        }
        if !self.is_frozen(job.table.id, job.frozen.number) {
            writer.abandon().await;
            return Ok(false);
        }
        writer.finish().await?;
        Ok(true)
    }

    /// The file takes the memtable's place, if there is anything in it. False: the memtable is not there any more.
    fn swap(&self, job: &Job, sstable: Option<Rc<Sstable>>) -> bool {
        let mut engine = self.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        let number = job.frozen.number;
        let table = tables.get_mut(job.table.id);
        let Some(table) = table.filter(|table| table.frozen.front().is_some_and(|first| first.number == number)) else {
            return false;
        };
        let frozen = table.frozen.pop_front().expect("it is the first of them");
        if let Some(sstable) = sstable {
            let file = LiveFile { sstable, is_shared: false };
            // The table may have been altered since the file was opened.
            file.take_definition(&table.definition);
            table.files.push(file);
        }
        table.files_changed(FilesChange::Flushed(number));
        tables.retire(frozen.memtable, pool);
        true
    }

    /// The table's folder, whose name is durable.
    pub(crate) async fn prepare_folder(&self, folder: &str) -> Result<PathBuf, FlushError> {
        let data = self.data_folder();
        let path = data.join(folder);
        let failed = |error: std::io::Error| FlushError::Write { what: format!("{}: {error}", path.display()) };
        if self.flusher().durable_folders.borrow().contains(folder) {
            return Ok(path);
        }
        // That it is there does not say that its name is on the disk: another shard may have made it a moment ago, or a process that was
        // killed.
        self.runtime().create_dir_all(&path).await.map_err(failed)?;
        for parent in path.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.options().dir)) {
            self.runtime().sync_dir(parent).await.map_err(failed)?;
        }
        self.flusher().durable_folders.borrow_mut().insert(folder.to_owned());
        Ok(path)
    }
}

/// One of those that wait, until it is dropped.
struct Waits<'f>(&'f Cell<usize>);

impl<'f> Waits<'f> {
    fn begin(count: &'f Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Waits(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// How far a flush has come, and what of the memory is kept back until it comes further.
struct Progress {
    kept_back: usize,
    partitions: u64,
    partitions_all: u64,
    bytes_all: u64,
}

impl Progress {
    fn begin(shard: &Shard, memtable: &Memtable) -> Self {
        let pool = &mut shard.engine().pool;
        let is_for_memory = pool.used() >= pool.budget() / MEMORY_PART;
        let free = pool.budget().saturating_sub(pool.used());
        let kept_back = if is_for_memory { free / KEPT_BACK_PART } else { 0 };
        pool.keep_back(kept_back);
        Progress {
            kept_back,
            partitions: 0,
            partitions_all: u64::from(memtable.partition_count()).max(1),
            bytes_all: (memtable.bytes() as u64).max(1),
        }
    }

    /// Gives out what is due when so many bytes of data are written. They are fewer than the memtable's: of many partitions their count
    /// tells more.
    fn give_out(&self, shard: &Shard, written: u64) {
        if self.kept_back == 0 {
            return;
        }
        let left =
            |done: u64, all: u64| self.kept_back as u128 * u128::from(all.saturating_sub(done)) / u128::from(all);
        let left = left(self.partitions, self.partitions_all).min(left(written, self.bytes_all));
        shard.engine().pool.keep_back(left as usize);
        shard.flusher().room.notify_all();
    }
}

/// What is known of a memtable's content: its partitions are counted, and the smallest numbers are those of its beginning.
pub(crate) fn estimate(memtable: &Rc<Memtable>) -> Estimates {
    let mut estimates = Estimates { partitions: u64::from(memtable.partition_count()), ..Estimates::default() };
    let mut least = Least { estimates: &mut estimates };
    let mut walk = FlushWalk::over(memtable.clone());
    for _ in 0..ESTIMATE_ITEMS {
        match walk.next() {
            Some(FlushItem::Partition { deletion, static_row, .. }) => {
                deletion.into_iter().for_each(|deletion| least.deletion(deletion));
                static_row.into_iter().for_each(|row| least.row(&row));
            }
            Some(FlushItem::Row(_, row)) => least.row(&row),
            Some(FlushItem::Marker(marker)) => {
                marker.opens.into_iter().for_each(|deletion| least.deletion(deletion));
            }
            Some(FlushItem::PartitionEnd) => {}
            None => break,
        }
    }
    estimates
}

struct Least<'e> {
    estimates: &'e mut Estimates,
}

impl Least<'_> {
    fn timestamp(&mut self, timestamp: i64) {
        let known = self.estimates.timestamp_min.get_or_insert(timestamp);
        *known = timestamp.min(*known);
    }

    fn second(&mut self, second: u32) {
        let known = self.estimates.local_deletion_time_min.get_or_insert(second);
        *known = second.min(*known);
    }

    fn deletion(&mut self, deletion: mutation::Deletion) {
        self.timestamp(deletion.timestamp);
        self.second(deletion.local_deletion_time);
    }

    fn expiry(&mut self, expiry: mutation::Expiry) {
        self.second(expiry.local_deletion_time);
        let known = self.estimates.ttl_min.get_or_insert(expiry.ttl);
        *known = expiry.ttl.min(*known);
    }

    fn row(&mut self, row: &mutation::RowRef<'_>) {
        row.deletion().into_iter().for_each(|deletion| self.deletion(deletion));
        if let Some(liveness) = row.liveness() {
            self.timestamp(liveness.timestamp);
            liveness.expiry.into_iter().for_each(|expiry| self.expiry(expiry));
        }
        for cell in row.cells() {
            self.timestamp(cell.timestamp);
            cell.expiry.into_iter().for_each(|expiry| self.expiry(expiry));
            cell.tombstone.into_iter().for_each(|second| self.second(second));
        }
    }
}
