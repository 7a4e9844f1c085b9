//! Appending to the metadata log and compacting it.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use planted::{Bug, Planted};
use runtime::sync::Semaphore;
use runtime::{AlignedBuf, File, Runtime};

use super::bounds::{Bounds, Claim, RECORD_BYTES_MAX, RESERVE_BYTES};
use super::compact::compact;
use super::folder::{self, aligned};
use super::history::LogState;
use super::layout;
use super::record::Record;
use crate::cluster::Domains;
use crate::error::{DecodeError, MetadataError, io_error, too_large};
use crate::local::Fact;

/// The open metadata log. Clones append to the same file, one after the other.
#[derive(Clone)]
pub struct MetadataLog {
    inner: Rc<Inner>,
}

pub(super) struct Inner {
    runtime: Runtime,
    dir: PathBuf,
    path: PathBuf,
    bounds: Bounds,
    domains: Domains,
    /// Another one after each compaction.
    file: RefCell<File>,
    /// Taken during an append: the next record's place is known only when this one is on the disk.
    turn: Semaphore,
    /// Where the next record is written.
    end: Cell<u64>,
    /// Where the zeros after it end.
    reserved: Cell<u64>,
    /// The next record's number.
    sequence: Cell<u64>,
    /// Where the log ended when compaction was last tried, or when it was opened.
    compacted_to: Cell<u64>,
    /// Set when an append failed: the end of the file is then unknown, and going on could put a record after a torn one.
    is_poisoned: Cell<bool>,
    planted: Planted,
}

impl MetadataLog {
    pub(super) fn new(inner: Inner) -> MetadataLog {
        MetadataLog { inner: Rc::new(inner) }
    }

    /// Refuses if the log takes no records any more, because an append failed. One that is under way does not count as failed.
    pub fn check(&self) -> Result<(), MetadataError> {
        match self.inner.is_poisoned.get() && self.inner.turn.available() > 0 {
            true => Err(MetadataError::Poisoned { path: self.inner.path.display().to_string() }),
            false => Ok(()),
        }
    }

    /// The error of a log whose records do not go together.
    pub(crate) fn damaged(&self, error: &DecodeError) -> MetadataError {
        MetadataError::of_record(&self.inner.path, 0, error)
    }

    /// Appends a record; it is on the disk when this returns.
    ///
    /// Appends are carried out in the order of their calls. One that finds the disk full fails and changes nothing, unless it is
    /// one that a full disk must take: those have a reserve. Dropping the future before it is done leaves the log as
    /// after an error: closed to further records.
    ///
    /// Panics if a part of an entry is no change of a registered domain: no such record may reach the disk, since no start could read it.
    pub async fn append(&self, record: &Record) -> Result<(), MetadataError> {
        let inner = &*self.inner;
        if inner.planted.is(Bug::TruncationNotLogged) && matches!(record, Record::Local(Fact::Truncated(_))) {
            return Ok(());
        }
        let claim = Claim::of(record, &inner.domains);
        let payload = record.to_bytes();
        if payload.len() > RECORD_BYTES_MAX {
            return Err(too_large(&inner.path, payload.len() as u64, RECORD_BYTES_MAX as u64));
        }
        let _turn = inner.turn.acquire().await;
        if inner.is_poisoned.replace(true) {
            return Err(MetadataError::Poisoned { path: inner.path.display().to_string() });
        }
        let (length, bytes_max) = (layout::framed_length(payload.len()) as u64, inner.bounds.bytes_max(claim));
        inner.compact_if_due(length, bytes_max).await?;
        let end = inner.end.get() + length;
        if end > bytes_max {
            inner.is_poisoned.set(false);
            return Err(MetadataError::Full { path: inner.path.display().to_string(), bytes: end, bytes_max });
        }
        let has_room = inner.keep_reserve(end).await? || (claim.may_use_reserve() && end <= inner.reserved.get());
        if !has_room {
            inner.is_poisoned.set(false);
            return Err(io_error("append to", &inner.path, io::ErrorKind::StorageFull.into()));
        }
        let (file, framed) = (inner.file(), layout::frame_record(inner.sequence.get(), &payload));
        let (result, _) = file.write_at(aligned(&framed), inner.end.get()).await;
        if let Err(source) = result {
            if is_disk_full(&source) && inner.cut_to_end().await {
                inner.is_poisoned.set(false);
            }
            return Err(io_error("append to", &inner.path, source));
        }
        // The file was opened to sync with each write; this names the guarantee, and costs nothing when all is synced.
        if !inner.planted.is(Bug::MetadataNotSynced) {
            file.sync_data().await.map_err(|source| io_error("sync", &inner.path, source))?;
        }
        inner.end.set(end);
        inner.sequence.set(inner.sequence.get() + 1);
        inner.is_poisoned.set(false);
        Ok(())
    }
}

impl Inner {
    /// The log that `place` names, after `records` of them up to `end`, with zeros up to `reserved`.
    pub(super) fn new(place: Place, file: File, records: u64, end: u64, reserved: u64) -> Inner {
        let Place { runtime, dir, path, bounds, domains, planted } = place;
        Inner {
            runtime,
            dir,
            path,
            bounds,
            domains,
            file: RefCell::new(file),
            turn: Semaphore::new(1),
            end: Cell::new(end),
            reserved: Cell::new(reserved),
            sequence: Cell::new(records),
            compacted_to: Cell::new(end),
            is_poisoned: Cell::new(false),
            planted,
        }
    }

    /// Provides the reserve after a log that ends at `end`: false if the disk is full.
    pub(super) async fn keep_reserve(&self, end: u64) -> Result<bool, MetadataError> {
        let (from, needed) = (self.reserved.get(), end + RESERVE_BYTES);
        if from >= needed {
            return Ok(true);
        }
        // Twice of it, so that not each record pays for more.
        let zeros = AlignedBuf::zeroed((needed + RESERVE_BYTES - from) as usize);
        let (result, zeros) = self.file().write_at(zeros, from).await;
        match result {
            Ok(()) => {
                self.reserved.set(from + zeros.len() as u64);
                Ok(true)
            }
            Err(error) if is_disk_full(&error) => Ok(false),
            Err(source) => Err(io_error("extend", &self.path, source)),
        }
    }

    /// Undoes an append that found no room: true if the file is as before it, durably. A full disk is no failing one; its content is known.
    async fn cut_to_end(&self) -> bool {
        let end = self.end.get();
        self.reserved.set(end);
        let file = self.file();
        file.set_len(end).await.is_ok() && file.sync_all().await.is_ok()
    }

    /// Where the next record is written.
    pub(super) fn end(&self) -> u64 {
        self.end.get()
    }

    fn file(&self) -> File {
        self.file.borrow().clone()
    }

    /// Before a record of `length` bytes is appended: compacts the log if it has grown enough since that was last tried, or if the record
    /// would take it past `bytes_max`. So all that a log's records state is written once for as much that is appended.
    async fn compact_if_due(&self, length: u64, bytes_max: u64) -> Result<(), MetadataError> {
        let (end, from) = (self.end.get(), self.compacted_to.get());
        let step = from.clamp(self.bounds.compact_bytes, self.bounds.log_bytes_max / 4);
        if end < from + step && (end == from || end + length <= bytes_max) {
            return Ok(());
        }
        self.compacted_to.set(end);
        match self.read_back().await {
            Ok(state) => self.compact(&state, end - 1).await,
            Err(error) => {
                self.warn_uncompacted(&error);
                Ok(())
            }
        }
    }

    /// The state that the log's records on the disk result in.
    async fn read_back(&self) -> Result<LogState, MetadataError> {
        let bytes = folder::read_all(&self.file(), &self.path, self.bounds.read_bytes_max()).await?;
        let (history, end) = folder::read_records(&bytes, &self.path, &self.domains)?;
        // An acknowledged record that cannot be read must not be forgotten by a new file that looks whole.
        if (end as u64, history.count()) != (self.end.get(), self.sequence.get()) {
            let problem = "acknowledged records are missing".to_owned();
            return Err(MetadataError::Damaged { path: self.path.display().to_string(), offset: end as u64, problem });
        }
        history.finish().map_err(|error| MetadataError::of_record(&self.path, 0, &error))
    }

    /// Writes the log again and shorter, from the state that all its records result in. Leaves it alone if it would take more than `bytes_max`, or if
    /// the new file could not be written: the old one is as good. Fails when it is not known which of the two files has the name.
    pub(super) async fn compact(&self, state: &LogState, bytes_max: u64) -> Result<(), MetadataError> {
        let records = compact(state);
        let mut bytes = layout::file_of(records.iter().map(Record::to_bytes));
        let end = bytes.len() as u64;
        if end > bytes_max {
            return Ok(());
        }
        // With the reserve, which the disk may have no room for later.
        bytes.resize(bytes.len() + 2 * RESERVE_BYTES as usize, 0);
        let dsync = !self.planted.is(Bug::MetadataNotSynced);
        let file = match folder::write_new(&self.runtime, &self.dir, &bytes, dsync).await {
            Ok(file) => file,
            Err(error) => {
                folder::remove_new(&self.runtime, &self.dir).await;
                self.warn_uncompacted(&error);
                return Ok(());
            }
        };
        folder::put_in_place(&self.runtime, &self.dir).await?;
        self.file.replace(file);
        self.end.set(end);
        self.reserved.set(bytes.len() as u64);
        self.sequence.set(records.len() as u64);
        self.compacted_to.set(end);
        Ok(())
    }

    fn warn_uncompacted(&self, error: &MetadataError) {
        tracing::warn!(path = %self.path.display(), %error, "cannot compact the metadata log; keeping it uncompacted");
    }
}

/// Where a log is and how it is kept.
pub(super) struct Place {
    pub(super) runtime: Runtime,
    pub(super) dir: PathBuf,
    pub(super) path: PathBuf,
    pub(super) bounds: Bounds,
    pub(super) domains: Domains,
    pub(super) planted: Planted,
}

/// True if a failure means that there is no room.
fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
