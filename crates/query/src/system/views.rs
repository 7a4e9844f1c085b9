//! The rows of `system_views`: the node as it is now.

use crate::clients::ClientInfo;

use super::rows::Rows;
use super::value;

/// Who a client is where nobody logs in.
const ANONYMOUS: &str = "anonymous";

pub(super) fn push_client(rows: &mut Rows<'_>, client: &ClientInfo) {
    let option = |name| client.started.as_ref().and_then(|started| started.options.get(name));
    let text = |name| option(name).and_then(|text| value::text(text));
    let started = client.started.as_ref();
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
        ("ssl_enabled", value::boolean(false)),
        ("username", value::text(ANONYMOUS)),
    ]);
}

/// The key of the partition that a client is shown in.
pub(super) fn client_key(client: &ClientInfo) -> Vec<u8> {
    value::inet(client.address.ip()).unwrap_or_default()
}

pub(super) fn push_setting(rows: &mut Rows<'_>, name: &str, setting: Option<&str>) {
    rows.push([("name", value::text(name)), ("value", setting.and_then(value::text))]);
}
