//! The indexes: Partitions.db, Rows.db, Index.db, Summary.db and Filter.db. The first byte says which.

use sstable::big::{Index, Summary};
use sstable::bti::{PartitionIndex, RowIndex};
use sstable::{Block, Blocks, Filter, KeyHash, LookupError, Version, byte_comparable};
use topology::token_of;

use crate::every_form;

const START: &[u8] = &[0x20];
const END: &[u8] = &[0x60];

/// A file that may end as if it were whole, so that the trie in it is walked.
fn partitions(file: &[u8]) {
    let Ok(index) = PartitionIndex::open(file, file.len() as u64) else { return };
    assert!(index.first_key.len() + index.last_key.len() <= file.len());
    let mut form = Vec::new();
    for key in [&index.first_key[..], &index.last_key, b"another"] {
        form.clear();
        byte_comparable::key(token_of(key), key, &mut form);
        let _ = index.find(file, &form, KeyHash::of(key));
        let mut cursor = index.start();
        if index.seek(file, &form, &mut cursor).is_ok() {
            let forth = (0..200).map_while(|_| cursor.next(file).ok().flatten()).collect::<Vec<_>>();
            let back = forth.iter().rev().map_while(|_| cursor.previous(file).ok().flatten());
            // As far as it goes back, it gives what it gave.
            assert!(back.zip(forth.iter().rev()).all(|(a, b)| a == *b));
        }
        if index.seek_back(file, &form, &mut cursor).is_ok() {
            (0..200).map_while(|_| cursor.previous(file).ok().flatten()).for_each(drop);
        }
    }
}

fn walk(file: &[u8], blocks: Result<Blocks, LookupError>) {
    let Ok(mut blocks) = blocks else { return };
    let mut back = blocks.clone();
    let whole = |block: &Block| assert!(block.begins < block.ends);
    (0..200).map_while(|_| blocks.next(file).ok().flatten()).for_each(|block| whole(&block));
    (0..200).map_while(|_| back.next_back(file).ok().flatten()).for_each(|block| whole(&block));
}

/// The entry is at the end, as a writer leaves it; its place is in the last two bytes.
fn rows(file: &[u8]) {
    let Some((file, place)) = file.split_last_chunk::<2>() else { return };
    let mut key = Vec::new();
    let Ok(index) = RowIndex::open(file, u64::from(u16::from_be_bytes(*place)), &mut key) else { return };
    walk(file, index.blocks(file, START, END));
    walk(file, index.blocks(file, &key, END));
}

fn sorted(file: &[u8], version: Version) {
    let table = every_form::table(false);
    let index = Index { length: file.len() as u64, version };
    let (mut at, mut key) = (0, Vec::new());
    while let Ok(Some(entry)) = index.entry(file, at, &mut key) {
        walk(file, index.blocks(file, &entry, table.clustering(), START, END));
        // From the beginning: of all entries it would take their number's square.
        if at < 1_000 {
            let _ = index.find(file, 0, token_of(&key), &key);
        }
        assert!(entry.next > at);
        at = entry.next;
    }
}

fn summary(bytes: &[u8]) {
    let Ok(summary) = Summary::decode(bytes.to_vec()) else { return };
    for key in [&summary.first_key[..], &summary.last_key, b"another"] {
        summary.seek(token_of(key), key);
    }
    assert!(summary.memory_bytes() <= 2 * bytes.len() + 64);
}

fn filter(bytes: &[u8], version: Version) {
    let Ok(filter) = Filter::decode(bytes, version) else { return };
    filter.may_contain(KeyHash::of(b"key"));
    assert!(filter.memory_bytes() <= bytes.len());
    let mut again = Vec::new();
    filter.encode(&mut again);
    assert_eq!(Filter::decode(&again, Version::DA), Ok(filter));
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&first, file)) = data.split_first() else { return };
    let version = Version::READ[usize::from(first >> 3) % Version::READ.len()];
    match first & 7 {
        0 | 1 => partitions(file),
        2 | 3 => rows(file),
        4 | 5 => sorted(file, version),
        6 => summary(file),
        _ => filter(file, version),
    }
}
