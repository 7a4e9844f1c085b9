//! What one of so many nodes must have.

use serde::Serialize;

use super::load::Load;
use super::{GIBIBYTE, MEBIBYTE, figures};
use crate::arguments::Strategy;

/// What each node must have, and what it will be doing at the busiest time. All nodes are taken to do the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Node {
    pub(crate) cores: u64,
    /// Of all its cores.
    pub(crate) busy_share: f64,
    /// The same while one node is away and the others do its work; more than 1 is more than they can. None with a single node.
    pub(crate) busy_share_one_away: Option<f64>,
    pub(crate) memory_bytes: u64,
    /// The flag of that name, a part of the memory.
    pub(crate) memory_flag_bytes: u64,
    pub(crate) filters_and_places_bytes: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) data_bytes: u64,
    pub(crate) compaction_room_bytes: u64,
    pub(crate) commit_log_bytes: u64,
    pub(crate) disk_reads_per_second: f64,
    pub(crate) disk_read_bytes_per_second: f64,
    pub(crate) disk_write_bytes_per_second: f64,
    /// How often a byte is written again by compactions.
    pub(crate) rewrites: f64,
    /// What compactions write, as compaction_throughput counts it: before compression.
    pub(crate) compaction_bytes_per_second: f64,
    /// In the direction that has more of it.
    pub(crate) network_bits_per_second: f64,
}

impl Node {
    /// One of `nodes`, at least as many as there are copies.
    pub(super) fn of(load: &Load, nodes: u64) -> Node {
        let node_count = nodes as f64;
        let copies = f64::from(load.replication) / node_count;
        let rows = load.rows as f64 * copies;
        let partitions = load.rows.div_ceil(load.partition_rows) as f64 * copies;
        let stale = 1.0 + load.overhead;
        let row_bytes = load.row_bytes as f64 + figures::ROW_OVERHEAD.value;
        let plain_bytes = rows * row_bytes * stale;
        let index_bytes = partitions * figures::INDEX.value * stale;
        let filter_bytes = partitions * figures::FILTER.value * stale;
        let data_bytes = plain_bytes * load.compression_ratio + index_bytes + filter_bytes;

        let busy = busy_cores(load) / node_count;
        let cores = (busy / load.utilisation).ceil().max(1.0);
        let memory_flag = (index_bytes * load.index_in_memory / figures::INDEX_SHARE.value)
            .max(cores * figures::SHARD_MEMORY.value * GIBIBYTE);
        let beside = filter_bytes + plain_bytes * figures::places_per_byte(load);
        // By default --memory is half of the memory.
        let memory = (2.0 * memory_flag).max(memory_flag + beside);

        let flushed = memory_flag / cores * figures::MEMTABLE_SHARE.value / 2.0 / figures::MEMTABLE.value;
        let rewrites = rewrites(load.strategy, plain_bytes / cores, flushed);
        let room = room(load.strategy, data_bytes, cores);
        let writes = load.writes_per_second() * copies;
        let reads = load.reads_per_second() * f64::from(load.read_copies) / node_count;
        Node {
            cores: cores as u64,
            busy_share: busy / cores,
            busy_share_one_away: (nodes > 1).then(|| busy / cores * node_count / (node_count - 1.0)),
            memory_bytes: ((memory / GIBIBYTE).ceil() * GIBIBYTE) as u64,
            memory_flag_bytes: memory_flag.ceil() as u64,
            filters_and_places_bytes: beside.ceil() as u64,
            disk_bytes: (data_bytes + room + memory_flag).ceil() as u64,
            data_bytes: data_bytes.ceil() as u64,
            compaction_room_bytes: room.ceil() as u64,
            commit_log_bytes: memory_flag.ceil() as u64,
            disk_reads_per_second: reads * figures::reads_of_disk(load),
            // What is read of an index is a block.
            disk_read_bytes_per_second: reads
                * (figures::FILE_READS.value * bytes_per_read(load, row_bytes)
                    + (figures::reads_of_disk(load) - figures::FILE_READS.value) * figures::BLOCK.value),
            // The log as it is, the flush and what is rewritten compressed.
            disk_write_bytes_per_second: writes * row_bytes * (1.0 + (1.0 + rewrites) * load.compression_ratio),
            rewrites,
            compaction_bytes_per_second: writes * row_bytes * rewrites,
            network_bits_per_second: network(load) / node_count * 8.0,
        }
    }
}

/// The cores of the whole cluster that are busy: each request with its network, and each further copy as a request among many.
fn busy_cores(load: &Load) -> f64 {
    let read = figures::READ.value + figures::LOOKUP.value + figures::CHUNK_TIME.value * figures::reads_of_disk(load);
    let writes = load.writes_per_second() * (figures::ALONE.value + f64::from(load.replication) * figures::WRITE.value);
    let reads = load.reads_per_second() * (figures::ALONE.value + f64::from(load.read_copies) * read);
    (writes + reads) / 1e6
}

/// How often compactions write a byte again until it rests, by the strategy's definition. `data` is a shard's, `flushed` one of its flushes'.
fn rewrites(strategy: Strategy, data: f64, flushed: f64) -> f64 {
    let tiers = |data: f64| (data / flushed).max(1.0).log(figures::FANOUT.value).ceil();
    match strategy {
        Strategy::SizeTiered | Strategy::Unified => tiers(data),
        // In its window, and once more when that is over.
        Strategy::TimeWindow => tiers(data / figures::WINDOWS.value) + 1.0,
        Strategy::Leveled => {
            let levels =
                (data / (figures::LEVEL_FILE.value * MEBIBYTE)).max(1.0).log(figures::LEVEL_FANOUT.value).ceil();
            levels.max(1.0) * (figures::LEVEL_FANOUT.value + 1.0)
        }
    }
}

/// The room that the largest compactions need while both inputs and outputs are there, with all shards at it at once.
fn room(strategy: Strategy, data: f64, shards: f64) -> f64 {
    match strategy {
        Strategy::SizeTiered => data,
        Strategy::Unified => data / figures::PARTS.value,
        Strategy::TimeWindow => data / figures::WINDOWS.value,
        Strategy::Leveled => shards * (figures::LEVEL_FANOUT.value + 1.0) * figures::LEVEL_FILE.value * MEBIBYTE,
    }
}

/// What one read takes from the disk: a chunk or a row, with what lies beside it in its first and last block.
fn bytes_per_read(load: &Load, row_bytes: f64) -> f64 {
    let wanted = match figures::is_compressed(load) {
        true => (figures::CHUNK.value * load.compression_ratio).max(row_bytes * load.compression_ratio),
        false => row_bytes,
    };
    wanted + figures::BLOCK.value
}

/// Bytes a second of rows over the network, of the whole cluster, in the direction that has more.
fn network(load: &Load) -> f64 {
    let (reads, writes) = (load.reads_per_second(), load.writes_per_second());
    let between = writes * f64::from(load.replication - 1) + reads * f64::from(load.read_copies - 1);
    (reads.max(writes) + between) * load.row_bytes as f64
}
