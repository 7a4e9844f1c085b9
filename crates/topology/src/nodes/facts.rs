//! The facts of one node.

use std::fmt;

use super::address::Address;
use crate::token::Token;

/// A start of a node's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Boot {
    /// Its number; each start of a node has the next.
    pub number: u64,
    /// Drawn at the start: two starts of one number have different words, so that a disk image that was started twice is found out.
    pub word: u64,
}

impl Boot {
    /// True if a node with this boot has an older disk than a node that has registered `registered`: the number is lower, or the same with
    /// another word.
    pub fn is_older_than(self, registered: Boot) -> bool {
        self.number < registered.number || (self.number == registered.number && self.word != registered.word)
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:016x})", self.number, self.word)
    }
}

/// The state of a node of the cluster. A node that left has none: its host id alone is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// It has no tokens yet, and does not vote: an operation gives it some.
    Joining,
    /// It owns its tokens.
    Normal,
    /// It is to leave: it owns its tokens until an operation has moved them, and does not vote. As soon as it has none and is no voter of any configuration it is
    /// removed.
    Leaving,
    /// Its disk is older than what others have heard from it: it owns its tokens, does not vote, and serves no read until its data is renewed.
    Regressed,
}

impl NodeState {
    /// The states that are known, with their bytes.
    const BYTES: [(NodeState, u8); 4] =
        [(NodeState::Joining, 2), (NodeState::Normal, 3), (NodeState::Leaving, 4), (NodeState::Regressed, 6)];

    /// The byte of the state in a change.
    pub fn byte(self) -> u8 {
        let (_, byte) = NodeState::BYTES.into_iter().find(|(state, _)| *state == self).expect("each state has a byte");
        byte
    }

    /// The state of that byte.
    pub fn of_byte(byte: u8) -> Option<NodeState> {
        NodeState::BYTES.into_iter().find(|(_, own)| *own == byte).map(|(state, _)| state)
    }

    /// True if a node may pass from this state to `next`.
    pub fn may_become(self, next: NodeState) -> bool {
        match self {
            NodeState::Joining => next == NodeState::Normal,
            NodeState::Normal => matches!(next, NodeState::Regressed | NodeState::Leaving),
            NodeState::Leaving => next == NodeState::Normal,
            NodeState::Regressed => matches!(next, NodeState::Normal | NodeState::Leaving),
        }
    }
}

/// The version of a node's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub patch: u16,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The names of features, by their bits. There is none yet: the first release with clusters begins with all that it has. A feature is added here once, with the
/// code that uses it only where [`super::Registry::enabled`] has it, and stays for good.
const NAMES: [&str; 0] = [];

/// Features, a bit each: what a program can do, and programs before it cannot read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Features(pub u64);

impl Features {
    /// The features that this program knows.
    pub const KNOWN: Features = Features((1 << NAMES.len()) - 1);

    /// Their names, with commas; of later ones, which this program does not know, their numbers.
    pub fn names(self) -> String {
        let bits = (0..u64::BITS as usize).filter(|bit| self.0 & (1 << bit) > 0);
        let name = |bit: usize| NAMES.get(bit).map_or_else(|| format!("feature {bit}"), |name| (*name).to_owned());
        bits.map(name).collect::<Vec<_>>().join(", ")
    }

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The features of `required` that are not among these.
    pub fn missing(self, required: Features) -> Features {
        Features(required.0 & !self.0)
    }
}

/// The facts that each start of a node registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Start {
    /// The start.
    pub boot: Boot,
    /// Where other nodes reach it.
    pub internode: Address,
    /// Where clients reach it.
    pub native: Address,
    /// How many shards it has. At least 1.
    pub shard_count: u16,
    /// The version of its program.
    pub release: Release,
    /// The features that its program knows.
    pub features: Features,
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegisteredNode {
    /// Its state.
    pub state: NodeState,
    /// The name of its datacenter, [`super::NAME_BYTES_MAX`] bytes at most.
    pub datacenter: String,
    /// The name of its rack within the datacenter, as long at most.
    pub rack: String,
    /// The tokens that it owns, ascending, each once; [`super::TOKENS_MAX`] at most.
    pub tokens: Vec<Token>,
    /// The facts of its last registered start.
    pub start: Start,
}
