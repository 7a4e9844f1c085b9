//! What is read from memtables and files together: the same as from one memtable with all of it.
//!
//! Each history is written to two tables. One of them is flushed now and then, and in the middle of reads; the other is never
//! flushed, so that the memtable alone answers for it. A third one has copies of the first.

use std::fmt::Write as _;
use std::ops::Bound as TokenBound;

use cql_types::CqlType;
use mutation::{
    Bound, ClusteringBound, ClusteringRef, Deletion, Expiry, KeyRange, LiveRow, MutationEncoder, Position, ROW_END,
    ReadCommand, RowRef, Slice,
};
use runtime::{Group, Runtime};
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Order, Schema, SchemaChange, Table, TableId, TableOptions};
use storage::reader::ReadDone;
use storage::{CopySource, CopyTarget, DataSink, Flow, RowSink, Shard};
use topology::{ReplicationStrategy, Token, TokenRange, token_of};

use crate::harness::*;

const FLUSHED: TableId = TableId([3; 16]);
const IN_MEMORY: TableId = TableId([4; 16]);
const SINGLE_FLUSHED: TableId = TableId([5; 16]);
const SINGLE_IN_MEMORY: TableId = TableId([6; 16]);
const COPY: TableId = TableId([10; 16]);
const SINGLE_COPY: TableId = TableId([11; 16]);
/// Where a mutation has its table.
const TABLE_AT: std::ops::Range<usize> = 2..18;

const STATIC: ColumnId = ColumnId(3);
const VALUES: [ColumnId; 2] = [ColumnId(4), ColumnId(5)];
const ELEMENTS: ColumnId = ColumnId(6);
const NOW: u32 = 1_000_000;
const PARTITIONS: u32 = 6;

fn tables() -> Schema {
    let def = KeyspaceDef {
        name: "ks".to_owned(),
        replication: Default::default(),
        strategy: ReplicationStrategy::Simple { replication_factor: 1 },
        durable_writes: true,
        tenure: 0,
    };
    let key = || Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Blob);
    let value = |id: ColumnId, name: &str| Column::new(ColumnKind::Regular, id, name, CqlType::Blob);
    let set = CqlType::Set { element: Box::new(CqlType::Int), frozen: false };
    let elements = || Column::new(ColumnKind::Regular, ELEMENTS, "e", set.clone());
    let mut changes = vec![SchemaChange::PutKeyspace(def)];
    for (id, name) in [(FLUSHED, "flushed"), (IN_MEMORY, "in_memory"), (COPY, "copy")] {
        let columns = vec![
            key(),
            Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Int),
            Column::new(ColumnKind::Clustering, ColumnId(2), "d", CqlType::Int).at(1).ordered(Order::Desc),
            Column::new(ColumnKind::Static, STATIC, "s", CqlType::Blob),
            value(VALUES[0], "v"),
            value(VALUES[1], "w"),
            elements(),
        ];
        changes.push(SchemaChange::PutTable(Box::new(Table::new(id, "ks", name, columns, TableOptions::default()))));
    }
    let single =
        [(SINGLE_FLUSHED, "single_flushed"), (SINGLE_IN_MEMORY, "single_in_memory"), (SINGLE_COPY, "single_copy")];
    for (id, name) in single {
        let columns = vec![key(), value(VALUES[0], "v"), value(VALUES[1], "w"), elements()];
        changes.push(SchemaChange::PutTable(Box::new(Table::new(id, "ks", name, columns, TableOptions::default()))));
    }
    Schema::empty().with_all(&changes)
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}

fn int(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn deletion(timestamp: i64) -> Deletion {
    Deletion { timestamp, local_deletion_time: NOW - 5 }
}

fn write_row(random: &mut Random, mut row: mutation::RowEncoder<'_, '_>, columns: &[ColumnId]) {
    let timestamp = i64::from(random.below(40)) + 2;
    let expiry = random.one_in(5).then(|| Expiry { ttl: 60, local_deletion_time: NOW - 2 + random.below(4) });
    if random.one_in(12) {
        row.deletion(deletion(timestamp));
    }
    if random.one_in(2) && columns != [STATIC] {
        row.liveness(timestamp, expiry);
    }
    for &column in columns {
        match random.below(5) {
            0 => {}
            1 => _ = row.tombstone(column, timestamp, NOW - 5),
            _ => _ = row.cell(column, timestamp, expiry, &vec![7; random.below(300) as usize]),
        }
    }
    if columns == [STATIC] {
        return;
    }
    if random.one_in(8) {
        row.tombstone(ELEMENTS, timestamp - 1, NOW - 5);
    }
    for element in 0..4 {
        let mut path = Vec::new();
        cql_types::comparable::encode(&CqlType::Int, &int(element), false, &mut path);
        match random.below(6) {
            0 => _ = row.element(ELEMENTS, &path, timestamp, expiry, &int(element)),
            1 => _ = row.element_tombstone(ELEMENTS, &path, timestamp, NOW - 5),
            _ => {}
        }
    }
}

/// The mutation that a seed says, of a table with clustering columns or one without.
fn mutation_of(seed: u64, table: TableId, has_clustering: bool) -> Vec<u8> {
    let mut random = Random(seed);
    let key = int(random.below(PARTITIONS));
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, table, token_of(&key), &key);
    match random.below(24) {
        0 => encoder.partition_deletion(deletion(i64::from(random.below(40)) + 2)),
        1..=4 if has_clustering => {
            let mut ints = || (0..random.below(3)).map(|_| int(random.below(8))).collect::<Vec<_>>();
            let (start, end) = (ints(), ints());
            let start: Vec<&[u8]> = start.iter().map(|value| &value[..]).collect();
            let end: Vec<&[u8]> = end.iter().map(|value| &value[..]).collect();
            encoder.range_tombstone(
                ClusteringBound { prefix: &start, inclusive: start.is_empty() || random.one_in(2) },
                ClusteringBound { prefix: &end, inclusive: end.is_empty() || random.one_in(2) },
                deletion(i64::from(random.below(40)) + 2),
            );
        }
        5 | 6 if has_clustering => write_row(&mut random, encoder.static_row(), &[STATIC]),
        _ => {
            let clustering = [int(random.below(8)), int(random.below(8))];
            // Now and then the second is null, as tables WITH COMPACT STORAGE have it.
            let count = if has_clustering { 2 - usize::from(random.one_in(5)) } else { 0 };
            let clustering = clustering.iter().map(|value| &value[..]).take(count);
            write_row(&mut random, encoder.row(clustering), &VALUES);
        }
    }
    encoder.finish();
    out
}

fn describe(row: &LiveRow<'_>) -> String {
    let mut text = format!("{:?}", row.liveness());
    for cell in row.cells() {
        let _ = write!(text, " {}{:?}={}", cell.column.0, cell.path, cell.value.len());
        let _ = write!(text, "@{}/{:?}", cell.timestamp, cell.expiry);
    }
    text
}

/// What lives, line by line, a page at a time.
#[derive(Default)]
struct Shown {
    lines: Vec<String>,
    key: Vec<u8>,
    announced: Option<Vec<u8>>,
    left: u32,
    /// Rows of a partition, if not all are wanted.
    per_partition: Option<u32>,
    in_partition: u32,
}

impl RowSink for Shown {
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        assert_eq!(token, token_of(key));
        self.key = key.to_vec();
        if self.announced.as_deref() != Some(key) {
            self.in_partition = 0;
            if let Some(row) = static_row {
                self.lines.push(format!("{key:?} static {}", describe(&row)));
            }
        }
        self.announced = Some(key.to_vec());
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let components: Vec<&[u8]> = clustering.components().collect();
        self.lines.push(format!("{:?} {components:?} {}", self.key, describe(&row)));
        self.left -= 1;
        self.in_partition += 1;
        match () {
            () if self.left == 0 => Flow::Stop,
            () if self.per_partition.is_some_and(|most| self.in_partition >= most) => Flow::SkipPartition,
            () => Flow::Continue,
        }
    }
}

/// Data, whose deletions are applied as a merge of one lane does; line by line, a page at a time.
#[derive(Default)]
struct Data {
    lines: Vec<String>,
    key: Option<Vec<u8>>,
    deletion: Option<Deletion>,
    range: Option<Deletion>,
    left: u32,
}

impl DataSink for Data {
    fn partition(&mut self, _: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        self.left = self.left.saturating_sub(1);
        if self.key.as_deref() == Some(key) {
            assert_eq!(self.deletion, deletion, "nothing is written meanwhile");
            return;
        }
        (self.key, self.deletion, self.range) = (Some(key.to_vec()), deletion, None);
        let row = static_row.map(|row| LiveRow::new(row, deletion, NOW));
        if let Some(row) = row.filter(|row| row.cells().next().is_some()) {
            self.lines.push(format!("{key:?} static {}", describe(&row)));
        }
    }

    fn range(&mut self, _: Option<&[u8]>, deletion: Option<Deletion>) {
        self.left = self.left.saturating_sub(1);
        self.range = deletion;
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.left = self.left.saturating_sub(1);
        let live = LiveRow::new(row, Deletion::max_of(self.deletion, self.range), NOW);
        if live.is_live() {
            let components: Vec<&[u8]> = clustering.components().collect();
            let key = self.key.as_ref().expect("a row is in a partition");
            self.lines.push(format!("{key:?} {components:?} {}", describe(&live)));
        }
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// A slice's end: its prefix, and whether it is inside.
type End = (Vec<u8>, bool);

/// What is asked, without the table.
struct Asked {
    key: Option<[u8; 4]>,
    tokens: (TokenBound<Token>, TokenBound<Token>),
    slices: Vec<(End, End)>,
    reversed: bool,
    page: u32,
    per_partition: Option<u32>,
}

fn comparable(values: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for (&value, is_reversed) in values.iter().zip([false, true]) {
        cql_types::comparable::encode(&CqlType::Int, &int(value), is_reversed, &mut out);
    }
    out
}

impl Asked {
    fn new(random: &mut Random, has_clustering: bool) -> Self {
        let key = random.one_in(2).then(|| int(random.below(PARTITIONS)));
        let mut token = || match random.below(4) {
            0 => TokenBound::Included(token_of(&int(random.below(PARTITIONS)))),
            1 => TokenBound::Excluded(token_of(&int(random.below(PARTITIONS)))),
            _ => TokenBound::Unbounded,
        };
        let tokens = (token(), token());
        let slices = match random.below(5) {
            _ if !has_clustering => vec![((vec![], true), (vec![], true))],
            0 | 1 => vec![((vec![], true), (vec![], true))],
            2 => {
                let mut end = || {
                    let values: Vec<u32> = (0..random.below(3)).map(|_| random.below(8)).collect();
                    (comparable(&values), values.is_empty() || random.one_in(2))
                };
                vec![(end(), end())]
            }
            3 => {
                let place = comparable(&[random.below(8)]);
                vec![((place.clone(), true), ([&place[..], &[ROW_END]].concat(), false))]
            }
            _ => {
                let mut points: Vec<Vec<u8>> =
                    (0..3).map(|_| comparable(&[random.below(8), random.below(8)])).collect();
                points.sort();
                points.dedup();
                points.into_iter().map(|point| ((point.clone(), true), (point, true))).collect()
            }
        };
        let per_partition = random.one_in(4).then(|| 1 + random.below(4));
        Asked { key, tokens, slices, reversed: random.one_in(2), page: 1 + random.below(30), per_partition }
    }

    async fn live(&self, runtime: &Runtime, shard: &Shard, table: TableId, flushes: u32) -> Vec<String> {
        let slices = self.slices();
        let mut shown = Shown { per_partition: self.per_partition, ..Shown::default() };
        let mut after: Option<Position> = None;
        for page in 0.. {
            let flush = (page < flushes).then(|| {
                let shard = shard.clone();
                runtime.spawn(Group::Flush, async move { shard.flush(table).await })
            });
            shown.left = self.page;
            let command = self.command(table, &slices, after.as_ref());
            let done = shard.read_through(&command, &mut shown).await.expect("the files can be read");
            if let Some(flush) = flush {
                flush.await.expect("it is flushed");
            }
            match done {
                ReadDone::Complete => break,
                ReadDone::Stopped(position) => after = Some(position),
            }
        }
        shown.lines
    }

    async fn data(&self, shard: &Shard, table: TableId) -> Vec<String> {
        let slices = self.slices();
        let mut data = Data::default();
        let mut after: Option<Position> = None;
        loop {
            data.left = self.page;
            let command = self.command(table, &slices, after.as_ref());
            match shard.read_data_through(&command, &mut data).await.expect("the files can be read") {
                ReadDone::Complete => return data.lines,
                ReadDone::Stopped(position) => {
                    assert_ne!(Some(&position), after.as_ref(), "each page gets further");
                    after = Some(position);
                }
            }
        }
    }

    fn slices(&self) -> Vec<Slice<'_>> {
        let slices = self.slices.iter().map(|(start, end)| Slice {
            start: Bound { prefix: &start.0, inclusive: start.1 },
            end: Bound { prefix: &end.0, inclusive: end.1 },
        });
        slices.collect()
    }

    fn command<'c>(&'c self, table: TableId, slices: &'c [Slice<'c>], after: Option<&'c Position>) -> ReadCommand<'c> {
        let keys = match &self.key {
            Some(key) => KeyRange::Partition { token: token_of(key), key },
            None => KeyRange::Tokens { start: self.tokens.0, end: self.tokens.1 },
        };
        let after = after.map(Position::as_ref);
        ReadCommand { table, keys, slices, reversed: self.reversed, now_in_seconds: NOW, after }
    }
}

/// Copies a table to another one, in pages and in an order that the random numbers say, some of it twice.
async fn copy(random: &mut Random, shard: &Shard, from: TableId, to: TableId) {
    let source = CopySource::open(shard, from).await.expect("it is flushed");
    let mut target = CopyTarget::begin(shard, to, TokenRange::ALL).expect("the table is there");
    let mut all = Vec::new();
    for range in source.cut(TokenRange { after: Token::MIN, end: Token::MAX }, 500) {
        let mut scan = source.scan(range);
        loop {
            let page = scan.page(1 + random.below(2_000) as usize, PAGE_TIME).await.expect("the files can be read");
            all.extend(page.mutations);
            if page.is_last {
                break;
            }
        }
    }
    while !all.is_empty() {
        let at = random.below(all.len() as u32) as usize;
        let mut mutation = if random.one_in(4) { all[at].clone() } else { all.swap_remove(at) };
        mutation[TABLE_AT].copy_from_slice(&to.0);
        target.put(&mutation).await.expect("it belongs there");
    }
    target.finish().await.expect("the disk works");
}

/// Seeds between two truncations.
const SEEDS_AT_ONCE: u64 = 20;

/// A third of 60 seeds where `HELENUS_SAMPLE` chooses one, as a change's run does by its commit's hash; else all.
fn seeds() -> std::ops::Range<u64> {
    let sample: Option<u64> =
        std::env::var("HELENUS_SAMPLE").ok().map(|number| number.parse().expect("HELENUS_SAMPLE is a number"));
    sample.map_or(0..3 * SEEDS_AT_ONCE, |sample| {
        let first = sample % 3 * SEEDS_AT_ONCE;
        first..first + SEEDS_AT_ONCE
    })
}

/// Most seeds have flushed more than once.
fn assert_flushes(shard: &Shard) {
    let seeds = seeds();
    assert!(shard.stats().flushes > (seeds.end - seeds.start) * 5 / 6, "{:?}", shard.stats());
}

/// Writes a history to both tables, flushing one of them, and compares what is read of both, and of the copy.
async fn compare(
    runtime: &Runtime,
    shard: &Shard,
    (flushed, in_memory, copied): (TableId, TableId, TableId),
    has_clustering: bool,
) {
    for seed in seeds() {
        let mut random = Random(seed);
        for step in 0..20 + random.below(60) {
            let write = seed << 32 | u64::from(step);
            apply(shard, &mutation_of(write, flushed, has_clustering)).await;
            apply(shard, &mutation_of(write, in_memory, has_clustering)).await;
            if random.one_in(25) {
                shard.flush(flushed).await.expect("it is flushed");
            }
        }
        if seed % 4 == 3 {
            copy(&mut random, shard, flushed, copied).await;
            for _ in 0..8 {
                let asked = Asked::new(&mut random, has_clustering);
                let expected = asked.live(runtime, shard, in_memory, 0).await;
                assert_eq!(asked.live(runtime, shard, copied, 0).await, expected, "seed {seed}: of the copy");
            }
        }
        for read in 0..12 {
            let asked = Asked::new(&mut random, has_clustering);
            let expected = asked.live(runtime, shard, in_memory, 0).await;
            let flushes = if read == 3 { 2 } else { 0 };
            let given = asked.live(runtime, shard, flushed, flushes).await;
            assert_eq!(given, expected, "seed {seed}, read {read}: what lives");
            if asked.per_partition.is_none() {
                let given = asked.data(shard, flushed).await;
                assert_eq!(given, expected, "seed {seed}, read {read}: data");
            }
            // What is written meanwhile has the next read merge a memtable too.
            let write = seed << 32 | 1 << 20 | read;
            apply(shard, &mutation_of(write, flushed, has_clustering)).await;
            apply(shard, &mutation_of(write, in_memory, has_clustering)).await;
        }
        if seed % SEEDS_AT_ONCE == SEEDS_AT_ONCE - 1 {
            // Not too many files at once.
            truncate(shard, flushed);
            truncate(shard, in_memory);
            truncate(shard, copied);
        }
    }
}

#[test]
fn memtables_and_files_read_as_one_memtable() {
    let folder = Folder::new("reads");
    with_shard(&Setup::new(&folder, 1), async |runtime, shard| {
        shard.update_schema(&tables());
        compare(&runtime, &shard, (FLUSHED, IN_MEMORY, COPY), true).await;
        assert_flushes(&shard);
    })
    .expect("the shard opens");
}

#[test]
fn tables_of_one_row_each_read_as_one_memtable() {
    let folder = Folder::new("reads-single");
    with_shard(&Setup::new(&folder, 1), async |runtime, shard| {
        shard.update_schema(&tables());
        compare(&runtime, &shard, (SINGLE_FLUSHED, SINGLE_IN_MEMORY, SINGLE_COPY), false).await;
        assert_flushes(&shard);
    })
    .expect("the shard opens");
}
