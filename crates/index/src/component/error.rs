//! Why a component cannot be used; each is a sentence for a log line, after which the component is removed and built again.

use sstable::Corrupt;

/// A component cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its bytes are not what was written.
    #[error("damaged {0}")]
    Damaged(#[from] Corrupt),
    /// It is of a version that this one cannot read.
    #[error("version {version} was written by a newer Helenus; this one reads up to {known}")]
    Newer {
        /// Of the component.
        version: u8,
        /// The newest that is known.
        known: u8,
    },
    /// It was made of another file or for another index.
    #[error("made for another {what}: {found}, expected {expected}")]
    Other {
        /// Which part of the identity differs.
        what: &'static str,
        /// As the component has it.
        found: String,
        /// As the file beside it has it.
        expected: String,
    },
}
