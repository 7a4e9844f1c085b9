//! The shapes of the node's answers, as `docs/internals/admin.md` defines them.
//!
//! A field that this program does not know is read over; one that a node may leave out, or has not measured, is an `Option`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::histogram::Histogram;

/// One pair of a list that stands for a map.
#[derive(Debug, Deserialize)]
pub(crate) struct Pair<V> {
    pub(crate) key: String,
    pub(crate) value: V,
}

/// A list of pairs as the map that it is.
pub(crate) fn map<V>(pairs: Vec<Pair<V>>) -> BTreeMap<String, V> {
    pairs.into_iter().map(|pair| (pair.key, pair.value)).collect()
}

/// A table's name.
#[derive(Debug, Deserialize)]
pub(crate) struct TableName {
    pub(crate) ks: String,
    pub(crate) cf: String,
}

/// `/helenus/version`
#[derive(Debug, Deserialize)]
pub(crate) struct Version {
    pub(crate) helenus: String,
    pub(crate) cql: Option<String>,
    pub(crate) native_protocol: Option<String>,
    pub(crate) reactor: Option<String>,
    pub(crate) shards: Option<u64>,
}

/// `/helenus/keyspaces`
#[derive(Debug, Deserialize)]
pub(crate) struct Keyspace {
    pub(crate) name: String,
    pub(crate) replication: BTreeMap<String, String>,
}

/// `/helenus/nodes`
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) endpoint: String,
    pub(crate) host_id: String,
    pub(crate) is_local: bool,
    pub(crate) is_up: bool,
    /// None: an older node does not say.
    pub(crate) state: Option<String>,
    pub(crate) tokens: usize,
    pub(crate) life: Option<Life>,
}

/// A node of a cluster, as the one that is asked judges it and as it describes itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Life {
    pub(crate) load_bytes: Option<f64>,
    pub(crate) verdict: String,
    pub(crate) silence_ms: Option<u64>,
    pub(crate) limit_ms: u64,
    pub(crate) longest_gap_ms: Option<u64>,
    pub(crate) phi: f64,
    pub(crate) heartbeats: u64,
    pub(crate) is_ready: bool,
    pub(crate) generation: Option<u64>,
    pub(crate) clock_offset_us: Option<i64>,
    pub(crate) clock_error_us: Option<i64>,
    pub(crate) internode: String,
    pub(crate) native: String,
}

/// `/helenus/metadata_group`
#[derive(Debug, Deserialize)]
pub(crate) struct MetadataGroup {
    pub(crate) id: String,
    pub(crate) incarnation: u64,
    pub(crate) epoch: u64,
    pub(crate) pending: u64,
    pub(crate) term: u64,
    pub(crate) voters: Vec<String>,
    pub(crate) leader: Option<String>,
    pub(crate) is_voter: bool,
    pub(crate) is_changing: bool,
    pub(crate) lagging: usize,
}

/// `/helenus/upgrade`
#[derive(Debug, Deserialize)]
pub(crate) struct Upgrade {
    pub(crate) enabled: String,
    pub(crate) waiting: String,
    pub(crate) nodes: Vec<UpgradeNode>,
}

/// A node of it.
#[derive(Debug, Deserialize)]
pub(crate) struct UpgradeNode {
    pub(crate) endpoint: String,
    pub(crate) release: String,
    pub(crate) lacks: String,
}

/// `/helenus/memory`
#[derive(Debug, Deserialize)]
pub(crate) struct Memory {
    pub(crate) resident: Option<u64>,
    pub(crate) budget: Option<u64>,
    pub(crate) index_pages: Option<IndexPages>,
}

/// The cache of indexes' pages.
#[derive(Debug, Deserialize)]
pub(crate) struct IndexPages {
    pub(crate) used: u64,
    pub(crate) budget: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

/// `/compaction_manager/compactions`
#[derive(Debug, Deserialize)]
pub(crate) struct Compaction {
    pub(crate) id: Option<String>,
    pub(crate) task_type: String,
    pub(crate) ks: String,
    pub(crate) cf: String,
    pub(crate) completed: u64,
    pub(crate) total: u64,
    pub(crate) unit: String,
}

/// `/compaction_manager/compaction_history`
#[derive(Debug, Deserialize)]
pub(crate) struct EndedCompaction {
    pub(crate) id: String,
    pub(crate) ks: String,
    pub(crate) cf: String,
    /// Milliseconds since 1970.
    pub(crate) compacted_at: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    #[serde(default)]
    pub(crate) rows_merged: Vec<Merged>,
}

/// How many partitions were in so many files.
#[derive(Debug, Deserialize)]
pub(crate) struct Merged {
    pub(crate) key: u64,
    pub(crate) value: u64,
}

/// `/compaction_manager/metrics/pending_tasks_by_table`
#[derive(Debug, Deserialize)]
pub(crate) struct Pending {
    pub(crate) ks: String,
    pub(crate) cf: String,
    pub(crate) task: u64,
}

/// One table's part of a snapshot.
#[derive(Debug, Deserialize)]
pub(crate) struct SnapshotTable {
    pub(crate) ks: String,
    pub(crate) cf: String,
    /// Bytes of all its files.
    pub(crate) total: u64,
    /// Bytes of those that no table has any more.
    pub(crate) live: u64,
}

/// `/helenus/tables`
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) keyspace: String,
    pub(crate) table: String,
    pub(crate) id: Option<String>,
    pub(crate) sstables: Option<u64>,
    #[serde(default)]
    pub(crate) sstables_per_level: Vec<u64>,
    pub(crate) bytes_live: Option<u64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) bytes_snapshots: Option<u64>,
    pub(crate) compression_ratio: Option<f64>,
    pub(crate) partitions_estimate: Option<u64>,
    pub(crate) partition_bytes_min: Option<u64>,
    pub(crate) partition_bytes_max: Option<u64>,
    pub(crate) partition_bytes_mean: Option<f64>,
    pub(crate) memtable_bytes: Option<u64>,
    pub(crate) memtable_switches: Option<u64>,
    pub(crate) pending_flushes: Option<u64>,
    pub(crate) reads: Option<u64>,
    pub(crate) writes: Option<u64>,
    pub(crate) read_latency_us_mean: Option<f64>,
    pub(crate) write_latency_us_mean: Option<f64>,
    pub(crate) bloom_filter_bytes: Option<u64>,
    pub(crate) bloom_filter_false_positives: Option<u64>,
    pub(crate) bloom_filter_false_ratio: Option<f64>,
    pub(crate) droppable_tombstone_ratio: Option<f64>,
    pub(crate) is_autocompaction_on: Option<bool>,
}

/// `/helenus/tablehistograms/{table}`
#[derive(Debug, Deserialize)]
pub(crate) struct TableHistograms {
    pub(crate) partition_size: Option<Histogram>,
    pub(crate) cell_count: Option<Histogram>,
    pub(crate) read_latency: Option<Histogram>,
    pub(crate) write_latency: Option<Histogram>,
    pub(crate) sstables_per_read: Option<Histogram>,
}

/// `/helenus/stages`
#[derive(Debug, Deserialize)]
pub(crate) struct Stage {
    pub(crate) name: String,
    pub(crate) active: Option<u64>,
    pub(crate) pending: Option<u64>,
    pub(crate) completed: Option<u64>,
    pub(crate) blocked: Option<u64>,
    pub(crate) all_time_blocked: Option<u64>,
}

/// `/storage_service/toppartitions/`
#[derive(Debug, Deserialize)]
pub(crate) struct TopPartitions {
    #[serde(default)]
    pub(crate) read: Vec<TopPartition>,
    #[serde(default)]
    pub(crate) write: Vec<TopPartition>,
}

/// A partition and how often it was seen.
#[derive(Debug, Deserialize)]
pub(crate) struct TopPartition {
    pub(crate) partition: String,
    pub(crate) count: u64,
    pub(crate) error: u64,
}
