//! Why a node does not start, each as one sentence for the person at the terminal.

use std::path::PathBuf;

use metadata::MetadataError;
use server::ListenError;
use thiserror::Error;

/// Why a node could not start, or did not end well.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants and their fields are")]
pub enum NodeError {
    #[error("data directory {} is in use by another process; stop that process or choose another directory with --data-dir", dir.display())]
    InUse { dir: PathBuf },
    #[error("cannot use data directory {}: {source}", dir.display())]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error(
        "data directory {} contains data ({}), but its metadata.log {problem}: the schema is lost, so no table can \
         be read; nothing was changed. Restore metadata.log from a backup of this directory; or start on an empty \
         directory, create the keyspaces, run schema.cql of each table's snapshot, copy the table's SSTables into \
         upload/ of its new directory, and run nodetool refresh for each table (writes that are only in the commit \
         log need metadata.log)",
        dir.display(), data.display()
    )]
    LostMetadata { dir: PathBuf, data: PathBuf, problem: &'static str },
    #[error(
        "data directory {} contains data of boot {in_data}, but the last boot in its metadata.log is {in_log}: \
         metadata.log is older than the data and may lack later schema changes; nothing was changed. Restore a newer \
         metadata.log; or, to start with the schema of this one, copy the directory and start once with \
         --salvage-commitlog: tables missing from that schema are then dropped",
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
    #[error("cannot keep the first superuser's password in {}: {source}", file.display())]
    FirstSuperuser { file: PathBuf, source: std::io::Error },
    #[error("cannot listen on maintenance_socket {}: {source}", path.display())]
    MaintenanceSocket { path: PathBuf, source: std::io::Error },
    #[error("{problem}")]
    FixedRing { problem: String },
    #[error("keyspace {keyspace} cannot be placed: {problem}; start a helenus that has this replication strategy")]
    Strategy { keyspace: String, problem: String },
    #[error(
        "data directory {} is of a node of a cluster with others ({others}), and no seeds but the node itself are given: it would serve clients without them; \
         nothing was changed. Name nodes of its cluster with --seeds, or seed_provider in the configuration file",
        dir.display()
    )]
    NoSeeds { dir: PathBuf, others: usize },
    #[error("{sentence}")]
    Cluster { sentence: String },
    #[error("{sentence}")]
    Shard { sentence: String },
}
