//! The coordinator, the replica that other nodes ask, and Paxos: what makes shards and nodes one database.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod batches;

pub mod coordinator;

pub mod fence;

pub mod paxos;

pub mod replica;

mod outcome;
mod plan;
mod read;
mod write;
