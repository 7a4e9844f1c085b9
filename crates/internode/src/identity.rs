//! Names of a node's group and of its start, as greetings have them.

use topology::HostId;

/// A group of nodes that share a cluster's state. The default one is none: the node is of no group yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTag {
    /// Drawn by the founder; 0 for none.
    pub id: u128,
    /// Drawn again by a recovery.
    pub incarnation: u64,
}

/// A start of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boot {
    /// Starts so far.
    pub number: u64,
    /// A random number of this start: two copies of a disk have the same number, not the same word.
    pub word: u64,
}

/// In place of the wanted host id: whichever node is at the address. On control connections alone, by a node that looks for its cluster.
pub const ANY_NODE: HostId = HostId([0; 16]);
