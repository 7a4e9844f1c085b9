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
    /// Term and vote at a start. A disk may have entries of a later term than its vote: the process ended after it wrote the entries of a `Ready`
    /// and before it wrote the vote. In that term the node has not voted, since a vote is durable before a message tells of it.
    pub(crate) fn at_start(durable: Vote, last_term: Term) -> TermAndVote {
        let mut vote = TermAndVote { latest: durable, durable };
        vote.enter(last_term.max(durable.term));
        vote
    }

    /// The latest term and the vote in it.
    pub(crate) fn latest(&self) -> Vote {
        self.latest
    }

    /// The latest term.
    pub(crate) fn term(&self) -> Term {
        self.latest.term
    }

    /// The term that an election would begin. After the last number there is none: in that term a node might vote twice.
    pub(crate) fn next_term(&self) -> Option<Term> {
        let next = self.latest.term.next();
        (next > self.latest.term).then_some(next)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_term_of_the_log_is_entered_without_a_vote() {
        let durable = Vote { term: Term(3), voted_for: Some(NodeId(1)) };
        let vote = TermAndVote::at_start(durable, Term(3));
        assert_eq!((vote.latest(), vote.to_write()), (durable, None));
        let later = Vote { term: Term(4), voted_for: None };
        let vote = TermAndVote::at_start(durable, Term(4));
        assert_eq!((vote.latest(), vote.to_write()), (later, Some(later)));
        vote.check();
    }

    #[test]
    fn a_vote_of_a_term_is_given_once() {
        let mut vote = TermAndVote::at_start(Vote::default(), Term(0));
        vote.enter(Term(2));
        vote.grant(NodeId(1));
        assert!(vote.may_grant(NodeId(1)) && !vote.may_grant(NodeId(2)));
        assert_eq!(vote.next_term(), Some(Term(3)));
        vote.enter(Term(u64::MAX));
        assert!(vote.may_grant(NodeId(2)) && vote.next_term().is_none());
    }
}
