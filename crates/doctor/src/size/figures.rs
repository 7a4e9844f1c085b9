//! What was measured, what follows from how Helenus works, and what is assumed. The arithmetic takes its numbers from here, and the report
//! prints them, so that none is used that is not shown.

use serde::Serialize;

use super::load::Load;
use crate::arguments::Strategy;

/// A number with its source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) what: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) source: &'static str,
}

pub(super) const WRITE: Figure = Figure {
    what: "CPU time of a write, synced, among many",
    value: 1.74,
    unit: "µs",
    source: "measured: docs/internals/performance.md, Beside Cassandra",
};
pub(super) const READ: Figure = Figure {
    what: "CPU time of a read of a row in memory, among many",
    value: 1.48,
    unit: "µs",
    source: "measured: docs/internals/performance.md, Beside Cassandra",
};
pub(super) const ALONE: Figure = Figure {
    what: "more for each request that comes alone, not in a batch",
    value: 3.0,
    unit: "µs",
    source: "measured: docs/internals/runtime.md, 64 connections with one request each against one with 128",
};
pub(super) const LOOKUP: Figure = Figure {
    what: "more for each read of a file: filter and index",
    value: 0.42,
    unit: "µs",
    source: "measured: docs/internals/sstable-index.md",
};
pub(super) const CHUNK_TIME: Figure = Figure {
    what: "more for each read of a file: a chunk read, checked, decompressed",
    value: 20.0,
    unit: "µs",
    source: "assumed, on the safe side: not measured",
};
pub(super) const FILE_READS: Figure = Figure {
    what: "reads of the disk for a row that is in a file whose index is in memory",
    value: 1.01,
    unit: "",
    source: "measured: docs/internals/performance.md, More data than memory",
};
pub(super) const INDEX_READS: Figure = Figure {
    what: "more reads of the disk for one whose index is not",
    value: 1.0,
    unit: "",
    source: "assumed: the last page of a lookup; those above it are few",
};
pub(super) const CHUNK: Figure = Figure {
    what: "a chunk before compression",
    value: 16_384.0,
    unit: "bytes",
    source: "the default of a table's compression",
};
pub(super) const BLOCK: Figure = Figure {
    what: "a block, at which reads of the disk begin and end",
    value: 4_096.0,
    unit: "bytes",
    source: "direct I/O: docs/internals/sstable-files.md",
};
pub(super) const ROW_OVERHEAD: Figure = Figure {
    what: "of a row in Data.db beside its key and values, of five columns",
    value: 22.0,
    unit: "bytes",
    source: "measured: docs/guide/doctor.md",
};
pub(super) const INDEX: Figure =
    Figure { what: "of index for each partition", value: 9.4, unit: "bytes", source: "measured: docs/guide/doctor.md" };
pub(super) const FILTER: Figure = Figure {
    what: "of filter for each partition, in memory and on the disk",
    value: 1.25,
    unit: "bytes",
    source: "Cassandra's table for bloom_filter_fp_chance = 0.01: 10 bits",
};
pub(super) const CHUNK_PLACE: Figure = Figure {
    what: "of memory for each chunk",
    value: 8.0,
    unit: "bytes",
    source: "docs/internals/sstable-files.md, CompressionInfo.db",
};
pub(super) const BLOCK_SUM: Figure = Figure {
    what: "of memory for each block of a table without compression",
    value: 4.0,
    unit: "bytes",
    source: "docs/internals/sstable-files.md, CRC.db",
};
pub(super) const MEMTABLE: Figure = Figure {
    what: "bytes of memtable for each byte of data",
    value: 1.16,
    unit: "",
    source: "measured: docs/internals/memtable.md, 355 for 305",
};
pub(super) const MEMTABLE_SHARE: Figure = Figure {
    what: "share of --memory for memtables, flushed from half of it on",
    value: 0.5,
    unit: "",
    source: "docs/guide/configuration.md",
};
pub(super) const INDEX_SHARE: Figure =
    Figure { what: "share of --memory for pages of indexes", value: 0.25, unit: "", source: "the default" };
pub(super) const SHARD_MEMORY: Figure = Figure {
    what: "--memory for each shard, at least",
    value: 1.0,
    unit: "GiB",
    source: "assumed: as the published start line, 200 GiB for 172 shards",
};
pub(super) const COMPACTION_THROUGHPUT: Figure = Figure {
    what: "what compactions may write by default",
    value: 64.0,
    unit: "MiB/s",
    source: "docs/guide/configuration.md",
};
pub(super) const FANOUT: Figure = Figure {
    what: "files that become one, each time data is merged",
    value: 4.0,
    unit: "",
    source: "the default: docs/internals/compaction.md",
};
pub(super) const LEVEL_FANOUT: Figure = Figure {
    what: "how many times larger each level is, and files of the next that one is merged with",
    value: 10.0,
    unit: "",
    source: "the default: docs/internals/compaction.md",
};
pub(super) const LEVEL_FILE: Figure = Figure {
    what: "a file of a level",
    value: 160.0,
    unit: "MiB",
    source: "the default: docs/internals/compaction.md",
};
pub(super) const PARTS: Figure = Figure {
    what: "parts of the ring that are compacted apart, at least",
    value: 4.0,
    unit: "",
    source: "the default of base_shard_count: docs/internals/compaction.md",
};
pub(super) const WINDOWS: Figure = Figure {
    what: "windows that the data is spread over",
    value: 30.0,
    unit: "",
    source: "assumed: choose compaction_window_size so",
};

/// All figures that this load's estimate is based on, printed below it.
pub(super) fn all(load: &Load) -> Vec<Figure> {
    let mut figures = vec![WRITE, READ, ALONE, LOOKUP, CHUNK_TIME, FILE_READS, INDEX_READS];
    figures.extend([
        if is_compressed(load) { CHUNK_PLACE } else { BLOCK_SUM },
        CHUNK,
        BLOCK,
        ROW_OVERHEAD,
        INDEX,
        FILTER,
    ]);
    figures.extend([MEMTABLE, MEMTABLE_SHARE, INDEX_SHARE, SHARD_MEMORY, COMPACTION_THROUGHPUT]);
    figures.extend_from_slice(match load.strategy {
        Strategy::SizeTiered => &[FANOUT],
        Strategy::Unified => &[FANOUT, PARTS],
        Strategy::Leveled => &[LEVEL_FANOUT, LEVEL_FILE],
        Strategy::TimeWindow => &[FANOUT, WINDOWS],
    });
    figures
}

/// How often the disk is read for a row that is in a file.
pub(super) fn reads_of_disk(load: &Load) -> f64 {
    FILE_READS.value + INDEX_READS.value * (1.0 - load.index_in_memory)
}

/// Memory that goes with each byte of data, to find and to check it.
pub(super) fn places_per_byte(load: &Load) -> f64 {
    if is_compressed(load) { CHUNK_PLACE.value / CHUNK.value } else { BLOCK_SUM.value / BLOCK.value }
}

/// Without compression a read takes the blocks of the row, and with it those of a chunk.
pub(super) fn is_compressed(load: &Load) -> bool {
    load.compression_ratio < 1.0
}
