//! A table's column.

use cql_types::CqlType;

use crate::ids::ColumnId;

/// What part a column plays in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// Part of what decides which partition a row is in.
    PartitionKey,
    /// Part of what orders rows within a partition.
    Clustering,
    /// One value for the whole partition.
    Static,
    /// One value per row.
    Regular,
}

impl ColumnKind {
    /// The name in `system_schema.columns`.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::PartitionKey => "partition_key",
            ColumnKind::Clustering => "clustering",
            ColumnKind::Static => "static",
            ColumnKind::Regular => "regular",
        }
    }

    /// Whether the column is part of the primary key.
    pub fn is_key(self) -> bool {
        matches!(self, ColumnKind::PartitionKey | ColumnKind::Clustering)
    }
}

/// The direction in which a clustering column orders rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its number for ever.
    pub id: ColumnId,
    /// Its name, as stored: case-sensitive, without quotes.
    pub name: String,
    /// The type of its values.
    pub ty: CqlType,
    /// Its part in the table.
    pub kind: ColumnKind,
    /// Its index among the partition key columns or the clustering columns; 0 for the others.
    pub position: u16,
    /// The order of a clustering column; [`Order::Asc`] for the others.
    pub order: Order,
}

impl Column {
    /// Whether the column orders rows largest first.
    pub fn is_reversed(&self) -> bool {
        self.order == Order::Desc
    }
}
