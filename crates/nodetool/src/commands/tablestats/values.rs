//! The figures as a value, in the fields of Cassandra's `tablestats -F json`: bytes and ratios are text there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::answers::Table;
use crate::layout::bytes;

use super::Sums;
use super::lines::each_level;

pub(super) fn of_keyspaces(total: usize, keyspaces: &BTreeMap<&str, Vec<&Table>>, human: bool) -> Value {
    let mut all = Map::new();
    for (name, tables) in keyspaces {
        let sums = Sums::of(tables);
        let of_tables: Map<String, Value> =
            tables.iter().map(|table| (table.table.clone(), of_table(table, human))).collect();
        let keyspace = json!({
            "read_count": sums.reads,
            "read_latency": sums.read_latency_ms,
            "read_latency_ms": sums.read_latency_ms,
            "write_count": sums.writes,
            "write_latency_ms": sums.write_latency_ms,
            "pending_flushes": sums.pending_flushes,
            "tables": of_tables,
        });
        all.insert((*name).to_owned(), keyspace);
    }
    with_total(all, total)
}

/// Those of `-s`, by their full names, as Cassandra has them: an object has no order.
pub(super) fn in_order(total: usize, tables: &[Table], human: bool) -> Value {
    let named = |table: &Table| (format!("{}.{}", table.keyspace, table.table), of_table(table, human));
    with_total(tables.iter().map(named).collect(), total)
}

fn with_total(mut all: Map<String, Value>, total: usize) -> Value {
    // As in Cassandra, beside the keyspaces, where it hides one of that name.
    all.insert("total_number_of_tables".into(), json!(total));
    Value::Object(all)
}

/// Keys of Cassandra's whose figures a node does not count: they are there, and null, so that what looks for them finds that out.
const NOT_COUNTED: [&str; 24] = [
    "old_sstable_count",
    "sstable_bytes_in_each_level",
    "max_sstable_size",
    "twcs",
    "memtable_cell_count",
    "speculative_retries",
    "percent_repaired",
    "bytes_repaired",
    "bytes_unrepaired",
    "bytes_pending_repair",
    "average_live_cells_per_slice_last_five_minutes",
    "maximum_live_cells_per_slice_last_five_minutes",
    "average_tombstones_per_slice_last_five_minutes",
    "maximum_tombstones_per_slice_last_five_minutes",
    "top_size_partitions",
    "top_tombstone_partitions",
    "sai_local_query_latency_ms",
    "sai_post_filtering_read_latency",
    "sai_disk_used_bytes",
    "sai_sstable_indexes_hit",
    "sai_index_segments_hit",
    "sai_rows_filtered",
    "sai_total_query_timeouts",
    "sai_total_queryable_index_ratio",
];

fn of_table(table: &Table, human: bool) -> Value {
    let size = |count: Option<u64>| count.map(|count| bytes(count, human));
    let milliseconds = |micros: Option<f64>| micros.map(|micros| format!("{:.3}", micros / 1000.0));
    let ratio = |ratio: Option<f64>| ratio.map(|ratio| format!("{ratio:.5}"));
    let mut figures = json!({
        "sstable_count": table.sstables,
        "sstables_in_each_level": each_level(&table.sstables_per_level),
        "space_used_live": size(table.bytes_live),
        "space_used_total": size(table.bytes_total),
        "space_used_by_snapshots_total": size(table.bytes_snapshots),
        "sstable_compression_ratio": table.compression_ratio,
        "number_of_partitions_estimate": table.partitions_estimate,
        "memtable_data_size": size(table.memtable_bytes),
        "memtable_off_heap_memory_used": size(table.memtable_bytes),
        "memtable_switch_count": table.memtable_switches,
        "local_read_count": table.reads,
        "local_read_latency_ms": milliseconds(table.read_latency_us_mean),
        "local_write_count": table.writes,
        "local_write_latency_ms": milliseconds(table.write_latency_us_mean),
        "local_read_write_ratio": ratio(table.read_write_ratio()),
        "pending_flushes": table.pending_flushes,
        "bloom_filter_false_positives": table.bloom_filter_false_positives,
        "bloom_filter_false_ratio": ratio(table.bloom_filter_false_ratio),
        "bloom_filter_space_used": size(table.bloom_filter_bytes),
        "bloom_filter_off_heap_memory_used": size(table.bloom_filter_bytes),
        "compacted_partition_minimum_bytes": table.partition_bytes_min,
        "compacted_partition_maximum_bytes": table.partition_bytes_max,
        "compacted_partition_mean_bytes": table.partition_bytes_mean.map(|mean| mean as u64),
        "droppable_tombstone_ratio": ratio(table.droppable_tombstone_ratio),
    });
    for key in NOT_COUNTED {
        figures[key] = Value::Null;
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a table in `tablestats -F json` of Cassandra 5.0.6, those of what it keeps outside of Java's heap too. The four that it leaves out there are none here either.
    const CASSANDRAS: &str = "sstable_count old_sstable_count sstables_in_each_level sstable_bytes_in_each_level max_sstable_size twcs space_used_live \
        space_used_total space_used_by_snapshots_total sstable_compression_ratio number_of_partitions_estimate memtable_cell_count \
        memtable_data_size memtable_off_heap_memory_used memtable_switch_count speculative_retries local_read_count local_read_latency_ms \
        local_write_count local_write_latency_ms local_read_write_ratio pending_flushes percent_repaired bytes_repaired bytes_unrepaired \
        bytes_pending_repair bloom_filter_false_positives bloom_filter_false_ratio bloom_filter_space_used bloom_filter_off_heap_memory_used \
        compacted_partition_minimum_bytes compacted_partition_maximum_bytes compacted_partition_mean_bytes \
        average_live_cells_per_slice_last_five_minutes maximum_live_cells_per_slice_last_five_minutes \
        average_tombstones_per_slice_last_five_minutes maximum_tombstones_per_slice_last_five_minutes droppable_tombstone_ratio \
        top_size_partitions top_tombstone_partitions sai_local_query_latency_ms sai_post_filtering_read_latency sai_disk_used_bytes \
        sai_sstable_indexes_hit sai_index_segments_hit sai_rows_filtered sai_total_query_timeouts sai_total_queryable_index_ratio";

    #[test]
    fn a_table_has_cassandras_keys() {
        let table: Table = serde_json::from_str(r#"{"keyspace": "k", "table": "t"}"#).expect("all else is optional");
        let of_table = of_table(&table, false);
        let mut keys: Vec<&str> = of_table.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut expected: Vec<&str> = CASSANDRAS.split_whitespace().collect();
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_keyspace_has_cassandras_keys() {
        let all = of_keyspaces(3, &BTreeMap::from([("k", Vec::new())]), false);
        let keys: Vec<&String> = all["k"].as_object().expect("an object").keys().collect();
        let expected = [
            "pending_flushes",
            "read_count",
            "read_latency",
            "read_latency_ms",
            "tables",
            "write_count",
            "write_latency_ms",
        ];
        assert_eq!(keys, expected);
        assert_eq!(all["total_number_of_tables"], 3);
    }
}
