//! Good indexes of SSTables. Those of `big` are only read by the product, so they are put together here.

use mutation::{ClusteringRef, Deletion};
use sstable::bti::{Partition, PartitionIndexWriter, RowIndexWriter};
use sstable::byte_comparable::{self, Place};
use sstable::{FilterBuilder, KeyHash};
use stdx::varint;
use topology::token_of;

use crate::every_form;

/// One of each, with the byte before it that says which it is.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut filter = FilterBuilder::new(100, 0.01);
    (0..100_u32).for_each(|number| filter.add(KeyHash::of(&number.to_be_bytes())));
    let mut filter_bytes = vec![7 | 8 << 3];
    filter.finish().encode(&mut filter_bytes);
    vec![partitions(1), partitions(2), partitions(400), rows(2), rows(60), sorted(), summary(), filter_bytes]
}

fn partitions(count: u32) -> Vec<u8> {
    let mut keys: Vec<_> = (0..count).map(|number| number.to_be_bytes()).map(|key| (token_of(&key), key)).collect();
    keys.sort();
    let mut writer = PartitionIndexWriter::new();
    let mut file = Vec::new();
    for (number, (token, key)) in keys.iter().enumerate() {
        let offset = number as u64 * 1000;
        let place = if number % 8 == 3 { Partition::Rows(offset) } else { Partition::Data(offset) };
        writer.add(*token, key, KeyHash::of(key), place, &mut file);
    }
    writer.finish(&mut file);
    [&[0][..], &file].concat()
}

fn clustering(number: u32) -> Vec<u8> {
    [&[2, 1, b'a', 4][..], &(1000 - number).to_be_bytes()].concat()
}

fn rows(count: u32) -> Vec<u8> {
    let table = every_form::table(false);
    let mut writer = RowIndexWriter::new(table.clustering());
    let mut file = Vec::new();
    let deletion = Deletion { timestamp: 30, local_deletion_time: 1000 };
    for number in 0..count {
        let (begins, open) = (20 + u64::from(number) * 20_000, (number % 5 == 2).then_some(deletion));
        let form = |out: &mut Vec<u8>| {
            let clustering = clustering(number);
            let clustering = ClusteringRef::trusted(&clustering);
            byte_comparable::clustering(table.clustering(), clustering, Place::Row, out);
        };
        writer.add(begins, begins + 20_000, open, form, &mut file);
    }
    let ends = 20 + u64::from(count) * 20_000;
    let entry = writer.end_partition(b"key", 7, Some(deletion), ends, &mut file).expect("it is wide");
    [&[2][..], &file, &(entry as u16).to_be_bytes()].concat()
}

/// Index.db of `oa`: a partition that is not wide, and one of two blocks.
fn sorted() -> Vec<u8> {
    let mut file = vec![4 | 7 << 3, 0, 3];
    file.extend_from_slice(b"one");
    file.extend_from_slice(&[0, 0]);
    let block = |number: u32| {
        let row = |number: u32| [&[4, 0, 1, b'a'][..], &(1000 - number).to_be_bytes()].concat();
        let mut block = [row(number * 2), row(number * 2 + 1)].concat();
        varint::encode(20 + u64::from(number) * 70_000, &mut block);
        varint::encode(varint::zigzag(70_000 - (64 << 10)), &mut block);
        block.push(0);
        block
    };
    let mut body = vec![20, 0x80, 2];
    body.extend([block(0), block(1)].concat());
    body.extend_from_slice(&0_u32.to_be_bytes());
    body.extend_from_slice(&(block(0).len() as u32).to_be_bytes());
    file.extend_from_slice(&[0, 3]);
    file.extend_from_slice(b"two");
    varint::encode(100, &mut file);
    varint::encode(body.len() as u64, &mut file);
    file.extend(body);
    file
}

fn summary() -> Vec<u8> {
    let mut keys: Vec<_> = [&b"one"[..], b"two", b"three"].into_iter().map(|key| (token_of(key), key)).collect();
    keys.sort();
    let samples: Vec<_> = (0_u64..).zip(&keys).map(|(at, (_, key))| [key, &at.to_le_bytes()[..]].concat()).collect();
    let mut offsets = Vec::new();
    let mut at = 4 * samples.len();
    for sample in &samples {
        offsets.extend_from_slice(&(at as u32).to_le_bytes());
        at += sample.len();
    }
    let mut file = vec![6];
    for number in [128, samples.len() as u32, 0, at as u32, 128, samples.len() as u32] {
        file.extend_from_slice(&number.to_be_bytes());
    }
    file.extend(offsets);
    file.extend(samples.concat());
    for (_, key) in [keys[0], keys[2]] {
        file.extend_from_slice(&(key.len() as u32).to_be_bytes());
        file.extend_from_slice(key);
    }
    file
}
