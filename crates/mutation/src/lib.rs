//! Partition updates, rows, cells, tombstones, reconciliation and read commands, as values with a versioned encoding.
//!
//! The bytes of a mutation are made once, by `query`, and are the same in the commit log, on the way to another shard
//! and between nodes. The blob of a row inside them is what the memtable holds. See `docs/internals/mutation.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod bound;
mod clustering;
pub mod counter;
mod decoder;
mod encoder;
mod error;
mod life;
mod position;
mod read_command;
mod row;
mod tombstones;

pub use bound::{Bound, ROW_END, Slice};
pub use clustering::{ClusteringBound, ClusteringRef, Components};
pub use counter::{CounterId, CounterRef};
pub use decoder::{BoundRef, Item, Items, MutationRef, RangeTombstoneRef};
pub use encoder::{MutationEncoder, RowEncoder};
pub use error::DecodeError;
pub use life::{Deletion, Expiry, Liveness};
pub use position::{Position, PositionRef};
pub use read_command::{KeyRange, ReadCommand, ReadCommandBuf};
pub use row::{
    CellRef, Cells, LiveCells, LiveRow, RowBuilder, RowRef, UniformValues, merge_rows, prevailing, shadow_row,
    supersedes, without_overwritten,
};
pub use tombstones::TombstoneRule;

/// The version that the first byte of every mutation and read command names. A reader refuses what is newer.
pub const VERSION: u8 = 1;

/// The version of a mutation with a row that has elements of columns of several cells. What a reader of version 1 made of
/// them would lack the rule by which a column's deletion covers them, so it must refuse them. All other mutations are
/// still of version 1, byte for byte.
pub const VERSION_WITH_ELEMENTS: u8 = 2;
