//! Elections: the transitions between the roles of one voter.
//!
//! A node stands in the next term only after a majority said that it would vote for it there, or its leader asked it to. A voter that hears a leader
//! refuses, and so does one whose log is later. Each answer leaves after the vote that it rests on is durable. Counting is the tally's, leading the
//! leader's part.

use crate::entry::{Index, NodeId, Term};
use crate::leading::Leading;
use crate::message::Message;
use crate::raft::Raft;
use crate::role::Role;
use crate::tally::Tally;

impl Raft {
    /// Begins a pre-vote, or, where a leader hands over (`transfer`), the election itself.
    pub(crate) fn stand(&mut self, transfer: bool) {
        self.elapsed = 0;
        self.leader = None;
        let Some(term) = self.vote.next_term() else { return };
        if self.is_lost() || !self.log.may_need(self.id()) {
            return;
        }
        self.attempts = self.attempts.saturating_add(1);
        if transfer {
            return self.campaign(term, true);
        }
        self.role = Role::PreCandidate(Tally::of(self.id()));
        self.ask_for_votes(term, true, false);
        self.count_votes();
    }

    /// Stands for election in a term, the next one.
    fn campaign(&mut self, term: Term, transfer: bool) {
        self.vote.enter(term);
        self.vote.grant(self.id());
        self.leader = None;
        self.elapsed = 0;
        self.role = Role::Candidate(Tally::of(self.id()));
        self.ask_for_votes(term, false, transfer);
        self.count_votes();
    }

    fn ask_for_votes(&mut self, term: Term, pre: bool, transfer: bool) {
        let (last_index, last_term) = (self.log().last_index(), self.log().last_term());
        let others: Vec<NodeId> = self.configuration().voters().filter(|node| *node != self.id()).collect();
        for to in others {
            self.outbox.send(to, term, Message::Vote { pre, transfer, last_index, last_term });
        }
    }

    /// Goes on where the answers decide.
    fn count_votes(&mut self) {
        let (Role::PreCandidate(tally) | Role::Candidate(tally)) = &self.role else { return };
        let (is_won, is_over) = (tally.is_won(self.configuration()), tally.is_over(self.configuration()));
        match &self.role {
            Role::PreCandidate(_) if is_won => {
                let term = self.vote.next_term().expect("it was asked for");
                self.campaign(term, false);
            }
            _ if is_won => self.lead(),
            _ if is_over => self.become_follower(self.term(), None),
            _ => {}
        }
    }

    /// A voter asks in a term that is not below this node's. The answer is sent when the vote is durable.
    pub(crate) fn vote_for(&mut self, from: NodeId, term: Term, last: (Index, Term), pre: bool, transfer: bool) {
        // A leader that this node hears is not disturbed by a node that does not hear it.
        let hears_leader = self.leader.is_some() && self.elapsed < self.options.election_ticks;
        if (hears_leader || self.role.is_leader()) && !transfer && term > self.term() {
            return self.send(from, Message::VoteReply { pre, granted: false });
        }
        if !pre && term > self.term() {
            self.become_follower(term, None);
        }
        let may_vote = match pre {
            true => term > self.term(),
            false => term == self.term() && self.leader.is_none() && self.vote.may_grant(from),
        };
        let granted = may_vote && !self.is_lost() && self.log().is_behind_or_level(last.0, last.1);
        if granted && !pre {
            self.elapsed = 0;
            self.vote.grant(from);
        }
        // A node that is refused learns of a later term; one that would be voted for hears its own again.
        let term = if granted { term } else { self.term() };
        self.outbox.send(from, term, Message::VoteReply { pre, granted });
    }

    /// A voter has answered.
    pub(crate) fn voted(&mut self, from: NodeId, term: Term, pre: bool, granted: bool) {
        let expected = if pre { self.term().next() } else { self.term() };
        let tally = match &mut self.role {
            Role::PreCandidate(tally) if pre => tally,
            Role::Candidate(tally) if !pre => tally,
            _ => return,
        };
        match granted {
            true if term == expected => tally.grant(from),
            true => return,
            // A refusal carries the voter's own term, which is not above this node's.
            false => tally.refuse(from),
        }
        self.count_votes();
    }

    /// Leads its term.
    pub(crate) fn lead(&mut self) {
        let (leading, orders) = Leading::begin(self.id(), self.term(), self.options, &mut self.log);
        self.role = Role::Leader(leading);
        self.leader = Some(self.id());
        (self.elapsed, self.attempts) = (0, 0);
        self.carry_out(orders);
    }

    /// Follows in a term; the barriers of a leader fail.
    pub(crate) fn become_follower(&mut self, term: Term, leader: Option<NodeId>) {
        self.vote.enter(term);
        if let Role::Leader(leading) = &mut self.role {
            self.outbox.fail(leading.fail_barriers());
        }
        self.role = Role::Follower;
        self.elapsed = 0;
        self.leader = leader;
    }
}
