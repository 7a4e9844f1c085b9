//! The figures as lines with tabs.

use std::collections::BTreeMap;

use crate::answers::Table;
use crate::layout::{bytes, double, or_nan, or_unknown};

use super::Sums;

const RULE: &str = "----------------\n";

/// Keyspace by keyspace.
pub(super) fn of_keyspaces(total: usize, keyspaces: &BTreeMap<&str, Vec<&Table>>, human: bool) -> String {
    let mut text = format!("Total number of tables: {total}\n{RULE}");
    for (name, tables) in keyspaces {
        let sums = Sums::of(tables);
        text += &format!("Keyspace: {name}\n");
        text += &format!("\tRead Count: {}\n", or_unknown(sums.reads));
        text += &format!("\tRead Latency: {} ms\n", double(or_nan(sums.read_latency_ms)));
        text += &format!("\tWrite Count: {}\n", or_unknown(sums.writes));
        text += &format!("\tWrite Latency: {} ms\n", double(or_nan(sums.write_latency_ms)));
        text += &format!("\tPending Flushes: {}\n", or_unknown(sums.pending_flushes));
        for table in tables {
            text += &block(&table.table, table, "\t\t", human);
        }
        text += RULE;
    }
    text
}

/// In the order that they have; of those that are the first by the figure of a name, their count and the name.
pub(super) fn in_order(total: usize, tables: &[Table], top: Option<(usize, &str)>, human: bool) -> String {
    let mut text = format!("Total number of tables: {total}");
    if let Some((top, order)) = top {
        text += &format!(" (showing top {top} by {order})");
    }
    text.push('\n');
    text += RULE;
    for table in tables {
        text += &block(&format!("{}.{}", table.keyspace, table.table), table, "\t", human);
    }
    text + RULE
}

fn block(name: &str, table: &Table, indent: &str, human: bool) -> String {
    let lines = of_table(table, human);
    let lines = lines.iter().map(|(label, value)| format!("{indent}{label}: {value}\n"));
    format!("{indent}Table: {name}\n{}\n", lines.collect::<String>())
}

fn of_table(table: &Table, human: bool) -> Vec<(&'static str, String)> {
    let size = |count: Option<u64>| or_unknown(count.map(|count| bytes(count, human)));
    let milliseconds = |micros: Option<f64>| match micros {
        Some(micros) => format!("{:.3} ms", micros / 1000.0),
        None => "NaN ms".into(),
    };
    let ratio = |ratio: Option<f64>| or_unknown(ratio.map(|ratio| format!("{ratio:.5}")));
    let mut lines = vec![("SSTable count", or_unknown(table.sstables))];
    if table.is_leveled() {
        lines.push(("SSTables in each level", levels(&table.sstables_per_level)));
    }
    lines.extend([
        ("Space used (live)", size(table.bytes_live)),
        ("Space used (total)", size(table.bytes_total)),
        ("Space used by snapshots (total)", size(table.bytes_snapshots)),
        ("SSTable Compression Ratio", ratio(table.compression_ratio)),
        ("Number of partitions (estimate)", or_unknown(table.partitions_estimate)),
        ("Memtable cell count", "?".into()),
        ("Memtable data size", size(table.memtable_bytes)),
        // All memory is outside of a heap here.
        ("Memtable off heap memory used", size(table.memtable_bytes)),
        ("Memtable switch count", or_unknown(table.memtable_switches)),
        ("Local read count", or_unknown(table.reads)),
        ("Local read latency", milliseconds(table.read_latency_us_mean)),
        ("Local write count", or_unknown(table.writes)),
        ("Local write latency", milliseconds(table.write_latency_us_mean)),
        ("Local read/write ratio", ratio(table.read_write_ratio())),
        ("Pending flushes", or_unknown(table.pending_flushes)),
        ("Bloom filter false positives", or_unknown(table.bloom_filter_false_positives)),
        ("Bloom filter false ratio", ratio(table.bloom_filter_false_ratio)),
        ("Bloom filter space used", size(table.bloom_filter_bytes)),
        ("Bloom filter off heap memory used", size(table.bloom_filter_bytes)),
        ("Compacted partition minimum bytes", or_unknown(table.partition_bytes_min)),
        ("Compacted partition maximum bytes", or_unknown(table.partition_bytes_max)),
        ("Compacted partition mean bytes", or_unknown(table.partition_bytes_mean.map(|mean| mean as u64))),
        ("Droppable tombstone ratio", ratio(table.droppable_tombstone_ratio)),
    ]);
    lines
}

/// `[5/4, 10, 0]`: a level that has more than it should says how many it should have.
fn levels(counts: &[u64]) -> String {
    format!("[{}]", each_level(counts).join(", "))
}

/// The levels, one by one.
pub(super) fn each_level(counts: &[u64]) -> Vec<String> {
    let level = |(level, count): (usize, &u64)| {
        let most = match u32::try_from(level) {
            Ok(0) => Some(4),
            Ok(level) => 10_u64.checked_pow(level),
            Err(_) => None,
        };
        match most {
            Some(most) if *count > most => format!("{count}/{most}"),
            _ => count.to_string(),
        }
    };
    counts.iter().enumerate().map(level).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_level_with_too_many_says_so() {
        assert_eq!(super::levels(&[5, 10, 101, 0]), "[5/4, 10, 101/100, 0]");
        assert_eq!(super::levels(&[u64::MAX; 40]).matches('/').count(), 20);
    }
}
