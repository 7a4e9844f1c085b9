//! The purposes of connections between nodes. Each has its own, so that no large message stands in front of a sign of life.

/// The use of a connection. Its dialler names it in the hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The group's messages and heartbeats, between shards 0.
    Control,
    /// Reads and writes, of each shard.
    Requests,
    /// Large messages, of each shard.
    Bulk,
    /// A later version's. No node of this version serves it.
    Other(u8),
}

impl Purpose {
    pub(crate) fn number(self) -> u8 {
        match self {
            Purpose::Control => 1,
            Purpose::Requests => 2,
            Purpose::Bulk => 3,
            Purpose::Other(number) => number,
        }
    }

    pub(crate) fn of(number: u8) -> Purpose {
        match number {
            1 => Purpose::Control,
            2 => Purpose::Requests,
            3 => Purpose::Bulk,
            other => Purpose::Other(other),
        }
    }
}
