//! The indexes of `bti`: tries of byte-comparable keys, packed into pages. Partitions.db has the partitions' keys,
//! Rows.db the rows of wide partitions in blocks.

mod cursor;
mod node;
mod partitions;
mod rows;
mod writer;

pub use partitions::{Partition, PartitionCursor, PartitionIndex, PartitionIndexWriter};
pub use rows::{BLOCK_LENGTH, RowBlocks, RowIndex, RowIndexWriter};
