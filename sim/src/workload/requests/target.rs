//! Nodes as clients reach them.

use std::net::SocketAddr;

/// A node, as clients reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Its address.
    pub address: SocketAddr,
    /// The number of its datacenter.
    pub datacenter: usize,
}
