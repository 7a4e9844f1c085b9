//! The coordinator, the messages between nodes and Paxos: what makes shards and nodes one database.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod coordinator;

pub mod messaging;

pub mod paxos;
