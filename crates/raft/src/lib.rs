//! Consensus as a state machine: the voters of a cluster agree on one log of entries.
//!
//! The core has no clock, no I/O and no randomness. Its driver gives it ticks, messages and proposals, and carries out what [`Raft::take`] gives:
//! entries and a vote to make durable, messages to send after that, committed entries to apply. Equal inputs give equal states.
//!
//! Roles and their transitions, messages and invariants: `docs/internals/consensus.md`. (Source: Ongaro and Ousterhout, 2014; Ongaro's thesis, 2014.)

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod barriers;
mod configuration;
mod election;
mod entry;
mod fingerprint;
mod followers;
mod leading;
mod log;
mod message;
mod messages;
mod options;
mod orders;
mod outbox;
mod progress;
mod raft;
mod ready;
mod replicated_log;
mod role;
mod tally;
mod vote;

pub use barriers::BarrierId;
pub use configuration::{Configuration, ConfigurationError};
pub use entry::{Entry, Index, NodeId, Payload, Term};
pub use fingerprint::Name;
pub use log::{Log, LogError, Origin};
pub use message::{Envelope, Message};
pub use options::{Options, Restart};
pub use raft::Raft;
pub use ready::{ProposeError, Ready, Trouble};
pub use role::RoleName;
pub use vote::Vote;
