//! The nodes of the cluster between the registry's words and the ring's.

use topology::nodes::Registry;
use topology::{HostId, Node, NodeIndex};

/// The first byte of an intention that is a request of [`membership`]. Schema statements have others.
pub const MEMBERSHIP: u8 = 128;

/// The first byte of an intention that is a request to leave, of [`membership::Leave`].
pub const LEAVE: u8 = 129;

/// The nodes of a registry as a ring has them, and this node's place among them; `None` where it is not among them.
pub fn nodes_of_ring(registry: &Registry, host_id: HostId) -> Option<(Vec<Node>, NodeIndex)> {
    let local = registry.nodes().position(|(id, _)| id == host_id)?;
    let nodes = registry.nodes().map(|(host_id, node)| Node {
        host_id,
        address: node.start.native.into(),
        internode: node.start.internode.into(),
        datacenter: node.datacenter.clone(),
        rack: node.rack.clone(),
        tokens: node.tokens.clone(),
    });
    Some((nodes.collect(), NodeIndex(u16::try_from(local).expect("a cluster has fewer nodes"))))
}
