//! A cluster as operators' steps and harnesses see it: machines with nodes, which are started and ended.
//!
//! Nothing in here knows how a node is configured, or how nodes find each other.

use std::net::SocketAddr;

use runtime::sim::{Disk, HostId, World};

/// A cluster. Nodes are known by number, from zero on.
pub trait Site {
    /// The world of all machines.
    fn world(&mut self) -> &mut World<'static>;

    /// The nodes' machines.
    fn nodes(&self) -> Vec<HostId>;

    /// The clients' machine. Its clocks are the world's: histories compare times.
    fn clients(&self) -> HostId;

    /// The number of the datacenter that a node is in.
    fn datacenter(&self, node: usize) -> usize;

    /// Where clients reach a node.
    fn native_address(&self, node: usize) -> SocketAddr;

    /// A disk on which no node ever ran.
    fn empty_disk(&self) -> Disk;

    /// Starts a node that does not run, without waiting for it: several may need each other to become ready.
    fn begin_start(&mut self, node: usize);

    /// True if the node has said that it is ready since its last start.
    fn is_ready(&self, node: usize) -> bool;

    /// The words with which the node ended by itself since its last start; `None` if it runs, or was ended from outside.
    fn take_refusal(&mut self, node: usize) -> Option<String>;
}
