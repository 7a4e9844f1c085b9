//! Compaction: files of a table become fewer, and what is deleted or expired leaves the disk.
//!
//! ```text
//! strategy  which files, and how outputs are cut       pure
//! task      one compaction: Begun, merge, Replaced, swap, remove
//! merge     the inputs' items in order, reconciled      purge   what may be left out for good
//! compactor the shard's task in the background      garbage each file alone, less what others hide
//! cleanup   each file alone, less the tokens that the node does not keep
//! ```
//!
//! See `docs/internals/compaction.md`.

mod cleanup;
mod compactor;
mod garbage;
mod merge;
mod operator;
mod outputs;
mod purge;
mod scrub;
pub mod strategy;
mod task;

pub use cleanup::{Cleaned, clean_up};
pub(crate) use compactor::Compactor;
pub(crate) use merge::{Input, Merge, Sink};
pub(crate) use outputs::Outputs;
pub(crate) use purge::Rules;
pub use scrub::Scrubbed;
pub(crate) use strategy::FILES_MAX;
pub use task::{Compacted, CompactionError, Garbage};
