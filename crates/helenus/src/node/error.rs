//! Why a node does not start, each as one sentence for the person at the terminal.

use std::path::PathBuf;

use metadata::MetadataError;
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
    #[error(
        "the data folder {} holds data ({}), but its metadata.log {problem}: without the schema in it nothing can be read, and nothing was changed. \
         Put metadata.log back from a backup of this folder; or start on an empty folder, create the keyspaces, run schema.cql of each table's \
         snapshot, copy the table's SSTables into upload/ of its new folder, and run nodetool refresh for each table \
         (writes that are in the commit log alone need metadata.log)",
        dir.display(), data.display()
    )]
    LostMetadata { dir: PathBuf, data: PathBuf, problem: &'static str },
    #[error(
        "the data folder {} holds data of start {in_data}, and the last start in its metadata.log is {in_log}: metadata.log is older than the data, \
         and changes of the schema since may be missing in it. Nothing was changed. Put back a newer metadata.log; or, to start with the schema as it is in \
         this one, copy the folder and start once with --salvage-commitlog: tables that it does not have are then dropped",
        dir.display()
    )]
    OldMetadata { dir: PathBuf, in_data: u64, in_log: u64 },
    #[error(
        "the data folder {} has lost its manifests, or a part of them: {problem}. They say which SSTables count; without them rows would be missing, so nothing was \
         changed. Put manifest/ back from a backup of this folder; or copy the folder, move the SSTables of each table's folder into upload/ in it, \
         remove manifest/, and start once with --import-sstables",
        dir.display()
    )]
    LostManifests { dir: PathBuf, problem: String },
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("{problem}")]
    FixedRing { problem: String },
    #[error("{sentence}")]
    Shard { sentence: String },
}
