//! The log's entries, and the numbers that name nodes, terms and places.
//!
//! Numbers end at their largest value: there `next` gives the same one again, and nothing overflows. The core looks into the payload of its own
//! entries alone.

use std::fmt;

use crate::configuration::Configuration;

/// A node of the cluster: its host id as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u128);

/// An election's number. It grows, and each term has at most one leader; 0 is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Term(pub u64);

/// An entry's place in the log, from 1 on; 0 is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Index(pub u64);

impl Term {
    /// The term after this.
    #[must_use]
    pub fn next(self) -> Term {
        Term(self.0.saturating_add(1))
    }
}

impl Index {
    /// The place after this.
    #[must_use]
    pub fn next(self) -> Index {
        Index(self.0.saturating_add(1))
    }

    /// The place before this; before the first there is only 0.
    #[must_use]
    pub fn previous(self) -> Index {
        Index(self.0.saturating_sub(1))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An entry's content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The first entry of a term: this node leads it.
    Lead(NodeId),
    /// A change of the cluster's state, which the core does not look into.
    Change(Box<[u8]>),
    /// The voters from here on.
    Voters(Configuration),
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The term of the leader that appended it.
    pub term: Term,
    /// Its place.
    pub index: Index,
    /// Its content.
    pub payload: Payload,
}

impl Entry {
    /// The bytes that it counts for in a message.
    pub fn bytes(&self) -> usize {
        /// An entry's bytes beside its payload.
        const HEAD: usize = 32;
        HEAD + match &self.payload {
            Payload::Lead(_) => size_of::<NodeId>(),
            Payload::Change(bytes) => bytes.len(),
            Payload::Voters(voters) => size_of::<NodeId>() * (voters.incoming().len() + voters.outgoing().len()),
        }
    }
}
