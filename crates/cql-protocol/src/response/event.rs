//! EVENT: something happened that the client asked to hear of.

use std::net::SocketAddr;

use stdx::Reader;

use crate::response::{ResponseFrame, SchemaChange};
use crate::{DecodeError, EventKinds, Opcode, Version, notation};

/// The stream of all events: they answer no request.
const EVENT_STREAM: i16 = -1;

/// How the cluster's membership changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopologyChange {
    /// A node has joined.
    NewNode,
    /// A node has left.
    RemovedNode,
}

/// How a node's health changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// It can be reached.
    Up,
    /// It cannot.
    Down,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A node joined or left.
    Topology {
        /// Which.
        change: TopologyChange,
        /// The node's address for clients.
        address: SocketAddr,
    },
    /// A node went up or down.
    Status {
        /// Which.
        change: StatusChange,
        /// The node's address for clients.
        address: SocketAddr,
    },
    /// The schema changed.
    Schema(SchemaChange),
}

impl Event {
    /// The kind by which clients ask for it.
    pub fn kind(&self) -> EventKinds {
        match self {
            Event::Topology { .. } => EventKinds::TOPOLOGY_CHANGE,
            Event::Status { .. } => EventKinds::STATUS_CHANGE,
            Event::Schema(_) => EventKinds::SCHEMA_CHANGE,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Event, DecodeError> {
        match notation::read_string(reader)? {
            "TOPOLOGY_CHANGE" => {
                let change = match notation::read_string(reader)? {
                    "NEW_NODE" => TopologyChange::NewNode,
                    "REMOVED_NODE" => TopologyChange::RemovedNode,
                    _ => return Err(DecodeError::UnknownName { what: "a change of the topology" }),
                };
                Ok(Event::Topology { change, address: notation::read_inet(reader)? })
            }
            "STATUS_CHANGE" => {
                let change = match notation::read_string(reader)? {
                    "UP" => StatusChange::Up,
                    "DOWN" => StatusChange::Down,
                    _ => return Err(DecodeError::UnknownName { what: "a change of a node's status" }),
                };
                Ok(Event::Status { change, address: notation::read_inet(reader)? })
            }
            "SCHEMA_CHANGE" => Ok(Event::Schema(SchemaChange::read(reader)?)),
            _ => Err(DecodeError::UnknownName { what: "a kind of event" }),
        }
    }
}

/// Appends EVENT.
pub fn write_event(out: &mut Vec<u8>, version: Version, event: &Event) {
    let frame = ResponseFrame::begin(out, version, EVENT_STREAM, Opcode::Event);
    match event {
        Event::Topology { change, address } => {
            notation::write_string(out, "TOPOLOGY_CHANGE");
            let change = match change {
                TopologyChange::NewNode => "NEW_NODE",
                TopologyChange::RemovedNode => "REMOVED_NODE",
            };
            notation::write_string(out, change);
            notation::write_inet(out, *address);
        }
        Event::Status { change, address } => {
            notation::write_string(out, "STATUS_CHANGE");
            let change = match change {
                StatusChange::Up => "UP",
                StatusChange::Down => "DOWN",
            };
            notation::write_string(out, change);
            notation::write_inet(out, *address);
        }
        Event::Schema(change) => {
            notation::write_string(out, "SCHEMA_CHANGE");
            change.write(out, version);
        }
    }
    ResponseFrame::finish(out, frame);
}
