//! What a SELECT returns of each row.

use cql_types::CqlType;
use schema::{ColumnId, Table};

/// One column of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selected {
    /// The partition key column at this position.
    PartitionKey(u16),
    /// The clustering column at this position.
    Clustering(u16),
    /// A regular column.
    Regular(ColumnId),
    /// A static column.
    Static(ColumnId),
    /// A regular or static column of several cells.
    Elements {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
        /// What its cells come to.
        shape: Shape,
    },
    /// writetime() of a regular or static column.
    WriteTime {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
    },
    /// ttl() of a regular or static column.
    Ttl {
        /// The column.
        column: ColumnId,
        /// Whether it is static.
        is_static: bool,
    },
    /// token() of the partition key.
    Token,
    /// What the generator with this index gives, the same in all rows of one execution.
    Generated(u16),
}

/// What the cells of a column of several cells come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A list or set: the cells' values.
    Values,
    /// A map: the cells' keys and values.
    Map,
    /// A value of a user-defined type with so many fields.
    Fields(u16),
}

impl Shape {
    /// The shape of a column of that type, if it is of several cells.
    pub(crate) fn of(ty: &CqlType) -> Option<Self> {
        match ty {
            CqlType::List { frozen: false, .. } | CqlType::Set { frozen: false, .. } => Some(Shape::Values),
            CqlType::Map { frozen: false, .. } => Some(Shape::Map),
            CqlType::Udt { frozen: false, fields, .. } => {
                Some(Shape::Fields(u16::try_from(fields.len()).unwrap_or(u16::MAX)))
            }
            _ => None,
        }
    }
}

/// The result as a whole.
#[derive(Debug)]
pub(crate) enum Output {
    /// A row for each row read.
    Rows(Vec<Selected>),
    /// One row: how many rows there were, and beside it values of the first.
    Count {
        /// What each column of the one row is; `None` is the count.
        columns: Vec<Option<Selected>>,
    },
}

impl Selected {
    /// The same, for a stored table: there a column may have several cells.
    pub(crate) fn of_stored(self, table: &Table) -> Self {
        let (Selected::Regular(column) | Selected::Static(column)) = self else { return self };
        let ty = table.columns().iter().find(|known| known.id == column).map(|known| &known.ty);
        match ty.and_then(Shape::of) {
            Some(shape) => Selected::Elements { column, is_static: matches!(self, Selected::Static(_)), shape },
            None => self,
        }
    }

    /// Whether it is read from the static row.
    pub(crate) fn is_static(&self) -> bool {
        match self {
            Selected::Static(_) => true,
            Selected::WriteTime { is_static, .. }
            | Selected::Ttl { is_static, .. }
            | Selected::Elements { is_static, .. } => *is_static,
            _ => false,
        }
    }
}
