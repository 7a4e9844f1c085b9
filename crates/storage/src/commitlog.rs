//! A shard's commit log: records are appended to a group in memory, one group at a time is on its way to the disk, and
//! what arrives meanwhile forms the next.
//!
//! See `docs/internals/commit-log.md`.

mod buffer;
mod find;
mod folder;
mod format;
mod ledger;
mod replay;
mod segment_list;
mod writer;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use planted::{Bug, Planted};
use runtime::sync::Notify;
use runtime::{AlignedBuf, File, Group, Instant, Runtime};
use schema::TableId;

use crate::batch_head::BatchHead;
use crate::batchlog::BatchId;
use crate::commitlog::buffer::GroupBuffer;
use crate::commitlog::folder::Folder;
use crate::commitlog::format::BLOCK;
pub(crate) use crate::commitlog::format::SegmentHead;
use crate::error::{ApplyError, SyncError};
use crate::options::{ReplayPosition, StorageOptions, SyncMode};
use crate::shard::LogSequence;

pub use buffer::RecordChecksum;
pub use find::{FoundSegment, find_segments, last_boot};
pub(crate) use folder::damaged_path;
pub use folder::{is_disk_full, log_folder, open_direct, shard_folder, shard_folders};
pub use format::{RecordKind, kind_of, mutations};
pub use ledger::{Ledger, LedgerEntry};
pub(crate) use replay::io_error;
pub use replay::{SegmentStream, streams};
pub use segment_list::{BOOTS_KEPT, Listed, ListedSegment, SegmentList, remove_lists_from};

/// In `periodic`, a group of this size is written without waiting for more.
const PERIODIC_WRITE_BYTES: usize = 256 << 10;
/// Memory that is touched before the clock is asked.
const TOUCHED_PER_STEP: usize = 64 << 10;
/// A record of at most this many bytes is appended without making room first.
const RECORD_SMALL: usize = 256 << 10;
/// Released segments that are kept for their next use.
const SPARES_MAX: usize = 2;

/// The commit log of one shard. Clones are the same log.
#[derive(Clone)]
pub struct CommitLog {
    shared: Rc<Shared>,
}

struct Shared {
    runtime: Runtime,
    folder: Folder,
    /// Which segments must be there.
    list: SegmentList,
    /// The head of the segments to come, but for their ids.
    head: SegmentHead,
    mode: SyncMode,
    planted: Planted,
    /// The longest record, without what its rows say twice.
    record_max: usize,
    /// The longest record as it is written: it fits a segment, beside what others may have collected.
    written_max: usize,
    buffer_max: usize,
    /// What a segment has room for.
    group_max: usize,
    state: RefCell<State>,
    /// The writer has something to do.
    wake: Notify,
    /// The group in the making has become as long as the writer waits for.
    hurry: Notify,
    /// In `periodic`: something is to be synced.
    unsynced: Notify,
    /// In `periodic`: sync now.
    sync_now: Notify,
    /// The synced sequence rose, or the log failed.
    synced: Notify,
    /// The group in the making was taken away, or the log failed.
    room: Notify,
    /// A segment was made, or was not.
    prepared: Notify,
    /// Another segment is written to: the log has grown.
    grown: Notify,
}

struct State {
    collecting: GroupBuffer,
    /// Counts groups, so that a table knows whether it is already noted in this one.
    group_number: u64,
    spare_buffer: Option<AlignedBuf>,
    is_writing: bool,
    is_poisoned: bool,
    is_disk_full: bool,
    written: u64,
    synced: u64,
    /// Where what earlier boots wrote ends on the disk, by boot: of [`BOOTS_KEPT`] boots that wrote.
    ends: BTreeMap<u64, u64>,
    /// Boots of which the list knew at the start: of others, a part of the segments may be gone.
    listed_boots: BTreeSet<u64>,
    /// Someone waits for this to be synced sooner than the period asks for.
    sync_wanted: u64,
    unsynced_files: Vec<(u64, File)>,
    next_segment: u64,
    /// A segment that is ready to follow the active one.
    next: Option<(u64, File)>,
    is_preparing: bool,
    prepare_not_before: Instant,
    spares: Vec<PathBuf>,
    ledger: Ledger,
    /// Segments of another shard count in this shard's folder, until they are retired.
    kept: Vec<ListedSegment>,
    groups: u64,
    bytes_written: u64,
    /// A group of this length is written without waiting for more.
    due_bytes: usize,
    /// In `periodic`: bytes of the active segment that no group has taken; else without bound.
    left: u64,
}

/// What the log counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStats {
    /// Bytes of records appended.
    pub appended: u64,
    /// Groups written.
    pub groups: u64,
    /// Bytes written, padding included.
    pub written: u64,
    /// Segments on the disk.
    pub segments: u64,
}

impl CommitLog {
    /// Begins the log of this boot in `folder`, which exists, with the list of its segments. `next_segment` is above all ids in it;
    /// `ledger` knows the segments that are already there; `grown` is notified when another segment is begun. Nothing is written before the first record.
    pub fn start(
        runtime: &Runtime,
        options: &StorageOptions,
        path: PathBuf,
        shard_count: u16,
        next_segment: u64,
        (ledger, list): (Ledger, SegmentList),
        grown: Notify,
    ) -> Self {
        let planted = options.planted;
        let dsync = !matches!(options.sync, SyncMode::Periodic { .. }) && !planted.is(Bug::SyncLeftOut);
        let (segment_bytes, disk_reserve) = (options.segment_bytes, options.disk_reserve);
        let folder = Folder { runtime: runtime.clone(), path, segment_bytes, disk_reserve, dsync, planted };
        let salt = if planted.is(Bug::SaltIgnored) { 0 } else { runtime.random_u64() };
        let shard = runtime.shard().0;
        let head = SegmentHead { shard, shard_count, boot: options.boot, segment: 0, salt };
        let room = (options.segment_bytes as usize).saturating_sub(2 * BLOCK);
        let (record_max, buffer_max) = ((options.segment_bytes / 2) as usize, options.log_buffer_bytes.min(room));
        let state = State {
            collecting: GroupBuffer::new(AlignedBuf::new(), 0),
            group_number: 1,
            spare_buffer: None,
            is_writing: false,
            is_poisoned: false,
            is_disk_full: false,
            written: 0,
            synced: 0,
            ends: list.listed().map(|listed| listed.ends()).unwrap_or_default(),
            listed_boots: list.listed().map(|listed| listed.boots()).unwrap_or_default(),
            sync_wanted: 0,
            unsynced_files: Vec::new(),
            next_segment,
            next: None,
            is_preparing: false,
            prepare_not_before: runtime.now(),
            spares: Vec::new(),
            ledger,
            kept: Vec::new(),
            groups: 0,
            bytes_written: 0,
            due_bytes: if let SyncMode::Periodic { .. } = options.sync { PERIODIC_WRITE_BYTES } else { 0 },
            left: if let SyncMode::Periodic { .. } = options.sync { 0 } else { u64::MAX },
        };
        let shared = Rc::new(Shared {
            runtime: runtime.clone(),
            folder,
            list,
            head,
            mode: options.sync,
            planted,
            record_max,
            written_max: room.saturating_sub(buffer_max / 2 + BLOCK).max(record_max),
            buffer_max,
            group_max: room,
            state: RefCell::new(state),
            wake: Notify::new(),
            hurry: Notify::new(),
            unsynced: Notify::new(),
            sync_now: Notify::new(),
            synced: Notify::new(),
            room: Notify::new(),
            prepared: Notify::new(),
            grown,
        });
        let log = CommitLog { shared };
        runtime.spawn(Group::Query, writer::write_groups(log.clone()));
        if let SyncMode::Periodic { period } = options.sync {
            runtime.spawn(Group::Query, writer::sync_at_period(log.clone(), period));
        }
        log
    }

    /// Whether a record with `length` bytes of mutations can be appended now.
    #[inline]
    pub fn check(&self, length: usize) -> Result<(), ApplyError> {
        self.check_counted(length, 0)
    }

    /// The same of mutations that say `repeated` bytes twice ([`mutation::RowRef::repeated_bytes`]): these do not count, as long as the record
    /// fits a segment.
    #[inline]
    pub fn check_counted(&self, length: usize, repeated: usize) -> Result<(), ApplyError> {
        let shared = &*self.shared;
        let state = shared.state.borrow();
        if state.is_poisoned {
            return Err(ApplyError::Poisoned);
        }
        if state.is_disk_full && !shared.planted.is(Bug::FullDiskAcknowledged) {
            return Err(ApplyError::DiskFull);
        }
        if length > shared.record_max {
            shared.check_large(length, repeated)?;
        }
        let longer = state.collecting.len() + length + BLOCK;
        if (longer > shared.buffer_max || longer as u64 > state.left) && !state.collecting.is_empty() {
            return shared.check_crowded(&state, length);
        }
        Ok(())
    }

    /// Appends one mutation of `table`, whose `mark` remembers the last group it was noted in. [`CommitLog::check`]
    /// said yes.
    #[inline]
    pub fn append(&self, table: TableId, mark: &mut u64, mutation: &[u8]) -> LogSequence {
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        state.note(table, mark);
        let was_empty = state.collecting.is_empty();
        state.collecting.push_mutation(self.shared.head.salt, mutation);
        self.wake_writer(state, was_empty);
        LogSequence(state.collecting.end())
    }

    /// Notes that the next record has a mutation of `table`.
    pub fn note(&self, table: TableId, mark: &mut u64) {
        self.shared.state.borrow_mut().note(table, mark);
    }

    /// Appends mutations, whose tables were noted, as one record. [`CommitLog::check`] said yes to
    /// [`CommitLog::batch_length`].
    pub fn append_batch(&self, mutations: &[&[u8]]) -> LogSequence {
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        let was_empty = state.collecting.is_empty();
        match self.shared.planted {
            planted if planted.is(Bug::BatchNotLogged) => return LogSequence(state.synced),
            planted if planted.is(Bug::BatchInPieces) => self.append_in_pieces(state, mutations),
            _ => state.collecting.push_batch(self.shared.head.salt, mutations),
        }
        self.wake_writer(state, was_empty);
        LogSequence(state.collecting.end())
    }

    /// Appends a batch that is to be delivered. [`CommitLog::check`] said yes to [`CommitLog::logged_batch_length`].
    pub fn append_logged_batch(&self, batch: &BatchHead, mutations: &[&[u8]]) -> (BatchId, LogSequence) {
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        let was_empty = state.collecting.is_empty();
        let head = &self.shared.head;
        let id = state.collecting.push_logged_batch(head.salt, head.boot, batch, mutations);
        self.wake_writer(state, was_empty);
        (id, LogSequence(state.collecting.end()))
    }

    /// [`CommitLog::append_logged_batch`] with a checksum that was made before.
    pub fn append_checked_logged_batch(
        &self,
        mutations: &[&[u8]],
        checksum: &RecordChecksum,
    ) -> (BatchId, LogSequence) {
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        let was_empty = state.collecting.is_empty();
        let head = &self.shared.head;
        let id = state.collecting.push_checked_logged_batch(head.salt, head.boot, mutations, checksum);
        self.wake_writer(state, was_empty);
        (id, LogSequence(state.collecting.end()))
    }

    /// Appends that a batch is delivered, if the log takes records.
    pub fn append_batch_done(&self, id: BatchId) -> Result<(), ApplyError> {
        match self.check(0) {
            // It is small: the buffer may be a little fuller than others may make it.
            Ok(()) | Err(ApplyError::LogBusy) => {}
            Err(error) => return Err(error),
        }
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        // But thousands of them together are longer than what is left of a segment, and a group must fit in one.
        if state.collecting.len() + BLOCK > self.shared.group_max {
            return Err(ApplyError::LogBusy);
        }
        if !state.collecting.is_empty() {
            self.shared.check_place(state, 0)?;
        }
        if self.shared.planted.is(Bug::DeliveredBatchNotNoted) {
            return Ok(());
        }
        let was_empty = state.collecting.is_empty();
        state.collecting.push_batch_done(self.shared.head.salt, id);
        self.wake_writer(state, was_empty);
        Ok(())
    }

    /// The mistake of [`Bug::BatchInPieces`]: each mutation is a record, and goes when there is time.
    fn append_in_pieces(&self, state: &mut State, mutations: &[&[u8]]) {
        let Some((first, rest)) = mutations.split_first() else { return };
        state.collecting.push_mutation(self.shared.head.salt, first);
        let (log, first_end) = (self.clone(), LogSequence(state.collecting.end()));
        let rest: Vec<Vec<u8>> = rest.iter().map(|mutation| mutation.to_vec()).collect();
        self.shared.runtime.spawn(Group::Query, async move {
            if log.wait_synced(first_end).await.is_ok() {
                let mut state = log.shared.state.borrow_mut();
                let was_empty = state.collecting.is_empty();
                rest.iter().for_each(|mutation| state.collecting.push_mutation(log.shared.head.salt, mutation));
                log.wake_writer(&state, was_empty);
            }
        });
    }

    /// Makes memory for a large record, and touches it: that takes longer than the copy, and here others run meanwhile. The group
    /// in the making may have been taken away by then; after a few times the record goes without.
    pub async fn make_room(&self, length: usize) {
        /// How often the group may be taken away before this gives up.
        const TRIES: usize = 3;
        if length <= RECORD_SMALL || length > self.shared.written_max {
            return;
        }
        for _ in 0..TRIES {
            let held = {
                let state = self.shared.state.borrow();
                if state.collecting.has_room(length) {
                    return;
                }
                state.collecting.len()
            };
            // What others append meanwhile must fit too.
            let wanted = held + length + RECORD_SMALL;
            let mut bytes = AlignedBuf::with_capacity(wanted);
            while bytes.len() < wanted {
                bytes.resize((bytes.len() + TOUCHED_PER_STEP).min(wanted), 0);
                self.shared.runtime.maybe_yield().await;
            }
            let mut state = self.shared.state.borrow_mut();
            if state.collecting.len() + length <= wanted {
                state.collecting.move_to(bytes);
            }
        }
    }

    /// Appends mutations, whose tables were noted, as one record whose checksum was made before. [`CommitLog::check`] said yes
    /// to its length.
    pub fn append_checked(&self, mutations: &[impl AsRef<[u8]>], checksum: &RecordChecksum) -> LogSequence {
        let mut state = self.shared.state.borrow_mut();
        let state = &mut *state;
        let was_empty = state.collecting.is_empty();
        state.collecting.push_checked(self.shared.head.salt, mutations, checksum);
        self.wake_writer(state, was_empty);
        LogSequence(state.collecting.end())
    }

    /// The bytes of a batch's record.
    pub fn batch_length(mutations: &[&[u8]]) -> usize {
        GroupBuffer::batch_length(mutations)
    }

    /// The bytes of the record of a batch that is to be delivered.
    pub fn logged_batch_length(head: &BatchHead, mutations: &[&[u8]]) -> usize {
        GroupBuffer::logged_batch_length(head, mutations)
    }

    #[inline]
    fn wake_writer(&self, state: &State, was_empty: bool) {
        if was_empty && !state.is_writing {
            self.shared.wake.notify();
        } else if state.is_due() && !state.is_writing {
            self.shared.hurry.notify();
        }
    }

    /// The longest record's payload.
    pub fn record_max(&self) -> usize {
        self.shared.record_max
    }

    /// Whether writes are acknowledged before they are on the disk.
    #[inline]
    pub fn is_periodic(&self) -> bool {
        matches!(self.shared.mode, SyncMode::Periodic { .. })
    }

    /// True if the record appended last need not wait for the disk before it is acknowledged. In `periodic` it need not where its group
    /// certainly has a place on the disk: without one it would be in memory alone for as long as the disk is full.
    #[inline]
    pub fn acknowledges_at_once(&self) -> bool {
        let planted = self.shared.planted;
        (self.is_periodic() && (self.shared.state.borrow().has_place() || planted.is(Bug::PlaceIgnored)))
            || planted.is(Bug::AcknowledgeBeforeSync)
            || (planted.is(Bug::FullDiskAcknowledged) && self.shared.state.borrow().is_disk_full)
    }

    /// The sequence behind the last record.
    #[inline]
    pub fn appended(&self) -> LogSequence {
        LogSequence(self.shared.state.borrow().collecting.end())
    }

    /// The sequence up to which everything is on the disk.
    #[inline]
    pub fn synced(&self) -> LogSequence {
        LogSequence(self.shared.state.borrow().synced)
    }

    /// The end of the last group with a record of a table, which has this `mark`, where that group is not on the disk. In `periodic` nothing is
    /// waited for: there an acknowledgement does not mean that a record is synced.
    pub fn unsynced_since(&self, mark: u64) -> Option<LogSequence> {
        if self.is_periodic() {
            return None;
        }
        let state = self.shared.state.borrow();
        assert!(mark <= state.group_number, "a table is noted in groups that there are");
        let end = match state.group_number - mark {
            0 => state.collecting.end(),
            1 => state.collecting.start(),
            // A group is taken when the one before it is on the disk.
            _ => return None,
        };
        (end > state.synced).then_some(LogSequence(end))
    }

    /// Waits until everything up to `sequence` is on the disk, or there is no room for it.
    pub async fn wait_synced(&self, sequence: LogSequence) -> Result<(), SyncError> {
        loop {
            {
                let mut state = self.shared.state.borrow_mut();
                if state.synced >= sequence.0 {
                    return Ok(());
                }
                if state.is_poisoned {
                    return Err(SyncError::Poisoned);
                }
                // Nobody knows for how long: a client must hear something, and an end or a start must not hang.
                if state.is_disk_full {
                    return Err(SyncError::DiskFull);
                }
                if self.is_periodic() && state.sync_wanted < sequence.0 {
                    state.sync_wanted = sequence.0;
                    self.shared.hurry.notify();
                    self.shared.sync_now.notify();
                }
            }
            self.shared.synced.notified().await;
        }
    }

    /// Waits until the group in the making was taken away.
    pub async fn room(&self) {
        let is_free = {
            let state = self.shared.state.borrow();
            state.is_poisoned || state.collecting.is_empty()
        };
        if !is_free {
            self.shared.room.notified().await;
        }
    }

    /// The place behind the last record.
    pub fn position(&self) -> ReplayPosition {
        let head = &self.shared.head;
        ReplayPosition { boot: head.boot, shard: head.shard, sequence: self.appended().0 }
    }

    /// A table begins.
    pub fn create_table(&self, table: TableId) {
        self.shared.state.borrow_mut().ledger.create_table(table);
    }

    /// A table is gone, with all records that it has.
    pub fn drop_table(&self, table: TableId) {
        self.shared.state.borrow_mut().ledger.drop_table(table);
        self.release();
    }

    /// A truncation is durable.
    pub fn truncated(&self, table: TableId, position: ReplayPosition) {
        self.shared.state.borrow_mut().ledger.truncate(table, position);
        self.release();
    }

    /// What the table's records hold up to `position` is in files.
    pub fn flushed(&self, table: TableId, position: ReplayPosition) {
        self.shared.state.borrow_mut().ledger.flush(table, position);
        self.release();
    }

    /// The bytes of the segments that are needed.
    pub fn bytes_kept(&self) -> u64 {
        self.shared.state.borrow().ledger.len() as u64 * self.shared.folder.segment_bytes
    }

    /// The tables that need the oldest segment of those that any table needs, the one that is written to aside.
    pub fn oldest_tables(&self) -> Vec<TableId> {
        self.shared.state.borrow().ledger.oldest_tables()
    }

    /// Moves the log's end on by a record that says nothing, so that what comes next has a place of its own.
    pub fn append_nothing(&self) -> Result<(), ApplyError> {
        self.check(CommitLog::batch_length(&[]))?;
        self.append_batch(&[]);
        Ok(())
    }

    /// Has the list name the segments that are needed, `made` too, which nothing else knows of yet.
    pub async fn write_list(&self, made: Option<u64>) -> std::io::Result<()> {
        let shared = &*self.shared;
        let listed = || {
            let state = shared.state.borrow();
            let next = state.next.as_ref().map(|(segment, _)| *segment);
            let unused = made.into_iter().chain(next).map(|segment| ListedSegment {
                segment,
                boot: shared.head.boot,
                start: None,
                bytes: shared.folder.segment_bytes,
                is_cut: false,
            });
            let segments = state.ledger.listed().chain(state.kept.iter().copied()).chain(unused).collect();
            Listed { segments, boot: shared.head.boot, synced: state.synced, earlier: state.ends.clone() }
        };
        shared.list.write(listed).await
    }

    /// Before segments go: [`CommitLog::write_list`], or no list where that fails. An error: they must stay.
    pub async fn update_list(&self) -> std::io::Result<()> {
        let Err(error) = self.write_list(None).await else { return Ok(()) };
        tracing::warn!(
            %error,
            "cannot write the list of commit log segments; removing the list, so that missing segments go undetected at the next start"
        );
        let removed = self.shared.list.remove().await;
        removed.inspect_err(|error| {
            tracing::warn!(%error, "cannot remove the list of commit log segments; keeping obsolete segments until the next start");
        })
    }

    /// Notes that what a boot wrote reaches up to this sequence at least, if the list vouches for that boot's segments.
    pub fn note_end(&self, boot: u64, sequence: u64) {
        let mut state = self.shared.state.borrow_mut();
        if !state.listed_boots.contains(&boot) {
            return;
        }
        let end = state.ends.entry(boot).or_default();
        *end = (*end).max(sequence);
        while state.ends.len() > BOOTS_KEPT {
            state.ends.pop_first();
        }
    }

    /// Where what this boot and earlier ones wrote ends on the disk, in the order of boots; the last one is how far the log is synced. A later start of the
    /// same disk finds none of them lower: segments that are gone are off the list, which says then how far the log was synced. A boot before a start
    /// that found no list is not among them.
    pub fn ends(&self) -> Vec<ReplayPosition> {
        let state = self.shared.state.borrow();
        let SegmentHead { boot, shard, .. } = self.shared.head;
        let current = (state.synced > 0).then_some((boot, state.synced));
        let ends = state.ends.iter().map(|(boot, end)| (*boot, *end)).chain(current);
        ends.map(|(boot, sequence)| ReplayPosition { boot, shard, sequence }).collect()
    }

    /// Segments of another shard count stay in this shard's folder, until none is named here any more.
    pub fn keep_listed(&self, kept: Vec<ListedSegment>) {
        self.shared.state.borrow_mut().kept = kept;
    }

    /// Adds a segment that was found at the start. Before the first record.
    pub fn add_old(&self, entry: LedgerEntry) {
        self.shared.state.borrow_mut().ledger.add(entry);
    }

    /// Puts segments that nobody needs aside, or removes them.
    pub fn release(&self) {
        let released = self.shared.state.borrow_mut().ledger.release(self.shared.planted);
        if !released.is_empty() {
            self.shared.runtime.spawn(Group::Maintenance, writer::put_away(self.clone(), released));
        }
    }

    /// The log's counters.
    pub fn stats(&self) -> LogStats {
        let state = self.shared.state.borrow();
        LogStats {
            appended: state.collecting.end(),
            groups: state.groups,
            written: state.bytes_written,
            segments: state.ledger.len() as u64,
        }
    }
}

impl Shared {
    /// True if a record is short enough once its duplicate bytes are left out.
    #[cold]
    fn check_large(&self, length: usize, repeated: usize) -> Result<(), ApplyError> {
        let counted = length.saturating_sub(repeated);
        if counted > self.record_max {
            return Err(ApplyError::TooLarge { length: counted, length_max: self.record_max });
        }
        if length > self.written_max {
            return Err(ApplyError::TooLarge { length, length_max: self.written_max });
        }
        Ok(())
    }

    /// A record that has no room beside others waits until these were taken away, also where only they would have a place on the disk.
    #[cold]
    fn check_crowded(&self, state: &State, length: usize) -> Result<(), ApplyError> {
        let collected = state.collecting.len();
        if collected + length + BLOCK > self.buffer_max {
            self.check_long(length, collected)?;
        }
        self.check_place(state, length)
    }

    /// Some of a group may be acknowledged: where only as much as it has now has a place, it is written there, and the record begins another.
    fn check_place(&self, state: &State, length: usize) -> Result<(), ApplyError> {
        let longer = (state.collecting.len() + length + BLOCK) as u64;
        if state.next.is_none() && longer > state.left && state.has_place() {
            stdx::sometimes!("group kept in its place");
            self.hurry.notify();
            return Err(ApplyError::LogBusy);
        }
        Ok(())
    }

    /// Whether a record that has no room beside others may join them all the same: one that is longer than the buffer may ever be
    /// would wait for an empty group, which a busy shard never has.
    fn check_long(&self, length: usize, collected: usize) -> Result<(), ApplyError> {
        let is_long = length > self.buffer_max / 2;
        let is_room = collected + length + BLOCK <= self.group_max;
        if is_long && is_room && collected <= self.buffer_max / 2 {
            return Ok(());
        }
        stdx::sometimes!("log buffer full");
        Err(ApplyError::LogBusy)
    }
}

impl State {
    /// True if the group under construction fits a segment that is there. It then stays so until the group is written.
    #[inline]
    fn has_place(&self) -> bool {
        self.next.is_some() || self.collecting.length_on_disk() <= self.left
    }

    /// Whether the group in the making is written without waiting for more.
    #[inline]
    fn is_due(&self) -> bool {
        self.collecting.len() >= self.due_bytes
    }

    #[inline]
    fn note(&mut self, table: TableId, mark: &mut u64) {
        if *mark != self.group_number {
            *mark = self.group_number;
            self.collecting.notes.tables.push(table);
        }
    }
}
