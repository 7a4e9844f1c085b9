//! The orders of `tablestats -s`: each goes from the largest to the smallest, names too, as in Cassandra.

use std::cmp::Ordering;

use crate::answers::Table;
use crate::error::ToolError;

type Figure = fn(&Table) -> Option<f64>;

/// Cassandra's keys for figures that a node has.
const FIGURES: [(&str, Figure); 25] = [
    ("bloom_filter_false_positives", |table| table.bloom_filter_false_positives.map(number)),
    ("bloom_filter_false_ratio", |table| table.bloom_filter_false_ratio),
    ("bloom_filter_off_heap_memory_used", |table| table.bloom_filter_bytes.map(number)),
    ("bloom_filter_space_used", |table| table.bloom_filter_bytes.map(number)),
    ("compacted_partition_maximum_bytes", |table| table.partition_bytes_max.map(number)),
    ("compacted_partition_mean_bytes", |table| table.partition_bytes_mean),
    ("compacted_partition_minimum_bytes", |table| table.partition_bytes_min.map(number)),
    ("local_read_count", |table| table.reads.map(number)),
    ("local_read_latency_ms", |table| table.read_latency_us_mean),
    ("local_read_write_ratio", Table::read_write_ratio),
    ("local_write_latency_ms", |table| table.write_latency_us_mean),
    ("memtable_data_size", |table| table.memtable_bytes.map(number)),
    ("memtable_off_heap_memory_used", |table| table.memtable_bytes.map(number)),
    ("memtable_switch_count", |table| table.memtable_switches.map(number)),
    ("number_of_partitions_estimate", |table| table.partitions_estimate.map(number)),
    ("pending_flushes", |table| table.pending_flushes.map(number)),
    ("read_latency", |table| table.read_latency_us_mean),
    ("reads", |table| table.reads.map(number)),
    ("space_used_by_snapshots_total", |table| table.bytes_snapshots.map(number)),
    ("space_used_live", |table| table.bytes_live.map(number)),
    ("space_used_total", |table| table.bytes_total.map(number)),
    ("sstable_compression_ratio", |table| table.compression_ratio),
    ("sstable_count", |table| table.sstables.map(number)),
    ("write_latency", |table| table.write_latency_us_mean),
    ("writes", |table| table.writes.map(number)),
];
/// Cassandra's keys for figures that a node does not count.
const NOT_COUNTED: [&str; 19] = [
    "average_live_cells_per_slice_last_five_minutes",
    "average_tombstones_per_slice_last_five_minutes",
    "compression_metadata_off_heap_memory_used",
    "index_summary_off_heap_memory_used",
    "max_sstable_size",
    "maximum_live_cells_per_slice_last_five_minutes",
    "maximum_tombstones_per_slice_last_five_minutes",
    "memtable_cell_count",
    "off_heap_memory_used_total",
    "percent_repaired",
    "sai_disk_used_bytes",
    "sai_index_segments_hit",
    "sai_local_query_latency_ms",
    "sai_post_filtering_read_latency",
    "sai_rows_filtered",
    "sai_sstable_indexes_hit",
    "sai_total_query_timeouts",
    "sai_total_queryable_index_ratio",
    "twcs_max_duration",
];
const FULL_NAME: &str = "full_name";
const TABLE_NAME: &str = "table_name";

fn number(count: u64) -> f64 {
    count as f64
}

/// An order of tables.
#[derive(Clone, Copy)]
pub(super) enum Order {
    FullName,
    TableName,
    By(&'static str, Figure),
}

impl Order {
    pub(super) fn of(name: &str) -> Result<Order, ToolError> {
        match name {
            FULL_NAME => return Ok(Order::FullName),
            TABLE_NAME => return Ok(Order::TableName),
            _ => {}
        }
        match FIGURES.iter().find(|(known, _)| *known == name) {
            Some((known, figure)) => Ok(Order::By(known, *figure)),
            None if NOT_COUNTED.contains(&name) => {
                Err(ToolError::usage(format!("tables cannot be sorted by {name}: the node does not count it")))
            }
            None => {
                let known: Vec<&str> = FIGURES.iter().map(|(known, _)| *known).chain([FULL_NAME, TABLE_NAME]).collect();
                Err(ToolError::usage(format!("argument for sort must be one of: {}", known.join(", "))))
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Order::FullName => FULL_NAME,
            Order::TableName => TABLE_NAME,
            Order::By(name, _) => name,
        }
    }

    /// What is not known stands last.
    pub(super) fn apply(self, tables: &mut [Table]) {
        let full = |a: &Table, b: &Table| (&b.keyspace, &b.table).cmp(&(&a.keyspace, &a.table));
        tables.sort_by(|a, b| match self {
            Order::FullName => full(a, b),
            Order::TableName => b.table.cmp(&a.table).then_with(|| full(a, b)),
            Order::By(_, figure) => descending(figure(a), figure(b)).then_with(|| full(a, b)),
        });
    }
}

fn descending(a: Option<f64>, b: Option<f64>) -> Ordering {
    let key = |figure: Option<f64>| figure.unwrap_or(f64::NEG_INFINITY);
    key(b).total_cmp(&key(a))
}
