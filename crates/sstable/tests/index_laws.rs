//! Laws of the tries: random keys against a sorted map, and broken files.

use std::collections::BTreeMap;

use cql_types::CqlType;
use mutation::{ClusteringRef, Deletion};
use proptest::collection::vec;
use proptest::prelude::*;
use schema::{Column, ColumnId, ColumnKind, Order};
use sstable::big::{Index, Summary};
use sstable::bti::{BLOCK_LENGTH, Partition, PartitionIndex, PartitionIndexWriter, RowIndex, RowIndexWriter};
use sstable::{Filter, KeyHash, LookupError, Version, byte_comparable};
use topology::Token;

/// A partition's token and key, and where it is.
type Keys = BTreeMap<(Token, Vec<u8>), Partition>;

fn write(keys: &Keys) -> Vec<u8> {
    let mut writer = PartitionIndexWriter::new();
    let mut file = Vec::new();
    for ((token, key), place) in keys {
        writer.add(*token, key, KeyHash::of(key), *place, &mut file);
    }
    writer.finish(&mut file);
    file
}

fn form(token: Token, key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    byte_comparable::key(token, key, &mut out);
    out
}

/// Keys of few tokens, which have much in common, and of many.
fn keys(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Keys> {
    let token = prop_oneof![
        any::<i64>(),
        (-2_i64..2),
        (0_i64..8).prop_map(|number| number << 56),
        Just(i64::MIN),
        Just(i64::MAX)
    ];
    let byte = prop_oneof![4 => Just(0_u8), 4 => Just(1), 2 => Just(0xfe), 2 => Just(0xff), 1 => any::<u8>()];
    let key = prop_oneof![
        4 => vec(byte.clone(), 0..12),
        1 => (1_usize..3_000, vec(byte, 1..4)).prop_map(|(length, end)| {
            let mut key = vec![b'k'; length];
            key.extend(end);
            key
        })
    ];
    let place = (any::<bool>(), 0_u64..1 << 40, 0_u32..40).prop_map(|(is_data, offset, shift)| {
        let offset = offset >> shift;
        if is_data { Partition::Data(offset) } else { Partition::Rows(offset) }
    });
    // No two are at the same place.
    let tell_apart = |(number, (key, place)): (usize, ((Token, Vec<u8>), Partition))| {
        let number = number as u64;
        let place = match place {
            Partition::Data(offset) => Partition::Data(offset << 16 | number),
            Partition::Rows(offset) => Partition::Rows(offset << 16 | number),
        };
        (key, place)
    };
    let entry = ((token.prop_map(Token), key), place);
    vec(entry, count).prop_map(move |entries| entries.into_iter().enumerate().map(tell_apart).collect())
}

fn check(keys: &Keys, probes: &[(Token, Vec<u8>)]) -> Result<(), TestCaseError> {
    let file = write(keys);
    let file = &file[..];
    let index = PartitionIndex::open(file, file.len() as u64).expect("a file just written");
    prop_assert_eq!(index.count, keys.len() as u64);
    for ((token, key), place) in keys {
        prop_assert_eq!(index.find(file, &form(*token, key), KeyHash::of(key)), Ok(Some(*place)));
    }
    for (token, key) in probes {
        let form = form(*token, key);
        if !keys.contains_key(&(*token, key.clone())) {
            // Another one may be given, which has the same beginning and the same byte of its hash.
            let found = index.find(file, &form, KeyHash::of(key)).expect("a good file");
            prop_assert!(found.is_none_or(|place| keys.values().any(|other| *other == place)));
        }
        let probe = (*token, key.clone());
        let mut cursor = index.start();
        index.seek(file, &form, &mut cursor).expect("a good file");
        let behind: Vec<_> = std::iter::from_fn(|| cursor.next(file).expect("a good file")).take(5).collect();
        let before = keys.range(..&probe).next_back().map(|(_, place)| *place);
        let expected: Vec<_> = keys.range(&probe..).map(|(_, place)| *place).collect();
        let from = usize::from(behind.first() == before.as_ref() && behind.first() != expected.first());
        prop_assert_eq!(&behind[from..], &expected[..expected.len().min(behind.len() - from)]);
        prop_assert!(behind.len() >= expected.len().min(5));
        index.seek_back(file, &form, &mut cursor).expect("a good file");
        let behind: Vec<_> = std::iter::from_fn(|| cursor.previous(file).expect("a good file")).take(5).collect();
        let after = keys.range(&probe..).find(|(key, _)| **key != probe).map(|(_, place)| *place);
        let expected: Vec<_> = keys.range(..=&probe).rev().map(|(_, place)| *place).collect();
        let from = usize::from(behind.first() == after.as_ref() && behind.first() != expected.first());
        prop_assert_eq!(&behind[from..], &expected[..expected.len().min(behind.len() - from)]);
        prop_assert!(behind.len() >= expected.len().min(5));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn partitions_are_found_and_come_in_order(keys in keys(1..300), others in keys(1..50)) {
        let probes: Vec<_> = others.into_keys().chain(keys.keys().take(50).cloned()).collect();
        check(&keys, &probes)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn many_partitions_are_found_and_come_in_order(keys in keys(5_000..20_000), others in keys(1..50)) {
        let probes: Vec<_> = others.into_keys().chain(keys.keys().step_by(997).cloned()).collect();
        check(&keys, &probes)?;
    }
}

/// The longest keys that there are, with all but their ends in common: paths of more than a page, and of zeros that are written double.
#[test]
fn the_longest_keys_are_found() {
    let mut keys = Keys::new();
    for (token, byte) in [(1, b'k'), (2, 0), (3, 0xff)] {
        for last in 0..40_u8 {
            let mut key = vec![byte; usize::from(u16::MAX)];
            key[65_000] ^= last / 10;
            key[65_534] = last;
            keys.insert((Token(token), key), Partition::Data(u64::from(last) << 8 | u64::from(byte)));
        }
    }
    let probes: Vec<_> = keys.keys().step_by(7).cloned().collect();
    check(&keys, &probes).expect("all are found");
}

/// A cursor turned around gives what it gave.
#[test]
fn a_cursor_goes_back_and_forth() {
    let keys: Keys = (0..1_000_u64)
        .map(|number| {
            let key = number.to_be_bytes().to_vec();
            ((topology::token_of(&key), key), Partition::Data(number))
        })
        .collect();
    let file = &write(&keys)[..];
    let places: Vec<_> = keys.values().copied().collect();
    let index = PartitionIndex::open(file, file.len() as u64).expect("a file just written");
    let mut cursor = index.start();
    let mut at = 0;
    for step in 0..5_000_usize {
        let forward = step * step % 7 < 4;
        if forward {
            assert_eq!(cursor.next(file), Ok(places.get(at).copied()));
            at = (at + 1).min(places.len());
        } else {
            let before = at.checked_sub(1);
            assert_eq!(cursor.previous(file), Ok(before.map(|at| places[at])));
            at = before.unwrap_or(0);
        }
    }
    assert!(at > 100, "{at}");
}

fn columns() -> Vec<Column> {
    let column = |ty, order| Column::new(ColumnKind::Clustering, ColumnId(0), "", ty).ordered(order);
    vec![column(CqlType::Text, Order::Asc), column(CqlType::Int, Order::Desc)]
}

fn row_form(columns: &[Column], text: &str, number: i32, place: byte_comparable::Place) -> Vec<u8> {
    let mut clustering = vec![2, text.len() as u8];
    clustering.extend_from_slice(text.as_bytes());
    clustering.push(4);
    clustering.extend_from_slice(&number.to_be_bytes());
    let mut out = Vec::new();
    byte_comparable::clustering(columns, ClusteringRef::trusted(&clustering), place, &mut out);
    out
}

/// A row: its form, its length, what is open behind it.
type Rows = BTreeMap<Vec<u8>, (u64, Option<Deletion>)>;

fn rows() -> impl Strategy<Value = Rows> {
    let text = prop_oneof![Just("the same"), Just(""), Just("the same and more"), Just("other")];
    let place = prop_oneof![
        4 => Just(byte_comparable::Place::Row),
        1 => Just(byte_comparable::Place::Before),
        1 => Just(byte_comparable::Place::After)
    ];
    let open = proptest::option::of(
        (0_i64..1 << 60, any::<u32>())
            .prop_map(|(timestamp, local_deletion_time)| Deletion { timestamp, local_deletion_time }),
    );
    let row = (text, any::<i32>(), place, 1_u64..20_000, open);
    vec(row, 2..200).prop_map(|rows| {
        let columns = columns();
        let row = |(text, number, place, length, open)| (row_form(&columns, text, number, place), (length, open));
        rows.into_iter().map(row).collect()
    })
}

/// Writes some partitions of the same rows; gives the last one's entry.
fn write_rows(rows: &Rows) -> (Vec<u8>, Option<u64>, u64) {
    let mut writer = RowIndexWriter::new(&columns());
    let (mut file, mut entry, mut at) = (Vec::new(), None, 0);
    for _ in 0..3 {
        at = 30;
        for (form, (length, open)) in rows {
            writer.add(at, at + length, *open, |out| out.extend_from_slice(form), &mut file);
            at += length;
        }
        entry = writer.end_partition(b"key", 7, None, at, &mut file);
    }
    (file, entry, at)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn slices_have_their_blocks(rows in rows(), start in rows(), end in rows()) {
        let (file, entry, ends) = write_rows(&rows);
        let file = &file[..];
        let Some(entry) = entry else {
            prop_assert!(ends - 30 < 2 * BLOCK_LENGTH + 40_000);
            return Ok(());
        };
        let index = RowIndex::open(file, entry, &mut Vec::new()).expect("an entry just written");
        // Where each row begins, and what is open before it.
        let (mut at, mut open) = (30, None);
        let mut places = Vec::new();
        for (form, (length, open_behind)) in &rows {
            places.push((form, at, open));
            at += length;
            open = *open_behind;
        }
        let (starts, ends) = (start.keys().chain(rows.keys()), end.keys().chain(rows.keys().rev()));
        for (start, end) in starts.zip(ends) {
            let (start, end) = (start.min(end), start.max(end));
            let mut blocks = index.blocks(file, start, end).expect("a good file");
            let mut back = blocks.clone();
            let found: Vec<_> = std::iter::from_fn(|| blocks.next(file).expect("a good file")).collect();
            let reversed: Vec<_> = std::iter::from_fn(|| back.next_back(file).expect("a good file")).collect();
            prop_assert!(found.iter().rev().eq(&reversed));
            prop_assert!(found.windows(2).all(|pair| pair[0].ends == pair[1].begins));
            for block in &found {
                let first = places.iter().find(|(_, begins, _)| *begins == block.begins).expect("a row begins there");
                prop_assert_eq!(block.open, first.2);
            }
            for (form, begins, _) in places.iter().filter(|(form, ..)| (start..=end).contains(form)) {
                let has = found.iter().any(|block| (block.begins..block.ends).contains(begins));
                prop_assert!(has, "{:?} at {} is not in {:?}", form, begins, found);
            }
        }
    }
}

/// Rows whose forms are not in order get no index, and the partitions around them get theirs.
#[test]
fn a_partition_with_forms_out_of_order_has_no_index() {
    let mut column = columns().remove(0);
    column.ty = CqlType::parse("frozen<tuple<int, int>>").expect("a type");
    let columns = [column];
    // (null, 1), then (empty, null): the form of the first is the greater one.
    let values = [&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 4, 0, 0, 0, 1][..], &[0, 0, 0, 0]];
    assert_eq!(cql_types::compare(&columns[0].ty, values[0], values[1]), std::cmp::Ordering::Less);
    let number = |number: u32| [&4_u32.to_be_bytes()[..], &number.to_be_bytes()].concat();
    let form = |value: &[u8], out: &mut Vec<u8>| {
        let clustering = [&[1, value.len() as u8][..], value].concat();
        byte_comparable::clustering(&columns, ClusteringRef::trusted(&clustering), byte_comparable::Place::Row, out);
    };
    for disorder_at in [0, 1, 3] {
        let mut writer = RowIndexWriter::new(&columns);
        let mut file = Vec::new();
        let mut entries = Vec::new();
        for partition in 0..3 {
            let mut rows: Vec<Vec<u8>> = (0..10).map(number).collect();
            if partition == 1 {
                rows.splice(disorder_at..disorder_at, values.iter().map(|value| value.to_vec()));
            }
            let mut at = 20;
            for row in &rows {
                // Two or three rows to a block.
                writer.add(at, at + 7_000, None, |out| form(row, out), &mut file);
                at += 7_000;
            }
            entries.push(writer.end_partition(b"key", 0, None, at, &mut file));
        }
        assert_eq!(entries.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true], "{disorder_at}");
        for entry in entries.into_iter().flatten() {
            let index = RowIndex::open(&file[..], entry, &mut Vec::new()).expect("an entry just written");
            for row in (0..10).map(number) {
                let mut of_row = Vec::new();
                form(&row, &mut of_row);
                let mut blocks = index.blocks(&file[..], &of_row, &of_row).expect("a good file");
                assert!(blocks.next(&file[..]).expect("a good file").is_some());
            }
        }
    }
}

/// Walks through all that can be read of a file, which may hold anything.
fn read_partitions(file: &[u8]) {
    let Ok(index) = PartitionIndex::open(file, file.len() as u64) else { return };
    for number in 0..20_u64 {
        let key = number.to_be_bytes();
        let form = form(topology::token_of(&key), &key);
        let _ = index.find(file, &form, KeyHash::of(&key));
        let mut cursor = index.start();
        if index.seek(file, &form, &mut cursor).is_ok() {
            (0..50).try_for_each(|_| cursor.next(file).map(|_| ())).ok();
        }
        if index.seek_back(file, &form, &mut cursor).is_ok() {
            (0..50).try_for_each(|_| cursor.previous(file).map(|_| ())).ok();
        }
    }
}

fn read_rows(file: &[u8], entry: u64) {
    let Ok(index) = RowIndex::open(file, entry, &mut Vec::new()) else { return };
    for (start, end) in [(&[0x20][..], &[0x60][..]), (&[0x40, 0, 0x40, 0x80], &[0x40, b't', b'h', 0x60])] {
        let Ok(mut blocks) = index.blocks(file, start, end) else { continue };
        let mut back = blocks.clone();
        (0..300).try_for_each(|_| blocks.next(file).map(|_| ())).ok();
        (0..300).try_for_each(|_| back.next_back(file).map(|_| ())).ok();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Broken files are refused or lead astray, but neither panic nor have no end.
    #[test]
    fn broken_tries_do_no_harm(keys in keys(1..300), rows in rows(), breaks in vec((any::<usize>(), any::<u8>()), 1..8)) {
        let mut file = write(&keys);
        let (mut rows_file, entry, _) = write_rows(&rows);
        for (at, byte) in breaks {
            let length = file.len();
            file[at % length] = byte;
            read_partitions(&file);
            read_partitions(&file[..at % length]);
            if let Some(entry) = entry {
                let length = rows_file.len();
                rows_file[at % length] ^= byte;
                read_rows(&rows_file, entry);
                read_rows(&rows_file[..at % length], entry);
                read_rows(&rows_file, at as u64 % length as u64);
            }
        }
    }

    #[test]
    fn random_bytes_do_no_harm(mut bytes in vec(any::<u8>(), 0..5_000), root in any::<u16>()) {
        read_rows(&bytes, 0);
        let version = Version::OA;
        let _ = Filter::decode(&bytes, version);
        if let Ok(summary) = Summary::decode(bytes.clone()) {
            summary.seek(Token(0), b"key");
        }
        let index = Index { length: bytes.len() as u64, version };
        let columns = columns();
        let (mut at, mut key) = (0, Vec::new());
        while let Ok(Some(entry)) = index.entry(&bytes[..], at, &mut key) {
            if let Ok(mut blocks) = index.blocks(&bytes[..], &entry, &columns, &[0x20], &[0x60]) {
                (0..300).try_for_each(|_| blocks.next(&bytes[..]).map(|_| ())).ok();
            }
            prop_assert!(entry.next > at);
            at = entry.next;
        }
        // As a trie, with a footer that lets it be read.
        let length = bytes.len() as u64;
        bytes.extend_from_slice(&[0; 4]);
        for number in [length, 1, u64::from(root) % length.max(1)] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        read_partitions(&bytes);
    }
}

/// A trie whose branches share what is below them has more paths than a walk could ever take; none of them leads anywhere.
#[test]
fn a_maze_is_refused() {
    // Layers of dense nodes of 256 children, all of them the node of the layer below; at the bottom one that is empty.
    for bottom in [&[0x00][..], &[0xb0, 0, 0, 0, 0]] {
        let mut file = bottom.to_vec();
        let mut below = 0_usize;
        for _ in 0..6 {
            let at = file.len();
            file.extend_from_slice(&[0xb0, 0, 0xff]);
            let distance = u16::try_from(at - below).expect("nodes lie together");
            (0..256).for_each(|_| file.extend_from_slice(&distance.to_be_bytes()));
            below = at;
            // The next one begins in a page of its own, as each node must lie in one.
            file.resize(file.len().next_multiple_of(1024), 0);
        }
        let (root, keys_at) = (below as u64, file.len() as u64);
        file.extend_from_slice(&[0; 4]);
        for number in [keys_at, 1, root] {
            file.extend_from_slice(&number.to_be_bytes());
        }
        let file = &file[..];
        let index = PartitionIndex::open(file, file.len() as u64).expect("its end is right");
        assert!(matches!(index.start().next(file), Err(LookupError::Corrupt(_))));
        let mut cursor = index.start();
        index.seek_back(file, &[0xff; 3], &mut cursor).expect("the way down is there");
        assert!(matches!(cursor.previous(file), Err(LookupError::Corrupt(_))));
    }
}
