//! Errors of the metadata log: why it cannot be opened or appended to, and why bytes are no record of it.

use std::io;
use std::path::Path;

/// Error of opening the metadata log or of appending to it. Its words are for the person who starts the node.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The file system refused something.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// Operation that failed.
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
    /// The log has a change of a domain that no part of this process registered.
    #[error("{path} contains a change of the unknown domain {domain}, written by a newer Helenus")]
    UnknownDomain {
        /// The file.
        path: String,
        /// The domain's number.
        domain: u8,
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
    #[error("{path}: {bytes} bytes exceed the limit of {bytes_max}")]
    TooLarge {
        /// The file.
        path: String,
        /// How large.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// The log has no room for more of the cluster's state, even after compaction.
    #[error("{path} would grow to {bytes} bytes with this change, the limit is {bytes_max}; drop unused tables")]
    Full {
        /// The file.
        path: String,
        /// How long the log would be.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// An earlier append failed, and what the disk holds is not known.
    #[error("{path} refuses records after a failed write; restart the node")]
    Poisoned {
        /// The file.
        path: String,
    },
}

impl MetadataError {
    /// Error of a whole record, at byte `offset` of the file, whose payload cannot be used.
    pub(crate) fn of_record(path: &Path, offset: u64, error: &DecodeError) -> MetadataError {
        let path = path.display().to_string();
        match *error {
            DecodeError::NewerVersion { version, supported } => {
                MetadataError::NewerFormat { path, found: u32::from(version), supported: u32::from(supported) }
            }
            DecodeError::UnknownDomain { domain } => MetadataError::UnknownDomain { path, domain },
            DecodeError::Bytes(_) | DecodeError::Invalid { .. } => {
                MetadataError::Damaged { path, offset, problem: error.to_string() }
            }
        }
    }
}

pub(crate) fn io_error(action: &'static str, path: &Path, source: io::Error) -> MetadataError {
    MetadataError::Io { action, path: path.display().to_string(), source }
}

pub(crate) fn too_large(path: &Path, bytes: u64, bytes_max: u64) -> MetadataError {
    MetadataError::TooLarge { path: path.display().to_string(), bytes, bytes_max }
}

/// Error of bytes that are no record, or no change of their domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early or a length is wrong.
    #[error("record truncated or damaged: {0}")]
    Bytes(#[from] stdx::ReadError),
    /// A newer Helenus wrote it.
    #[error("record of format version {version}; this Helenus reads up to {supported}")]
    NewerVersion {
        /// The version found.
        version: u8,
        /// The newest version this code reads.
        supported: u8,
    },
    /// A change of a domain that is not registered.
    #[error("unknown domain {domain}")]
    UnknownDomain {
        /// The domain's number.
        domain: u8,
    },
    /// The bytes are whole but say what cannot be.
    #[error("{problem}")]
    Invalid {
        /// What is wrong.
        problem: String,
    },
}

pub(crate) fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}
