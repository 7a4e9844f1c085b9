//! `system.peers` and `system.peers_v2`: the other nodes of the ring, as drivers find them. Both name a node by its address for other nodes.

use std::net::IpAddr;

use schema::Schema;
use topology::Node;

use super::local::{RELEASE_VERSION, token_texts};
use super::rows::Rows;
use super::value;

/// True if the node is of the partition with this key, an address.
pub(super) fn is_of(node: &Node, key: &[u8]) -> bool {
    match node.internode.ip() {
        IpAddr::V4(address) => key == address.octets(),
        IpAddr::V6(address) => key == address.octets(),
    }
}

/// A node's row of `peers`. A node that is up has the schema of this one by the time when a change is answered.
pub(super) fn push(rows: &mut Rows<'_>, node: &Node, schema: &Schema) {
    rows.push([
        ("peer", value::inet(node.internode.ip())),
        ("data_center", value::text(&node.datacenter)),
        ("host_id", value::uuid(node.host_id.0)),
        ("rack", value::text(&node.rack)),
        ("release_version", value::text(RELEASE_VERSION)),
        ("rpc_address", value::inet(node.address.ip())),
        ("schema_version", value::uuid(schema.version())),
        ("tokens", token_texts(&node.tokens)),
    ]);
}

/// A node's row of `peers_v2`.
pub(super) fn push_v2(rows: &mut Rows<'_>, node: &Node, schema: &Schema) {
    rows.push([
        ("peer", value::inet(node.internode.ip())),
        ("peer_port", value::int(i32::from(node.internode.port()))),
        ("data_center", value::text(&node.datacenter)),
        ("host_id", value::uuid(node.host_id.0)),
        ("native_address", value::inet(node.address.ip())),
        ("native_port", value::int(i32::from(node.address.port()))),
        ("rack", value::text(&node.rack)),
        ("release_version", value::text(RELEASE_VERSION)),
        ("schema_version", value::uuid(schema.version())),
        ("tokens", token_texts(&node.tokens)),
    ]);
}
