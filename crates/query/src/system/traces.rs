//! The rows of `system_traces`: what requests did that asked to be traced.

use crate::node::NodeInfo;
use crate::trace::Traced;

use super::rows::Rows;
use super::value;

pub(super) fn push_session(rows: &mut Rows<'_>, traced: &Traced, node: &NodeInfo) {
    rows.push([
        ("session_id", value::uuid(traced.id)),
        ("client", traced.client.and_then(value::inet)),
        ("command", value::text("QUERY")),
        ("coordinator", value::inet(node.listen_address.ip())),
        ("coordinator_port", value::int(i32::from(node.listen_address.port()))),
        ("duration", value::int(traced.duration_micros)),
        ("parameters", value::text_map(&traced.parameters)),
        ("request", value::text(traced.request)),
        ("started_at", value::timestamp(traced.started_at)),
    ]);
}

pub(super) fn push_events(rows: &mut Rows<'_>, traced: &Traced, node: &NodeInfo) {
    for step in &traced.steps {
        let source = step.source.unwrap_or(node.listen_address);
        rows.push([
            ("session_id", value::uuid(traced.id)),
            ("event_id", value::uuid(step.id)),
            ("activity", value::text(&step.activity)),
            ("source", value::inet(source.ip())),
            ("source_elapsed", value::int(step.elapsed_micros)),
            ("source_port", value::int(i32::from(source.port()))),
            ("thread", value::text(&format!("shard-{}", traced.shard))),
        ]);
    }
}
