//! The metadata log: the node's identity, its starts and its schema changes, in order, each synced before it counts.
//!
//! One file, `metadata.log`, written by shard 0 alone. What it guarantees, and its layout: `docs/internals/metadata-log.md`.

mod condense;
mod error;
mod file;
mod layout;
mod log;
mod record;

pub use error::MetadataError;
pub use log::{FoundLog, MetadataLog};
pub use record::MetadataRecord;

#[cfg(test)]
mod tests;
