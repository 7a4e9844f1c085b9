//! The published table, its rows, and what they cost to read.

use std::path::Path;

use cql_types::CqlType;
use mutation::{ClusteringRef, LiveRow, MutationEncoder};
use runtime::Runtime;
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::{Flow, RowSink};
use topology::{ReplicationStrategy, Token, token_of};

/// Its id.
pub const TABLE: TableId = TableId([1; 16]);
const COLUMNS: u16 = 5;
const VALUE_BYTES: usize = 58;

/// Reads all values, as writing them to a reply does.
pub struct Sum(pub u64);

impl RowSink for Sum {
    fn partition(&mut self, _: Token, key: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        self.0 += key.len() as u64;
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        for cell in row.cells() {
            self.0 += cell.value.iter().step_by(64).map(|&byte| u64::from(byte)).sum::<u64>();
        }
        Flow::Continue
    }
}

/// The key of a row.
pub fn key_of(number: u64) -> [u8; 10] {
    let mut key = [b'k'; 10];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

/// An INSERT of a row.
pub fn encode(number: u64, timestamp: i64, out: &mut Vec<u8>) {
    out.clear();
    let key = key_of(number);
    let mut encoder = MutationEncoder::begin(out, TABLE, token_of(&key), &key);
    let mut row = encoder.row([]);
    row.liveness(timestamp, None);
    for column in 1..=COLUMNS {
        row.cell(ColumnId(column), timestamp, None, &[column as u8; VALUE_BYTES]);
    }
    encoder.finish();
}

/// The table, cached.
pub fn schema() -> Schema {
    let mut columns = vec![Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob)];
    columns.extend(
        (1..=COLUMNS).map(|id| Column::new(ColumnKind::Regular, ColumnId(id), format!("C{}", id - 1), CqlType::Blob)),
    );
    let def = KeyspaceDef {
        name: "ks".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let mut options = TableOptions::default();
    options.caching.insert("rows_per_partition".into(), "ALL".into());
    let table = Table::new(TABLE, "ks", "standard1", columns, options);
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(def), SchemaChange::PutTable(Box::new(table))])
}

/// CPU time of the process: its helper threads, too, work for the shard.
pub async fn cpu_nanos(runtime: &Runtime) -> u64 {
    let tasks = Path::new("/proc/self/task");
    let mut sum = 0;
    for task in runtime.read_dir(tasks).await.expect("Linux has /proc") {
        let path = tasks.join(task.name).join("schedstat");
        let statistics = runtime.read_file(&path).await.expect("Linux with scheduler statistics");
        let first = statistics.split(|&byte| byte == b' ').next().and_then(|nanos| std::str::from_utf8(nanos).ok());
        sum += first.and_then(|nanos| nanos.parse::<u64>().ok()).expect("nanoseconds come first");
    }
    sum
}
