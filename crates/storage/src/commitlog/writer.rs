//! The tasks behind the log: one writes groups, one syncs at the period, and segments are made and put away in the
//! background.

use std::io;
use std::time::Duration;

use planted::Bug;
use runtime::{AlignedBuf, File, Group};

use crate::commitlog::buffer::GroupBuffer;
use crate::commitlog::folder::{is_disk_full, segment_path};
use crate::commitlog::format::{BLOCK, SegmentHead};
use crate::commitlog::ledger::LedgerEntry;
use crate::commitlog::{CommitLog, SPARES_MAX, State};
use crate::error::SyncError;
use crate::options::SyncMode;
use crate::shard::LogSequence;

/// In `periodic`, what was appended is handed to the kernel this much later at the latest: a killed process loses no
/// more.
const PERIODIC_WRITE_DELAY: Duration = Duration::from_millis(10);
/// A group waits for those whose writes the group before it acknowledged, at most so many times as long as that group's write took: where
/// clients write to several shards in turn, they come back later than one write takes.
const GATHER_WRITES: u32 = 2;
/// And at most this long: about what two writes to a fast disk take.
const GATHER_MAX: Duration = Duration::from_micros(200);
/// How long a full disk is left alone.
const DISK_FULL_RETRY: Duration = Duration::from_millis(250);

/// The segment that is being written.
struct Active {
    segment: u64,
    file: File,
    offset: u64,
}

/// The log failed, and the failure is known to all who wait.
struct Failed;

/// Writes groups, one at a time, until the log fails.
pub(super) async fn write_groups(log: CommitLog) {
    let mut active: Option<Active> = None;
    let mut patience = Duration::ZERO;
    loop {
        wait_for_records(&log, patience).await;
        let begun = log.shared.runtime.now();
        if write_group(&log, &mut active).await.is_err() {
            return;
        }
        patience = ((log.shared.runtime.now() - begun) * GATHER_WRITES).min(GATHER_MAX);
        prepare_in_time(&log, &active);
    }
}

/// Waits for a first record, and then for more that are worth waiting for.
async fn wait_for_records(log: &CommitLog, patience: Duration) {
    let shared = &*log.shared;
    while shared.state.borrow().collecting.is_empty() {
        shared.wake.notified().await;
    }
    match shared.mode {
        SyncMode::Batch => {}
        SyncMode::Group => gather(log, patience).await,
        SyncMode::Periodic { .. } => {
            let is_due = {
                let state = shared.state.borrow();
                state.is_due() || state.sync_wanted > state.written
            };
            if !is_due {
                // Whether the time is over or someone is in a hurry, the group is written now.
                let _ = shared.runtime.timeout(PERIODIC_WRITE_DELAY, shared.hurry.notified()).await;
            }
        }
    }
}

/// Waits until those who were answered by the group before have written again, for at most `patience`.
///
/// Without this, clients that write again as soon as they are answered fall into two halves: while one half's group is on
/// its way, the other half's collects, and the disk is written to twice as often as it needs to be. So a group is expected to
/// become as long as the last one and what collected beside it. Who writes alone is never kept waiting: its record is as long
/// as its last group was.
async fn gather(log: &CommitLog, patience: Duration) {
    let shared = &*log.shared;
    let deadline = shared.runtime.now() + patience;
    while !shared.state.borrow().is_due() {
        let left = deadline - shared.runtime.now();
        // The signal may be an old one: only the bytes tell.
        if left.is_zero() || shared.runtime.timeout(left, shared.hurry.notified()).await.is_err() {
            return;
        }
    }
}

async fn write_group(log: &CommitLog, active: &mut Option<Active>) -> Result<(), Failed> {
    let shared = &*log.shared;
    let segment = loop {
        // The group may grow while a segment is made.
        let length = shared.state.borrow().collecting.length_on_disk();
        match active {
            Some(current) if current.offset + length <= shared.folder.segment_bytes => break current,
            _ => *active = Some(next_segment(log).await?),
        }
    };
    let (mut bytes, end) = take_group(&mut shared.state.borrow_mut(), shared.head.salt, segment.segment);
    let length = bytes.len() as u64;
    if log.is_periodic() {
        shared.state.borrow_mut().left = shared.folder.segment_bytes - segment.offset - length;
    }
    shared.room.notify_all();
    if shared.planted.is(Bug::ShortWriteAccepted) && bytes.len() > BLOCK {
        bytes.resize(bytes.len() - BLOCK, 0);
    }
    let payload = (end - shared.state.borrow().written) as usize;
    assert!(length.is_multiple_of(BLOCK as u64) && segment.offset.is_multiple_of(BLOCK as u64));
    let (result, bytes) = segment.file.write_at(bytes, segment.offset).await;
    if let Err(error) = result
        && !shared.planted.is(Bug::PoisonIgnored)
    {
        return Err(poison(log, segment.segment, "write", &error));
    }
    // Behind a first group that cannot be read nobody could tell where the log went on: so nothing is behind it until it is durable.
    if log.is_periodic()
        && segment.offset == BLOCK as u64
        && let Err(error) = segment.file.sync_data().await
    {
        return Err(poison(log, segment.segment, "sync", &error));
    }
    segment.offset += length;
    let mut state = shared.state.borrow_mut();
    let state = &mut *state;
    state.is_writing = false;
    state.written = end;
    state.groups += 1;
    state.bytes_written += length;
    if !log.is_periodic() {
        state.due_bytes = due_bytes(payload, state.collecting.len());
    }
    if bytes.capacity() <= shared.buffer_max {
        state.spare_buffer = Some(bytes);
    }
    if log.is_periodic() {
        if state.unsynced_files.last().is_none_or(|(id, _)| *id != segment.segment) {
            state.unsynced_files.push((segment.segment, segment.file.clone()));
        }
        shared.unsynced.notify();
    } else {
        state.synced = end;
        shared.synced.notify_all();
    }
    Ok(())
}

/// How long a group is expected to become after one with `written` bytes of records, with `collected` bytes in the buffer of
/// the next already. An eighth less, since records differ in length.
fn due_bytes(written: usize, collected: usize) -> usize {
    let expected = written + collected;
    expected - expected / 8
}

/// Takes the group in the making away; the next one begins.
fn take_group(state: &mut State, salt: u64, segment: u64) -> (AlignedBuf, u64) {
    let end = state.collecting.end();
    let fresh = GroupBuffer::new(state.spare_buffer.take().unwrap_or_default(), end);
    let group = std::mem::replace(&mut state.collecting, fresh);
    let (bytes, notes) = group.seal(salt, segment, state.synced);
    state.ledger.note(&notes, end);
    state.group_number += 1;
    state.is_writing = true;
    (bytes, end)
}

/// The segment after the one that is full: the one made ahead, or one made now. A full disk is tried again and again;
/// writes are refused meanwhile.
async fn next_segment(log: &CommitLog) -> Result<Active, Failed> {
    let shared = &*log.shared;
    loop {
        let (is_poisoned, next, is_preparing) = {
            let mut state = shared.state.borrow_mut();
            (state.is_poisoned, state.next.take(), state.is_preparing)
        };
        if is_poisoned {
            return Err(Failed);
        }
        if let Some((segment, file)) = next {
            let mut state = shared.state.borrow_mut();
            if std::mem::take(&mut state.is_disk_full) {
                tracing::info!(shard = shared.head.shard, "disk space available again; accepting writes");
            }
            state.ledger.seal_last();
            let (boot, start, bytes) = (shared.head.boot, Some(state.written), shared.folder.segment_bytes);
            state.ledger.add(LedgerEntry { segment, boot, start, bytes, ..LedgerEntry::default() });
            if log.is_periodic() {
                state.left = shared.folder.segment_bytes - BLOCK as u64;
            }
            drop(state);
            // What was written to the last one may be in files already.
            log.release();
            shared.grown.notify();
            return Ok(Active { segment, file, offset: BLOCK as u64 });
        }
        if is_preparing {
            shared.prepared.notified().await;
            continue;
        }
        if !prepare(log.clone(), false).await {
            stdx::sometimes!("disk full");
            shared.state.borrow_mut().is_disk_full = true;
            shared.room.notify_all();
            shared.synced.notify_all();
            shared.runtime.sleep(DISK_FULL_RETRY).await;
        }
    }
}

/// Once the active segment is half full, has the next one made and filled with zeros. Not before: a server that is
/// hardly written to should not write on its own.
fn prepare_in_time(log: &CommitLog, active: &Option<Active>) {
    let shared = &*log.shared;
    let is_half_full = active.as_ref().is_some_and(|active| active.offset > shared.folder.segment_bytes / 2);
    let state = shared.state.borrow();
    if !is_half_full || state.next.is_some() || state.is_preparing {
        return;
    }
    if shared.runtime.poll_start() < state.prepare_not_before {
        return;
    }
    drop(state);
    shared.runtime.spawn(Group::Maintenance, prepare(log.clone(), true));
    // The task has not run yet: no second one may be started until it has.
    shared.state.borrow_mut().is_preparing = true;
}

/// Makes the next segment. False if the disk is full.
async fn prepare(log: CommitLog, fill: bool) -> bool {
    let shared = &*log.shared;
    let (segment, spare) = {
        let mut state = shared.state.borrow_mut();
        state.is_preparing = true;
        (state.next_segment, state.spares.pop())
    };
    let bytes = if spare.is_some() { 0 } else { shared.folder.segment_bytes };
    let result = match shared.folder.require(bytes).await {
        Ok(()) => shared.folder.make(&SegmentHead { segment, ..shared.head }, spare, fill).await,
        Err(error) => {
            shared.state.borrow_mut().spares.extend(spare);
            Err(error)
        }
    };
    // Before anything is written to it: a segment with records that goes missing is noticed.
    let result = match result {
        Ok(file) => log.write_list(Some(segment)).await.map(|()| file),
        Err(error) => Err(error),
    };
    let mut state = shared.state.borrow_mut();
    state.is_preparing = false;
    let is_made = match result {
        Ok(file) => {
            state.next_segment += 1;
            state.next = Some((segment, file));
            true
        }
        Err(error) if is_disk_full(&error) => {
            // Once, not at every try.
            if !state.is_disk_full {
                let path = segment_path(&shared.folder.path, segment);
                tracing::warn!(
                    path = %path.display(), %error,
                    "cannot create commit log segment, disk full; refusing writes until space is free"
                );
            }
            state.prepare_not_before = shared.runtime.now() + DISK_FULL_RETRY;
            false
        }
        Err(error) => {
            drop(state);
            poison(&log, segment, "segment creation", &error);
            true
        }
    };
    shared.prepared.notify_all();
    is_made
}

/// In `periodic`: syncs what was written, a period after it was first written or when someone asks.
pub(super) async fn sync_at_period(log: CommitLog, period: Duration) {
    let shared = &*log.shared;
    loop {
        while shared.state.borrow().unsynced_files.is_empty() {
            shared.unsynced.notified().await;
        }
        let is_wanted = {
            let state = shared.state.borrow();
            state.sync_wanted > state.synced
        };
        if !is_wanted {
            match shared.planted.is(Bug::PeriodIgnored) {
                true => shared.sync_now.notified().await,
                false => drop(shared.runtime.timeout(period, shared.sync_now.notified()).await),
            }
        }
        let (files, written) = {
            let mut state = shared.state.borrow_mut();
            (std::mem::take(&mut state.unsynced_files), state.written)
        };
        for (segment, file) in files {
            if let Err(error) = file.sync_data().await {
                poison(&log, segment, "sync", &error);
                return;
            }
        }
        shared.state.borrow_mut().synced = written;
        shared.synced.notify_all();
        if shared.state.borrow().is_poisoned {
            return;
        }
    }
}

/// The disk failed: no write is acknowledged any more, and all who wait learn of it.
fn poison(log: &CommitLog, segment: u64, what: &str, error: &io::Error) -> Failed {
    let shared = &*log.shared;
    let path = segment_path(&shared.folder.path, segment);
    tracing::error!(
        shard = shared.head.shard, path = %path.display(), %error,
        "commit log {what} failed; this shard refuses writes until the process restarts"
    );
    stdx::sometimes!("log poisoned");
    shared.state.borrow_mut().is_poisoned = true;
    for waiting in [&shared.synced, &shared.room, &shared.prepared, &shared.wake] {
        waiting.notify_all();
    }
    Failed
}

/// Keeps some of the segments that nobody needs for their next use, and removes the others. A failure leaves files
/// behind that the next start finds unneeded again.
pub(super) async fn put_away(log: CommitLog, segments: Vec<u64>) {
    let shared = &*log.shared;
    let written = LogSequence(shared.state.borrow().written);
    // The list is to say that what goes was synced. On a full disk the room is needed.
    if log.wait_synced(written).await == Err(SyncError::Poisoned) || log.update_list().await.is_err() {
        return;
    }
    for segment in segments {
        let is_kept = shared.state.borrow().spares.len() < SPARES_MAX;
        let result = match is_kept {
            true => shared.folder.put_aside(segment).await.map(|spare| shared.state.borrow_mut().spares.push(spare)),
            false => shared.folder.remove(segment).await,
        };
        if let Err(error) = result {
            let path = segment_path(&shared.folder.path, segment);
            tracing::warn!(path = %path.display(), %error, "cannot recycle obsolete commit log segment; retrying at next start");
        }
    }
}
