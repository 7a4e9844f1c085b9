//! A table's options with Cassandra 5.0's defaults.

pub(crate) mod caching;
pub(crate) mod compaction;
pub(crate) mod compression;
pub(crate) mod read;
pub(crate) mod scylla;
pub(crate) mod speculative;

use std::collections::BTreeMap;

pub use compaction::compaction_strategy;
pub use speculative::SpeculativeRetry;

/// The options of CREATE TABLE's WITH clause, checked. Maps are as Cassandra keeps them: classes by their full name.
#[derive(Debug, Clone, PartialEq)]
pub struct TableOptions {
    /// When a write to a transient replica is sent; a speculative retry policy in its canonical words.
    pub additional_write_policy: String,
    /// Whether a snapshot is taken before the table is dropped or truncated; `None` = the server's setting.
    pub allow_auto_snapshot: Option<bool>,
    /// The bloom filters' share of false positives.
    pub bloom_filter_fp_chance: f64,
    /// `keys` and `rows_per_partition`.
    pub caching: BTreeMap<String, String>,
    /// Whether changes are kept for consumers.
    pub cdc: bool,
    /// Free text.
    pub comment: String,
    /// `class` and the strategy's options.
    pub compaction: BTreeMap<String, String>,
    /// `class`, `chunk_length_in_kb`, …; `{'enabled': 'false'}` when off.
    pub compression: BTreeMap<String, String>,
    /// The share of reads that verify a chunk's checksum.
    pub crc_check_chance: f64,
    /// Seconds after which data written without a TTL expires; 0 = never.
    pub default_time_to_live: u32,
    /// What the server does not know but keeps.
    pub extensions: BTreeMap<String, Vec<u8>>,
    /// Seconds for which tombstones are kept.
    pub gc_grace_seconds: u32,
    /// Whether flushed files are linked for backup; `None` = the server's setting.
    pub incremental_backups: Option<bool>,
    /// Index entries per summary entry at most.
    pub max_index_interval: u32,
    /// The memtable configuration's name.
    pub memtable: String,
    /// Milliseconds after which a memtable is flushed; 0 = by size alone.
    pub memtable_flush_period_in_ms: u32,
    /// Index entries per summary entry at least.
    pub min_index_interval: u32,
    /// `BLOCKING` or `NONE`.
    pub read_repair: String,
    /// When a second replica is read; in its canonical words.
    pub speculative_retry: String,
    /// Whether the table was made WITH COMPACT STORAGE.
    pub compact_storage: bool,
}

impl TableOptions {
    /// Whether reads of single partitions are kept in the row cache: unless both `keys` and `rows_per_partition` are `NONE`. Cassandra's
    /// default has `rows_per_partition` at `NONE` as the kernel keeps its files' pages; ours are read past that cache.
    pub fn caches_rows(&self) -> bool {
        let is_none = |key| self.caching.get(key).is_some_and(|value| matches!(value.as_str(), "NONE" | "0"));
        !(is_none("keys") && is_none("rows_per_partition"))
    }
}

/// The map of `pairs`.
pub(crate) fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            additional_write_policy: "99p".to_owned(),
            allow_auto_snapshot: None,
            bloom_filter_fp_chance: 0.01,
            caching: map(&[("keys", "ALL"), ("rows_per_partition", "NONE")]),
            cdc: false,
            comment: String::new(),
            compaction: map(&[
                ("class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"),
                ("max_threshold", "32"),
                ("min_threshold", "4"),
            ]),
            compression: map(&[
                ("chunk_length_in_kb", "16"),
                ("class", "org.apache.cassandra.io.compress.LZ4Compressor"),
            ]),
            crc_check_chance: 1.0,
            default_time_to_live: 0,
            extensions: BTreeMap::new(),
            gc_grace_seconds: 864_000,
            incremental_backups: None,
            max_index_interval: 2048,
            memtable: "default".to_owned(),
            memtable_flush_period_in_ms: 0,
            min_index_interval: 128,
            read_repair: "BLOCKING".to_owned(),
            speculative_retry: "99p".to_owned(),
            compact_storage: false,
        }
    }
}
