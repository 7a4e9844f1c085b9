//! The rows of `system_views`: the node as it is now.

use topology::Ring;

use crate::clients::ClientInfo;
use crate::system::NodeHints;

use super::rows::Rows;
use super::value;

pub(super) fn push_client(rows: &mut Rows<'_>, client: &ClientInfo) {
    let option = |name| client.started.as_ref().and_then(|started| started.options.get(name));
    let text = |name| option(name).and_then(|text| value::text(text));
    let (started, encryption) = (client.started.as_ref(), client.encryption.as_ref());
    rows.push([
        ("address", value::inet(client.address.ip())),
        ("port", value::int(i32::from(client.address.port()))),
        ("client_options", started.and_then(|started| value::text_map(&started.options))),
        ("connection_stage", value::text(if started.is_some() { "ready" } else { "establishing" })),
        ("driver_name", text("DRIVER_NAME")),
        ("driver_version", text("DRIVER_VERSION")),
        ("keyspace_name", client.keyspace.as_deref().and_then(value::text)),
        ("protocol_version", started.and_then(|started| value::int(i32::from(started.protocol_version)))),
        ("request_count", value::bigint(i64::try_from(client.request_count).unwrap_or(i64::MAX))),
        ("ssl_cipher_suite", encryption.and_then(|encryption| value::text(&encryption.suite))),
        ("ssl_enabled", value::boolean(encryption.is_some())),
        ("ssl_protocol", encryption.and_then(|encryption| value::text(encryption.version))),
        ("username", value::text(&client.username)),
    ]);
}

/// The key of the partition that a client is shown in.
pub(super) fn client_key(client: &ClientInfo) -> Vec<u8> {
    value::inet(client.address.ip()).unwrap_or_default()
}

/// The hints that wait for a node. Of one that left the ring nothing else is known.
pub(super) fn push_pending_hints(rows: &mut Rows<'_>, of: &NodeHints, ring: &Ring) {
    let pending = &of.pending;
    let node = ring.nodes().iter().find(|node| node.host_id == pending.host_id);
    let place = |text: Option<&String>| value::text(text.map_or("Unknown", String::as_str));
    let time = |millis: u64| value::timestamp(i64::try_from(millis).unwrap_or(i64::MAX));
    let status = match node {
        None => "Unknown",
        Some(_) if of.is_up => "UP",
        Some(_) => "DOWN",
    };
    rows.push([
        ("host_id", value::uuid(pending.host_id.0)),
        ("address", node.and_then(|node| value::inet(node.internode.ip()))),
        ("dc", place(node.map(|node| &node.datacenter))),
        ("files", value::int(i32::try_from(pending.files).unwrap_or(i32::MAX))),
        ("newest", time(pending.newest_ms)),
        ("oldest", time(pending.oldest_ms)),
        ("port", node.and_then(|node| value::int(i32::from(node.internode.port())))),
        ("rack", place(node.map(|node| &node.rack))),
        ("status", value::text(status)),
    ]);
}

pub(super) fn push_setting(rows: &mut Rows<'_>, name: &str, setting: Option<&str>) {
    rows.push([("name", value::text(name)), ("value", setting.and_then(value::text))]);
}
