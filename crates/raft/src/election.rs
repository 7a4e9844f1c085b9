//! Elections: standing, voting, winning, making way.

use std::collections::{BTreeMap, BTreeSet};

use crate::entry::{Index, NodeId, Payload, Term};
use crate::message::Message;
use crate::progress::Progress;
use crate::raft::{Ballots, Leading, Raft, Role, Vote};
use crate::read::Barriers;
use crate::ready::ProposeError;

impl Raft {
    /// Ticks of silence after which this node stands. The spread is a hash, so that equal steps give equal states.
    pub(crate) fn election_timeout(&self) -> u32 {
        let base = self.options.election_ticks.max(1);
        let id = self.id().0;
        let mut hash = (id as u64) ^ ((id >> 64) as u64).rotate_left(32);
        for part in [self.vote.term.0, u64::from(self.attempts)] {
            // SplitMix64's finisher.
            hash = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            hash ^= hash >> 31;
        }
        base + u32::try_from(hash % u64::from(base)).unwrap_or(0)
    }

    /// Begins a pre-vote, or, where a leader hands over (`transfer`), the election itself.
    pub(crate) fn stand(&mut self, transfer: bool) {
        self.elapsed = 0;
        self.set_leader(None);
        if self.is_lost || !self.configuration().has(self.id()) {
            return;
        }
        self.attempts = self.attempts.saturating_add(1);
        if transfer {
            return self.campaign(true);
        }
        self.role = Role::PreCandidate(self.own_ballot());
        let term = self.vote.term.next();
        self.ask_for_votes(term, true, false);
        self.count_ballots();
    }

    /// Stands for election in the next term.
    fn campaign(&mut self, transfer: bool) {
        let term = self.vote.term.next();
        self.vote = Vote { term, voted_for: Some(self.id()) };
        self.set_leader(None);
        self.elapsed = 0;
        self.role = Role::Candidate(self.own_ballot());
        self.ask_for_votes(term, false, transfer);
        self.count_ballots();
    }

    fn own_ballot(&self) -> Ballots {
        Ballots { granted: BTreeSet::from([self.id()]), refused: BTreeSet::new() }
    }

    fn ask_for_votes(&mut self, term: Term, pre: bool, transfer: bool) {
        let (last_index, last_term, own) = (self.log.last_index(), self.log.last_term(), self.id());
        let others: Vec<NodeId> = self.configuration().voters().filter(|node| *node != own).collect();
        for to in others {
            self.send_of(to, term, Message::Vote { pre, transfer, last_index, last_term });
        }
    }

    /// Goes on where the answers decide.
    fn count_ballots(&mut self) {
        let configuration = self.configuration();
        let (Role::PreCandidate(ballots) | Role::Candidate(ballots)) = &self.role else { return };
        let is_won = configuration.is_quorum(|node| ballots.granted.contains(&node));
        let is_over = configuration.is_lost(|node| ballots.refused.contains(&node));
        match (&self.role, is_won) {
            (Role::PreCandidate(_), true) => self.campaign(false),
            (_, true) => self.lead(),
            (_, false) if is_over => self.become_follower(self.vote.term, None),
            (_, false) => {}
        }
    }

    /// A voter asks. The answer is sent when the vote is durable.
    pub(crate) fn vote_for(&mut self, from: NodeId, term: Term, question: &Message) {
        let Message::Vote { pre, transfer, last_index, last_term } = *question else { return };
        // Whom this node hears shall not be disturbed by whom it cannot hear.
        let hears_leader = self.leader().is_some() && self.elapsed < self.options.election_ticks;
        let is_leader = matches!(self.role, Role::Leader(_));
        if (hears_leader || is_leader) && !transfer && term > self.vote.term {
            return self.send_of(from, self.vote.term, Message::VoteReply { pre, granted: false });
        }
        if !pre && term > self.vote.term {
            self.become_follower(term, None);
        }
        let may_vote = match pre {
            true => term > self.vote.term,
            false => {
                term == self.vote.term
                    && self.leader().is_none()
                    && self.vote.voted_for.is_none_or(|voted| voted == from)
            }
        };
        let granted = may_vote && !self.is_lost && self.log.is_behind_or_level(last_index, last_term);
        if granted && !pre {
            self.elapsed = 0;
            self.vote.voted_for = Some(from);
        }
        // Who is refused learns of a later term; who would be voted for hears its own again.
        let term = if granted { term } else { self.vote.term };
        self.send_of(from, term, Message::VoteReply { pre, granted });
    }

    /// A voter has answered.
    pub(crate) fn voted(&mut self, from: NodeId, term: Term, pre: bool, granted: bool) {
        let expected = if pre { self.vote.term.next() } else { self.vote.term };
        let ballots = match &mut self.role {
            Role::PreCandidate(ballots) if pre => ballots,
            Role::Candidate(ballots) if !pre => ballots,
            _ => return,
        };
        // A refusal carries the voter's own term, which is not above this node's.
        if granted && term != expected {
            return;
        }
        match granted {
            true => ballots.granted.insert(from),
            false => ballots.refused.insert(from),
        };
        self.count_ballots();
    }

    /// Leads its term. A lone voter that led it before its start goes on; all others append the term's lead entry.
    pub(crate) fn lead(&mut self) {
        let (own, last) = (self.id(), self.log.last_index());
        let others: Vec<NodeId> = self.configuration().voters().filter(|node| *node != own).collect();
        let progress: BTreeMap<_, _> = others.into_iter().map(|node| (node, Progress::new(last, 0))).collect();
        let goes_on = self.configuration().is_only(own)
            && self.log.last_term() == self.vote.term
            && self.log.leader_of_last_term() == Some(own);
        self.role =
            Role::Leader(Leading { progress, heartbeat_elapsed: 0, barriers: Barriers::default(), transfer: None });
        self.set_leader(Some(own));
        (self.elapsed, self.attempts) = (0, 0);
        match goes_on {
            true => self.commit_what_is_matched(),
            false => drop(self.append_own(Payload::Lead(own))),
        }
    }

    /// Follows in a term; barriers of a leader fail.
    pub(crate) fn become_follower(&mut self, term: Term, leader: Option<NodeId>) {
        assert!(term >= self.vote.term, "the term does not fall");
        if term > self.vote.term {
            self.vote = Vote { term, voted_for: None };
        }
        if let Role::Leader(leading) = &mut self.role {
            self.ready.failed.extend(leading.barriers.drain());
        }
        self.role = Role::Follower;
        self.elapsed = 0;
        self.set_leader(leader);
    }

    /// A leader's tick: heartbeats, check of the quorum, a hand-over that takes too long.
    pub(crate) fn tick_leader(&mut self) {
        let election = self.options.election_ticks.max(1);
        let (own, heartbeat, is_due) = (self.id(), self.options.heartbeat_ticks.max(1), self.elapsed >= election);
        let configuration = self.configuration().clone();
        let Role::Leader(leading) = &mut self.role else { return };
        leading.heartbeat_elapsed = leading.heartbeat_elapsed.saturating_add(1);
        let beats = leading.heartbeat_elapsed >= heartbeat;
        if let Some((_, ticks)) = &mut leading.transfer {
            *ticks += 1;
        }
        leading.transfer = leading.transfer.filter(|(_, ticks)| *ticks < election);
        if is_due {
            self.elapsed = 0;
            let progress = &leading.progress;
            let is_heard = |node| node == own || progress.get(&node).is_some_and(|of| of.is_active && !of.is_lost);
            if !configuration.is_quorum(is_heard) {
                return self.become_follower(self.vote.term, None);
            }
            leading.progress.values_mut().for_each(|of| of.is_active = false);
        }
        if beats {
            self.broadcast_heartbeats();
        }
    }

    /// Hands leadership over: as soon as `to` has the whole log it is told to stand. No proposal is taken meanwhile.
    pub fn transfer(&mut self, to: NodeId) -> Result<(), ProposeError> {
        let leader = self.leader();
        let Role::Leader(leading) = &mut self.role else { return Err(ProposeError::NotLeader { leader }) };
        if !leading.progress.get(&to).is_some_and(|of| !of.is_lost) {
            return Err(ProposeError::NotAVoter);
        }
        leading.transfer = Some((to, 0));
        self.go_on_with_transfer(to);
        self.check();
        Ok(())
    }

    /// Tells the node to stand, if it has the log, or sends it what it lacks.
    pub(crate) fn go_on_with_transfer(&mut self, from: NodeId) {
        let last: Index = self.log.last_index();
        let Role::Leader(leading) = &self.role else { return };
        if leading.transfer.is_none_or(|(to, _)| to != from) {
            return;
        }
        let has_all = leading.progress.get(&from).is_some_and(|of| of.matched == last);
        match has_all {
            true => self.send(from, Message::TransferNow),
            false => self.send_append(from),
        }
    }
}
