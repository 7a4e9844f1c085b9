//! A table's column.

use cql_types::CqlType;

use crate::ids::ColumnId;
use crate::mask::ColumnMask;

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
    /// The mask that takes the place of its values for clients without UNMASK.
    pub mask: Option<Box<ColumnMask>>,
}

impl Column {
    /// A column of this kind; of a key, its first, with the smallest values first.
    pub fn new(kind: ColumnKind, id: ColumnId, name: impl Into<String>, ty: CqlType) -> Self {
        Column { id, name: name.into(), ty, kind, position: 0, order: Order::Asc, mask: None }
    }

    /// The same at this place among the columns of its kind, of a key.
    #[must_use]
    pub fn at(self, position: u16) -> Self {
        Column { position, ..self }
    }

    /// The same in this order, of a clustering.
    #[must_use]
    pub fn ordered(self, order: Order) -> Self {
        Column { order, ..self }
    }

    /// Whether the column orders rows largest first.
    pub fn is_reversed(&self) -> bool {
        self.order == Order::Desc
    }
}
