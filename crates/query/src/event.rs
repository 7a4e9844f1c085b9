//! Events for the clients that registered for them. Each shard gets all of them, in one order.

use std::net::SocketAddr;

use schema::SchemaEvent;

/// An event for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The schema changed.
    Schema(SchemaEvent),
    /// Another node of the cluster changed.
    Node(NodeEvent),
}

/// A change of another node, with the address that clients use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// It is of the cluster now.
    New(SocketAddr),
    /// It is not of the cluster any more.
    Removed(SocketAddr),
    /// It accepts clients.
    Up(SocketAddr),
    /// It is down, or accepts no clients.
    Down(SocketAddr),
}
