//! Errors of a shard's engine.

use std::path::PathBuf;

/// A write was refused; nothing of it was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The memory budget is full, and waiting makes it no better.
    #[error("memtable memory of the shard is full, {used} of {budget} bytes: {why}")]
    Overloaded {
        /// Bytes in use.
        used: usize,
        /// Bytes allowed.
        budget: usize,
        /// Why no flush makes room.
        why: &'static str,
    },
    /// The memory budget is full until a flush has made room: [`crate::WriteAdmission::after`] it.
    #[error("memtable memory of the shard is full until a flush completes")]
    MemoryBusy,
    /// The commit log takes no more until the disk has caught up: [`crate::WriteAdmission::after`] it.
    #[error("commit log buffer full")]
    LogBusy,
    /// The disk is full: a commit log segment could not be made. It is tried again in the background.
    #[error("disk full; cannot create another commit log segment")]
    DiskFull,
    /// The mutation cannot fit in a commit log segment.
    #[error("mutation of {length} bytes exceeds the limit of {length_max}")]
    TooLarge {
        /// The mutation's bytes.
        length: usize,
        /// The most that is taken.
        length_max: usize,
    },
    /// The commit log's disk failed: this shard takes no more writes.
    #[error("commit log disk failed; the shard refuses writes until the process restarts")]
    Poisoned,
    /// There is no such table here.
    #[error("unknown table {0}")]
    UnknownTable(schema::TableId),
    /// The bytes are not a mutation of this table.
    #[error("cannot decode the mutation: {0}")]
    Malformed(#[from] mutation::DecodeError),
    /// The mutation does not fit the table: a clustering of the wrong length, or static data without clustering
    /// columns.
    #[error("the mutation does not match its table: {0}")]
    Mismatch(&'static str),
}

impl ApplyError {
    /// True if the write only has to wait: [`crate::WriteAdmission`].
    #[inline]
    pub fn is_busy(&self) -> bool {
        matches!(self, ApplyError::MemoryBusy | ApplyError::LogBusy)
    }
}

/// A write is not durable, and its outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The commit log's disk failed.
    #[error("commit log disk failed")]
    Poisoned,
    /// The disk is full. The record stays in memory, and is written when there is room.
    #[error("commit log disk full; write outcome unknown")]
    DiskFull,
}

/// The shard could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system call.
        source: std::io::Error,
    },
    /// A commit log segment is damaged before its end.
    #[error("{}: damaged at byte {offset}: {what}; nothing was changed", path.display())]
    Corrupt {
        /// The segment.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// Reason.
        what: String,
    },
    /// Commit log segments that must be there are not.
    #[error("{}: {count} commit log segments missing: {lost}; nothing was changed", folder.display())]
    MissingSegments {
        /// The shard's folder.
        folder: PathBuf,
        /// How many.
        count: usize,
        /// Their files, each with what it held.
        lost: String,
    },
    /// A commit log segment was written by a newer program.
    #[error("{}: commit log format {found} was written by a newer Helenus; this one reads up to {known}", path.display())]
    NewerFormat {
        /// The segment.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The newest that this program reads.
        known: u16,
    },
    /// A manifest is damaged.
    #[error(
        "{}: damaged at byte {offset}: {what}; the manifest lists the live sstables, so nothing was opened or changed",
        path.display()
    )]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// Reason.
        what: String,
    },
    /// A manifest that must be there is not.
    #[error("{}: the manifest is missing; it says which files hold the data, so nothing was opened or changed", path.display())]
    MissingManifest {
        /// The manifest.
        path: PathBuf,
    },
    /// A manifest was written by a newer program.
    #[error("{}: manifest format {found} was written by a newer Helenus; this one reads up to {known}", path.display())]
    NewerManifest {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that this program reads.
        known: u32,
    },
    /// A file with data, which the manifest names, cannot be opened.
    #[error("cannot open a live sstable of table {table}: {source}")]
    LiveFile {
        /// The table.
        table: String,
        /// Reason.
        source: crate::sstable::ReadError,
    },
    /// A limit or size makes no sense.
    #[error("{0}")]
    Options(String),
}

impl OpenError {
    /// True if a file was not found.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, OpenError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

/// A table could not be flushed; its data stays in memory and in the commit log, and it is tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    /// The log could not be synced before it.
    #[error("{0}")]
    Log(#[from] SyncError),
    /// The log takes no record now.
    #[error("cannot append to the commit log: {0}")]
    LogRecord(#[from] ApplyError),
    /// The file or the manifest could not be written.
    #[error("cannot write sstable: {what}")]
    Write {
        /// The file, and what the system said.
        what: String,
    },
}
