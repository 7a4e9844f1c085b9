//! A table of two clustering columns, one of them descending: bounds of ranges are prefixes of one or two values, on either side.

use std::collections::BTreeMap;

use cql_types::CqlType;
use mutation::{ClusteringBound, ClusteringRef, Deletion, Expiry, LiveRow, MutationEncoder, ReadCommand};
use runtime::{Options, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Order, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::reader::ReadDone;
use storage::{Flow, RowSink, Shard, StorageOptions, Truncations};
use topology::{ReplicationStrategy, Sharder, Token, token_of};

use crate::harness::{Folder, planted};

const TABLE: TableId = TableId([8; 16]);
const SHARED: ColumnId = ColumnId(3);
const ONE: ColumnId = ColumnId(4);
const TWO: ColumnId = ColumnId(5);

fn schema(seed: u64) -> Schema {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Int),
        Column::new(ColumnKind::Clustering, ColumnId(1), "word", CqlType::Text),
        Column::new(ColumnKind::Clustering, ColumnId(2), "number", CqlType::Int).at(1).ordered(Order::Desc),
        Column::new(ColumnKind::Static, SHARED, "shared", CqlType::Text),
        Column::new(ColumnKind::Regular, ONE, "one", CqlType::Text),
        Column::new(ColumnKind::Regular, TWO, "two", CqlType::Text),
    ];
    let keyspace = KeyspaceDef {
        name: "same".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let pairs: &[(&str, &str)] = match seed % 2 {
        0 => &[("class", "SizeTieredCompactionStrategy")],
        _ => &[("class", "UnifiedCompactionStrategy"), ("min_sstable_size", "0"), ("base_shard_count", "3")],
    };
    let compaction = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // Half of the runs purge what was deleted long ago.
    let gc_grace_seconds = if seed % 4 < 2 { 0 } else { u32::MAX };
    let options = TableOptions { compaction, gc_grace_seconds, ..TableOptions::default() };
    let table = Table::new(TABLE, "same", "t", columns, options);
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table))])
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

fn mutation(random: &mut Random, timestamp: i64) -> Vec<u8> {
    let key = (random.below(6) as i32).to_be_bytes();
    let words: [&[u8]; 4] = [b"", b"a", b"ab", b"\xc3\xbf"];
    let word = |random: &mut Random| words[random.below(4) as usize];
    let number = |random: &mut Random| (random.below(5) as i32 - 2).to_be_bytes();
    let deletion = Deletion { timestamp, local_deletion_time: 1_000 };
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    match random.below(10) {
        0 if random.below(4) == 0 => encoder.partition_deletion(deletion),
        0 => {
            encoder.static_row().cell(SHARED, timestamp, None, &timestamp.to_be_bytes());
        }
        1 => {
            let (word, number) = (word(random), number(random));
            encoder.row(clustering(random, [word, &number])).deletion(deletion);
        }
        2..5 => {
            let (mut from, mut to) = ((word(random), number(random)), (word(random), number(random)));
            // Words ascend, numbers descend.
            if (from.0, -i32::from_be_bytes(from.1)) > (to.0, -i32::from_be_bytes(to.1)) {
                std::mem::swap(&mut from, &mut to);
            }
            let (start, end) = ([from.0, &from.1[..]], [to.0, &to.1[..]]);
            let start = ClusteringBound { prefix: &start[..random.below(3) as usize], inclusive: random.below(2) == 0 };
            let end = ClusteringBound { prefix: &end[..random.below(3) as usize], inclusive: random.below(2) == 0 };
            encoder.range_tombstone(start, end, deletion);
        }
        choice => {
            let (word, number) = (word(random), number(random));
            let expiry = (choice == 9).then_some(Expiry { ttl: 50, local_deletion_time: 1_050 });
            let value = timestamp.to_be_bytes();
            let mut row = encoder.row(clustering(random, [word, &number]));
            let row = row.liveness(timestamp, expiry).cell(ONE, timestamp, expiry, &value);
            if choice > 7 {
                row.cell(TWO, timestamp, expiry, &value);
            }
        }
    }
    encoder.finish();
    out
}

/// The clustering of a row, of some without the second value: it is null then, as in tables WITH COMPACT STORAGE.
fn clustering<'v>(random: &mut Random, values: [&'v [u8]; 2]) -> impl Iterator<Item = &'v [u8]> {
    values.into_iter().take(2 - usize::from(random.below(5) == 0))
}

type Rows = BTreeMap<Vec<u8>, (Option<Vec<u8>>, Vec<(Vec<u8>, Vec<(u16, i64, Vec<u8>)>)>)>;

#[derive(Default)]
struct Sink {
    rows: Rows,
    key: Vec<u8>,
}

impl RowSink for Sink {
    fn partition(&mut self, _: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        self.key = key.to_vec();
        let shared = static_row.and_then(|row| row.cell(SHARED)).map(|cell| cell.value.to_vec());
        self.rows.entry(key.to_vec()).or_default().0 = shared;
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let cells = row.cells().map(|cell| (cell.column.0, cell.timestamp, cell.value.to_vec())).collect();
        let rows = &mut self.rows.get_mut(&self.key).expect("it was announced").1;
        rows.push((clustering.bytes().to_vec(), cells));
        Flow::Continue
    }
}

async fn read(shard: &Shard) -> Rows {
    let mut sink = Sink::default();
    let command = ReadCommand::all(TABLE, 2_000_000_000);
    let done = shard.read_through(&command, &mut sink).await.expect("the files can be read");
    assert_eq!(done, ReadDone::Complete);
    sink.rows
}

/// A third of 39 seeds where `HELENUS_SAMPLE` chooses one, as a change's run does by its commit's hash; else all.
fn seeds() -> impl Iterator<Item = u64> {
    let sample: Option<u64> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    (1..40).filter(move |seed| sample.is_none_or(|sample| seed % 3 == sample % 3))
}

#[test]
fn reads_give_the_same_before_and_behind() {
    for seed in seeds() {
        let folder = Folder::new("compact-same");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut options = StorageOptions::new(&folder.path, 1, 16 << 20);
        options.segment_bytes = 256 << 10;
        options.compacts = false;
        options.planted = planted();
        let main = move |runtime: Runtime| async move {
            let schema = schema(seed);
            let opened = Shard::open(&runtime, options, Sharder::new(1), &schema, &Truncations::new()).await;
            let shard = opened.expect("the shard opens");
            shard.retire_old_segments().await.expect("there are none");
            let mut timestamp = 0;
            for round in 0..3 {
                for _ in 0..3 {
                    for _ in 0..random.below(60) + 1 {
                        timestamp += 1;
                        shard.apply(&mutation(&mut random, timestamp)).expect("there is room");
                    }
                    shard.flush(TABLE).await.expect("the disk works");
                }
                let before = read(&shard).await;
                shard.compact(TABLE).await.expect("the disk works");
                assert_eq!(read(&shard).await, before, "round {round} of seed {seed}");
                // Once more, of what was compacted alone.
                shard.compact(TABLE).await.expect("the disk works");
                assert_eq!(read(&shard).await, before, "round {round} of seed {seed}, again");
            }
        };
        runtime::run(Options::default(), vec![main]).expect("the shard runs");
    }
}
