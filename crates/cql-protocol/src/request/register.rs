//! REGISTER: asks for events.

use stdx::Reader;

use crate::{DecodeError, notation};

/// A set of kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventKinds {
    bits: u8,
}

impl EventKinds {
    /// No kind.
    pub const NONE: EventKinds = EventKinds { bits: 0 };
    /// Nodes join and leave.
    pub const TOPOLOGY_CHANGE: EventKinds = EventKinds { bits: 1 };
    /// Nodes go up and down.
    pub const STATUS_CHANGE: EventKinds = EventKinds { bits: 2 };
    /// The schema changes.
    pub const SCHEMA_CHANGE: EventKinds = EventKinds { bits: 4 };

    /// Each kind with its name.
    const NAMES: [(EventKinds, &'static str); 3] = [
        (EventKinds::TOPOLOGY_CHANGE, "TOPOLOGY_CHANGE"),
        (EventKinds::STATUS_CHANGE, "STATUS_CHANGE"),
        (EventKinds::SCHEMA_CHANGE, "SCHEMA_CHANGE"),
    ];

    /// The kinds of both sets.
    pub fn with(self, other: EventKinds) -> EventKinds {
        EventKinds { bits: self.bits | other.bits }
    }

    /// Whether all kinds of `other` are in the set.
    pub fn contains(self, other: EventKinds) -> bool {
        self.bits & other.bits == other.bits
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(kind, _)| self.contains(*kind)).map(|(_, name)| name)
    }
}

/// The events that a connection wants from now on, beside those that it asked for earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// Which.
    pub events: EventKinds,
}

impl Register {
    /// Decodes a message.
    pub fn decode(message: &[u8]) -> Result<Register, DecodeError> {
        let mut reader = Reader::new(message);
        let count = reader.u16()?;
        let mut events = EventKinds::NONE;
        for _ in 0..count {
            let name = notation::read_string(&mut reader)?;
            let known = EventKinds::NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
            events = events.with(known.ok_or(DecodeError::UnknownEventKind)?.0);
        }
        Ok(Register { events })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let names: Vec<&str> = self.events.names().collect();
        notation::write_string_list(out, &names);
    }
}
