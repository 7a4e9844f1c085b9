//! Messages between the voters of a group.
//!
//! Each carries its sender's term; who may send it, and in which role it is heeded, is said at the kinds. There is no encoding here: a driver has its
//! own.

use crate::entry::{Entry, Index, NodeId, Term};

/// A message with its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The sender's term; for a pre-vote, the term that it would begin.
    pub term: Term,
    /// The message.
    pub message: Message,
}

/// One voter's word to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message {
    /// Asks for a vote, or (`pre`) whether it would be given.
    Vote {
        /// No term has begun yet.
        pre: bool,
        /// The leader asked for this election: voters that hear it vote all the same.
        transfer: bool,
        /// The candidate's last index.
        last_index: Index,
        /// And its term.
        last_term: Term,
    },
    /// The answer to a `Vote`.
    VoteReply {
        /// As in the question.
        pre: bool,
        /// The vote.
        granted: bool,
    },
    /// Entries that follow a place of the log.
    Append {
        /// The index before the first entry.
        previous_index: Index,
        /// And its term.
        previous_term: Term,
        /// In order, without gaps.
        entries: Vec<Entry>,
        /// The leader's commit index.
        commit: Index,
    },
    /// The follower's log is the leader's up to here, durably.
    Appended {
        /// The last index of the `Append`.
        matched: Index,
    },
    /// The follower's log is not the leader's at the previous index.
    Diverged {
        /// The previous index of the `Append`.
        previous_index: Index,
        /// An index at which the logs may agree: not above the follower's end.
        hint: Index,
        /// The follower's term at the hint, if it knows.
        hint_term: Term,
    },
    /// The follower's log, as it acknowledged it to this leader, is committed up to here. Unanswered.
    Committed {
        /// The lower of the commit index and what the follower acknowledged to this leader; 0 says nothing.
        commit: Index,
        /// The entry's term.
        commit_term: Term,
    },
    /// The leader is there.
    Heartbeat {
        /// As in `Committed`.
        commit: Index,
        /// As in `Committed`.
        commit_term: Term,
        /// The leader's barriers so far.
        round: u64,
    },
    /// The answer to a `Heartbeat`.
    HeartbeatReply {
        /// As in the heartbeat.
        round: u64,
        /// The follower's commit index: its log is the leader's up to there, by whatever way it got it.
        commit: Index,
        /// The follower's log ends below what it had acknowledged: it has lost its log.
        lost: bool,
    },
    /// The receiver may lead: it shall stand for election at once.
    TransferNow,
    /// The sender knows a later term than the receiver.
    Outdated,
}

impl Message {
    /// True of a candidate's question. Its term may not have begun.
    pub(crate) fn is_of_candidate(&self) -> bool {
        matches!(self, Message::Vote { .. })
    }

    /// True of an order of the leader of its term, which whoever gets it follows from then on.
    pub(crate) fn is_of_leader(&self) -> bool {
        matches!(self, Message::Append { .. } | Message::Committed { .. } | Message::Heartbeat { .. })
    }
}
