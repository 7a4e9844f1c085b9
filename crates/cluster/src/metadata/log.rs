//! Opening, appending to and condensing the metadata log.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use planted::{Bug, Planted};
use runtime::sync::Semaphore;
use runtime::{AlignedBuf, File, Runtime};

use crate::metadata::condense::condense;
use crate::metadata::error::{MetadataError, io_error, too_large};
use crate::metadata::file::{self, aligned};
use crate::metadata::layout;
use crate::metadata::record::MetadataRecord;

/// The most bytes one record may have.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// Zeros kept behind the last record, of blocks that the file system has given already: room for records that a full disk must take.
const RESERVE_BYTES: u64 = 64 << 10;

/// How long a log may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// A log longer than this is written anew at a start, if that makes it half as long or less, and while it is open when
    /// it has grown by its own length, and by this at least.
    pub(super) condense_bytes: u64,
    /// Past this a log takes starts alone, and past half of it no more of the schema.
    pub(super) log_bytes_max: u64,
}

impl Bounds {
    const OF_A_NODE: Bounds = Bounds { condense_bytes: 4 << 20, log_bytes_max: 1 << 30 };

    /// The longest log that is read: no log that was written may ever be refused, and starts are always written, one block
    /// each. Earlier versions had no bound, so logs of theirs may be longer than ours.
    fn read_bytes_max(&self) -> u64 {
        4 * self.log_bytes_max
    }

    /// How long the log may be with this record. What takes room away has half of it, so that what gives room back always has some.
    fn bytes_max(&self, record: &MetadataRecord) -> u64 {
        match record {
            MetadataRecord::HostId(_) | MetadataRecord::Boot(_) => u64::MAX,
            _ if record.may_use_reserve() => self.log_bytes_max,
            MetadataRecord::Schema(_) | MetadataRecord::Truncated { .. } => self.log_bytes_max / 2,
        }
    }
}

/// The state of a data folder's metadata log, as found without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundLog {
    /// There is none.
    Missing,
    /// There is a file of its name, which has no bytes or does not begin as a metadata log does.
    Headless,
    /// It holds no start of the process: the first one was interrupted, or the records were lost.
    WithoutStart,
    /// The number of the last start in it.
    LastBoot(u64),
}

/// The open metadata log. Clones append to the same file, one after the other.
#[derive(Clone)]
pub struct MetadataLog {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    dir: PathBuf,
    path: PathBuf,
    bounds: Bounds,
    /// Another one each time the log was condensed.
    file: RefCell<File>,
    /// Held during an append: the next record's place is known only when this one is on the disk.
    turn: Semaphore,
    /// Where the next record goes.
    end: Cell<u64>,
    /// Where the zeros behind it end.
    reserved: Cell<u64>,
    /// The next record's number.
    sequence: Cell<u64>,
    /// Where the log ended when condensing was last tried, or when it was opened.
    condensed_to: Cell<u64>,
    /// Set when an append failed: the end of the file is then unknown, and going on could put a record behind a torn one.
    is_poisoned: Cell<bool>,
    planted: Planted,
}

impl MetadataLog {
    /// Whether there is a metadata log in the data folder.
    pub async fn exists(runtime: &Runtime, dir: &Path) -> io::Result<bool> {
        runtime.exists(&file::path_in(dir)).await
    }

    /// Reads the log in `dir` and changes nothing.
    pub async fn look(rt: &Runtime, dir: &Path) -> Result<FoundLog, MetadataError> {
        let path = file::path_in(dir);
        if !rt.exists(&path).await.map_err(|source| io_error("look for", &path, source))? {
            return Ok(FoundLog::Missing);
        }
        let file = file::open_to_read(rt, &path).await?;
        let bytes = file::read_all(&file, &path, Bounds::OF_A_NODE.read_bytes_max()).await?;
        let records = match file::read_records(&bytes, &path) {
            Err(MetadataError::NotALog { .. }) => return Ok(FoundLog::Headless),
            read => read?.0,
        };
        let boot = records.iter().rev().find_map(|record| match record {
            MetadataRecord::Boot(number) => Some(*number),
            _ => None,
        });
        Ok(boot.map_or(FoundLog::WithoutStart, FoundLog::LastBoot))
    }

    /// Opens the log in `dir`, makes it if it is not there, and gives the records that it holds, oldest first. A torn
    /// record at the end, which was never acknowledged, is cut off.
    pub async fn open(rt: &Runtime, dir: &Path) -> Result<(MetadataLog, Vec<MetadataRecord>), MetadataError> {
        MetadataLog::open_planted(rt, dir, Planted::NONE).await
    }

    /// [`MetadataLog::open`], with a bug that was planted on purpose.
    pub async fn open_planted(
        rt: &Runtime,
        dir: &Path,
        planted: Planted,
    ) -> Result<(MetadataLog, Vec<MetadataRecord>), MetadataError> {
        MetadataLog::open_bounded(rt, dir, planted, Bounds::OF_A_NODE).await
    }

    pub(super) async fn open_bounded(
        rt: &Runtime,
        dir: &Path,
        planted: Planted,
        bounds: Bounds,
    ) -> Result<(MetadataLog, Vec<MetadataRecord>), MetadataError> {
        let path = file::path_in(dir);
        let dsync = !planted.is(Bug::MetadataNotSynced);
        if !rt.exists(&path).await.map_err(|source| io_error("look for", &path, source))? {
            file::write_new(rt, dir, &layout::file_header(), dsync).await?;
            file::put_in_place(rt, dir).await?;
        }
        let file = file::open(rt, &path, dsync).await?;
        let bytes = file::read_all(&file, &path, bounds.read_bytes_max()).await?;
        let (mut records, end) = file::read_records(&bytes, &path)?;
        let mut reserved = bytes.len();
        if bytes.get(end..).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) {
            tracing::warn!(path = %path.display(), offset = end, "a torn record at the metadata log's end is dropped");
            file.set_len(end as u64).await.map_err(|source| io_error("cut the torn end of", &path, source))?;
            reserved = end;
        }
        if dsync {
            // A killed process may have left its last record in a cache; it is acted upon from now on.
            file.sync_all().await.map_err(|source| io_error("sync", &path, source))?;
        }
        let end = end as u64;
        let inner = Inner {
            runtime: rt.clone(),
            dir: dir.to_owned(),
            path,
            bounds,
            file: RefCell::new(file),
            turn: Semaphore::new(1),
            end: Cell::new(end),
            reserved: Cell::new(reserved as u64),
            sequence: Cell::new(records.len() as u64),
            condensed_to: Cell::new(end),
            is_poisoned: Cell::new(false),
            planted,
        };
        if end > bounds.condense_bytes
            && let Some(condensed) = inner.condense(&records, end / 2).await?
        {
            records = condensed;
        }
        inner.keep_reserve(inner.end.get()).await?;
        Ok((MetadataLog { inner: Rc::new(inner) }, records))
    }

    /// Whether it takes records: not after an append failed. One that is under way does not count as failed.
    pub fn check(&self) -> Result<(), MetadataError> {
        match self.inner.is_poisoned.get() && self.inner.turn.available() > 0 {
            true => Err(MetadataError::Poisoned { path: self.inner.path.display().to_string() }),
            false => Ok(()),
        }
    }

    /// Appends a record; it is on the disk when this returns.
    ///
    /// Appends are carried out in the order of their calls. One that finds the disk full fails and changes nothing, unless it is
    /// one that a full disk must take: those have a reserve. Dropping the future before it is done leaves the log as
    /// after an error: closed to further records.
    pub async fn append(&self, record: &MetadataRecord) -> Result<(), MetadataError> {
        let inner = &*self.inner;
        if inner.planted.is(Bug::TruncationNotLogged) && matches!(record, MetadataRecord::Truncated { .. }) {
            return Ok(());
        }
        let payload = record.to_bytes();
        if payload.len() > RECORD_BYTES_MAX {
            return Err(too_large(&inner.path, payload.len() as u64, RECORD_BYTES_MAX as u64));
        }
        let _turn = inner.turn.acquire().await;
        if inner.is_poisoned.replace(true) {
            return Err(MetadataError::Poisoned { path: inner.path.display().to_string() });
        }
        let (length, bytes_max) = (layout::framed_length(payload.len()) as u64, inner.bounds.bytes_max(record));
        inner.condense_if_due(length, bytes_max).await?;
        let end = inner.end.get() + length;
        if end > bytes_max {
            inner.is_poisoned.set(false);
            return Err(MetadataError::Full { path: inner.path.display().to_string(), bytes: end, bytes_max });
        }
        let has_room = inner.keep_reserve(end).await? || (record.may_use_reserve() && end <= inner.reserved.get());
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
    /// Sees to the reserve behind a log that ends at `end`; whether there is one, or the disk is full.
    async fn keep_reserve(&self, end: u64) -> Result<bool, MetadataError> {
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
            Err(source) => Err(io_error("make room behind", &self.path, source)),
        }
    }

    /// After an append that found no room: whether the file is again as before it, durably. A full disk is no failing one; what
    /// it holds is known.
    async fn cut_to_end(&self) -> bool {
        let end = self.end.get();
        self.reserved.set(end);
        let file = self.file();
        file.set_len(end).await.is_ok() && file.sync_all().await.is_ok()
    }

    fn file(&self) -> File {
        self.file.borrow().clone()
    }

    /// Before a record of `length` bytes is appended: writes the log anew if it has grown enough since that was last tried, or if
    /// the record would take it past `bytes_max`. So all of what a log's records say is written once for as much that is appended.
    async fn condense_if_due(&self, length: u64, bytes_max: u64) -> Result<(), MetadataError> {
        let (end, from) = (self.end.get(), self.condensed_to.get());
        let step = from.clamp(self.bounds.condense_bytes, self.bounds.log_bytes_max / 4);
        if end < from + step && (end == from || end + length <= bytes_max) {
            return Ok(());
        }
        self.condensed_to.set(end);
        match self.read_back().await {
            Ok(records) => self.condense(&records, end - 1).await.map(|_| ()),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the metadata log stays as long as it is");
                Ok(())
            }
        }
    }

    /// The log's records as the disk has them.
    async fn read_back(&self) -> Result<Vec<MetadataRecord>, MetadataError> {
        let bytes = file::read_all(&self.file(), &self.path, self.bounds.read_bytes_max()).await?;
        let (records, end) = file::read_records(&bytes, &self.path)?;
        // An acknowledged record that cannot be read must not be forgotten by a new file that looks whole.
        if (end as u64, records.len() as u64) != (self.end.get(), self.sequence.get()) {
            let problem = "acknowledged records are not there".to_owned();
            return Err(MetadataError::Damaged { path: self.path.display().to_string(), offset: end as u64, problem });
        }
        Ok(records)
    }

    /// Writes `records`, which are all, anew and shorter; gives what they have become, or nothing if that would take more than
    /// `bytes_max`, or if the new file could not be written: the old one is as good. It has failed when it is not known which of
    /// the two files has the name.
    async fn condense(
        &self,
        records: &[MetadataRecord],
        bytes_max: u64,
    ) -> Result<Option<Vec<MetadataRecord>>, MetadataError> {
        let condensed = condense(records);
        let mut bytes = layout::file_of(condensed.iter().map(MetadataRecord::to_bytes));
        let end = bytes.len() as u64;
        if end > bytes_max {
            return Ok(None);
        }
        // With the reserve, which the disk may have no room for later.
        bytes.resize(bytes.len() + 2 * RESERVE_BYTES as usize, 0);
        let dsync = !self.planted.is(Bug::MetadataNotSynced);
        let file = match file::write_new(&self.runtime, &self.dir, &bytes, dsync).await {
            Ok(file) => file,
            Err(error) => {
                file::remove_new(&self.runtime, &self.dir).await;
                tracing::warn!(path = %self.path.display(), %error, "the metadata log stays as long as it is");
                return Ok(None);
            }
        };
        file::put_in_place(&self.runtime, &self.dir).await?;
        self.file.replace(file);
        self.end.set(end);
        self.reserved.set(bytes.len() as u64);
        self.sequence.set(condensed.len() as u64);
        self.condensed_to.set(end);
        Ok(Some(condensed))
    }
}

/// Whether a failure means that there is no room.
fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
