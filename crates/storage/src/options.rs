//! How a shard's engine is to be opened.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use planted::Planted;
use schema::TableId;
use topology::HostId;

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// When the group of records that holds it is on the disk; one sync covers all that arrived during the one before,
    /// and a group may wait up to twice as long as a sync takes for those who were just answered to write again.
    Group,
    /// As [`SyncMode::Group`], but a group is written as soon as none is under way.
    Batch,
    /// At once; synced at the period at the latest.
    Periodic {
        /// The most time between syncs.
        period: Duration,
    },
}

/// A place in a shard's commit log: `sequence` bytes of records had been appended since the boot. Places of different
/// shards are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplayPosition {
    /// The number of the start of the process.
    pub boot: u64,
    /// The shard.
    pub shard: u16,
    /// The log sequence.
    pub sequence: u64,
}

impl ReplayPosition {
    /// The place after all that was written before the start number `boot`, for `shard`.
    pub fn before_boot(boot: u64, shard: u16) -> ReplayPosition {
        ReplayPosition { boot: boot.saturating_sub(1), shard, sequence: u64::MAX }
    }

    /// True if a truncation at `position` takes along what ends here. Places of different shards are not compared.
    pub(crate) fn is_before(&self, position: &ReplayPosition) -> bool {
        self.shard == position.shard && (self.boot, self.sequence) <= (position.boot, position.sequence)
    }
}

/// For each truncated table the places before which its records no longer count, at most one per shard and boot; later
/// ones of a shard replace earlier ones.
pub type Truncations = BTreeMap<TableId, Vec<ReplayPosition>>;

/// How to open a shard.
#[derive(Debug, Clone)]
pub struct StorageOptions {
    /// The data folder; below it the commit log is in `commitlog/shard-N/`, the manifests in `manifest/` and tables in
    /// `data/<keyspace>/<table>-<id>/`.
    pub dir: PathBuf,
    /// The number of this start of the process, greater than at any start before.
    pub boot: u64,
    /// The node's identity, which its files name.
    pub host: HostId,
    /// The most that memtables may take, bytes.
    pub memory_bytes: usize,
    /// The most that index pages of files may take, bytes.
    pub page_cache_bytes: usize,
    /// The most that the row cache may take, bytes; 0: there is none.
    pub row_cache_bytes: usize,
    /// The most that memtables and the row cache may take together, bytes: the cache gives way.
    pub memtables_and_cache_bytes: usize,
    /// When the commit log's segments take more than this, bytes, tables are flushed so that the oldest may go.
    pub log_bytes_max: u64,
    /// Whether tables are compacted unasked.
    pub compacts: bool,
    /// What the compactions of all shards together may write, bytes of data a second; 0: as much as they can.
    pub compaction_throughput: u64,
    /// What of the disk is kept for what gives room back, bytes; see [`crate::space`]. 0: nothing.
    pub disk_reserve: u64,
    /// Whether what TRUNCATE and DROP take away is put aside as a snapshot.
    pub auto_snapshot: bool,
    /// When writes are acknowledged.
    pub sync: SyncMode,
    /// The size of a commit log segment; a mutation may be half of it.
    pub segment_bytes: u64,
    /// The most that waits for the disk in memory before writes are told to wait.
    pub log_buffer_bytes: usize,
    /// Whether a damaged commit log is opened all the same: what can be read is kept and logged anew, the damaged segments are put
    /// aside, and the log says what is lost.
    pub salvage: bool,
    /// A bug that was planted on purpose, in builds for that.
    pub planted: Planted,
}

impl StorageOptions {
    /// Segments' default size.
    pub const SEGMENT_BYTES: u64 = 32 << 20;

    /// What compactions may write by default, bytes a second.
    pub const COMPACTION_THROUGHPUT: u64 = 64 << 20;

    /// What of the disk is kept by default.
    pub const DISK_RESERVE: u64 = 50 << 20;

    /// Defaults for everything but the folder, the boot and the budget.
    pub fn new(dir: impl Into<PathBuf>, boot: u64, memory_bytes: usize) -> Self {
        StorageOptions {
            dir: dir.into(),
            boot,
            host: HostId([0; 16]),
            memory_bytes,
            page_cache_bytes: 32 << 20,
            row_cache_bytes: memory_bytes / 2,
            memtables_and_cache_bytes: memory_bytes / 4 * 5,
            log_bytes_max: 1 << 30,
            compacts: true,
            compaction_throughput: Self::COMPACTION_THROUGHPUT,
            disk_reserve: Self::DISK_RESERVE,
            auto_snapshot: true,
            sync: SyncMode::Group,
            segment_bytes: Self::SEGMENT_BYTES,
            log_buffer_bytes: 2 << 20,
            salvage: false,
            planted: Planted::NONE,
        }
    }
}
