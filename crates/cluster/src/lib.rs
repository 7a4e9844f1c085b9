//! The coordinator, the messages between nodes, Paxos and the metadata log: what makes shards and nodes one database.

pub mod coordinator;

pub mod messaging;

pub mod metadata;

pub mod paxos;
