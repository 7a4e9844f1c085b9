//! Term and vote: the latest ones, and those that the disk has.
//!
//! The term never falls, and a node votes at most once in a term; both hold over a restart too, since no message leaves before the vote that it
//! rests on is durable. Another part decides who gets the vote.

use crate::entry::{NodeId, Term};

/// Term and vote, as they are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Vote {
    /// The latest term that the node has seen.
    pub term: Term,
    /// The node that it voted for in that term.
    pub voted_for: Option<NodeId>,
}

/// A node's term and vote.
#[derive(Debug, Clone)]
pub(crate) struct TermAndVote {
    latest: Vote,
    /// As the disk has it.
    durable: Vote,
}

impl TermAndVote {
    /// Term and vote at a start.
    pub(crate) fn at_start(durable: Vote) -> TermAndVote {
        TermAndVote { latest: durable, durable }
    }

    /// The latest term and the vote in it.
    pub(crate) fn latest(&self) -> Vote {
        self.latest
    }

    /// The latest term.
    pub(crate) fn term(&self) -> Term {
        self.latest.term
    }

    /// The term that an election would begin.
    pub(crate) fn next_term(&self) -> Term {
        self.latest.term.next()
    }

    /// Enters a term, without a vote in it if it is a later one.
    pub(crate) fn enter(&mut self, term: Term) {
        assert!(term >= self.latest.term, "the term does not fall");
        if term > self.latest.term {
            self.latest = Vote { term, voted_for: None };
        }
    }

    /// True if the vote of this term is left, or is the node's already.
    pub(crate) fn may_grant(&self, node: NodeId) -> bool {
        self.latest.voted_for.is_none_or(|voted| voted == node)
    }

    /// Votes for the node in the present term.
    pub(crate) fn grant(&mut self, node: NodeId) {
        assert!(self.may_grant(node), "one vote in a term");
        self.latest.voted_for = Some(node);
    }

    /// The vote to make durable, if the disk has another one.
    pub(crate) fn to_write(&self) -> Option<Vote> {
        (self.latest != self.durable).then_some(self.latest)
    }

    /// The disk has this vote.
    pub(crate) fn written(&mut self, vote: Vote) {
        self.durable = vote;
    }

    /// The invariants, after every step.
    pub(crate) fn check(&self) {
        assert!(self.durable.term <= self.latest.term, "the term does not fall");
        if self.durable.term == self.latest.term {
            let voted = self.durable.voted_for;
            assert!(voted.is_none() || voted == self.latest.voted_for, "one vote in a term");
        }
    }
}
