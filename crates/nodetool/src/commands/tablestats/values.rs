//! The figures as a value, in the fields of Cassandra's `tablestats -F json`: bytes and ratios are text there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::answers::Table;
use crate::layout::bytes;

use super::Sums;

pub(super) fn of(keyspaces: &BTreeMap<&str, Vec<&Table>>, human: bool) -> Value {
    let count: usize = keyspaces.values().map(Vec::len).sum();
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
            "write_latency": sums.write_latency_ms,
            "write_latency_ms": sums.write_latency_ms,
            "pending_flushes": sums.pending_flushes,
            "tables": of_tables,
        });
        all.insert((*name).to_owned(), keyspace);
    }
    // As in Cassandra, beside the keyspaces, where it hides one of that name.
    all.insert("total_number_of_tables".into(), json!(count));
    Value::Object(all)
}

fn of_table(table: &Table, human: bool) -> Value {
    let size = |count: Option<u64>| count.map(|count| bytes(count, human));
    let milliseconds = |micros: Option<f64>| micros.map(|micros| format!("{:.3}", micros / 1000.0));
    let ratio = |ratio: Option<f64>| ratio.map(|ratio| format!("{ratio:.5}"));
    json!({
        "sstable_count": table.sstables,
        "sstables_in_each_level": table.sstables_per_level,
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
    })
}
