//! The index of `big`, which is only read: Index.db has every partition's key in order, and for wide ones their blocks; Summary.db has a sample of the
//! keys. See `docs/internals/sstable-index.md`.

mod blocks;
mod index;
mod summary;

pub use blocks::RowBlocks;
pub use index::{Entry, Index};
pub use summary::{Summary, SummaryBuilder};
