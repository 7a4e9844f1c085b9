//! What a SELECT returns of each row.

use schema::ColumnId;

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
    /// Whether it is read from the static row.
    pub(crate) fn is_static(&self) -> bool {
        match self {
            Selected::Static(_) => true,
            Selected::WriteTime { is_static, .. } | Selected::Ttl { is_static, .. } => *is_static,
            _ => false,
        }
    }
}
