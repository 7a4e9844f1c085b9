//! What Data.db's reader gives and its writer takes, kept as values; and tables that rows fit.

#![allow(dead_code, reason = "each test takes what it needs")]

use cql_types::CqlType;
use mutation::{ClusteringRef, Deletion, RowRef};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::data::{DataReader, DataWriter, Item, Step};
use sstable::{Header, HeaderColumn, Marker};

/// In which order a table's columns got their ids.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ids {
    AsWritten,
    Reversed,
}

/// A table that the rows fit.
pub fn table_of(header: &Header, ids: Ids) -> Table {
    let mut columns = Vec::new();
    let mut add = |name: String, ty: &CqlType, kind, position: usize, order| {
        let position = u16::try_from(position).expect("few columns");
        columns.push(Column { id: ColumnId(0), name, ty: ty.clone(), kind, position, order });
    };
    for (place, ty) in header.partition_key.iter().enumerate() {
        add(format!("partition key {place}"), ty, ColumnKind::PartitionKey, place, Order::Asc);
    }
    for (place, of) in header.clustering.iter().enumerate() {
        let order = if of.is_reversed { Order::Desc } else { Order::Asc };
        add(format!("clustering {place}"), &of.ty, ColumnKind::Clustering, place, order);
    }
    for (kind, written) in [(ColumnKind::Static, &header.statics), (ColumnKind::Regular, &header.regulars)] {
        for HeaderColumn { name, ty } in written {
            add(name.clone(), ty, kind, 0, Order::Asc);
        }
    }
    let count = u16::try_from(columns.len()).expect("few columns");
    for (column, id) in columns.iter_mut().zip(0..count) {
        column.id = ColumnId(if ids == Ids::Reversed { count - 1 - id } else { id });
    }
    Table::new(TableId([7; 16]), "ks", "t", columns, TableOptions::default())
}

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
