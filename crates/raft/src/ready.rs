//! The core's output: work for its driver, troubles for an operator, and refusals of proposals.
//!
//! Plain data. The order of the work is part of the contract: a message that leaves before the vote and the entries are durable breaks the safety of
//! the group.

use std::fmt;

use crate::barriers::BarrierId;
use crate::entry::{Entry, Index, NodeId, Term};
use crate::message::Envelope;
use crate::vote::Vote;

/// The outcome of some steps. The driver makes vote and entries durable, then sends the messages, then makes the commit index durable and applies
/// what is committed, and then calls `advance`. Whatever is empty needs no work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ready {
    /// Term and vote, where they changed.
    pub vote: Option<Vote>,
    /// Entries to append. The first replaces all that the disk has from its index on.
    pub entries: Vec<Entry>,
    /// Messages, for which vote and entries must be durable.
    pub messages: Vec<Envelope>,
    /// The commit index, where it rose.
    pub commit: Option<Index>,
    /// Committed entries to apply, in order; each is given once in the life of a core.
    pub committed: Vec<Entry>,
    /// Barriers that are passed: all up to the index is as the asker must see it.
    pub passed: Vec<(BarrierId, Index)>,
    /// Barriers that failed: another node may lead.
    pub failed: Vec<BarrierId>,
    /// News for an operator.
    pub troubles: Vec<Trouble>,
}

impl Ready {
    /// True if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Ready::default()
    }
}

/// A state of the group that a driver reacts to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// A follower's log ends before the leader's begins: it must catch up by other means.
    Behind(NodeId),
    /// A follower answered that it has lost what it had acknowledged: it is to leave the voters.
    LostItsLog(NodeId),
    /// This node's own log ends before what its leader knows it to have acknowledged.
    LostOwnLog {
        /// Where the log ends.
        last: Index,
        /// The place that was acknowledged.
        acknowledged: Index,
    },
    /// The driver knows that this node's disk is older than it was.
    OlderDisk,
    /// A leader asks to replace what is committed here: one of the two logs is of another group, or damaged.
    Conflict {
        /// The leader that asks.
        leader: NodeId,
        /// The first entry that differs.
        index: Index,
        /// The leader's term there.
        term: Term,
    },
}

/// A proposal that was not appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposeError {
    /// This node does not lead.
    NotLeader {
        /// The node that does, if known.
        leader: Option<NodeId>,
    },
    /// Leadership is being handed over.
    Transferring,
    /// A change of the voters is not committed yet, or the term's lead entry is not.
    ChangeUnderWay,
    /// The voters would be the same, or none.
    NoChange,
    /// The node is no voter, or this node itself.
    NotAVoter,
}

impl fmt::Display for ProposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProposeError::NotLeader { leader: Some(leader) } => write!(f, "node {leader} leads the group"),
            ProposeError::NotLeader { leader: None } => f.write_str("the group has no leader that is known here"),
            ProposeError::Transferring => f.write_str("leadership is being handed over"),
            ProposeError::ChangeUnderWay => f.write_str("a change of the voters is under way"),
            ProposeError::NoChange => f.write_str("the voters are those already"),
            ProposeError::NotAVoter => f.write_str("the node is not another voter"),
        }
    }
}

impl std::error::Error for ProposeError {}
