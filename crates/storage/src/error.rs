//! What may go wrong in a shard's engine.

use std::path::PathBuf;

/// A write was refused; nothing of it was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The memory budget is full, and waiting makes it no better.
    #[error("the shard's memory for data is full: {used} of {budget} bytes, and {why}")]
    Overloaded {
        /// Bytes in use.
        used: usize,
        /// Bytes allowed.
        budget: usize,
        /// Why no flush makes room.
        why: &'static str,
    },
    /// The memory budget is full until a flush has made room: [`crate::Waiting::after`] it.
    #[error("the shard's memory for data is full until a flush has made room")]
    MemoryBusy,
    /// The commit log takes no more until the disk has caught up: [`crate::Waiting::after`] it.
    #[error("the commit log's buffer is full")]
    LogBusy,
    /// The disk is full: a commit log segment could not be made. It is tried again in the background.
    #[error("the disk is full: no room for another commit log segment")]
    DiskFull,
    /// The mutation cannot fit in a commit log segment.
    #[error("a mutation of {length} bytes is over the limit of {length_max}")]
    TooLarge {
        /// The mutation's bytes.
        length: usize,
        /// The most that is taken.
        length_max: usize,
    },
    /// The commit log's disk failed: this shard takes no more writes.
    #[error("the commit log's disk failed; the shard takes no more writes until the process starts again")]
    Poisoned,
    /// There is no such table here.
    #[error("there is no table {0}")]
    UnknownTable(schema::TableId),
    /// The bytes are not a mutation of this table.
    #[error("the mutation cannot be decoded: {0}")]
    Malformed(#[from] mutation::DecodeError),
    /// The mutation does not fit the table: a clustering of the wrong length, or static data without clustering
    /// columns.
    #[error("the mutation does not fit its table: {0}")]
    Mismatch(&'static str),
}

impl ApplyError {
    /// Whether the write only has to wait: [`crate::Waiting`].
    #[inline]
    pub fn is_busy(&self) -> bool {
        matches!(self, ApplyError::MemoryBusy | ApplyError::LogBusy)
    }
}

/// What was waited for is not on the disk, and whether it ever will be is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The commit log's disk failed.
    #[error("the commit log's disk failed")]
    Poisoned,
    /// The disk is full. The record stays in memory, and is written when there is room.
    #[error("the commit log's disk is full: whether the write will be kept is not known")]
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
        /// What the system said.
        source: std::io::Error,
    },
    /// A commit log segment is damaged before its end.
    #[error("{}: damaged at byte {offset}: {what}; nothing was changed", path.display())]
    Corrupt {
        /// The segment.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Commit log segments that must be there are not.
    #[error("{}: {count} commit log segments are missing: {lost}; nothing was changed", folder.display())]
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
        "{}: damaged at byte {offset}: {what}; it says which files hold the data, so nothing was opened or changed",
        path.display()
    )]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong there.
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
    #[error("table {table} has data in a file that cannot be opened: {source}")]
    LiveFile {
        /// The table.
        table: String,
        /// What is wrong with the file.
        source: crate::sstable::ReadError,
    },
    /// A limit or size makes no sense.
    #[error("{0}")]
    Options(String),
}

impl OpenError {
    /// Whether a file was not there.
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
    #[error("the commit log takes no record: {0}")]
    LogRecord(#[from] ApplyError),
    /// The file or the manifest could not be written.
    #[error("a table could not be written to its file: {what}")]
    Write {
        /// The file, and what the system said.
        what: String,
    },
}
