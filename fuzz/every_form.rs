//! A table with a column of every form that Data.db knows, for the targets and seeds of SSTables.

use cql_types::{CqlType, Field};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};

/// The columns: kind, name, type.
const COLUMNS: [(ColumnKind, &str, &str); 13] = [
    (ColumnKind::PartitionKey, "k", "blob"),
    (ColumnKind::Clustering, "c1", "text"),
    (ColumnKind::Clustering, "c2", "int"),
    (ColumnKind::Static, "s", "bigint"),
    (ColumnKind::Static, "sm", "map<text, int>"),
    (ColumnKind::Regular, "fixed", "uuid"),
    (ColumnKind::Regular, "list", "list<text>"),
    (ColumnKind::Regular, "map", "map<decimal, frozen<list<int>>>"),
    (ColumnKind::Regular, "nested", "set<frozen<map<text, varint>>>"),
    (ColumnKind::Regular, "set", "set<timeuuid>"),
    (ColumnKind::Regular, "text", "text"),
    (ColumnKind::Regular, "tuple", "tuple<int, text>"),
    (ColumnKind::Regular, "udt", "address"),
];

/// The table; with `is_reversed` the ids go against the order of cells in Data.db.
pub fn table(is_reversed: bool) -> Table {
    let column = |(index, (kind, name, ty)): (usize, &(ColumnKind, &str, &str))| {
        let ty = match CqlType::parse(ty).expect("it is a type") {
            CqlType::Udt { name, .. } => {
                let field = |name: &str, ty| Field { name: name.to_owned(), ty };
                let fields = vec![field("street", CqlType::Text), field("zip", CqlType::Int)];
                CqlType::Udt { keyspace: "ks".to_owned(), name, fields, frozen: false }
            }
            other => other,
        };
        let id = if is_reversed { COLUMNS.len() - index } else { index };
        let position = u16::from(*name == "c2");
        let order = if *name == "c2" { Order::Desc } else { Order::Asc };
        Column { id: ColumnId(id as u16), name: (*name).to_owned(), ty, kind: *kind, position, order, mask: None }
    };
    let columns = COLUMNS.iter().enumerate().map(column).collect();
    Table::new(TableId([1; 16]), "ks", "t", columns, TableOptions::default())
}
