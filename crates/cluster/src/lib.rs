//! The coordinator, the messages between nodes and the metadata log: what makes shards and nodes one database.

pub mod coordinator;

pub mod messaging;

pub mod metadata;
