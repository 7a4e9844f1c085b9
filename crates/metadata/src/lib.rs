//! The metadata log: what a node must know before it opens its data, in order, each record synced before it counts.
//!
//! Six rooms:
//! - [`local`]: facts of this node alone (identity, starts, positions of truncations);
//! - [`cluster`]: the cluster's state, as entries whose parts are changes of domains. A domain's owner registers pure functions; its changes are
//!   opaque bytes here;
//! - [`group`]: the group of nodes that share that state, as each of them keeps its log;
//! - [`file`]: the log on disk, `metadata.log`, written by shard 0 alone;
//! - [`start`]: a node's start, which founds a group where there is none;
//! - [`propose`]: the turn to ask for a change.
//!
//! No table, role or volume is known here. Layout, guarantees and states: `docs/internals/metadata-log.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod cluster;
pub mod error;
pub mod file;
pub mod group;
pub mod local;
pub mod propose;
pub mod start;

pub use cluster::{ClusterState, Domain, DomainId, Domains, Entry, Part};
pub use error::{DecodeError, MetadataError};
pub use file::{FoundLog, LogState, MetadataLog, Opened, Record};
pub use local::{Fact, LocalState, Mark, Position, TableKey, Truncation, decode_positions, encode_positions};
pub use propose::{Proposer, Turn};
pub use start::{MetadataParts, Start, Started, Way};

#[cfg(test)]
mod tests;
