//! Why the metadata log cannot be opened or appended to.

use std::io;
use std::path::Path;

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
    /// The log has no room for more of the schema, however short it is written.
    #[error(
        "{path} would have {bytes} bytes with this change, and the schema may take {bytes_max}: drop what is not needed"
    )]
    Full {
        /// The file.
        path: String,
        /// How long the log would be.
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

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> MetadataError {
    MetadataError::Io { action, path: path.display().to_string(), source }
}

pub(super) fn too_large(path: &Path, bytes: u64, bytes_max: u64) -> MetadataError {
    MetadataError::TooLarge { path: path.display().to_string(), bytes, bytes_max }
}
