//! Messages that arrive: sorted by term, then by kind, and passed on to the part that they are for.
//!
//! A message of an earlier term is answered with the present one or dropped; one of a later term makes its receiver a follower in it, but for
//! questions for votes, which the election judges. Nothing that a peer sends makes the core panic. What a message's content does is the business of
//! the parts.

use crate::entry::{NodeId, Term};
use crate::message::Message;
use crate::raft::Raft;
use crate::ready::Trouble;
use crate::replicated_log::Accepted;
use crate::role::Role;

impl Raft {
    /// Sorts a message by its term, then by its kind.
    pub(crate) fn receive(&mut self, from: NodeId, term: Term, message: Message) {
        if term < self.term() {
            // A candidate or a leader that was cut off makes way; late answers to it say nothing.
            if message.is_of_candidate() || matches!(message, Message::Append { .. } | Message::Heartbeat { .. }) {
                self.send(from, Message::Outdated);
            }
            return;
        }
        // A question for a vote and a granted pre-vote carry a term that has not begun.
        let is_grant_of_pre = matches!(message, Message::VoteReply { pre: true, granted: true });
        if term > self.term() && !is_grant_of_pre && !message.is_of_candidate() {
            self.become_follower(term, message.is_of_leader().then_some(from));
        }
        if message.is_of_leader() && !self.follow(from) {
            return;
        }
        match message {
            Message::Vote { pre, transfer, last_index, last_term } => {
                self.vote_for(from, term, (last_index, last_term), pre, transfer);
            }
            Message::VoteReply { pre, granted } => self.voted(from, term, pre, granted),
            Message::Append { .. } if self.is_lost() => {}
            Message::Append { previous_index, previous_term, entries, commit } => {
                let accepted = self.log.accept((previous_index, previous_term), entries, commit, self.term());
                match accepted {
                    Accepted::Appended { matched } => self.send(from, Message::Appended { matched }),
                    Accepted::Diverged { hint, hint_term } => {
                        self.send(from, Message::Diverged { previous_index, hint, hint_term });
                    }
                    Accepted::Conflict { index, term } => {
                        self.outbox.report(Trouble::Conflict { leader: from, index, term });
                    }
                    Accepted::Ignored => {}
                }
            }
            Message::Committed { commit, commit_term } => {
                let trouble = self.log.commit_acknowledged(commit, commit_term);
                trouble.into_iter().for_each(|trouble| self.outbox.report(trouble));
            }
            Message::Heartbeat { commit, commit_term, round } => {
                let trouble = self.log.commit_acknowledged(commit, commit_term);
                trouble.into_iter().for_each(|trouble| self.outbox.report(trouble));
                let (commit, lost) = (self.log.commit(), self.log.is_lost());
                self.send(from, Message::HeartbeatReply { round, commit, lost });
            }
            Message::Appended { matched } => {
                self.as_leader(|leading, log, orders| leading.appended(from, matched, log, orders));
            }
            Message::Diverged { previous_index, hint, hint_term } => {
                let hint = (hint, hint_term);
                self.as_leader(|leading, log, orders| leading.diverged(from, previous_index, hint, log, orders));
            }
            Message::HeartbeatReply { lost: true, .. } => {
                self.as_leader(|leading, _, orders| leading.log_lost(from, orders));
            }
            Message::HeartbeatReply { round, commit, lost: false } => {
                self.as_leader(|leading, log, orders| leading.heartbeat_answered(from, round, commit, log, orders));
            }
            Message::TransferNow if !self.role.is_leader() && self.leader == Some(from) => self.stand(true),
            Message::TransferNow | Message::Outdated => {}
        }
    }

    /// Follows the leader of the present term. False where this node leads itself: then the other is no leader of this group.
    fn follow(&mut self, leader: NodeId) -> bool {
        if self.role.is_leader() || self.leader.is_some_and(|known| known != leader) {
            return false;
        }
        if matches!(self.role, Role::Follower) {
            self.elapsed = 0;
            self.leader = Some(leader);
        } else {
            self.become_follower(self.term(), Some(leader));
        }
        self.attempts = 0;
        true
    }
}
