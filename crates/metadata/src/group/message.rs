//! Messages between the nodes of a group. How they travel is the transport's affair: any may be lost or late, and [`GroupMessage::Propose`] must not
//! arrive twice, since its asker counts the copies.

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
    /// One copy of a proposal on its way to the leader. The same id twice has the effect of once.
    Propose {
        /// Its name.
        id: ProposalId,
        /// The first epoch at which it may apply.
        first: Index,
        /// The copy's number: its asker counts the copies of each proposal.
        copy: u32,
        /// The entry that it asks for.
        request: Request,
    },
    /// The reply to a copy.
    Reply {
        /// The proposal.
        id: ProposalId,
        /// The copy. Of several that one leader has got, the first.
        copy: u32,
        /// The leader's word, or that of a node that does not lead.
        reply: Reply,
    },
    /// Asks who leads, for a proposal of the sender. Any node answers.
    WhoLeads {
        /// The proposal.
        id: ProposalId,
    },
    /// The answer to it.
    Leads {
        /// The proposal.
        id: ProposalId,
        /// The leader, if known.
        leader: Option<NodeId>,
    },
}

/// An entry that a leader is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The changes that its planner makes of this intention.
    Plan(Vec<u8>),
    /// No change, under the proposal's id: copies that arrive later have no effect. The asker has heard a refusal, and other copies are under way.
    Cancel,
}

/// A node's word on one copy of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The node does not lead, and has not logged the copy.
    NotLeader {
        /// The leader, if known.
        leader: Option<NodeId>,
    },
    /// The node leads no more: it may have logged the copy, and who leads now says what became of that.
    LeadsNoMore {
        /// The leader, if known.
        leader: Option<NodeId>,
    },
    /// As many proposals as a leader has room for wait there. The copy was not logged.
    Busy,
    /// The copy was not logged, since the planner has nothing to change or refuses. The state of this epoch says so.
    Refused {
        /// The epoch.
        epoch: Index,
        /// The planner's words.
        reason: Vec<u8>,
    },
    /// The proposal was applied at this epoch, by all nodes that were up.
    Applied {
        /// The epoch.
        epoch: Index,
        /// Nodes that have not applied it: they are down, or were too late.
        lagging: Vec<NodeId>,
    },
    /// The proposal was cancelled at this epoch: nothing was changed, nor will be.
    Cancelled {
        /// The epoch.
        epoch: Index,
    },
    /// More than 1,023 entries were logged since it was asked for. The copy was not logged.
    TooLate,
    /// The leader, alone in its group, could not make the change durable, and has taken the copy back.
    Failed {
        /// The log's error.
        reason: String,
    },
}

/// The outcome of a proposal, for its asker's driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// There is nothing to change, or the planner refused; nothing was logged, nor will be. The state of this epoch says so.
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
        /// Nodes that have not applied it: they are down, or were too late.
        lagging: Vec<NodeId>,
    },
    /// The leader, alone in its group, could not make the change durable, and has taken it back.
    Failed {
        /// The log's error.
        reason: String,
    },
    /// More than 1,023 entries were logged since it was asked for: nothing was changed, nor will be.
    TooLate,
    /// Too many proposals wait, here or at the leader: nothing was logged, nor will be.
    Busy,
    /// No leader was found in time: nothing was logged, nor will be.
    NoLeader,
    /// No answer in time: the change may have been applied, or may be yet.
    Unknown,
}
