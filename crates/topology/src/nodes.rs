//! The registry: the nodes of a cluster and their facts, as all nodes agree on them.
//!
//! [`Registry`] is a pure function of its changes, in the order of the cluster's log: it reads no clock, file or setting. Identity is the host id;
//! addresses are facts that each start may change. It does not decide: a change is planned elsewhere, on the state that it will be applied to.
//! Liveness is not a fact of the registry.
//!
//! States, changes and bytes: `docs/internals/topology.md`.

mod address;
mod change;
mod codec;
mod facts;
mod registry;

pub use address::Address;
pub use change::NodeChange;
pub use codec::{DecodeError, VERSION, decode, encode};
pub use facts::{Boot, Features, NodeState, RegisteredNode, Release, Start};
pub use registry::Registry;

/// The most nodes of a cluster.
pub const NODES_MAX: usize = 4096;
/// The most tokens of a node, as in Cassandra.
pub const TOKENS_MAX: usize = 1536;
/// The most bytes of the name of a datacenter or rack.
pub const NAME_BYTES_MAX: usize = 255;

#[cfg(test)]
mod tests;
