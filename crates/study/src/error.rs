//! Why a study does not run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a study did not run, or could not be told.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or a folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The study's file does not say what a study says.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A file of raw data is none.
    #[error("{} is not raw data of a study: {reason}", path.display())]
    Results {
        /// Which.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A line has a variable that nobody has given a value.
    #[error("`{line}`: {reason}")]
    Variable {
        /// The line.
        line: String,
        /// Reason.
        reason: String,
    },
    /// A server does not start, answer or end.
    #[error("system {system}: {reason}")]
    System {
        /// Whose.
        system: String,
        /// Reason.
        reason: String,
    },
    /// A preparation before the first load failed.
    #[error("system {system}: `{line}` failed: {reason}")]
    Preparation {
        /// Whose.
        system: String,
        /// The command.
        line: String,
        /// Message.
        reason: String,
    },
}
