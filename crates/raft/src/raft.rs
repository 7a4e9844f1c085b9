//! One voter's state, its inputs and its outputs.

use std::collections::{BTreeMap, BTreeSet};

use planted::Planted;

use crate::configuration::Configuration;
use crate::entry::{Entry, Index, NodeId, Payload, Term};
use crate::log::{Log, LogError, Origin};
use crate::message::{Envelope, Message};
use crate::progress::Progress;
use crate::read::Barriers;
use crate::ready::{ProposeError, Ready, Trouble};

/// How often a leader is heard, and how long its silence is borne, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Between two heartbeats.
    pub heartbeat_ticks: u32,
    /// The least election timeout; it is at most twice that.
    pub election_ticks: u32,
    /// Bytes of entries in one message, but for a longer entry alone.
    pub append_bytes_max: usize,
    /// A mistake, in a build with mistakes.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Self {
        Options { heartbeat_ticks: 1, election_ticks: 10, append_bytes_max: 256 << 10, planted: Planted::NONE }
    }
}

/// Term and vote, as they are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Vote {
    /// The latest term that the node has seen.
    pub term: Term,
    /// The node that it voted for in that term.
    pub voted_for: Option<NodeId>,
}

/// A voter's state as its disk has it at a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The node.
    pub id: NodeId,
    /// Its term and vote.
    pub vote: Vote,
    /// Its log.
    pub log: Log,
    /// What was committed, as far as it knew durably.
    pub commit: Index,
    /// It was found before that its log was lost ([`Trouble::LostOwnLog`]).
    pub is_lost: bool,
}

/// A role by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleName {
    /// It follows a leader, or waits for one.
    Follower,
    /// It asks whether it would be voted for.
    PreCandidate,
    /// It stands for election.
    Candidate,
    /// It leads.
    Leader,
}

/// What a voter is at present.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Follower,
    /// With the answers so far.
    PreCandidate(Ballots),
    Candidate(Ballots),
    Leader(Leading),
}

/// Answers to a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Ballots {
    pub(crate) granted: BTreeSet<NodeId>,
    pub(crate) refused: BTreeSet<NodeId>,
}

/// A leader's view of its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Leading {
    /// Each other voter of either half.
    pub(crate) progress: BTreeMap<NodeId, Progress>,
    pub(crate) heartbeat_elapsed: u32,
    pub(crate) barriers: Barriers,
    /// The node that is to lead, and ticks since.
    pub(crate) transfer: Option<(NodeId, u32)>,
}

/// One voter: steps in, [`Ready`] out.
#[derive(Debug, Clone)]
pub struct Raft {
    id: NodeId,
    pub(crate) options: Options,
    pub(crate) vote: Vote,
    pub(crate) log: Log,
    pub(crate) role: Role,
    leader: Option<NodeId>,
    pub(crate) commit: Index,
    /// Entries up to here were given out as committed.
    applied: Index,
    /// Entries up to here are durable.
    durable: Index,
    /// The vote that is durable.
    durable_vote: Vote,
    /// Ticks since a leader was heard, or since the quorum was last checked.
    pub(crate) elapsed: u32,
    /// Elections that this node stood for in a row: it spreads the timeouts.
    pub(crate) attempts: u32,
    /// Its log ends below what it once acknowledged.
    pub(crate) is_lost: bool,
    pub(crate) ready: Ready,
    /// A `Ready` was given out and is not done yet.
    is_busy: bool,
}

impl Raft {
    /// A group's beginning: its founder alone, in term 1, with an empty log.
    pub fn found(id: NodeId, options: Options) -> Raft {
        let configuration = Configuration::new([id]).expect("there is a voter");
        let term = Term(1);
        let origin = Origin { index: Index(0), term, leader: Some(id), configuration };
        let log = Log::new(origin, Vec::new()).expect("nothing cannot be out of order");
        Raft::restart(
            Restart { id, vote: Vote { term, voted_for: None }, log, commit: Index(0), is_lost: false },
            options,
        )
    }

    /// A start. A node that is alone in its group, and led its last term, leads at once and without a change of its state.
    pub fn restart(restart: Restart, options: Options) -> Raft {
        let Restart { id, vote, log, commit, is_lost } = restart;
        let last = log.last_index();
        // What is alone in its group has committed whatever it has durably.
        let is_alone = log.configuration().is_only(id);
        let commit = commit.max(log.origin().index).min(last);
        let mut raft = Raft {
            id,
            options,
            vote,
            role: Role::Follower,
            leader: None,
            commit,
            applied: log.origin().index,
            durable: last,
            durable_vote: vote,
            elapsed: 0,
            attempts: 0,
            is_lost,
            ready: Ready::default(),
            is_busy: false,
            log,
        };
        if is_alone && !is_lost && raft.log.leader_of_last_term() == Some(id) && raft.log.last_term() == vote.term {
            raft.lead();
        }
        raft.check();
        raft
    }

    /// The node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The latest term that it has seen.
    pub fn term(&self) -> Term {
        self.vote.term
    }

    /// Its vote.
    pub fn vote(&self) -> Vote {
        self.vote
    }

    /// Its role.
    pub fn role(&self) -> RoleName {
        match self.role {
            Role::Follower => RoleName::Follower,
            Role::PreCandidate(_) => RoleName::PreCandidate,
            Role::Candidate(_) => RoleName::Candidate,
            Role::Leader(_) => RoleName::Leader,
        }
    }

    /// The leader of its term, as far as it knows.
    pub fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    /// What is committed, as far as it knows.
    pub fn commit_index(&self) -> Index {
        self.commit
    }

    /// Its log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The voters in force.
    pub fn configuration(&self) -> &Configuration {
        self.log.configuration()
    }

    /// True if it has lost its log, and neither votes nor acknowledges.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// True if there is nothing to take, and what was taken is done.
    pub fn is_at_rest(&self) -> bool {
        let is_durable = self.vote == self.durable_vote && self.durable == self.log.last_index();
        !self.is_busy && self.ready.is_empty() && is_durable && self.applied == self.commit
    }

    /// A unit of time has passed.
    pub fn tick(&mut self) {
        self.elapsed = self.elapsed.saturating_add(1);
        match self.role {
            Role::Leader(_) => self.tick_leader(),
            _ if self.elapsed >= self.election_timeout() => self.stand(false),
            _ => {}
        }
        self.check();
    }

    /// A message has arrived. One for another node, or of a node that is this one, is ignored.
    pub fn step(&mut self, envelope: Envelope) {
        let Envelope { from, to, term, message } = envelope;
        if to != self.id || from == self.id {
            return;
        }
        self.receive(from, term, message);
        self.check();
    }

    /// Appends a change. Gives its place, at which it may still be replaced until it is committed.
    pub fn propose(&mut self, change: &[u8]) -> Result<(Term, Index), ProposeError> {
        self.may_append()?;
        let place = self.append_own(Payload::Change(change.into()));
        self.check();
        Ok(place)
    }

    /// Begins a change of the voters to these. They should be live and have the log as it is: their votes count from now on.
    pub fn change_voters(&mut self, voters: &BTreeSet<NodeId>) -> Result<(Term, Index), ProposeError> {
        self.may_append()?;
        let present = self.log.configuration();
        if present.is_joint() || self.log.configuration_index() > self.commit || !self.has_committed_lead() {
            return Err(ProposeError::ChangeUnderWay);
        }
        if present.incoming() == voters {
            return Err(ProposeError::NoChange);
        }
        let joint = present.towards(voters.iter().copied()).map_err(|_| ProposeError::NoChange)?;
        let place = self.append_own(Payload::Voters(joint));
        self.check();
        Ok(place)
    }

    /// Takes what is to be done. Until [`Raft::advance`] there is nothing more to take.
    pub fn take(&mut self) -> Option<Ready> {
        if self.is_busy {
            return None;
        }
        let mut ready = std::mem::take(&mut self.ready);
        ready.vote = (self.vote != self.durable_vote).then_some(self.vote);
        ready.entries = self.log.from(self.durable.next()).unwrap_or_default().to_vec();
        if self.commit > self.applied {
            let from = self.log.from(self.applied.next()).unwrap_or_default();
            ready.committed = from.iter().take_while(|entry| entry.index <= self.commit).cloned().collect();
            ready.commit = Some(self.commit);
        }
        if ready.is_empty() {
            return None;
        }
        self.is_busy = true;
        Some(ready)
    }

    /// The driver has done what `ready` asks for.
    pub fn advance(&mut self, ready: &Ready) {
        assert!(self.is_busy, "something was taken");
        self.is_busy = false;
        if let Some(vote) = ready.vote {
            self.durable_vote = vote;
        }
        if let Some(commit) = ready.commit {
            self.applied = commit;
        }
        // What was cut off meanwhile is not durable as it is now.
        let is_as_written = |entry: &&Entry| self.log.term(entry.index) == Some(entry.term);
        if let Some(last) = ready.entries.iter().rev().find(is_as_written) {
            self.durable = self.durable.max(last.index);
        }
        if matches!(self.role, Role::Leader(_)) {
            self.commit_what_is_matched();
        }
        self.check();
    }

    /// Gives the log a new beginning: a snapshot, or entries known to be committed, were got by other means. What the log has after `origin`
    /// stays if it fits; the origin must not be below the commit index.
    pub fn restore(&mut self, origin: Origin) -> Result<(), LogError> {
        if origin.index < self.commit || self.is_busy {
            return Err(LogError { index: origin.index });
        }
        if self.log.term(origin.index) == Some(origin.term) {
            self.commit_to(origin.index);
            self.check();
            return Ok(());
        }
        let (term, index) = (origin.term, origin.index);
        self.log = Log::new(origin, Vec::new())?;
        (self.commit, self.applied, self.durable) = (index, index, index);
        if term > self.vote.term {
            self.become_follower(term, None);
        } else if !matches!(self.role, Role::Follower) {
            self.become_follower(self.vote.term, None);
        }
        self.check();
        Ok(())
    }

    /// Has a snapshot stand for the log up to an index that was applied.
    pub fn compact(&mut self, index: Index) -> Result<(), LogError> {
        if index > self.applied || index > self.durable {
            return Err(LogError { index });
        }
        self.log.compact(index)?;
        self.check();
        Ok(())
    }

    /// Entries up to here are durable on this node.
    pub(crate) fn durable_index(&self) -> Index {
        self.durable
    }

    pub(crate) fn set_leader(&mut self, leader: Option<NodeId>) {
        self.leader = leader;
    }

    /// Raises the commit index to one within the log.
    pub(crate) fn commit_to(&mut self, index: Index) {
        let index = index.min(self.log.last_index());
        self.commit = self.commit.max(index);
    }

    /// Cuts the log off from an index on, which is above the commit index.
    pub(crate) fn cut(&mut self, index: Index) {
        assert!(index > self.commit, "what is committed is never cut off");
        self.log.cut(index);
        self.durable = self.durable.min(index.previous());
    }

    pub(crate) fn send(&mut self, to: NodeId, message: Message) {
        let term = self.vote.term;
        self.send_of(to, term, message);
    }

    pub(crate) fn send_of(&mut self, to: NodeId, term: Term, message: Message) {
        self.ready.messages.push(Envelope { from: self.id, to, term, message });
    }

    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        if !self.ready.troubles.contains(&trouble) {
            self.ready.troubles.push(trouble);
        }
    }

    /// True if the lead entry of the present term is committed.
    pub(crate) fn has_committed_lead(&self) -> bool {
        self.log.term(self.commit) == Some(self.vote.term)
    }

    fn may_append(&self) -> Result<(), ProposeError> {
        match &self.role {
            Role::Leader(leading) if leading.transfer.is_some() => Err(ProposeError::Transferring),
            Role::Leader(_) => Ok(()),
            _ => Err(ProposeError::NotLeader { leader: self.leader }),
        }
    }

    /// The invariants of one node, after every step.
    pub(crate) fn check(&self) {
        let (first, last) = (self.log.origin().index, self.log.last_index());
        assert!(first <= self.commit && self.commit <= last, "the commit index is within the log");
        assert!(self.applied <= self.commit, "only what is committed is applied");
        assert!(self.durable <= last, "only what the log has is durable");
        assert!(self.log.last_term() <= self.vote.term, "no entry is of a term that is not known");
        assert!(self.durable_vote.term <= self.vote.term, "the term does not fall");
        if self.durable_vote.term == self.vote.term {
            let voted = self.durable_vote.voted_for;
            assert!(voted.is_none() || voted == self.vote.voted_for, "one vote in a term");
        }
        match &self.role {
            Role::Leader(leading) => {
                assert!(!self.is_lost, "who lost its log does not lead");
                assert_eq!(self.leader, Some(self.id), "a leader knows who leads");
                assert_eq!(self.log.last_term(), self.vote.term, "a leader's log ends in its term");
                for (node, progress) in &leading.progress {
                    assert!(progress.matched <= last && progress.matched < progress.next, "node {node}");
                    assert!(progress.next <= last.next(), "node {node} is sent what there is");
                }
            }
            Role::Candidate(_) => assert_eq!(self.vote.voted_for, Some(self.id), "a candidate votes for itself"),
            Role::PreCandidate(_) | Role::Follower => {}
        }
    }
}
