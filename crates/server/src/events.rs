//! Events for the clients that registered for them.

use std::rc::Rc;

use cql_protocol::{Event, EventKinds, SchemaChange, SchemaChangeKind, SchemaTarget, Version, write_event};
use schema::{ChangeTarget, ChangeType, SchemaEvent};

use crate::server::Inner;

/// Pushes every schema change of this shard's engine, as long as the shard lives.
pub(crate) async fn push_all(inner: Rc<Inner>) {
    let changes = inner.engine.schema_events();
    while let Ok(change) = changes.pop().await {
        push(&inner, &change);
    }
}

/// Encodes a change once per protocol version and appends it to the replies of each client that wants it.
fn push(inner: &Inner, change: &SchemaEvent) {
    let frame = |version| {
        let mut frame = Vec::new();
        write_event(&mut frame, version, &Event::Schema(translate(change)));
        frame
    };
    let (v3, v4, v5) = (frame(Version::V3), frame(Version::V4), frame(Version::V5));
    for connection in inner.connections.borrow().values() {
        connection.push_event(EventKinds::SCHEMA_CHANGE, |version| match version {
            Version::V3 => &v3,
            Version::V4 => &v4,
            Version::V5 => &v5,
        });
    }
}

fn translate(change: &SchemaEvent) -> SchemaChange {
    SchemaChange {
        kind: match change.change {
            ChangeType::Created => SchemaChangeKind::Created,
            ChangeType::Updated => SchemaChangeKind::Updated,
            ChangeType::Dropped => SchemaChangeKind::Dropped,
        },
        target: match change.target {
            ChangeTarget::Keyspace => SchemaTarget::Keyspace,
            ChangeTarget::Table => SchemaTarget::Table { name: change.name.clone() },
            ChangeTarget::Type => SchemaTarget::Type { name: change.name.clone() },
        },
        keyspace: change.keyspace.clone(),
    }
}
