//! `system.local`: what a driver asks first.

use schema::{Schema, Table};
use topology::{Ring, Token};

use super::rows::{Rows, VirtualRow};
use super::value::{self, Value};
use crate::node::NodeInfo;

/// What Helenus reports to be compatible with; drivers choose their queries by it.
pub const RELEASE_VERSION: &str = "5.0.6";
/// The version of CQL that goes with it.
pub const CQL_VERSION: &str = "3.4.7";
/// The newest native protocol that is spoken.
pub const NATIVE_PROTOCOL_VERSION: &str = "5";
/// How keys become tokens.
pub const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";

/// The node's tokens are those that the ring has: a node that founds a cluster gets them after its start.
pub(super) fn rows(table: &Table, node: &NodeInfo, ring: &Ring, schema: &Schema) -> Vec<VirtualRow> {
    let mut rows = Rows::of(table);
    let native = node.native_address.ip();
    let (listen, storage_port) = (node.listen_address.ip(), value::int(i32::from(node.listen_address.port())));
    rows.push([
        ("key", value::text("local")),
        ("bootstrapped", value::text("COMPLETED")),
        ("broadcast_address", value::inet(listen)),
        ("broadcast_port", storage_port.clone()),
        ("cluster_name", value::text(&node.cluster_name)),
        ("cql_version", value::text(CQL_VERSION)),
        ("data_center", value::text(&node.datacenter)),
        ("gossip_generation", value::int(i32::try_from(node.boot).unwrap_or(i32::MAX))),
        ("host_id", value::uuid(node.host_id.0)),
        ("listen_address", value::inet(listen)),
        ("listen_port", storage_port),
        ("native_protocol_version", value::text(NATIVE_PROTOCOL_VERSION)),
        ("partitioner", value::text(PARTITIONER)),
        ("rack", value::text(&node.rack)),
        ("release_version", value::text(RELEASE_VERSION)),
        ("rpc_address", value::inet(native)),
        ("rpc_port", value::int(i32::from(node.native_address.port()))),
        ("schema_version", value::uuid(schema.version())),
        ("tokens", token_texts(&ring.local_node().tokens)),
    ]);
    rows.finish()
}

/// Tokens as a set of texts, which is ordered by its elements' bytes.
pub(super) fn token_texts(tokens: &[Token]) -> Value {
    let mut texts: Vec<String> = tokens.iter().map(Token::to_string).collect();
    texts.sort();
    value::texts(texts.iter().map(String::as_str))
}
