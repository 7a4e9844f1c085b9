//! Two engines to which the same is done, one with a row cache and one without, are read alike.
//!
//! `HELENUS_MODEL_OPERATIONS` says how many operations, and `HELENUS_MODEL_SEED` which.

use std::rc::Rc;

use cql_types::CqlType;
use mutation::{
    Bound, ClusteringBound, ClusteringRef, DecodeError, Deletion, Expiry, LiveRow, MutationEncoder, Position, ROW_END,
    ReadCommand, Slice,
};
use runtime::{Group, Options, Runtime};
use schema::{
    Column, ColumnId, ColumnKind, DroppedColumn, KeyspaceDef, Order, Schema, SchemaChange, Table, TableId, TableOptions,
};
use storage::reader::{DataPageLimits, DataPageWriter, Lane, Page, ReadDone, Source, merge};
use storage::{ApplyError, Flow, RowSink, Shard, StorageOptions, Truncations};
use topology::{ReplicationStrategy, Sharder, Token, token_of};

use crate::harness::{Folder, planted, truncate};

pub const TABLE: TableId = TableId([6; 16]);
const STATIC: ColumnId = ColumnId(3);
pub const VALUE: ColumnId = ColumnId(4);
const OTHER_VALUE: ColumnId = ColumnId(5);
const OPERATIONS: usize = 5_000;
/// They are shared among so many seeds.
const SEEDS: usize = 3;
const PARTITIONS: u64 = 24;

/// xorshift64*: the same operations from the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

/// The table's second value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    There,
    Dropped(i64),
    /// It was dropped then, and is there again.
    Again(i64),
}

impl Other {
    fn next(self, timestamp: i64) -> Self {
        match self {
            Other::There | Other::Again(_) => Other::Dropped(timestamp),
            Other::Dropped(at) => Other::Again(at),
        }
    }
}

fn schema(state: Other) -> Schema {
    let other = Column::new(ColumnKind::Regular, OTHER_VALUE, "other", CqlType::Blob);
    let mut columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(1), "a", CqlType::Int),
        Column::new(ColumnKind::Clustering, ColumnId(2), "b", CqlType::Int).at(1).ordered(Order::Desc),
        Column::new(ColumnKind::Static, STATIC, "shared", CqlType::Blob),
        Column::new(ColumnKind::Regular, VALUE, "value", CqlType::Blob),
    ];
    if !matches!(state, Other::Dropped(_)) {
        columns.push(other.clone());
    }
    let mut options = TableOptions { gc_grace_seconds: 0, ..TableOptions::default() };
    options.caching.insert("rows_per_partition".into(), "ALL".into());
    let mut table = Table::new(TABLE, "twins", "t", columns, options);
    if let Other::Dropped(dropped_at_micros) | Other::Again(dropped_at_micros) = state {
        table.dropped.insert("other".into(), DroppedColumn { column: other, dropped_at_micros });
    }
    let keyspace = KeyspaceDef {
        name: "twins".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    Schema::empty().with_all(&[SchemaChange::PutKeyspace(keyspace), SchemaChange::PutTable(Box::new(table))])
}

pub fn key_of(partition: u64) -> Vec<u8> {
    (partition as u32).to_be_bytes().to_vec()
}

/// The rows of the first partitions come to more than an entry may be long.
fn value_length(random: &mut Random, partition: u64) -> usize {
    1 + random.below(if partition < 4 { 3_000 } else { 120 }) as usize
}

/// A prefix of a clustering, and whether rows that begin with it are inside.
type End = (Vec<u8>, bool);

/// What is read.
#[derive(Debug, Clone)]
struct Asked {
    partition: u64,
    slices: Vec<(End, End)>,
    reversed: bool,
    now: u32,
    /// Rows of a page.
    rows_max: usize,
}

impl Asked {
    fn random(random: &mut Random, now: u32) -> Self {
        let place = |random: &mut Random, components: u64| {
            let mut out = Vec::new();
            for (index, is_reversed) in [false, true].into_iter().enumerate().take(components as usize) {
                let value = random.below(if index == 0 { 12 } else { 6 }) as i32;
                cql_types::comparable::encode(&CqlType::Int, &value.to_be_bytes(), is_reversed, &mut out);
            }
            out
        };
        let slices = match random.below(7) {
            0 => vec![],
            1 => vec![((vec![], true), (vec![], true))],
            2 | 3 => {
                let one = place(random, 2);
                vec![((one.clone(), true), (one, true))]
            }
            4 => {
                let one = place(random, 1);
                vec![((one.clone(), true), (one, true))]
            }
            5 => {
                let one = place(random, 1);
                vec![((one.clone(), true), ([&one[..], &[ROW_END]].concat(), false))]
            }
            _ => {
                let mut ends: Vec<_> = (0..4).map(|_| (place(random, 2), true)).collect();
                ends.sort();
                ends.dedup();
                let is_inside = random.below(2) == 0;
                ends.chunks_exact(2).map(|ends| ((ends[0].0.clone(), is_inside), ends[1].clone())).collect()
            }
        };
        let (reversed, rows_max) = (random.below(3) == 0, if random.below(3) == 0 { 3 } else { usize::MAX });
        Asked { partition: random.below(PARTITIONS), slices, reversed, now, rows_max }
    }
}

/// What a sink is given, as text.
#[derive(Default)]
pub struct Sink {
    pub told: Vec<String>,
    rows_max: usize,
    rows: usize,
    is_announced: bool,
}

impl Sink {
    /// For pages of so many rows.
    pub fn new(rows_max: usize) -> Self {
        Sink { rows_max, ..Sink::default() }
    }

    fn describe(row: &LiveRow<'_>) -> String {
        let cells: Vec<String> =
            row.cells().map(|cell| format!("{}={:?}@{}", cell.column.0, cell.value, cell.timestamp)).collect();
        format!("{:?} {}", row.liveness(), cells.join(" "))
    }
}

impl RowSink for Sink {
    fn partition(&mut self, _: Token, _: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        // A partition that is gone on with is announced again.
        if !std::mem::replace(&mut self.is_announced, true) {
            self.told.push(format!("partition {:?}", static_row.as_ref().map(Self::describe)));
        }
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        self.told.push(format!("{:?} {}", clustering.components().collect::<Vec<_>>(), Self::describe(&row)));
        self.rows += 1;
        if self.rows.is_multiple_of(self.rows_max) { Flow::Stop } else { Flow::Continue }
    }
}

/// A lane that has no further page.
struct Here;

impl Source for Here {
    type Error = DecodeError;

    async fn fetch(&mut self, _: Option<&Position>) -> Result<Page, DecodeError> {
        unreachable!("the only page is the last")
    }

    fn malformed(&self, problem: DecodeError) -> DecodeError {
        problem
    }
}

/// Reads what lives, page by page, and the same out of the data as a coordinator does.
async fn read(shard: &Shard, asked: &Asked) -> Vec<String> {
    let key = key_of(asked.partition);
    let bound = |bound: &'_ (Vec<u8>, bool)| (bound.0.clone(), bound.1);
    let bounds: Vec<_> = asked.slices.iter().map(|(start, end)| (bound(start), bound(end))).collect();
    let slices: Vec<Slice<'_>> = bounds
        .iter()
        .map(|(start, end)| Slice {
            start: Bound { prefix: &start.0, inclusive: start.1 },
            end: Bound { prefix: &end.0, inclusive: end.1 },
        })
        .collect();
    let command = ReadCommand {
        slices: &slices,
        reversed: asked.reversed,
        ..ReadCommand::partition(TABLE, token_of(&key), &key, asked.now)
    };
    let mut sink = Sink::new(asked.rows_max);
    let mut after: Option<Position> = None;
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
        match shard.read_through(&command, &mut sink).await.expect("the files can be read") {
            ReadDone::Complete => break,
            ReadDone::Stopped(position) => after = Some(position),
        }
    }
    let mut page = DataPageWriter::new(DataPageLimits { items: u32::MAX, bytes: u32::MAX });
    let done = shard.read_data_through(&command, &mut page).await.expect("the files can be read");
    assert_eq!(done, ReadDone::Complete);
    let schema = schema(Other::There);
    let table = schema.table_by_id(TABLE).expect("it is there");
    let lane = Lane::new(Here, Page { items: page.into_bytes(), more_after: None }, table).expect("a page as written");
    let mut of_data = Sink::new(usize::MAX);
    let merged = merge(&mut [lane], table, &command, async || (), None, &mut None, &mut of_data).await;
    assert_eq!(merged.expect("a page as written"), ReadDone::Complete);
    assert_eq!(of_data.told, sink.told, "{asked:?}: what lives of the data");
    sink.told
}

/// The twins: the first has a cache.
#[derive(Clone)]
struct Twins {
    runtime: Runtime,
    shards: Rc<[Shard; 2]>,
}

impl Twins {
    async fn apply(&self, mutation: &[u8]) {
        for shard in &*self.shards {
            loop {
                match shard.apply(mutation) {
                    Ok(_) => break,
                    Err(ApplyError::LogBusy) => shard.room().await,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    async fn compare(&self, asked: &Asked, context: &str) {
        let (with, without) = (read(&self.shards[0], asked).await, read(&self.shards[1], asked).await);
        assert_eq!(with, without, "{context}: {asked:?}");
    }

    /// Reads in the first, beside whatever is done next.
    fn read_beside(&self, random: &mut Random, now: u32) -> Vec<runtime::TaskHandle<()>> {
        let begin = |asked: Asked| {
            let shard = self.shards[0].clone();
            self.runtime.spawn(Group::Query, async move {
                let key = key_of(asked.partition);
                let command = ReadCommand::partition(TABLE, token_of(&key), &key, asked.now);
                let mut sink = Sink::new(usize::MAX);
                let done = shard.read_through(&command, &mut sink).await.expect("the files can be read");
                assert_eq!(done, ReadDone::Complete);
            })
        };
        (0..random.below(8)).map(|_| begin(Asked::random(random, now))).collect()
    }
}

fn write(random: &mut Random, timestamp: i64, now: u32) -> Vec<u8> {
    let partition = random.below(PARTITIONS);
    let key = key_of(partition);
    let mut bytes = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
    let (a, b) = (random.below(12) as i32, random.below(6) as i32);
    let (a_bytes, b_bytes) = (a.to_be_bytes(), b.to_be_bytes());
    // Long ago, so that a compaction may purge it.
    let deletion = Deletion { timestamp, local_deletion_time: 1_000 };
    let expiry = (random.below(8) == 0).then(|| {
        let (ttl, from) = (1 + random.below(30) as u32, if random.below(2) == 0 { now } else { 1_000 });
        Expiry { ttl, local_deletion_time: from + ttl }
    });
    let value = vec![random.below(256) as u8; value_length(random, partition)];
    // Of some rows the second value is null, as in tables WITH COMPACT STORAGE.
    let row = [&a_bytes[..], &b_bytes[..]].into_iter().take(2 - usize::from(random.below(5) == 0));
    match random.below(40) {
        0 => encoder.partition_deletion(deletion),
        1..3 => {
            let last = (a + random.below(4) as i32).to_be_bytes();
            encoder.range_tombstone(
                ClusteringBound { prefix: &[&a_bytes], inclusive: random.below(2) == 0 },
                ClusteringBound { prefix: &[&last], inclusive: true },
                deletion,
            );
        }
        3..5 => {
            encoder.row(row).deletion(deletion);
        }
        5..7 => {
            encoder.static_row().cell(STATIC, timestamp, expiry, &value[..value.len().min(200)]);
        }
        7..9 => {
            encoder.row(row).tombstone(VALUE, timestamp, 1_000);
        }
        9..12 => {
            encoder.row(row).cell(OTHER_VALUE, timestamp, expiry, &value);
        }
        _ => {
            encoder.row(row).liveness(timestamp, expiry).cell(VALUE, timestamp, expiry, &value);
        }
    }
    encoder.finish();
    bytes
}

pub async fn open(runtime: &Runtime, folder: &Folder, row_cache_bytes: usize) -> Shard {
    let mut options = StorageOptions::new(&folder.path, 1, 64 << 20);
    options.row_cache_bytes = row_cache_bytes;
    options.auto_snapshot = false;
    options.compacts = false;
    options.planted = planted();
    let shard = Shard::open(runtime, options, Sharder::new(1), &schema(Other::There), &Truncations::new()).await;
    let shard = shard.expect("the shard opens");
    shard.retire_old_segments().await.expect("old segments can be removed");
    shard
}

async fn carry_out(runtime: Runtime, folders: &[Folder; 2], seed: u64, operations: usize) {
    let shards = [open(&runtime, &folders[0], 2 << 20).await, open(&runtime, &folders[1], 0).await];
    let twins = Twins { runtime: runtime.clone(), shards: Rc::new(shards) };
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut now, mut timestamp) = (2_000_000_000, 1_000);
    let mut other = Other::There;
    for step in 0..operations {
        let context = format!("step {step} from seed {seed}");
        now += u32::from(random.below(8) == 0);
        timestamp += 8;
        match random.below(200) {
            0..110 => {
                let late = if random.below(8) == 0 { random.below(400) as i64 } else { 0 };
                let bytes = write(&mut random, timestamp - late * 8 + 1, now);
                // The column may not be there.
                if !matches!(other, Other::Dropped(_)) || !is_of_other(&bytes) {
                    twins.apply(&bytes).await;
                }
            }
            110..116 => {
                let tasks = twins.read_beside(&mut random, now);
                for shard in &*twins.shards {
                    shard.flush(TABLE).await.expect("it can be written");
                }
                for task in tasks {
                    task.await;
                }
            }
            116 | 117 if random.below(2) == 0 => {
                let tasks = twins.read_beside(&mut random, now);
                for shard in &*twins.shards {
                    shard.compact(TABLE).await.expect("it can be compacted");
                }
                for task in tasks {
                    task.await;
                }
            }
            118 if random.below(8) == 0 => {
                let tasks = twins.read_beside(&mut random, now);
                runtime.yield_now().await;
                for shard in &*twins.shards {
                    let position = truncate(shard, TABLE);
                    shard.discard_truncated(TABLE, position, "1").await;
                }
                for task in tasks {
                    task.await;
                }
            }
            119 if random.below(4) == 0 => {
                other = other.next(timestamp);
                twins.shards.iter().for_each(|shard| shard.update_schema(&schema(other)));
            }
            _ => twins.compare(&Asked::random(&mut random, now), &context).await,
        }
        if step % 500 == 499 {
            for partition in 0..PARTITIONS {
                let slices = vec![((vec![], true), (vec![], true))];
                let asked = Asked { partition, slices, reversed: false, now, rows_max: usize::MAX };
                twins.compare(&asked, &context).await;
            }
        }
        runtime.maybe_yield().await;
    }
    let counters = twins.shards[0].cache_counters();
    let counts = [counters.hits, counters.misses, counters.inserts, counters.merged];
    // Of few operations not every kind may be there.
    let is_seen = |count: &u64| *count > 20 || operations < OPERATIONS / SEEDS;
    assert!(counts.iter().all(is_seen), "everything happened: {counters:?}");
}

fn is_of_other(mutation: &[u8]) -> bool {
    let mutation = mutation::MutationRef::decode(mutation).expect("what was encoded decodes");
    mutation.items().any(|item| match item {
        mutation::Item::Row(_, row) => row.cells().any(|cell| cell.column == OTHER_VALUE),
        _ => false,
    })
}

#[test]
fn twins_with_and_without_a_cache_are_read_alike() {
    let from_environment = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let operations = from_environment("HELENUS_MODEL_OPERATIONS").map_or(OPERATIONS, |count| count as usize);
    let seed = from_environment("HELENUS_MODEL_SEED").unwrap_or(1);
    for seed in seed..seed + SEEDS as u64 {
        let folders = [Folder::new(&format!("twin-with-{seed}")), Folder::new(&format!("twin-without-{seed}"))];
        let folders = &folders;
        let main = move |runtime: Runtime| async move { carry_out(runtime, folders, seed, operations / SEEDS).await };
        runtime::run(Options::default(), vec![main]).expect("a shard starts");
    }
}
