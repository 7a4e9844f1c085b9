//! Messages between the nodes of a group. How they travel is the transport's affair.

use raft::{Entry as PlacedEntry, Envelope, Index, NodeId, Term};

use super::ids::ProposalId;
use super::record::Snapshot;

/// One node's word to another of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupMessage {
    /// Between voters.
    Raft(Envelope),
    /// Committed entries, which follow the entry at `previous`. A leader sends them unasked to nodes that do not vote, once.
    Entries {
        /// Index and term before the first.
        previous: (Index, Term),
        /// In order, without gaps.
        entries: Vec<PlacedEntry>,
    },
    /// Asks for the committed entries after this epoch. Any node answers.
    Since {
        /// The sender's epoch.
        epoch: Index,
    },
    /// The state, in place of entries that the answering node has no more.
    Snapshot(Snapshot),
    /// All shards of the sender have applied up to here. Sent when that changes, and with each sign of life.
    Applied {
        /// The sender's epoch.
        epoch: Index,
    },
    /// Asks the leader for a change. The same id twice has the effect of once.
    Propose {
        /// Its name.
        id: ProposalId,
        /// The first epoch at which it may apply.
        first: Index,
        /// The request, which the leader's planner reads.
        intention: Vec<u8>,
    },
    /// The answer to a proposal.
    Answer {
        /// The proposal.
        id: ProposalId,
        /// Its outcome.
        answer: Answer,
    },
}

/// The outcome of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The node does not lead, or leads no more: the proposal may be in the log or not, and is to be sent to the leader.
    NotLeader {
        /// The leader, if known.
        leader: Option<NodeId>,
    },
    /// There is nothing to change, or the planner refused; nothing was logged. The state of this epoch says so.
    Refused {
        /// The epoch.
        epoch: Index,
        /// The planner's words.
        reason: Vec<u8>,
    },
    /// The change was applied at this epoch, by all nodes that were up.
    Applied {
        /// The epoch.
        epoch: Index,
        /// Nodes that are up and have not applied it in time.
        lagging: Vec<NodeId>,
    },
    /// The leader, alone in its group, could not make the change durable, and has taken it back.
    Failed {
        /// The log's error.
        reason: String,
    },
    /// More than 1,023 entries were logged since it was asked for: it applies no more.
    TooLate,
}
