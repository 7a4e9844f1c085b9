//! Events for the clients that registered for them.

use std::rc::Rc;

use cql_protocol::{
    Event, SchemaChange, SchemaChangeKind, SchemaTarget, StatusChange, TopologyChange, Version, write_event,
};
use query::NodeEvent;
use schema::{ChangeTarget, ChangeType, SchemaEvent};

use crate::server::Inner;

/// Pushes every event of this shard's engine, as long as the shard lives.
pub(crate) async fn push_all(inner: Rc<Inner>) {
    let events = inner.engine.events();
    while let Ok(event) = events.pop().await {
        push(&inner, &translate(&event));
    }
}

/// Encodes an event once per protocol version and appends it to the replies of each client that wants it.
fn push(inner: &Inner, event: &Event) {
    let frame = |version| {
        let mut frame = Vec::new();
        write_event(&mut frame, version, event);
        frame
    };
    let (v3, v4, v5) = (frame(Version::V3), frame(Version::V4), frame(Version::V5));
    for connection in inner.connections.borrow().values() {
        connection.push_event(event.kind(), |version| match version {
            Version::V3 => &v3,
            Version::V4 => &v4,
            Version::V5 => &v5,
        });
    }
}

fn translate(event: &query::Event) -> Event {
    match event {
        query::Event::Schema(change) => Event::Schema(schema_change(change)),
        query::Event::Node(event) => node_change(*event),
    }
}

fn node_change(event: NodeEvent) -> Event {
    match event {
        NodeEvent::New(address) => Event::Topology { change: TopologyChange::NewNode, address },
        NodeEvent::Removed(address) => Event::Topology { change: TopologyChange::RemovedNode, address },
        NodeEvent::Up(address) => Event::Status { change: StatusChange::Up, address },
        NodeEvent::Down(address) => Event::Status { change: StatusChange::Down, address },
    }
}

fn schema_change(change: &SchemaEvent) -> SchemaChange {
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
