//! The coordinator and the metadata log: what makes shards and nodes one database.

pub mod coordinator;

pub mod metadata;
