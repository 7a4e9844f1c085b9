//! A node's place in a cluster of several: where it meets the others.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use membership::{PhiThreshold, Replaced};
use topology::nodes::Features;

/// The port between nodes, as in Cassandra.
pub const STORAGE_PORT: u16 = 7000;

/// A node that looks for others, or is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Where it listens for other nodes; the port is not 0.
    pub listen: SocketAddr,
    /// Where the others reach it.
    pub broadcast: SocketAddr,
    /// The nodes that it asks for its cluster; this one among them may found one.
    pub seeds: BTreeSet<SocketAddr>,
    /// The features that it knows: those of its program, but for tests of upgrades.
    pub features: Features,
    /// Its leader finalizes an upgrade as soon as all nodes know the same.
    pub auto_finalize: bool,
    /// It joins without copying what it is to own: `auto_bootstrap: false`.
    pub is_without_copy: bool,
    /// So many tokens it is to have, also if it has others: `num_tokens`.
    pub token_count: Option<u16>,
    /// The node whose place it takes, if it joins.
    pub replaces: Option<Replaced>,
    /// Found a cluster although seeds do not answer.
    pub found_without_silent: bool,
    /// A majority of the metadata group is lost for good.
    pub recover: Option<Recover>,
    /// Scales the silence after which a node is down.
    pub phi_convict_threshold: PhiThreshold,
    /// The age at which registers of attempts of several replicas are to be forgotten.
    pub low_bound_age: Duration,
}

/// An hour: longer than any attempt takes.
pub const LOW_BOUND_AGE: Duration = Duration::from_secs(60 * 60);

/// The way to recover a group whose majority is lost for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recover {
    /// This node begins the group again.
    Begin,
    /// This node follows the one at the address, which began it again.
    Follow(SocketAddr),
}
