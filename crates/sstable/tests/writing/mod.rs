//! Kept items given to Data.db's writer.

use mutation::{ClusteringRef, RowRef};
use sstable::Marker;
use sstable::data::DataWriter;

use crate::items::Kept;

/// Writes all of it.
pub fn write_all(writer: &mut DataWriter, items: &[Kept]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Kept::Partition { key, deletion, static_row } => {
                let row = static_row.as_ref().map(|row| RowRef::decode(row).expect("a row's blob decodes"));
                writer.partition(&mut out, key, *deletion, row);
            }
            Kept::Row { clustering, row } => {
                let clustering = ClusteringRef::decode(clustering).expect("a clustering decodes");
                writer.row(&mut out, clustering, RowRef::decode(row).expect("a row's blob decodes"));
            }
            Kept::Marker { prefix, after, closes, opens } => {
                let prefix = ClusteringRef::decode(prefix).expect("a prefix decodes");
                writer.marker(&mut out, &Marker { prefix, after: *after, closes: *closes, opens: *opens });
            }
            Kept::End => {
                writer.end_partition(&mut out);
            }
        }
    }
    out
}
