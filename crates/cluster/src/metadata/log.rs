//! Opening, reading and appending the metadata log.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use planted::{Bug, Planted};
use runtime::sync::Semaphore;
use runtime::{AlignedBuf, File, OpenOptions, Runtime};
use schema::DecodeError;

use crate::metadata::condense::condense;
use crate::metadata::layout::{self, BLOCK, Found};
use crate::metadata::record::MetadataRecord;

/// The log's name in the data folder.
const FILE_NAME: &str = "metadata.log";
/// The name it has until its header is on the disk.
const NEW_FILE_NAME: &str = "metadata.log.new";

/// The most bytes one record may have.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// The largest log that is read; some hundred thousand schema changes.
const LOG_BYTES_MAX: u64 = 1 << 30;
const READ_BYTES: usize = 1 << 20;
/// Zeros kept behind the last record, of blocks that the file system has given already: room for records that a full disk must take.
const RESERVE_BYTES: u64 = 64 << 10;
/// A log longer than this is written anew at a start, if that makes it half as long or less.
const CONDENSE_BYTES: usize = 4 << 20;

/// Why the metadata log cannot be opened or appended to. The words are for the person who starts the node.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The file system refused something.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a metadata log of Helenus, or its first bytes are damaged")]
    NotALog {
        /// The file.
        path: String,
    },
    /// A newer Helenus wrote the data.
    #[error(
        "{path} was written in format version {found} by a newer Helenus, and this one reads up to version {supported}"
    )]
    NewerFormat {
        /// The file.
        path: String,
        /// The version found.
        found: u32,
        /// The newest version this code reads.
        supported: u32,
    },
    /// A record in the log's middle is damaged.
    #[error("{path} is damaged at byte {offset}: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// Where the record begins.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// The record or the log is too large.
    #[error("{path}: {bytes} bytes are more than the {bytes_max} that are allowed")]
    TooLarge {
        /// The file.
        path: String,
        /// How large.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// An earlier append failed, and what the disk holds is not known.
    #[error("{path} takes no more records: an earlier write to it failed")]
    Poisoned {
        /// The file.
        path: String,
    },
}

/// The open metadata log. Clones append to the same file, one after the other.
#[derive(Clone)]
pub struct MetadataLog {
    inner: Rc<Inner>,
}

struct Inner {
    file: File,
    path: PathBuf,
    /// Held during an append: the next record's place is known only when this one is on the disk.
    turn: Semaphore,
    /// Where the next record goes.
    end: Cell<u64>,
    /// Where the zeros behind it end.
    reserved: Cell<u64>,
    /// The next record's number.
    sequence: Cell<u64>,
    /// Set when an append failed: the end of the file is then unknown, and going on could put a record behind a torn one.
    is_poisoned: Cell<bool>,
    planted: Planted,
}

impl MetadataLog {
    /// Whether there is a metadata log in the data folder.
    pub async fn exists(runtime: &Runtime, dir: &Path) -> io::Result<bool> {
        runtime.exists(&dir.join(FILE_NAME)).await
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
        let path = dir.join(FILE_NAME);
        if !rt.exists(&path).await.map_err(|source| io_error("look for", &path, source))? {
            write_whole(rt, dir, &path, &layout::file_header()).await?;
        }
        let dsync = !planted.is(Bug::MetadataNotSynced);
        let mut file = open_file(rt, &path, dsync).await?;
        let bytes = read_all(&file, &path).await?;
        let (mut records, mut end) = read_records(&bytes, &path)?;
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
        if end > CONDENSE_BYTES {
            let condensed = condense(&records);
            let bytes = layout::file_of(condensed.iter().map(MetadataRecord::to_bytes));
            if bytes.len() <= end / 2 {
                write_whole(rt, dir, &path, &bytes).await?;
                file = open_file(rt, &path, dsync).await?;
                (records, end, reserved) = (condensed, bytes.len(), bytes.len());
            }
        }
        let inner = Inner {
            file,
            path,
            turn: Semaphore::new(1),
            end: Cell::new(end as u64),
            reserved: Cell::new(reserved as u64),
            sequence: Cell::new(records.len() as u64),
            is_poisoned: Cell::new(false),
            planted,
        };
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
        let framed = layout::frame_record(inner.sequence.get(), &payload);
        let length = framed.len() as u64;
        let end = inner.end.get() + length;
        let has_room = inner.keep_reserve(end).await? || (record.may_use_reserve() && end <= inner.reserved.get());
        if !has_room {
            inner.is_poisoned.set(false);
            return Err(io_error("append to", &inner.path, io::ErrorKind::StorageFull.into()));
        }
        let (result, _) = inner.file.write_at(aligned(&framed), inner.end.get()).await;
        if let Err(source) = result {
            if is_disk_full(&source) && inner.cut_to_end().await {
                inner.is_poisoned.set(false);
            }
            return Err(io_error("append to", &inner.path, source));
        }
        // The file was opened to sync with each write; this names the guarantee, and costs nothing when all is synced.
        if !inner.planted.is(Bug::MetadataNotSynced) {
            inner.file.sync_data().await.map_err(|source| io_error("sync", &inner.path, source))?;
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
        let (result, zeros) = self.file.write_at(zeros, from).await;
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
        self.file.set_len(end).await.is_ok() && self.file.sync_all().await.is_ok()
    }
}

/// Whether a failure means that there is no room.
fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Makes or replaces the log. It gets its name when it is on the disk, so that a log without a header is damage, and an
/// interrupted start leaves the old log.
async fn write_whole(rt: &Runtime, dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), MetadataError> {
    let new_path = dir.join(NEW_FILE_NAME);
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = rt.open(&new_path, options).await.map_err(|source| io_error("create", &new_path, source))?;
    let (result, _) = file.write_at(aligned(bytes), 0).await;
    result.map_err(|source| io_error("write", &new_path, source))?;
    file.sync_all().await.map_err(|source| io_error("sync", &new_path, source))?;
    rt.rename(&new_path, path).await.map_err(|source| io_error("rename", &new_path, source))?;
    rt.sync_dir(dir).await.map_err(|source| io_error("sync the folder", dir, source))
}

async fn open_file(rt: &Runtime, path: &Path, dsync: bool) -> Result<File, MetadataError> {
    let options = OpenOptions { read: true, write: true, dsync, ..OpenOptions::default() };
    rt.open(path, options).await.map_err(|source| io_error("open", path, source))
}

async fn read_all(file: &File, path: &Path) -> Result<Vec<u8>, MetadataError> {
    let length = file.len().await.map_err(|source| io_error("read the length of", path, source))?;
    if length > LOG_BYTES_MAX {
        return Err(too_large(path, length, LOG_BYTES_MAX));
    }
    let mut bytes = Vec::new();
    let mut buffer = AlignedBuf::with_capacity(READ_BYTES);
    loop {
        buffer.clear();
        let (result, returned) = file.read_at(buffer, bytes.len() as u64).await;
        buffer = returned;
        let read = result.map_err(|source| io_error("read", path, source))?;
        if read == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or(&buffer));
    }
}

/// All whole records, and where the next one belongs.
fn read_records(bytes: &[u8], path: &Path) -> Result<(Vec<MetadataRecord>, usize), MetadataError> {
    let name = || path.display().to_string();
    match layout::read_file_header(bytes) {
        None => return Err(MetadataError::NotALog { path: name() }),
        Some(layout::FORMAT_VERSION) => {}
        Some(0) => return Err(MetadataError::NotALog { path: name() }),
        Some(found) => {
            return Err(MetadataError::NewerFormat { path: name(), found, supported: layout::FORMAT_VERSION });
        }
    }
    let mut records = Vec::new();
    let mut offset = BLOCK;
    loop {
        let damaged = |problem: String| MetadataError::Damaged { path: name(), offset: offset as u64, problem };
        let found = match layout::find(bytes, offset, records.len() as u64) {
            Found::Record(found) => found,
            Found::End | Found::TornTail => return Ok((records, offset)),
            Found::Damage => {
                return Err(damaged("a record's checksum or number is wrong, and records follow it".into()));
            }
        };
        match MetadataRecord::decode(found.payload) {
            Ok(record) => records.push(record),
            Err(DecodeError::NewerVersion { version, supported }) => {
                return Err(MetadataError::NewerFormat {
                    path: name(),
                    found: u32::from(version),
                    supported: u32::from(supported),
                });
            }
            Err(error) => return Err(damaged(error.to_string())),
        }
        offset = found.end;
    }
}

fn aligned(bytes: &[u8]) -> AlignedBuf {
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> MetadataError {
    MetadataError::Io { action, path: path.display().to_string(), source }
}

fn too_large(path: &Path, bytes: u64, bytes_max: u64) -> MetadataError {
    MetadataError::TooLarge { path: path.display().to_string(), bytes, bytes_max }
}
