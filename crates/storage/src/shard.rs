//! [`Shard`]: one shard's engine.

use std::cell::{Ref, RefCell, RefMut};
use std::path::PathBuf;
use std::rc::Rc;

use mutation::{MutationRef, ReadCommand};
use planted::{Bug, Planted};
use runtime::sync::Semaphore;
use runtime::{Group, Runtime};
use schema::{Schema, Table, TableId};
use topology::{Sharder, Token};

use crate::batchlog::Unfinished;
use crate::cache::{CacheLimits, RowCache};
use crate::commitlog::{
    CommitLog, FoundSegment, Ledger, damaged_path, io_error, log_folder, remove_lists_from, shard_folder, shard_folders,
};
use crate::compaction::{Compacted, Compactor};
use crate::counter::PartitionLocks;
use crate::error::{ApplyError, OpenError, SyncError};
use crate::flush::Flusher;
use crate::latencies::TimedWrites;
use crate::manifest::{Manifest, Manifests};
use crate::memtable::{ChunkPool, Memtable, Scratch};
use crate::options::{ReplayPosition, StorageOptions, Truncations};
use crate::reader::READS_MAX;
use crate::recovery::{Found, FoundFiles};
use crate::sampling::Sampling;
use crate::sink::{DataSink, ReadEnd, RowSink};
use crate::sstable::PageCache;
use crate::tables::{TableState, Tables};
use crate::truncation_history::TruncationHistory;
use crate::try_outcome::TryOutcome;

/// The smallest segment: a few groups of the smallest size.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// The largest segment: a group's lengths are 32-bit numbers.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// The most that one new chunk may add to the memory in use.
pub(crate) const CHUNK_RESERVE: usize = 1 << 20;

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
    /// Mutations replayed at the start.
    pub replayed: u64,
    /// Memtables that were written to files since the start.
    pub flushes: u64,
    /// Files that are read.
    pub files: u64,
    /// Compactions since the start.
    pub compactions: u64,
    /// What they took and made.
    pub compacted: Compacted,
}

/// One shard's engine. Clones are the same engine.
#[derive(Clone)]
pub struct Shard {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    options: StorageOptions,
    sharder: Sharder,
    engine: RefCell<Engine>,
    log: CommitLog,
    manifests: Manifests,
    manifest: Manifest,
    pages: Rc<PageCache>,
    timed_writes: TimedWrites,
    sampling: Sampling,
    /// Reads of several memtables and files that may be under way.
    reads: Semaphore,
    flusher: Flusher,
    compactor: Compactor,
    /// Partitions whose counters a task is changing.
    partition_locks: PartitionLocks,
    truncations: RefCell<TruncationHistory>,
    unfinished: RefCell<Unfinished>,
    /// Segments of other shard counts, until they are retired.
    foreign: RefCell<Vec<FoundSegment>>,
    /// Those of them that are damaged: they are put aside, not removed.
    damaged: RefCell<Vec<PathBuf>>,
    /// Folders of tables in which the start found a list of files being taken in, until all shards are open.
    lists_found: RefCell<Vec<PathBuf>>,
}

/// What a shard holds in memory.
pub(crate) struct Engine {
    pub(crate) tables: Tables,
    pub(crate) pool: ChunkPool,
    pub(crate) scratch: Scratch,
    pub(crate) counts: Counts,
    pub(crate) cache: RowCache,
    /// Large writes that are being merged, each with the log's end before its record.
    pub(crate) merging: Vec<LogSequence>,
    is_trimming: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) mutations: u64,
    pub(crate) replayed: u64,
}

impl Shard {
    /// Opens the shard's folder, replays its commit log and is ready to serve. If the process was started with another
    /// shard count before, the records of all old segments whose tokens this shard owns now are made its own; the
    /// caller then has [`Shard::retire_old_segments`] called once every shard is open, before anything is served.
    pub async fn open(
        runtime: &Runtime,
        options: StorageOptions,
        sharder: Sharder,
        schema: &Schema,
        truncations: &Truncations,
    ) -> Result<Shard, OpenError> {
        let options = check_options(options)?;
        let manifests = Manifests::new(runtime, &options.dir, sharder.shards);
        let (found, list) = Found::look(runtime, &options, sharder).await?;
        let files = FoundFiles::look(&manifests, runtime, &options, truncations).await?;
        let folder = shard_folder(&options.dir, runtime.shard().0);
        let ledger = Ledger::new(runtime.shard().0);
        let flusher = Flusher::default();
        let log = CommitLog::start(
            runtime,
            &options,
            folder,
            sharder.shards,
            found.next_segment,
            (ledger, list),
            flusher.wake.clone(),
        );
        let limits =
            CacheLimits { bytes_max: options.row_cache_bytes, shared_bytes_max: options.memtables_and_cache_bytes };
        let mut engine = Engine {
            tables: Tables::default(),
            pool: ChunkPool::new(options.memory_bytes),
            scratch: Scratch::default(),
            counts: Counts::default(),
            cache: RowCache::new(limits, runtime.random_u64()),
            merging: Vec::new(),
            is_trimming: false,
        };
        engine.tables.update(schema, &mut engine.pool, options.planted);
        let compactor = Compactor::new(options.compaction_throughput / u64::from(sharder.shards.max(1)));
        let pages = PageCache::new_planted(options.page_cache_bytes, options.planted);
        let inner = Inner {
            runtime: runtime.clone(),
            options,
            sharder,
            manifests,
            manifest: files.manifest,
            pages,
            timed_writes: TimedWrites::default(),
            sampling: Sampling::default(),
            reads: Semaphore::new(READS_MAX),
            flusher,
            compactor,
            partition_locks: PartitionLocks::default(),
            truncations: RefCell::new(TruncationHistory::new(truncations)),
            engine: RefCell::new(engine),
            log,
            unfinished: RefCell::default(),
            foreign: RefCell::default(),
            damaged: RefCell::default(),
            lists_found: RefCell::default(),
        };
        let shard = Shard { inner: Rc::new(inner) };
        shard.open_files(truncations).await?;
        shard.replay_own(&found, truncations).await?;
        let damaged = shard.adopt_foreign(&found, sharder, truncations, &files.covered_elsewhere).await?;
        shard.inner.damaged.replace(damaged);
        shard.inner.foreign.replace(found.into_foreign());
        shard.release_covered();
        shard.start_flusher();
        shard.start_compactor();
        Ok(shard)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    pub(crate) fn options(&self) -> &StorageOptions {
        &self.inner.options
    }

    /// The bug that was planted on purpose, in builds for that.
    pub fn planted(&self) -> Planted {
        self.inner.options.planted
    }

    pub(crate) fn log(&self) -> &CommitLog {
        &self.inner.log
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    pub(crate) fn manifests(&self) -> &Manifests {
        &self.inner.manifests
    }

    pub(crate) fn pages(&self) -> &Rc<PageCache> {
        &self.inner.pages
    }

    pub(crate) fn sampling(&self) -> &Sampling {
        &self.inner.sampling
    }

    pub(crate) fn timed_writes(&self) -> &TimedWrites {
        &self.inner.timed_writes
    }

    pub(crate) fn flusher(&self) -> &Flusher {
        &self.inner.flusher
    }

    pub(crate) fn compactor(&self) -> &Compactor {
        &self.inner.compactor
    }

    pub(crate) fn partition_locks(&self) -> &PartitionLocks {
        &self.inner.partition_locks
    }

    pub(crate) fn truncations(&self) -> RefMut<'_, TruncationHistory> {
        self.inner.truncations.borrow_mut()
    }

    pub(crate) fn unfinished(&self) -> RefMut<'_, Unfinished> {
        self.inner.unfinished.borrow_mut()
    }

    pub(crate) fn lists_found(&self) -> RefMut<'_, Vec<PathBuf>> {
        self.inner.lists_found.borrow_mut()
    }

    pub(crate) fn engine(&self) -> RefMut<'_, Engine> {
        self.inner.engine.borrow_mut()
    }

    /// The permits of reads that take memory for what they read.
    pub(crate) fn reads(&self) -> &Semaphore {
        &self.inner.reads
    }

    /// The engine, for a read.
    pub(crate) fn engine_ref(&self) -> Ref<'_, Engine> {
        self.inner.engine.borrow()
    }

    /// Which shard owns which token.
    pub(crate) fn sharder(&self) -> Sharder {
        self.inner.sharder
    }

    /// A request about a partition is to come: what it will read first of the memtable is asked for, so that it is on its way from memory
    /// while other work is done. A hint; but a memtable that is being indexed gets on by it.
    #[inline]
    pub fn prefetch_partition(&self, table: TableId, token: Token) {
        let mut engine = self.inner.engine.borrow_mut();
        let Engine { tables, pool, .. } = &mut *engine;
        if let Some(table) = tables.get_mut(table) {
            table.memtable.prefetch_partition(pool, token);
        }
    }

    /// The same for what a read looks at next, once what [`Shard::prefetch_partition`] asked for can be there.
    #[inline]
    pub fn prefetch_entry(&self, table: TableId, token: Token) {
        if let Some(table) = self.inner.engine.borrow().tables.get(table) {
            table.memtable.prefetch_entry(token);
        }
    }

    /// Applies one encoded mutation: appends it to the log, merges it into the memtable. Reads see it at once.
    #[inline]
    pub fn apply(&self, mutation: &[u8]) -> Result<Ack, ApplyError> {
        let mutation = MutationRef::decode(mutation)?;
        let mut engine = self.inner.engine.borrow_mut();
        let Engine { tables, pool, scratch, counts, cache, .. } = &mut *engine;
        let table = tables.get_mut(mutation.table()).ok_or(ApplyError::UnknownTable(mutation.table()))?;
        self.check(table, pool, &mutation)?;
        let log = &self.inner.log;
        let mut ack = Ack::Now;
        if table.is_durable {
            log.check(mutation.bytes().len())?;
        }
        let timed = self.begin_timed_write(&table.write_latencies, table.id);
        let mut merge = table.memtable.prefetch_path(&mutation);
        if table.is_durable {
            let sequence = log.append(table.id, &mut table.mark, mutation.bytes());
            if !log.acknowledges_at_once() {
                ack = Ack::When(sequence);
            }
        }
        table.memtable.merge_some(pool, scratch, &mut merge, usize::MAX);
        self.sample_write(&mutation);
        table.writes += 1;
        counts.mutations += 1;
        let is_alarming = pool.is_alarming();
        let is_cache_to_shrink = cache.is_to_shrink(pool.used());
        drop(engine);
        if let Some(timed) = timed {
            self.end_timed_write(timed, ack);
        }
        if is_alarming {
            self.wake_flusher();
        }
        if is_cache_to_shrink {
            self.shrink_cache_in_background();
        }
        Ok(ack)
    }

    /// Applies mutations as one record of the log: after a crash all of them are there or none. One call: for what
    /// [`is_small`](crate::is_small); the rest is for [`Shard::apply_in_steps`].
    pub fn apply_batch(&self, mutations: &[&[u8]]) -> Result<Ack, ApplyError> {
        let timed = {
            let engine = self.inner.engine.borrow();
            let mut needed = Memtable::bytes_needed_once();
            let mut first = None;
            for mutation in mutations {
                let mutation = MutationRef::decode(mutation)?;
                needed = needed.saturating_add(Memtable::bytes_needed_among_others(&mutation));
                first.get_or_insert(mutation.table());
            }
            self.check_room(&engine.pool, needed)?;
            // A batch is timed as one write of its first table.
            first
                .and_then(|table| engine.tables.get(table))
                .and_then(|table| self.begin_timed_write(&table.write_latencies, table.id))
        };
        let ack = self.apply_unbounded(mutations, false)?;
        if let Some(timed) = timed {
            self.end_timed_write(timed, ack);
        }
        Ok(ack)
    }

    /// [`Shard::apply_batch`] for what another shard count's log held: without regard to the memory budget, and logged again
    /// whatever the keyspace says today, since its old segments go.
    pub(crate) fn adopt_mutations(&self, mutations: &[&[u8]]) -> Result<Ack, ApplyError> {
        self.apply_unbounded(mutations, !self.planted().is(Bug::DurabilityOfToday))
    }

    /// Applies a batch without regard to the memory budget; `is_logged` also where no table of it asks for that.
    fn apply_unbounded(&self, mutations: &[&[u8]], is_logged: bool) -> Result<Ack, ApplyError> {
        let mut engine = self.inner.engine.borrow_mut();
        let Engine { tables, pool, scratch, counts, .. } = &mut *engine;
        let mut is_durable = is_logged;
        for mutation in mutations {
            let mutation = MutationRef::decode(mutation)?;
            let table = tables.get(mutation.table()).ok_or(ApplyError::UnknownTable(mutation.table()))?;
            table.memtable.shape().check(&mutation).map_err(ApplyError::Mismatch)?;
            is_durable |= table.is_durable;
        }
        let log = &self.inner.log;
        let mut ack = Ack::Now;
        if is_durable {
            log.check(CommitLog::batch_length(mutations))?;
        }
        for mutation in mutations {
            let mutation = MutationRef::decode(mutation)?;
            let table = tables.get_mut(mutation.table()).expect("all tables were found above");
            table.memtable.apply(pool, scratch, &mutation);
            self.sample_write(&mutation);
            if is_durable {
                log.note(table.id, &mut table.mark);
            }
            table.writes += 1;
            counts.mutations += 1;
        }
        if is_durable {
            let sequence = log.append_batch(mutations);
            if !log.acknowledges_at_once() {
                ack = Ack::When(sequence);
            }
        }
        drop(engine);
        self.flush_if_due();
        Ok(ack)
    }

    /// The longest mutation, bytes: half a segment of the log.
    pub fn mutation_bytes_max(&self) -> usize {
        self.inner.log.record_max()
    }

    /// How far the log is synced.
    #[inline]
    pub fn synced(&self) -> LogSequence {
        self.inner.log.synced()
    }

    /// Waits until the log is synced up to `sequence`.
    pub async fn wait_synced(&self, sequence: LogSequence) -> Result<(), SyncError> {
        self.inner.log.wait_synced(sequence).await
    }

    /// Waits until the log's buffer has room again, or the log has failed. After [`ApplyError::LogBusy`].
    pub async fn room(&self) {
        self.inner.log.room().await;
    }

    /// Whether a mutation fits its table and the memory.
    #[inline]
    fn check(&self, table: &TableState, pool: &ChunkPool, mutation: &MutationRef<'_>) -> Result<(), ApplyError> {
        table.memtable.shape().check(mutation).map_err(ApplyError::Mismatch)?;
        let needed = Memtable::bytes_needed(mutation);
        // What a large row comes to does not go to that room: where rows grow, the pool has the last word.
        if table.memtable.has_room(needed) && pool.has_room(0) { Ok(()) } else { self.check_room(pool, needed) }
    }

    /// Hands the live rows that `command` asks for to `sink`. Bounded: a long read pauses. Of a table that is not here there are
    /// none. Where not all of it is in one memtable the sink is given nothing, and [`Shard::read_through`] reads it.
    #[inline]
    pub fn read(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> TryOutcome<ReadEnd> {
        let engine = self.inner.engine.borrow();
        let Some(table) = engine.tables.get(command.table) else { return TryOutcome::Done(ReadEnd::Complete) };
        let Some(source) = engine.single_source(table, command) else { return TryOutcome::WouldBlock };
        TryOutcome::Done(self.timed_read(table, command, source.hit().is_some(), || source.read(command, sink)))
    }

    /// A read in one call, which is counted, and timed if it is one of those that are.
    #[inline]
    fn timed_read(
        &self,
        table: &TableState,
        command: &ReadCommand<'_>,
        is_cached: bool,
        read: impl FnOnce() -> ReadEnd,
    ) -> ReadEnd {
        if command.after.is_some() {
            // A later page.
            return read();
        }
        table.count_read(command);
        if !is_cached {
            table.count_filtered(command, 0);
        }
        self.sample_read(command);
        let Some(times) = table.read_latencies.next() else { return read() };
        let began = self.inner.runtime.now();
        let end = read();
        // One that pauses goes on as a task: this was a part of it.
        if !matches!(end, ReadEnd::Paused(_)) {
            table.read_latencies.add(self.inner.runtime.now() - began, times);
        }
        end
    }

    /// [`Shard::read`], not counted: a part of a read that is.
    pub(crate) fn read_part(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> Option<ReadEnd> {
        let engine = self.inner.engine.borrow();
        let Some(table) = engine.tables.get(command.table) else { return Some(ReadEnd::Complete) };
        Some(engine.single_source(table, command)?.read(command, sink))
    }

    /// [`Shard::read_data`], not counted: a part of a read that is.
    pub(crate) fn read_data_part(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> Option<ReadEnd> {
        let engine = self.inner.engine.borrow();
        let Some(table) = engine.tables.get(command.table) else { return Some(ReadEnd::Complete) };
        Some(engine.single_source(table, command)?.read_data(command, sink))
    }

    /// Hands all that `command` asks for to `sink`, deletions too. Bounded: a long read pauses. `None`: the sink was given
    /// nothing, for not all of it is in one memtable; [`Shard::read_data_through`] reads it.
    pub fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> Option<ReadEnd> {
        let engine = self.inner.engine.borrow();
        let Some(table) = engine.tables.get(command.table) else { return Some(ReadEnd::Complete) };
        let alone = engine.single_source(table, command)?;
        Some(self.timed_read(table, command, alone.hit().is_some(), || alone.read_data(command, sink)))
    }

    /// A table as it is defined now.
    pub fn definition(&self, table: TableId) -> Option<Rc<Table>> {
        self.engine_ref().tables.get(table).map(|table| Rc::clone(&table.definition))
    }

    /// Rises when what a table is read from changes otherwise than by writes to its memtable.
    pub fn files_version(&self, table: TableId) -> u64 {
        self.inner.engine.borrow().tables.get(table).map_or(0, TableState::files_version)
    }

    /// Takes over the tables of a schema; those that are gone are dropped with their data.
    pub fn update_schema(&self, schema: &Schema) {
        let changed = {
            let mut engine = self.inner.engine.borrow_mut();
            let Engine { tables, pool, .. } = &mut *engine;
            tables.update(schema, pool, self.inner.options.planted)
        };
        for table in changed.made {
            self.inner.log.create_table(table);
        }
        for table in changed.gone {
            self.inner.log.drop_table(table);
        }
        self.trim_in_background();
    }

    /// Removes the segments of other shard counts that lie in this shard's care: in its own folder, and for shard 0 in
    /// the folders of shards that are no more. To be called on every shard when all are open, and awaited before
    /// anything is served.
    ///
    /// From then on the shard compacts. On shard 0 this has the manifests of the present shard count hold, before which no shard flushes.
    pub async fn retire_old_segments(&self) -> Result<(), OpenError> {
        let inner = &*self.inner;
        let shard = inner.runtime.shard().0;
        if shard == 0 {
            if inner.manifests.are_others_in_force().await? && !self.planted().is(Bug::GoneSegmentsNotSynced) {
                self.sync_log_folders().await?;
            }
            inner.manifests.put_in_force().await?;
            self.sweep_shared().await?;
            self.clear_lists_found().await?;
        }
        let foreign = std::mem::take(&mut *inner.foreign.borrow_mut());
        let damaged = std::mem::take(&mut *inner.damaged.borrow_mut());
        let is_mine = |folder: u16| folder == shard || (shard == 0 && folder >= inner.sharder.shards);
        let mut folders = Vec::new();
        // Before segments of other shard counts are removed: they need not be there any more.
        let (runtime, data) = (self.runtime(), &inner.options.dir);
        self.log().keep_listed(Vec::new());
        self.log().update_list().await.map_err(io_error(data))?;
        if shard == 0 {
            remove_lists_from(runtime, data, inner.sharder.shards).await?;
        }
        for segment in foreign.iter().filter(|segment| is_mine(segment.folder_shard)) {
            let path = &segment.path;
            let result = match damaged.contains(path) {
                true => inner.runtime.rename(path, &damaged_path(path, inner.options.boot)).await,
                false => inner.runtime.remove_file(path).await,
            };
            result.map_err(io_error(path))?;
            if !folders.contains(&segment.folder_shard) {
                folders.push(segment.folder_shard);
            }
        }
        for folder in folders {
            let path = shard_folder(&inner.options.dir, folder);
            inner.runtime.sync_dir(&path).await.map_err(io_error(&path))?;
        }
        inner.compactor.all_are_open();
        Ok(())
    }

    /// Makes durable which segments are gone. While a shard count lasts, its manifests say what of a segment that comes back after
    /// a power cut does not count; those of the next count do not know of it any more.
    async fn sync_log_folders(&self) -> Result<(), OpenError> {
        let data = &self.options().dir;
        for shard in shard_folders(self.runtime(), data).await.map_err(io_error(&log_folder(data)))? {
            let path = shard_folder(data, shard);
            self.runtime().sync_dir(&path).await.map_err(io_error(&path))?;
        }
        Ok(())
    }

    /// Writes and syncs everything that was applied.
    pub async fn drain(&self) -> Result<(), SyncError> {
        self.wait_synced(self.inner.log.appended()).await
    }

    /// Whether what TRUNCATE and DROP take away is put aside: the caller then has tables flushed before.
    pub fn keeps_snapshots(&self) -> bool {
        self.inner.options.auto_snapshot
    }

    /// The shard's counters.
    pub fn stats(&self) -> StorageStats {
        let engine = self.inner.engine.borrow();
        let log = self.inner.log.stats();
        StorageStats {
            memory_used: engine.pool.used(),
            memory_budget: engine.pool.budget(),
            mutations: engine.counts.mutations,
            partitions: engine
                .tables
                .iter()
                .flat_map(TableState::memtables)
                .map(|memtable| u64::from(memtable.partition_count()))
                .sum(),
            log_appended: log.appended,
            log_groups: log.groups,
            log_written: log.written,
            log_segments: log.segments,
            replayed: engine.counts.replayed,
            flushes: self.inner.flusher.flushes.get(),
            files: engine.tables.iter().map(|table| table.files.len() as u64).sum(),
            compactions: self.inner.compactor.compactions.get(),
            compacted: self.inner.compactor.compacted.get(),
        }
    }

    /// Gives memory that a dropped memtable left back to the system, little by little.
    pub(crate) fn trim_in_background(&self) {
        let mut engine = self.inner.engine.borrow_mut();
        if engine.is_trimming || !engine.pool.is_trimmable() {
            return;
        }
        engine.is_trimming = true;
        let shard = self.clone();
        self.inner.runtime.spawn(Group::Maintenance, async move {
            while shard.engine().pool.is_trimmable() {
                shard.engine().pool.trim();
                shard.runtime().maybe_yield().await;
            }
            shard.engine().is_trimming = false;
        });
    }
}

/// Where what this boot and earlier ones wrote to the shard's commit log ends on the disk, in the order of boots. A later start finds none of them lower,
/// unless its disk is older than this one. Empty where nothing was written, or it is not known.
pub fn log_ends(shard: &Shard) -> Vec<ReplayPosition> {
    shard.log().ends()
}

fn check_options(mut options: StorageOptions) -> Result<StorageOptions, OpenError> {
    if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&options.segment_bytes) {
        let what = format!(
            "commit log segment size must be {SEGMENT_BYTES_MIN} to {SEGMENT_BYTES_MAX} bytes, got {}",
            options.segment_bytes
        );
        return Err(OpenError::Options(what));
    }
    options.segment_bytes = options.segment_bytes.next_multiple_of(4096);
    Ok(options)
}
