//! The memtable against a model that keeps every write and works out the answer at the read.

use std::collections::BTreeMap;
use std::ops::Bound as TokenBound;

use cql_types::CqlType;
use mutation::{
    Bound, ClusteringBound, ClusteringRef, Deletion, Expiry, KeyRange, LiveRow, MutationEncoder, MutationRef, Position,
    ReadCommand, RowRef, Slice, TombstoneRule, merge_rows,
};
use proptest::prelude::*;
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use topology::{Token, token_of};

use super::*;
use crate::sink::{Flow, ReadEnd, RowSink};

pub(crate) mod data;
mod flush;

pub(crate) const TABLE: TableId = TableId([7; 16]);
pub(crate) const NOW: u32 = 1000;
/// A column of several cells.
const ELEMENTS: ColumnId = ColumnId(5);

/// One cell of a write: column, value; no value deletes.
type CellWrite = (u16, Option<u8>);

#[derive(Debug, Clone)]
pub(crate) struct RowWrite {
    timestamp: i64,
    is_insert: bool,
    deletes: bool,
    expires_at: Option<u32>,
    cells: Vec<CellWrite>,
    /// Of the column of several cells: whether it is set as a whole, and elements; none is deleted.
    is_whole: bool,
    elements: Vec<CellWrite>,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Row(u8, [u8; 2], RowWrite),
    Static(u8, RowWrite),
    Partition(u8, i64),
    Range(u8, (Vec<u8>, bool), (Vec<u8>, bool), i64),
}

fn row_write() -> impl Strategy<Value = RowWrite> {
    (
        0i64..12,
        any::<bool>(),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.2, NOW - 2..NOW + 2),
        prop::collection::vec((0u16..4, prop::option::weighted(0.8, any::<u8>())), 0..4),
        prop::bool::weighted(0.1),
        prop::collection::vec((0u16..3, prop::option::weighted(0.8, any::<u8>())), 0..2),
    )
        .prop_map(|(timestamp, is_insert, deletes, expires_at, cells, is_whole, elements)| RowWrite {
            timestamp,
            is_insert,
            deletes,
            expires_at,
            cells,
            is_whole,
            elements,
        })
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let bound = || (prop::collection::vec(0u8..6, 0..3), any::<bool>());
    prop_oneof![
        10 => (0u8..4, [0u8..6, 0u8..6], row_write()).prop_map(|(p, c, w)| Op::Row(p, c, w)),
        1 => (0u8..4, row_write()).prop_map(|(p, w)| Op::Static(p, w)),
        1 => (0u8..4, 0i64..12).prop_map(|(p, t)| Op::Partition(p, t)),
        2 => (0u8..4, bound(), bound(), 0i64..12).prop_map(|(p, s, e, t)| Op::Range(p, s, e, t)),
    ]
}

pub(crate) fn shape() -> TableShape {
    // The elements' paths are short ones of these tests' own, which a column of elements would refuse.
    let columns = table().columns().iter().filter(|column| column.id != ELEMENTS).cloned().collect();
    TableShape::of(&Table::new(TABLE, "ks", "t", columns, TableOptions::default()))
}

fn int(value: u8) -> [u8; 4] {
    i32::from(value).to_be_bytes()
}

pub(crate) fn comparable(components: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (&component, (ty, is_reversed)) in components.iter().zip(&shape().clustering) {
        cql_types::comparable::encode(ty, &int(component), *is_reversed, &mut out);
    }
    out
}

fn deletion(timestamp: i64) -> Deletion {
    Deletion { timestamp, local_deletion_time: NOW }
}

fn write_row(mut row: mutation::RowEncoder<'_, '_>, write: &RowWrite) {
    let expiry = write.expires_at.map(|local_deletion_time| Expiry { ttl: 10, local_deletion_time });
    if write.deletes {
        row.deletion(deletion(write.timestamp));
    }
    if write.is_insert {
        row.liveness(write.timestamp, expiry);
    }
    for &(column, value) in &write.cells {
        match value {
            Some(value) => row.cell(ColumnId(column), write.timestamp, expiry, &[value]),
            None => row.tombstone(ColumnId(column), write.timestamp, NOW),
        };
    }
    if write.is_whole {
        row.tombstone(ELEMENTS, write.timestamp - 1, NOW);
    }
    for &(path, value) in &write.elements {
        let path = path.to_be_bytes();
        match value {
            Some(value) => row.element(ELEMENTS, &path, write.timestamp, expiry, &[value]),
            None => row.element_tombstone(ELEMENTS, &path, write.timestamp, NOW),
        };
    }
}

pub(crate) fn encode(op: &Op) -> Vec<u8> {
    let mut out = Vec::new();
    let (Op::Row(partition, ..) | Op::Static(partition, ..) | Op::Partition(partition, ..) | Op::Range(partition, ..)) =
        op;
    let key = [*partition];
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
    match op {
        Op::Row(_, [a, b], write) => write_row(encoder.row([&int(*a)[..], &int(*b)[..]]), write),
        Op::Static(_, write) => {
            let write = RowWrite { is_insert: false, ..write.clone() };
            write_row(encoder.static_row(), &write);
        }
        Op::Partition(_, timestamp) => encoder.partition_deletion(deletion(*timestamp)),
        Op::Range(_, start, end, timestamp) => {
            let ints = |bound: &[u8]| bound.iter().map(|&value| int(value)).collect::<Vec<_>>();
            let (start_ints, end_ints) = (ints(&start.0), ints(&end.0));
            let start_refs: Vec<&[u8]> = start_ints.iter().map(|value| &value[..]).collect();
            let end_refs: Vec<&[u8]> = end_ints.iter().map(|value| &value[..]).collect();
            encoder.range_tombstone(
                ClusteringBound { prefix: &start_refs, inclusive: start.1 || start.0.is_empty() },
                ClusteringBound { prefix: &end_refs, inclusive: end.1 || end.0.is_empty() },
                deletion(*timestamp),
            );
        }
    }
    encoder.finish();
    out
}

/// A live row as text: what a sink was given.
fn describe(row: &LiveRow<'_>) -> String {
    let cells: Vec<String> = row
        .cells()
        .map(|cell| format!("{}{:?}={:?}@{}", cell.column.0, cell.path, cell.value, cell.timestamp))
        .collect();
    format!("{:?} {}", row.liveness(), cells.join(" "))
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Key, clustering or the static row's mark, row.
    pub(crate) rows: Vec<(Vec<u8>, String, String)>,
}

/// The table of these tests.
pub(crate) fn table() -> Table {
    let set = CqlType::Set { element: Box::new(CqlType::Blob), frozen: false };
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(100), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(101), "c", CqlType::Int),
        Column::new(ColumnKind::Clustering, ColumnId(102), "d", CqlType::Int).at(1).ordered(Order::Desc),
        Column::new(ColumnKind::Regular, ELEMENTS, "e", set),
    ];
    Table::new(TABLE, "ks", "t", columns, TableOptions::default())
}

pub(crate) struct Collector {
    pub(crate) collected: Collected,
    pub(crate) stop_after: usize,
    pub(crate) tombstones: u32,
    table: Table,
    key: Vec<u8>,
    announced: Option<Vec<u8>>,
}

impl RowSink for Collector {
    fn partition(&mut self, token: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        assert_eq!(token, token_of(key));
        self.key = key.to_vec();
        // A partition that is gone on with is announced again.
        if self.announced.as_deref() != Some(key)
            && let Some(row) = static_row
        {
            self.collected.rows.push((key.to_vec(), "static".into(), describe(&row)));
            let _ = self.tombstones(token, |rule| rule.of_static(&row));
        }
        self.announced = Some(key.to_vec());
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let components: Vec<&[u8]> = clustering.components().collect();
        self.collected.rows.push((self.key.clone(), format!("{components:?}"), describe(&row)));
        let _ = self.tombstones(Token::MIN, |rule| rule.of_row(&row));
        self.stop_after -= 1;
        if self.stop_after == 0 { Flow::Stop } else { Flow::Continue }
    }

    fn tombstones(&mut self, _: Token, count: impl FnOnce(&TombstoneRule<'_>) -> u32) -> Flow {
        self.tombstones += count(&TombstoneRule::new(&self.table, NOW, true));
        Flow::Continue
    }
}

impl Collector {
    pub(crate) fn new(stop_after: usize) -> Self {
        Collector {
            collected: Collected::default(),
            stop_after,
            tombstones: 0,
            table: table(),
            key: vec![],
            announced: None,
        }
    }
}

pub(crate) fn read_all(table: &Memtable, command: &ReadCommand<'_>, stop_after: usize) -> Collected {
    let mut collector = Collector::new(stop_after);
    let mut after: Option<Position> = None;
    loop {
        collector.stop_after = stop_after;
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        match table.read(&command, &mut collector) {
            ReadEnd::Complete => return collector.collected,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
        }
    }
}

/// A row's clustering, and the blobs written to it.
type ModelRow = ([u8; 2], Vec<Vec<u8>>);

#[derive(Default)]
struct ModelPartition {
    rows: BTreeMap<Vec<u8>, ModelRow>,
    static_rows: Vec<Vec<u8>>,
    deletion: Option<Deletion>,
    ranges: Vec<(ModelSlice, Deletion)>,
}

fn merged(blobs: &[Vec<u8>]) -> Vec<u8> {
    let mut all = blobs[0].clone();
    for blob in &blobs[1..] {
        let mut out = Vec::new();
        merge_rows(&RowRef::trusted(&all), &RowRef::trusted(blob), &mut out);
        all = out;
    }
    all
}

/// Whether `key` is inside of bounds given as components.
fn is_inside(key: &[u8], start: &(Vec<u8>, bool), end: &(Vec<u8>, bool)) -> bool {
    let (start_prefix, end_prefix) = (comparable(&start.0), comparable(&end.0));
    let after_start = match key.starts_with(&start_prefix) {
        true => start.1 || start.0.is_empty(),
        false => key > &start_prefix[..],
    };
    let before_end = match key.starts_with(&end_prefix) {
        true => end.1 || end.0.is_empty(),
        false => key < &end_prefix[..],
    };
    after_start && before_end
}

impl ModelPartition {
    fn add(&mut self, op: &Op) {
        let bytes = encode(op);
        let decoded = MutationRef::decode(&bytes).expect("what was encoded decodes");
        let blob = decoded.items().find_map(|item| match item {
            mutation::Item::Row(_, row) | mutation::Item::StaticRow(row) => Some(row.bytes().to_vec()),
            mutation::Item::RangeTombstone(_) => None,
        });
        match op {
            Op::Row(_, clustering, _) => {
                if let Some(blob) = blob {
                    self.rows.entry(comparable(clustering)).or_insert((*clustering, vec![])).1.push(blob);
                }
            }
            Op::Static(..) => self.static_rows.extend(blob),
            Op::Partition(_, timestamp) => {
                self.deletion = Deletion::max_of(self.deletion, Some(deletion(*timestamp)));
            }
            Op::Range(_, start, end, timestamp) => {
                self.ranges.push(((start.clone(), end.clone()), deletion(*timestamp)));
            }
        }
    }

    fn read(&self, key: &[u8], slices: &[ModelSlice], reversed: bool, out: &mut Collected) {
        let mut rows = Vec::new();
        for (comparable, (clustering, blobs)) in &self.rows {
            if !slices.iter().any(|slice| is_inside(comparable, &slice.0, &slice.1)) {
                continue;
            }
            let ranges = self.ranges.iter().filter(|((start, end), _)| is_inside(comparable, start, end));
            let shadow = ranges.fold(self.deletion, |max, range| Deletion::max_of(max, Some(range.1)));
            let blob = merged(blobs);
            let live = LiveRow::new(RowRef::trusted(&blob), shadow, NOW);
            if live.is_live() {
                let components = [&int(clustering[0])[..], &int(clustering[1])[..]];
                rows.push((key.to_vec(), format!("{components:?}"), describe(&live)));
            }
        }
        if reversed {
            rows.reverse();
        }
        if !self.static_rows.is_empty() {
            let blob = merged(&self.static_rows);
            let live = LiveRow::new(RowRef::trusted(&blob), self.deletion, NOW);
            if live.cells().next().is_some() {
                out.rows.push((key.to_vec(), "static".into(), describe(&live)));
            }
        }
        out.rows.extend(rows);
    }
}

pub(crate) type ModelSlice = ((Vec<u8>, bool), (Vec<u8>, bool));

/// Slices that ascend and do not overlap: what lies between neighbouring points.
pub(crate) fn slices() -> impl Strategy<Value = Vec<ModelSlice>> {
    let point = |components: Vec<u8>| ((components.clone(), true), (components, true));
    prop_oneof![
        Just(vec![((vec![], true), (vec![], true))]),
        (prop::collection::vec(0u8..6, 0..3), any::<bool>(), prop::collection::vec(0u8..6, 0..3), any::<bool>())
            .prop_map(|(start, with_start, end, with_end)| {
                let with_start = with_start || start.is_empty();
                let with_end = with_end || end.is_empty();
                vec![((start, with_start), (end, with_end))]
            }),
        prop::collection::btree_set((0u8..6, 0u8..6), 0..4).prop_map(move |points| {
            let mut points: Vec<Vec<u8>> = points.into_iter().map(|(a, b)| vec![a, b]).collect();
            points.sort_by_key(|point| comparable(point));
            points.into_iter().map(point).collect()
        }),
    ]
}

/// The ends of slices in byte-comparable form.
pub(crate) fn comparable_bounds(slices: &[ModelSlice]) -> Vec<(Vec<u8>, Vec<u8>)> {
    slices.iter().map(|slice| (comparable(&slice.0.0), comparable(&slice.1.0))).collect()
}

/// The slices between such ends.
pub(crate) fn slices_between<'b>(slices: &[ModelSlice], bounds: &'b [(Vec<u8>, Vec<u8>)]) -> Vec<Slice<'b>> {
    let slice = |(slice, (start, end)): (&ModelSlice, &'b (Vec<u8>, Vec<u8>))| Slice {
        start: Bound { prefix: start, inclusive: slice.0.1 },
        end: Bound { prefix: end, inclusive: slice.1.1 },
    };
    slices.iter().zip(bounds).map(slice).collect()
}

fn check_reads(
    table: &Memtable,
    model: &BTreeMap<(Token, Vec<u8>), ModelPartition>,
    slices: &[ModelSlice],
    reversed: bool,
    stop_after: usize,
) {
    let bounds = comparable_bounds(slices);
    let encoded = slices_between(slices, &bounds);
    let tokens: Vec<Token> = model.keys().map(|key| key.0).collect();
    let mut ranges = vec![(TokenBound::Unbounded, TokenBound::Unbounded)];
    if let (Some(&first), Some(&last)) = (tokens.first(), tokens.last()) {
        ranges.push((TokenBound::Excluded(first), TokenBound::Included(last)));
        ranges.push((TokenBound::Included(first), TokenBound::Excluded(last)));
    }
    for (start, end) in ranges {
        let mut expected = Collected::default();
        for ((token, key), partition) in model {
            if (start, end).contains(token) {
                partition.read(key, slices, reversed, &mut expected);
            }
        }
        let keys = KeyRange::Tokens { start, end };
        let command = ReadCommand { table: TABLE, keys, slices: &encoded, reversed, now_in_seconds: NOW, after: None };
        assert_eq!(read_all(table, &command, stop_after), expected);
        assert_eq!(data::read_data(table, &command, stop_after), expected);
    }
    for ((token, key), partition) in model {
        let mut expected = Collected::default();
        partition.read(key, slices, reversed, &mut expected);
        let keys = KeyRange::Partition { token: *token, key };
        let command = ReadCommand { table: TABLE, keys, slices: &encoded, reversed, now_in_seconds: NOW, after: None };
        assert_eq!(read_all(table, &command, stop_after), expected);
        assert_eq!(data::read_data(table, &command, stop_after), expected);
    }
}

use std::ops::RangeBounds;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn reads_what_the_writes_come_to(
        ops in prop::collection::vec(op(), 0..120),
        slices in slices(),
        reversed in any::<bool>(),
        stop_after in 1usize..20,
    ) {
        let mut pool = ChunkPool::new(1 << 30);
        let mut scratch = Scratch::default();
        let mut table = Memtable::new(shape());
        let mut model: BTreeMap<(Token, Vec<u8>), ModelPartition> = BTreeMap::new();
        for op in &ops {
            let bytes = encode(op);
            let mutation = MutationRef::decode(&bytes).expect("what was encoded decodes");
            prop_assert_eq!(table.shape().check(&mutation), Ok(()));
            table.apply(&mut pool, &mut scratch, &mutation);
            model.entry((mutation.token(), mutation.key().to_vec())).or_default().add(op);
        }
        check_reads(&table, &model, &slices, reversed, stop_after);
        table.clear(&mut pool);
        prop_assert_eq!(pool.used(), 0);
    }
}

fn apply(table: &mut Memtable, pool: &mut ChunkPool, bytes: &[u8]) {
    let mutation = MutationRef::decode(bytes).expect("what was encoded decodes");
    table.apply(pool, &mut Scratch::default(), &mutation);
}

fn insert_single(table: &mut Memtable, pool: &mut ChunkPool, key: &[u8], timestamp: i64, value: &[u8]) {
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(key), key);
    encoder.row([]).liveness(timestamp, None).cell(ColumnId(1), timestamp, None, value);
    encoder.finish();
    apply(table, pool, &out);
}

#[test]
fn overwriting_takes_no_more_memory() {
    let mut pool = ChunkPool::new(1 << 30);
    let mut table = Memtable::new(TableShape::default());
    let mut used = 0;
    for round in 0..20i64 {
        for key in 0..2000u32 {
            let length = 100 + (key as usize * 7 + round as usize * 31) % 200;
            insert_single(&mut table, &mut pool, &key.to_be_bytes(), round, &vec![1; length]);
        }
        if round == 3 {
            used = pool.used();
        }
    }
    assert!(pool.used() <= used + used / 4, "{used} bytes after 4 rounds, {} after 20", pool.used());
}

#[test]
fn rows_that_moved_are_found_by_their_keys_and_in_order() {
    const COUNT: u32 = 3000;
    let mut pool = ChunkPool::new(1 << 30);
    let mut table = Memtable::new(TableShape::default());
    for round in 0..4i64 {
        for key in 0..COUNT {
            table.prefetch_partition(&mut pool, token_of(&key.to_be_bytes()));
            insert_single(&mut table, &mut pool, &key.to_be_bytes(), round, &vec![round as u8; 10 << round]);
        }
    }
    assert!(!table.partitions.is_to_be_indexed(), "all are indexed");
    let all = ReadCommand {
        keys: KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Unbounded },
        ..ReadCommand::partition(TABLE, Token(0), &[], NOW)
    };
    let mut in_order = read_all(&table, &all, COUNT as usize + 1).rows;
    assert_eq!(in_order.len(), COUNT as usize);
    let mut by_key = Vec::new();
    for key in 0..COUNT {
        let bytes = key.to_be_bytes();
        let mut rows = read_all(&table, &ReadCommand::partition(TABLE, token_of(&bytes), &bytes, NOW), 2).rows;
        assert_eq!(rows.len(), 1);
        by_key.append(&mut rows);
    }
    in_order.sort_unstable();
    by_key.sort_unstable();
    assert_eq!(in_order, by_key);
}

/// What is this large has memory of its own, and is given back with it.
#[test]
fn a_large_row_that_moved_is_found() {
    const COUNT: u32 = 3000;
    let mut pool = ChunkPool::new(1 << 30);
    let mut table = Memtable::new(TableShape::default());
    for round in 0..3 {
        for key in 0..COUNT {
            table.prefetch_partition(&mut pool, token_of(&key.to_be_bytes()));
            insert_single(&mut table, &mut pool, &key.to_be_bytes(), round, b"small");
        }
    }
    assert!(!table.partitions.is_to_be_indexed(), "all are indexed");
    let key = 7u32.to_be_bytes();
    for (timestamp, length) in [(10, 600 << 10), (11, 900 << 10), (12, 1000), (13, 3 << 20), (14, 10)] {
        let value = vec![timestamp as u8; length];
        insert_single(&mut table, &mut pool, &key, timestamp, &value);
        let rows = read_all(&table, &ReadCommand::partition(TABLE, token_of(&key), &key, NOW), 2).rows;
        assert_eq!(rows.len(), 1);
        assert!(rows[0].2.ends_with(&format!("={value:?}@{timestamp}")), "{length} bytes at {timestamp}");
    }
}

#[test]
fn a_deleted_partition_without_clustering_is_gone_and_comes_back() {
    let mut pool = ChunkPool::new(1 << 30);
    let mut table = Memtable::new(TableShape::default());
    let key = b"k";
    let command = ReadCommand::partition(TABLE, token_of(key), key, NOW);
    insert_single(&mut table, &mut pool, key, 5, b"a");
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(key), key);
    encoder.partition_deletion(deletion(7));
    encoder.finish();
    apply(&mut table, &mut pool, &out);
    assert_eq!(read_all(&table, &command, 9).rows.len(), 0);
    insert_single(&mut table, &mut pool, key, 7, b"b");
    assert_eq!(read_all(&table, &command, 9).rows.len(), 0, "a deletion wins a tie");
    insert_single(&mut table, &mut pool, key, 8, b"c");
    assert_eq!(read_all(&table, &command, 9).rows.len(), 1);
}

#[test]
fn a_mutation_that_says_nothing_makes_no_partition() {
    let mut pool = ChunkPool::new(1 << 30);
    let clustered = TableShape { clustering: vec![(CqlType::Int, false)], ..TableShape::default() };
    for shape in [TableShape::default(), clustered] {
        let mut table = Memtable::new(shape);
        let mut out = Vec::new();
        MutationEncoder::begin(&mut out, TABLE, token_of(b"k"), b"k").finish();
        apply(&mut table, &mut pool, &out);
        assert_eq!(table.partition_count(), 0);
    }
}

/// A partition `k` with one clustering column and this many rows, each with a value of 100 bytes.
fn many_rows(pool: &mut ChunkPool, count: i32) -> Memtable {
    let mut table = Memtable::new(TableShape { clustering: vec![(CqlType::Int, false)], ..TableShape::default() });
    for row in 0..count {
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(b"k"), b"k");
        encoder.row([&row.to_be_bytes()[..]]).liveness(1, None).cell(ColumnId(1), 1, None, &[1; 100]);
        encoder.finish();
        apply(&mut table, pool, &out);
    }
    table
}

#[test]
fn a_deletion_hides_more_rows_than_it_frees_at_once() {
    let mut pool = ChunkPool::new(1 << 30);
    let bound = ClusteringBound { prefix: &[], inclusive: true };
    for of_range in [true, false] {
        let mut table = many_rows(&mut pool, 1000);
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(b"k"), b"k");
        match of_range {
            true => {
                let start = ClusteringBound { prefix: &[&10i32.to_be_bytes()], inclusive: true };
                encoder.range_tombstone(start, bound, deletion(5));
            }
            false => encoder.partition_deletion(deletion(5)),
        }
        encoder.finish();
        apply(&mut table, &mut pool, &out);
        let command = ReadCommand::partition(TABLE, token_of(b"k"), b"k", NOW);
        assert_eq!(read_all(&table, &command, 9).rows.len(), if of_range { 10 } else { 0 });
        assert_eq!(table.purges.len(), 1, "most are still to be freed");
        for other in 0..20u8 {
            let mut out = Vec::new();
            let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&[other]), &[other]);
            encoder.row([&1i32.to_be_bytes()[..]]).liveness(9, None);
            encoder.finish();
            apply(&mut table, &mut pool, &out);
        }
        assert!(table.purges.is_empty(), "the writes that followed freed them");
        assert_eq!(read_all(&table, &command, 9).rows.len(), if of_range { 10 } else { 0 });
        table.clear(&mut pool);
    }
}

#[test]
fn a_large_partition_reads_in_bounded_calls() {
    let mut pool = ChunkPool::new(1 << 30);
    let key = b"k";
    let table = many_rows(&mut pool, 10_000);
    let mut collector = Collector::new(usize::MAX);
    let command = ReadCommand::partition(TABLE, token_of(key), key, NOW);
    assert!(matches!(table.read(&command, &mut collector), ReadEnd::Paused(_)));
    assert!(collector.collected.rows.len() <= 1000);
    assert_eq!(read_all(&table, &command, usize::MAX).rows.len(), 10_000);
    assert_eq!(read_all(&table, &ReadCommand { reversed: true, ..command }, 700).rows.len(), 10_000);
}
