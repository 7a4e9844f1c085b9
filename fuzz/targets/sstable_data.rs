//! Data.db, as it is after decompression: partitions, rows, markers. What can be read can be written and read again.

use mutation::{ClusteringRef, Deletion, RowRef};
use sstable::data::{DataReader, DataWriter, Item, Step};
use sstable::{EncodingStats, Header, Marker, Version};

use crate::every_form;

/// What was read, kept.
#[derive(Debug, PartialEq)]
enum Kept {
    Partition(Vec<u8>, Option<Deletion>, Option<Vec<u8>>),
    Row(Vec<u8>, Vec<u8>),
    Marker(Vec<u8>, bool, Option<Deletion>, Option<Deletion>),
    End,
}

fn read(reader: &mut DataReader, mut data: &[u8]) -> (Vec<Kept>, usize) {
    let (mut kept, whole) = (Vec::new(), data.len());
    while let Ok(Step::Item { item, used }) = reader.next(data) {
        assert!(used > 0 && used <= data.len(), "each step takes some of the bytes");
        kept.push(match item {
            Item::Partition { key, deletion, static_row } => {
                Kept::Partition(key.to_vec(), deletion, static_row.map(|row| row.bytes().to_vec()))
            }
            Item::Row { clustering, row } => {
                assert!(row.bytes().len() <= 64 + 32 * used, "a row's memory follows its bytes");
                Kept::Row(clustering.bytes().to_vec(), row.bytes().to_vec())
            }
            Item::SkippedRow => panic!("every row is wanted"),
            Item::Marker(marker) => {
                Kept::Marker(marker.prefix.bytes().to_vec(), marker.after, marker.closes, marker.opens)
            }
            Item::PartitionEnd => Kept::End,
        });
        data = &data[used..];
    }
    (kept, whole - data.len())
}

fn write(writer: &mut DataWriter, items: &[Kept]) -> Vec<u8> {
    let row = |bytes| RowRef::decode(bytes).expect("a row that was read decodes");
    let clustering = |bytes| ClusteringRef::decode(bytes).expect("a clustering that was read decodes");
    let mut out = Vec::new();
    for item in items {
        match item {
            Kept::Partition(key, deletion, static_row) => {
                writer.partition(&mut out, key, *deletion, static_row.as_deref().map(row));
            }
            Kept::Row(place, blob) => writer.row(&mut out, clustering(place), row(blob)),
            Kept::Marker(prefix, after, closes, opens) => {
                let prefix = clustering(prefix);
                writer.marker(&mut out, &Marker { prefix, after: *after, closes: *closes, opens: *opens });
            }
            Kept::End => {
                writer.end_partition(&mut out);
            }
        }
    }
    out
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let version = Version::READ[usize::from(first >> 1) % Version::READ.len()];
    let table = every_form::table(first & 1 == 1);
    let header = Header::of_table(&table, EncodingStats::EPOCH);
    let mut reader = DataReader::new(version, &header, &table).expect("the header is the table's");
    let (mut items, _) = read(&mut reader, data);
    if !matches!(items.last(), None | Some(Kept::End)) {
        items.push(Kept::End);
    }
    for item in &mut items {
        if let Kept::Partition(_, deletion, _) = item {
            // What is written has no room for these; nothing is that old.
            *deletion = deletion.filter(|deletion| deletion.timestamp.to_be_bytes()[0] != 0x80);
        }
    }
    let mut writer = DataWriter::new(&table, &header).expect("the header is the table's");
    let written = write(&mut writer, &items);
    let mut reader = DataReader::new(Version::DA, &header, &table).expect("the header is the table's");
    assert_eq!(read(&mut reader, &written), (items, written.len()));
}
