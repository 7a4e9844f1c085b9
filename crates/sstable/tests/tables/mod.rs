//! Tables that the rows of SSTables fit.

use cql_types::CqlType;
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::{Header, HeaderColumn};

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
        columns.push(Column { id: ColumnId(0), name, ty: ty.clone(), kind, position, order, mask: None });
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
