//! Partitions.db and Rows.db are Cassandra's to the byte: `testdata/tries.txt` has lengths and checksums of files that its own writers made
//! of generated keys (`testdata/Tries.java`). Here the same keys are generated and written, and found again.

use std::collections::BTreeSet;

use cql_types::CqlType;
use mutation::{ClusteringRef, Deletion};
use schema::{Column, ColumnId, ColumnKind, Order};
use sstable::bti::{BLOCK_LENGTH, Partition, PartitionIndex, PartitionIndexWriter, RowIndex, RowIndexWriter};
use sstable::{KeyHash, byte_comparable};
use topology::Token;

const TRIES: &str = include_str!("../testdata/tries.txt");

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A line of the file: pattern, count, length, checksum.
fn lines(kind: &str) -> Vec<(&'static str, u64, usize, u32)> {
    let lines: Vec<_> = TRIES
        .lines()
        .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(" | "))
        .map(|line| {
            let mut parts = line.split(" | ");
            let mut part = || parts.next().expect("four parts");
            let (pattern, count, length, crc) = (part(), part(), part(), part());
            let number = |text: &str| text.parse::<u64>().expect("a number");
            (pattern, number(count), number(length) as usize, u32::from_str_radix(crc, 16).expect("hex"))
        })
        .collect();
    assert!(lines.len() > 10, "{kind}: {}", lines.len());
    lines
}

fn keys(pattern: &str, count: u64, random: &mut Random) -> BTreeSet<(Token, Vec<u8>)> {
    let mut keys = BTreeSet::new();
    for i in 0..count {
        keys.insert(match pattern {
            "random" => (Token(random.next().cast_signed()), random.next().to_be_bytes().to_vec()),
            "deep" => {
                let mut key = vec![b'k'; 300];
                key.extend_from_slice(&(i as u32 * 3).to_be_bytes());
                (Token(42), key)
            }
            "dense" => {
                let length = 1 + random.below(20);
                (Token(i as i64), (0..length).map(|_| random.next() as u8).collect())
            }
            _ => {
                let token = Token((random.below(4) << 56).cast_signed());
                let length = random.below(40);
                (token, (0..length).map(|_| [0, 1, 0xff][random.below(3) as usize]).collect())
            }
        });
    }
    keys
}

#[test]
fn partitions_are_cassandras() {
    for (pattern, count, length, crc) in lines("partitions") {
        let mut random = Random(count);
        let keys = keys(pattern, count, &mut random);
        let mut writer = PartitionIndexWriter::new();
        let mut file = Vec::new();
        let mut position = 0;
        let mut places = Vec::new();
        for (token, key) in &keys {
            position += random.below(if pattern == "random" { 1 << 32 } else { 1000 });
            let place = if random.below(8) == 0 { Partition::Rows(position) } else { Partition::Data(position) };
            places.push(place);
            // Some of it is taken away by the caller, as a writer of files does.
            let mut part = Vec::new();
            writer.add(*token, key, KeyHash::of(key), place, &mut part);
            file.extend_from_slice(&part);
        }
        writer.finish(&mut file);
        assert_eq!((file.len(), crc32fast::hash(&file)), (length, crc), "{pattern} {count}");
        finds_partitions(&file, &keys, &places);
    }
}

fn finds_partitions(file: &[u8], keys: &BTreeSet<(Token, Vec<u8>)>, places: &[Partition]) {
    let index = PartitionIndex::open(file, file.len() as u64).expect("a file just written");
    assert_eq!(index.count, keys.len() as u64);
    if let (Some((_, first)), Some((_, last))) = (keys.first(), keys.last()) {
        assert_eq!((&index.first_key, &index.last_key), (first, last));
    }
    let mut cursor = index.start();
    let mut form = Vec::new();
    for ((token, key), place) in keys.iter().zip(places) {
        form.clear();
        byte_comparable::key(*token, key, &mut form);
        assert_eq!(index.find(file, &form, KeyHash::of(key)), Ok(Some(*place)));
        assert_eq!(cursor.next(file), Ok(Some(*place)));
    }
    assert_eq!(cursor.next(file), Ok(None));
    for place in places.iter().rev() {
        assert_eq!(cursor.previous(file), Ok(Some(*place)));
    }
    assert_eq!(cursor.previous(file), Ok(None));
}

fn column(ty: CqlType, order: Order) -> Column {
    Column::new(ColumnKind::Clustering, ColumnId(0), "", ty).ordered(order)
}

fn clustering(pattern: &str, number: u64) -> Vec<u8> {
    let values = match pattern {
        "numbers" => vec![number.to_be_bytes().to_vec()],
        "texts" => {
            vec![format!("a long text that all of them begin with, and in the end a number: {number:012}").into_bytes()]
        }
        _ => vec![
            ((number / 10_000) as i32).to_be_bytes().to_vec(),
            (-((number % 10_000) as i32)).to_be_bytes().to_vec(),
        ],
    };
    let mut out = vec![values.len() as u8];
    for value in values {
        stdx::varint::encode(value.len() as u64, &mut out);
        out.extend_from_slice(&value);
    }
    out
}

/// A block as it was written.
struct Written {
    begins: u64,
    open: Option<Deletion>,
    first: Vec<u8>,
    last: Vec<u8>,
}

#[test]
fn rows_are_cassandras() {
    for (pattern, count, length, crc) in lines("rows") {
        let mut random = Random(count);
        let columns = match pattern {
            "numbers" => vec![column(CqlType::Bigint, Order::Asc)],
            "texts" => vec![column(CqlType::Text, Order::Asc)],
            _ => vec![column(CqlType::Int, Order::Asc), column(CqlType::Int, Order::Desc)],
        };
        let form = |number| {
            let mut out = Vec::new();
            let clustering = clustering(pattern, number);
            let row = byte_comparable::Place::Row;
            byte_comparable::clustering(&columns, ClusteringRef::trusted(&clustering), row, &mut out);
            out
        };
        let mut writer = RowIndexWriter::new(&columns);
        let mut file = Vec::new();
        let mut partitions = Vec::new();
        for partition in 0..3_u64 {
            let (mut offset, mut number) = (20, 0);
            let mut blocks = Vec::new();
            for block in 0..count {
                let open = (block > 0 && random.below(5) == 0).then(|| Deletion {
                    timestamp: random.below(1 << 50) as i64,
                    local_deletion_time: 1_700_000_000 + random.below(1000) as u32,
                });
                number += 1 + random.below(1000);
                let first = form(number);
                number += 1 + random.below(1000);
                blocks.push(Written { begins: offset, open, first, last: form(number) });
                offset += BLOCK_LENGTH + random.below(100_000);
            }
            for (index, block) in blocks.iter().enumerate() {
                let next = blocks.get(index + 1);
                let (ends, open_behind) = next.map_or((offset, None), |next| (next.begins, next.open));
                let begins = block.begins;
                let mut put = |begins, ends, form: &[u8]| {
                    writer.add(begins, ends, open_behind, |out| out.extend_from_slice(form), &mut file);
                };
                put(begins, begins + 1, &block.first);
                put(begins + 1, ends, &block.last);
            }
            let key = format!("key{partition}");
            let deletion =
                (partition == 1).then_some(Deletion { timestamp: 123_456_789, local_deletion_time: 1_700_000_000 });
            let data_position = partition * 1_000_000_007;
            let entry = writer.end_partition(key.as_bytes(), data_position, deletion, offset, &mut file);
            partitions.push((entry.expect("it is wide"), key, data_position, deletion, offset, blocks));
        }
        assert_eq!((file.len(), crc32fast::hash(&file)), (length, crc), "{pattern} {count}");
        for (entry, key, data_position, deletion, ends, blocks) in partitions {
            let mut found = Vec::new();
            let index = RowIndex::open(&file[..], entry, &mut found).expect("an entry just written");
            assert_eq!(found, key.as_bytes());
            assert_eq!((index.data_position, index.deletion), (data_position, deletion));
            assert_eq!(u64::from(index.block_count), count);
            finds_blocks(&file, &index, &blocks, ends);
        }
    }
}

fn finds_blocks(file: &[u8], index: &RowIndex, written: &[Written], ends: u64) {
    let end_of = |at: usize| written.get(at + 1).map_or(ends, |next| next.begins);
    // From both ends at once.
    let mut all = index.blocks(file, &[0x20], &[0x60]).expect("the root is there");
    let (mut front, mut back) = (0, written.len());
    while front < back {
        let block = all.next(file).expect("a good file").expect("one is left");
        assert_eq!((block.begins, block.ends, block.open), (written[front].begins, end_of(front), written[front].open));
        front += 1;
        if front < back {
            let block = all.next_back(file).expect("a good file").expect("one is left");
            back -= 1;
            assert_eq!(
                (block.begins, block.ends, block.open),
                (written[back].begins, end_of(back), written[back].open)
            );
        }
    }
    assert_eq!((all.next(file), all.next_back(file)), (Ok(None), Ok(None)));
    // Each row is in its block, and that alone is read for it.
    for (at, block) in written.iter().enumerate() {
        for form in [&block.first, &block.last] {
            let mut one = index.blocks(file, form, form).expect("the root is there");
            let found = one.next(file).expect("a good file").expect("a block has it");
            assert_eq!((found.begins, found.ends), (block.begins, end_of(at)));
            assert_eq!(one.next(file), Ok(None));
        }
    }
}
