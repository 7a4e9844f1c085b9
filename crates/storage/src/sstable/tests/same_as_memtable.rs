//! Random partitions: an SSTable tells a sink what the memtable that it was written of tells.

use std::ops::Bound as TokenBound;

use mutation::{Bound, KeyRange, Slice};

use super::*;
use crate::memtable::is_above;

/// How a clustering column's values are made.
fn value(ty: &str, random: &mut Random, few: u64) -> Vec<u8> {
    let number = random.below(few);
    match ty {
        "int" => (number as i32 - few as i32 / 2).to_be_bytes().to_vec(),
        "varint" => {
            let number = number as i64 * 37 - 127 + random.below(2) as i64 * 127;
            let bytes = number.to_be_bytes();
            let used =
                (0..7).find(|&n| i64::from_be_bytes(sign_extended(&bytes[n..])) == number && is_short(&bytes[n..]));
            bytes[used.unwrap_or(7)..].to_vec()
        }
        "text" => match number {
            0 => Vec::new(),
            _ => format!("{:0>width$}", number, width = 1 + (number % 3) as usize * 9).into_bytes(),
        },
        _ => unreachable!("a type of the tests"),
    }
}

fn sign_extended(bytes: &[u8]) -> [u8; 8] {
    let mut out = [if bytes[0] & 0x80 != 0 { 0xff } else { 0 }; 8];
    out[8 - bytes.len()..].copy_from_slice(bytes);
    out
}

/// Whether a number takes all of these bytes.
fn is_short(bytes: &[u8]) -> bool {
    bytes.len() == 1 || !(bytes[0] == 0 && bytes[1] & 0x80 == 0 || bytes[0] == 0xff && bytes[1] & 0x80 != 0)
}

/// What the tests' tables look like.
pub(super) struct Shape {
    pub(super) clustering: &'static [(&'static str, Order)],
    pub(super) compression: &'static [(&'static str, &'static str)],
    pub(super) partitions: u64,
    /// Rows of a partition at most, and how many values each clustering column has.
    pub(super) rows: u64,
    pub(super) few: u64,
    /// Bytes of a value at most.
    pub(super) value_bytes: u64,
}

pub(super) const LZ4: &[(&str, &str)] = &[("class", "LZ4Compressor"), ("chunk_length_in_kb", "4")];

pub(super) fn fill(shape: &Shape, random: &mut Random) -> Model {
    let table = table(shape.clustering, shape.compression);
    let mut model = Model::new(&table);
    for _ in 0..shape.partitions {
        let length = 1 + random.below(3) as usize;
        let key = random.bytes(length);
        let clustering = |random: &mut Random, count: usize| -> Vec<Vec<u8>> {
            shape.clustering[..count].iter().map(|(ty, _)| value(ty, random, shape.few)).collect()
        };
        if random.one_in(4) {
            let deletion = random.deletion();
            model.write(&key, |encoder| encoder.partition_deletion(deletion));
        }
        if shape.clustering.len() > 1 && random.one_in(2) {
            let timestamp = random.below(40) as i64;
            model.write(&key, |encoder| {
                encoder.static_row().cell(STATIC, timestamp, None, b"shared");
            });
        }
        let columns = shape.clustering.len();
        for _ in 0..random.below(shape.rows + 1) {
            let place = clustering(random, columns);
            let refs: Vec<&[u8]> = place.iter().map(|value| &value[..]).collect();
            let (timestamp, expiry) = (random.below(40) as i64, random.expiry());
            let length = random.below(shape.value_bytes + 1) as usize;
            let bytes = random.bytes(length);
            let (what, row_deletion) = (random.below(16), random.deletion());
            model.write(&key, |encoder| {
                let mut row = encoder.row(refs.iter().copied());
                match what {
                    0 => drop(row.deletion(row_deletion)),
                    1 => drop(row.tombstone(VALUE, timestamp, NOW - 5)),
                    2 => drop(row.cell(OTHER, timestamp, None, &[0, 0, 0, 1])),
                    3 => drop(row.deletion(row_deletion).cell(VALUE, timestamp + 1, expiry, &bytes)),
                    _ => drop(row.liveness(timestamp, expiry).cell(VALUE, timestamp, expiry, &bytes)),
                }
            });
            if columns > 0 && random.one_in(12) {
                let mut bound = || {
                    let count = random.below(columns as u64 + 1) as usize;
                    let components = clustering(random, count);
                    let inclusive = random.one_in(2) || components.is_empty();
                    (components, inclusive)
                };
                let (start, end) = (bound(), bound());
                let deletion = random.deletion();
                model.range(&key, &start, &end, deletion);
            }
        }
    }
    model
}

/// The calls of a read in pages of so many rows, and where each of them ended.
fn pages_of_memtable(
    model: &Model,
    command: &ReadCommand<'_>,
    rows_max: usize,
) -> Vec<(Vec<String>, Option<Position>)> {
    let mut pages = Vec::new();
    let mut after: Option<Position> = None;
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        let mut sink = Calls::new(rows_max, true);
        let end = model.memtable.read_data(&command, &mut sink);
        let ReadEnd::Stopped(position) = end else {
            assert_eq!(end, ReadEnd::Complete, "the tests' pages are shorter than a memtable's call");
            pages.push((sink.calls, None));
            return pages;
        };
        pages.push((sink.calls, Some(position.clone())));
        after = Some(position);
    }
}

/// Page by page, each ending at a row, the calls and the positions are the same.
async fn check_pages(model: &Model, sstable: &Sstable, command: &ReadCommand<'_>, rows_max: usize) {
    let mut window = ReadWindow::default();
    let mut after: Option<Position> = None;
    for (number, (calls, position)) in pages_of_memtable(model, command, rows_max).into_iter().enumerate() {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        let mut sink = Calls::new(rows_max, true);
        let end = match number % 3 {
            0 => sstable.read_data(&command, &mut sink).await,
            _ => sstable.read_data_in(&mut window, &command, &mut sink).await,
        };
        let end = end.unwrap_or_else(|error| panic!("{error}: {command:?}"));
        assert_eq!(sink.calls, calls, "page {number} of {rows_max} rows of {command:?}");
        match &position {
            Some(position) => assert_eq!(end, ReadEnd::Stopped(position.clone()), "{command:?}"),
            None => assert_eq!(end, ReadEnd::Complete, "{command:?}"),
        }
        after = position;
    }
}

/// With pages that end anywhere, also behind a change of what is deleted, the same is told in the end.
pub(super) async fn check_cuts(
    model: &Model,
    sstable: &Sstable,
    command: &ReadCommand<'_>,
    calls_max: usize,
    is_shadowing: bool,
) {
    let mut window = ReadWindow::default();
    let mut told = [Calls::new(calls_max, false), Calls::new(calls_max, false)];
    for (which, sink) in told.iter_mut().enumerate() {
        sink.is_shadowing = is_shadowing;
        let mut after: Option<Position> = None;
        loop {
            sink.left = calls_max;
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
            let end = match which {
                0 => model.memtable.read_data(&command, sink),
                _ => sstable.read_data_in(&mut window, &command, sink).await.expect("it can be read"),
            };
            match end {
                ReadEnd::Complete => break,
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => {
                    assert_ne!(Some(&position), after.as_ref(), "each page gets further: {command:?}");
                    after = Some(position);
                }
            }
        }
    }
    let [memtable, sstable] = told;
    assert_eq!(sstable.once, memtable.once, "in pages of {calls_max} calls: {command:?}");
}

/// A slice's bounds, in comparable form.
pub(super) type SliceBounds = (Vec<u8>, bool, Vec<u8>, bool);

/// Random slices that ascend and do not overlap.
fn slices(shape: &Shape, table: &Table, random: &mut Random) -> Vec<SliceBounds> {
    let bounds = TableShape::of(table);
    let mut bound = || {
        let count = random.below(shape.clustering.len() as u64 + 1) as usize;
        let mut prefix = Vec::new();
        for ((ty, _), (of, is_reversed)) in shape.clustering[..count].iter().zip(&bounds.clustering) {
            cql_types::comparable::encode(of, &value(ty, random, shape.few), *is_reversed, &mut prefix);
        }
        let inclusive = prefix.is_empty() || random.one_in(2);
        (prefix, inclusive)
    };
    let places = (0..6).map(|_| bound()).collect();
    slices_between(places, random)
}

/// Random slices that ascend and do not overlap, between some of the places.
pub(super) fn slices_between(mut places: Vec<(Vec<u8>, bool)>, random: &mut Random) -> Vec<SliceBounds> {
    places.sort();
    let mut slices = Vec::new();
    let mut from = 0;
    while from + 1 < places.len() {
        let count = random.below(3);
        let (start, end) = match count {
            // One row, or those with a prefix.
            0 => (places[from].clone(), places[from].clone()),
            _ => (places[from].clone(), places[from + 1].clone()),
        };
        let (start, end) = match count {
            0 => ((start.0, true), (end.0, true)),
            _ => (start, end),
        };
        let is_behind = slices.last().is_none_or(|(_, _, last, _): &SliceBounds| {
            !last.is_empty() && !start.0.is_empty() && !start.0.starts_with(last) && start.0 > *last
        });
        // None that begins behind its end.
        let first = if start.1 { Some(start.0.clone()) } else { successor(&start.0) };
        let bound = Bound { prefix: &end.0, inclusive: end.1 };
        if is_behind && first.is_some_and(|first| !is_above(&first, &bound)) {
            slices.push((start.0, start.1, end.0, end.1));
        }
        from += 2;
    }
    slices
}

pub(super) fn as_slices(slices: &[SliceBounds]) -> Vec<Slice<'_>> {
    slices
        .iter()
        .map(|(start, starts_with, end, ends_with)| Slice {
            start: Bound { prefix: start, inclusive: *starts_with },
            end: Bound { prefix: end, inclusive: *ends_with },
        })
        .collect()
}

async fn check(model: &Model, shape: &Shape, sstable: &Sstable, random: &mut Random, reads: u64) {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    {
        struct Keys<'k>(&'k mut Vec<Vec<u8>>);
        impl DataSink for Keys<'_> {
            fn partition(&mut self, _: Token, key: &[u8], _: Option<Deletion>, _: Option<RowRef<'_>>) {
                if self.0.last().is_none_or(|last| last != key) {
                    self.0.push(key.to_vec());
                }
            }
            fn range(&mut self, _: Option<&[u8]>, _: Option<Deletion>) {}
            fn row(&mut self, _: ClusteringRef<'_>, _: RowRef<'_>) {}
            fn is_full(&self) -> bool {
                false
            }
        }
        let mut after: Option<Position> = None;
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..ReadCommand::all(TABLE, NOW) };
            match model.memtable.read_data(&command, &mut Keys(&mut keys)) {
                ReadEnd::Complete => break,
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
            }
        }
    }
    for key in &keys {
        assert!(sstable.may_contain(token_of(key), key), "{key:?} is in the filter");
    }
    for read in 0..reads {
        let slices = slices(shape, &model.table, random);
        let slices = as_slices(&slices);
        let some = keys[random.below(keys.len() as u64) as usize].clone();
        let token = match random.below(3) {
            0 => Token(random.next().cast_signed()),
            _ => token_of(&some),
        };
        let mut token_bound = || match random.below(3) {
            0 => TokenBound::Unbounded,
            1 => TokenBound::Included(Token(random.next().cast_signed())),
            _ => TokenBound::Excluded(token),
        };
        let key = if read % 7 == 6 { b"absent".to_vec() } else { some };
        let keys = match read % 3 {
            0 => KeyRange::Tokens { start: token_bound(), end: token_bound() },
            _ => KeyRange::Partition { token: token_of(&key), key: &key },
        };
        let slices: &[Slice<'_>] = match random.below(4) {
            0 => &[Slice::ALL],
            1 if shape.clustering.is_empty() => &[],
            _ if shape.clustering.is_empty() => &[Slice::ALL],
            _ => &slices,
        };
        let reversed = random.one_in(2);
        let command = ReadCommand { table: TABLE, keys, slices, reversed, now_in_seconds: NOW, after: None };
        let calls_max = match random.below(4) {
            0 => 1,
            1 => 2 + random.below(5) as usize,
            _ => 20 + random.below(400) as usize,
        };
        check_pages(model, sstable, &command, calls_max).await;
        check_cuts(model, sstable, &command, calls_max, false).await;
    }
}

async fn same(runtime: Runtime, folder: PathBuf, shape: Shape, seed: u64, reads: u64) {
    let mut random = Random(seed);
    let model = fill(&shape, &mut random);
    let sstable = model.open(&runtime, &folder).await;
    check(&model, &shape, &sstable, &mut random, reads).await;
}

fn small(clustering: &'static [(&'static str, Order)], compression: &'static [(&'static str, &'static str)]) -> Shape {
    Shape { clustering, compression, partitions: 30, rows: 20, few: 6, value_bytes: 100 }
}

#[test]
fn small_partitions() {
    for seed in 0..20 {
        simulated(seed, move |runtime, folder| async move {
            let clustering: &[_] = match seed % 4 {
                0 => &[],
                1 => &[("int", Order::Asc)],
                2 => &[("text", Order::Desc), ("int", Order::Asc)],
                _ => &[("varint", Order::Asc), ("text", Order::Asc)],
            };
            same(runtime, folder, small(clustering, LZ4), seed, 60).await;
        });
    }
}

#[test]
fn wide_partitions() {
    for seed in 0..16 {
        simulated(seed, move |runtime, folder| async move {
            let clustering: &[_] = match seed % 4 {
                0 => &[("int", Order::Asc)],
                1 => &[("int", Order::Desc), ("int", Order::Asc)],
                2 => &[("text", Order::Desc), ("varint", Order::Desc)],
                _ => &[("varint", Order::Asc)],
            };
            let few = if clustering.len() == 1 { 700 } else { 26 };
            let shape = Shape { clustering, compression: LZ4, partitions: 3, rows: 800, few, value_bytes: 400 };
            same(runtime, folder, shape, seed, 60).await;
        });
    }
}

/// The kernel's files, past the page cache.
#[test]
fn on_a_real_disk() {
    for seed in 0..4 {
        on_disk(&format!("same-{seed}"), move |runtime, folder| async move {
            let clustering: &[_] = &[("int", Order::Asc), ("text", Order::Desc)];
            let few = if seed % 2 == 0 { 26 } else { 6 };
            let rows = if seed % 2 == 0 { 800 } else { 20 };
            let shape = Shape { clustering, compression: LZ4, partitions: 5, rows, few, value_bytes: 400 };
            same(runtime, folder, shape, seed, 60).await;
        });
    }
}

#[test]
fn every_compressor() {
    const WAYS: [&[(&str, &str)]; 8] = [
        &[("enabled", "false")],
        &[("class", "LZ4Compressor")],
        &[("class", "SnappyCompressor"), ("chunk_length_in_kb", "4")],
        &[("class", "DeflateCompressor"), ("chunk_length_in_kb", "8")],
        &[("class", "ZstdCompressor"), ("compression_level", "5")],
        &[("class", "NoopCompressor"), ("chunk_length_in_kb", "1")],
        &[("class", "LZ4Compressor"), ("chunk_length_in_kb", "4"), ("min_compress_ratio", "1.2")],
        &[("class", "ZstdCompressor"), ("chunk_length_in_kb", "64"), ("min_compress_ratio", "3")],
    ];
    for (seed, compression) in (100..).zip(WAYS) {
        simulated(seed, move |runtime, folder| async move {
            let clustering: &[_] = &[("int", Order::Asc), ("int", Order::Asc)];
            let shape = Shape { clustering, compression, partitions: 6, rows: 300, few: 26, value_bytes: 300 };
            same(runtime, folder, shape, seed, 30).await;
        });
    }
}
