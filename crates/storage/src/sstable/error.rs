//! Errors of reading and writing SSTables.

use std::io;
use std::path::{Path, PathBuf};

use sstable::Corrupt;

/// An SSTable could not be read. Each names the file, and where in it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file operation failed.
    #[error("{}: at byte {offset}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Where it was read.
        offset: u64,
        /// Error of the system call.
        source: io::Error,
    },
    /// The bytes are not what was written.
    #[error("{}: damaged at byte {offset}: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in the file, or in what its chunks hold.
        offset: u64,
        /// Reason.
        what: String,
    },
}

impl ReadError {
    /// The file that could not be read.
    pub fn path(&self) -> &Path {
        match self {
            ReadError::Io { path, .. } | ReadError::Corrupt { path, .. } => path,
        }
    }

    /// Where in it.
    pub fn offset(&self) -> u64 {
        match self {
            ReadError::Io { offset, .. } | ReadError::Corrupt { offset, .. } => *offset,
        }
    }

    /// Makes an error of what a decoder found in `path`.
    pub(crate) fn corrupt(path: &Path) -> impl Fn(Corrupt) -> ReadError + '_ {
        move |Corrupt { offset, what }| ReadError::Corrupt { path: path.to_owned(), offset, what }
    }

    /// Makes an error of a failed read at `offset` in `path`.
    pub(crate) fn io(path: &Path, offset: u64) -> impl Fn(io::Error) -> ReadError + '_ {
        move |source| ReadError::Io { path: path.to_owned(), offset, source }
    }
}

/// An SSTable could not be written. Nothing of it is left, or what is left has no manifest's record and goes at the next start.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// Error of the system call.
    pub source: io::Error,
}

impl WriteError {
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> WriteError + '_ {
        move |source| WriteError { path: path.to_owned(), source }
    }

    /// True if the disk is full: with free space, writing again may succeed.
    pub fn is_disk_full(&self) -> bool {
        crate::commitlog::is_disk_full(&self.source)
    }
}
