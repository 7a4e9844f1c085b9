//! Compaction: files of a table become fewer, and what is deleted or expired leaves the disk.
//!
//! ```text
//! strategy  which files, and how outputs are cut       pure
//! task      one compaction: Begun, merge, Replaced, swap, remove
//! merge     the inputs' items in order, reconciled      purge   what may be left out for good
//! compactor the shard's task in the background
//! ```
//!
//! See `docs/internals/compaction.md`.

mod compactor;
mod merge;
mod operator;
mod outputs;
mod purge;
pub mod strategy;
mod task;

pub(crate) use compactor::Compactor;
pub use task::{Compacted, CompactionError};
