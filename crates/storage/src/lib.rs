//! One shard's engine: the commit log and the memtables.
//!
//! [`Shard`] is all that other crates use: it applies mutations, answers reads and tells when a write is on the disk.
//! See `docs/internals/{commit-log,memtable,write-path,read-path}.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod batch_head;
mod batchlog;
mod cache;
mod chunked_apply;
mod commitlog;
mod compaction;
mod copying;
mod counted;
mod counter;
mod discard;
mod error;
mod figures;
mod flush;
mod generation;
mod latencies;
mod manifest;
mod memtable;
mod options;
pub mod reader;
mod recovery;
mod sampling;
mod shard;
mod sink;
mod snapshot;
mod space;
mod sstable;
mod tables;
mod truncation_history;
mod try_outcome;
mod write_admission;
mod write_start;

pub use batch_head::{BatchHead, BatchName};
pub use batchlog::{BatchId, UnfinishedBatch, batch_created, is_batch_unfinished};
pub use cache::CacheCounters;
pub use chunked_apply::is_small;
pub use compaction::{Cleaned, Compacted, CompactionError, Garbage, Scrubbed, clean_up};
pub use copying::{
    Copied, CopyError, CopyPage, CopyScan, CopySource, CopyTarget, PurgeHold, confirmed, forget_confirmed,
    operations_confirmed,
};
pub use counter::{CountError, counters_unsynced};
pub use error::{ApplyError, FlushError, OpenError, SyncError};
pub use figures::{Buckets, CompactionKind, EndedCompaction, RunningCompaction, StorageLoad, TableFigures};
pub use manifest::{CopyName, ManifestError};
pub use options::{ReplayPosition, StorageOptions, SyncMode, Truncations};
pub use recovery::{
    DoubtfulManifests, FilesToTakeIn, OtherReplicas, doubt_manifests, find_data, find_files_at_start,
    last_boot_in_data, shards_in_data,
};
pub use sampling::{Sampled, SampledPartition};
pub use shard::{Ack, LogSequence, Shard, StorageStats, log_ends};
pub use sink::{DataSink, Flow, ReadEnd, RowSink};
pub use snapshot::{SnapshotError, SnapshotFigures};
pub use sstable::{
    Estimates, FilterCounts, PageCache, ReadCounts, ReadError, ReadWindow, Sstable, SstableInfo, SstableWriter,
    WriteError,
};
pub use try_outcome::TryOutcome;
pub use write_admission::WriteAdmission;
pub use write_start::{boot, grace_seconds, is_truncated_after, write_start};
