//! What Data.db's reader gives, kept as values.

use mutation::Deletion;
use sstable::Marker;
use sstable::data::{DataReader, Item, Step};

/// What was read, kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    Partition { key: Vec<u8>, deletion: Option<Deletion>, static_row: Option<Vec<u8>> },
    Row { clustering: Vec<u8>, row: Vec<u8> },
    Marker { prefix: Vec<u8>, after: bool, closes: Option<Deletion>, opens: Option<Deletion> },
    End,
}

impl Kept {
    /// What was read.
    pub fn of(item: &Item<'_>) -> Kept {
        match *item {
            Item::Partition { key, deletion, static_row } => {
                let static_row = static_row.map(|row| row.bytes().to_vec());
                Kept::Partition { key: key.to_vec(), deletion, static_row }
            }
            Item::Row { clustering, row } => {
                Kept::Row { clustering: clustering.bytes().to_vec(), row: row.bytes().to_vec() }
            }
            Item::SkippedRow => panic!("every row is wanted"),
            Item::Marker(Marker { prefix, after, closes, opens }) => {
                Kept::Marker { prefix: prefix.bytes().to_vec(), after, closes, opens }
            }
            Item::PartitionEnd => Kept::End,
        }
    }
}

/// Reads all of `data`, with never more bytes before the reader than it asked for.
pub fn read_all(reader: &mut DataReader, data: &[u8], name: &str) -> Vec<Kept> {
    let (mut kept, mut start, mut end) = (Vec::new(), 0, 0);
    while start < data.len() {
        match reader.next(&data[start..end]).unwrap_or_else(|error| panic!("{name}: {}", error.from_base(start as u64)))
        {
            Step::NeedMore { at_least } => {
                assert!(at_least > end - start, "{name}: it asks for more");
                end = start + at_least;
                assert!(end <= data.len(), "{name}: at {start} it asks for {at_least} bytes, beyond the end");
            }
            Step::Item { item, used } => {
                kept.push(Kept::of(&item));
                start += used;
            }
        }
    }
    kept
}
