//! Why a node does not start, each as one sentence for the person at the terminal.

use std::path::PathBuf;

use cluster::metadata::MetadataError;
use server::ListenError;
use thiserror::Error;

/// Why a node could not start, or did not end well.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants and their fields are")]
pub enum NodeError {
    #[error("the data folder {} is in use by another process; stop that one or choose another with --data-dir", dir.display())]
    InUse { dir: PathBuf },
    #[error("the data folder {} cannot be used: {source}", dir.display())]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("{problem}")]
    FixedRing { problem: String },
    #[error("{sentence}")]
    Shard { sentence: String },
}
