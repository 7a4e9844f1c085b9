//! The identities of tables and columns.

/// A table's identity, a UUID made when the table is created; a table dropped and created again has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub [u8; 16]);

impl std::fmt::Display for TableId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        stdx::write_uuid(&self.0, f)
    }
}

/// A column's number within its table: given once and never reused, so that cells of a dropped column cannot be taken
/// for those of a later one. Storage orders a row's cells by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u16);
