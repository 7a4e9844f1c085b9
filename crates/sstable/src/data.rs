//! Data.db's bytes, after decompression, both ways: partitions, rows, cells, tombstones.
//!
//! Source: Cassandra's `UnfilteredSerializer`, `Cell.Serializer`, `ClusteringPrefix.Serializer`, `Columns.Serializer`,
//! `DeletionTime` and `SortedTablePartitionWriter`. `docs/internals/sstable.md` has the layout.
//!
//! What goes in and comes out are `mutation`'s values: rows as blobs with the table's column ids, elements with our paths.
//! Where a partition begins and which blocks it has is the indexes' matter.

pub(crate) mod cell;
pub(crate) mod clustering;
mod columns;
mod compatible;
mod element;
mod flags;
mod reader;
mod row_reader;
mod row_writer;
mod writable_check;
mod writer;

pub use columns::UnknownColumn;
pub use compatible::check_types;
pub use element::element_path;
pub use reader::{DataReader, Item, Step};
pub use writable_check::WritableCheck;
pub use writer::DataWriter;

#[cfg(test)]
mod tests;
