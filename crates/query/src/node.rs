//! What the engine knows of the node it runs on, for `system.local` and DESCRIBE CLUSTER.

use std::net::SocketAddr;

use topology::{HostId, Token};

/// The node's identity and names. `Send`, so that one value is made at start and cloned for each shard.
#[derive(Debug, Clone)]
pub struct NodeInfo {
    /// `cluster_name`.
    pub cluster_name: String,
    /// The datacenter's name.
    pub datacenter: String,
    /// The rack's name.
    pub rack: String,
    /// The node's identity, from the metadata log.
    pub host_id: HostId,
    /// The node's tokens.
    pub tokens: Vec<Token>,
    /// Where clients connect, with the plain port.
    pub native_address: SocketAddr,
    /// What other nodes connect to, if there are any.
    pub listen_address: SocketAddr,
    /// How many times the node was started on this data, from the metadata log.
    pub boot: u64,
    /// The settings that it runs with, by the names of the configuration file's keys; `None` is what was left open.
    pub settings: Vec<(String, Option<String>)>,
}
