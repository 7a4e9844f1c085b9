//! Copies of token ranges between nodes, as far as files are concerned: a node that lacks data has it from files of others, and has files of its own then.
//!
//! ```text
//! source   flush once, hold the files ─► cut ─► scan: raw items, merged, nothing purged ─► mutations, page by page
//! target   mutations ─► a memtable of its own ─► SSTables that are not listed ─► all named by one record, read from then on
//! ```
//!
//! How they get from one to the other: `docs/internals/copying.md`.

mod confirmed;
mod files;
mod hold;
mod source;
mod target;

pub use confirmed::{confirmed, forget_confirmed, operations_confirmed};
#[cfg(test)]
pub(crate) use files::FILES_MAX;
pub use hold::PurgeHold;
pub use source::{CopyPage, CopyScan, CopySource};
pub use target::{Copied, CopyTarget};

use crate::compaction::CompactionError;
use crate::error::{ApplyError, FlushError};
use crate::sstable::{ReadError, WriteError};

/// A copy that failed. Nothing of it stays.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The table is not there, or was truncated or dropped since the copy began.
    #[error("the table was truncated or dropped during the copy")]
    Gone,
    /// A mutation that is none of the unit's.
    #[error("a mutation does not belong to the copy: {problem}")]
    Strange {
        /// The problem.
        problem: String,
    },
    /// A row that this shard's memory cannot hold.
    #[error("a row needs {bytes} bytes of memtable memory, and the shard has {budget}")]
    TooLarge {
        /// Bytes that it may need.
        bytes: usize,
        /// Bytes that all memtables of the shard may have.
        budget: usize,
    },
    /// The shard's memory was full for too long.
    #[error("memtable memory of the shard has been full for {seconds} s")]
    NoMemory {
        /// Seconds.
        seconds: u64,
    },
    /// The source's memtable could not be flushed.
    #[error("{0}")]
    Flush(#[from] FlushError),
    /// A file cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The log takes nothing.
    #[error("{0}")]
    Log(#[from] ApplyError),
    /// Files could not be merged or named.
    #[error("{0}")]
    Files(CompactionError),
}

impl From<CompactionError> for CopyError {
    fn from(error: CompactionError) -> Self {
        match error {
            CompactionError::Read(error) => CopyError::Read(error),
            CompactionError::Write(error) => CopyError::Write(error),
            CompactionError::Unwanted => CopyError::Gone,
            error => CopyError::Files(error),
        }
    }
}
