//! The state machine of one voter: ticks, messages and proposals in, [`Ready`] out.
//!
//! It changes roles, gives each role's part the log, and carries out what a leader orders; `election.rs` has the transitions, `messages.rs` sorts
//! what arrives. Every public step ends with the invariants of all parts. It reads no clock and does no I/O: equal inputs give equal states.

use std::collections::BTreeSet;

use crate::barriers::BarrierId;
use crate::configuration::Configuration;
use crate::entry::{Entry, Index, NodeId, Term};
use crate::leading::Leading;
use crate::log::{Log, LogError, Origin};
use crate::message::{Envelope, Message};
use crate::options::{Options, Restart};
use crate::orders::Orders;
use crate::outbox::Outbox;
use crate::ready::{ProposeError, Ready, Trouble};
use crate::replicated_log::ReplicatedLog;
use crate::role::{Role, RoleName};
use crate::tally;
use crate::vote::{TermAndVote, Vote};

/// One voter: steps in, [`Ready`] out.
#[derive(Debug, Clone)]
pub struct Raft {
    id: NodeId,
    pub(crate) options: Options,
    pub(crate) vote: TermAndVote,
    pub(crate) log: ReplicatedLog,
    pub(crate) role: Role,
    pub(crate) leader: Option<NodeId>,
    /// Ticks since a leader was heard, or since the node stood or voted. A leader does not look at it.
    pub(crate) elapsed: u32,
    /// Elections that this node stood for in a row: it spreads the timeouts.
    pub(crate) attempts: u32,
    pub(crate) outbox: Outbox,
}

impl Raft {
    /// A group's beginning: its founder alone, in term 1, with an empty log.
    pub fn found(id: NodeId, options: Options) -> Raft {
        let configuration = Configuration::new([id]).expect("there is a voter");
        let term = Term(1);
        let origin = Origin { index: Index(0), term, leader: Some(id), configuration };
        let log = Log::new(origin, Vec::new()).expect("nothing cannot be out of order");
        Raft::restart(
            Restart {
                id,
                vote: Vote { term, voted_for: None },
                log,
                commit: Index(0),
                applied: Index(0),
                is_lost: false,
            },
            options,
        )
    }

    /// A start. A node that is alone in its group, and led its last term, leads at once: it has committed whatever it has durably. It does so without a change
    /// of its state, if it keeps its term.
    pub fn restart(restart: Restart, options: Options) -> Raft {
        let Restart { id, vote, log, commit, applied, is_lost } = restart;
        let vote = TermAndVote::at_start(vote, log.last_term());
        let (log, trouble) = ReplicatedLog::at_start(log, (commit, applied), is_lost, options.planted);
        let mut raft = Raft {
            id,
            options,
            vote,
            log,
            role: Role::Follower,
            leader: None,
            elapsed: 0,
            attempts: 0,
            outbox: Outbox::new(id),
        };
        trouble.into_iter().for_each(|trouble| raft.outbox.report(trouble));
        if raft.log.is_of_lone_leader(id, raft.term()) {
            match options.keeps_term {
                true => raft.lead(),
                false => raft.stand(true),
            }
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
        self.vote.term()
    }

    /// Its vote.
    pub fn vote(&self) -> Vote {
        self.vote.latest()
    }

    /// Its role.
    pub fn role(&self) -> RoleName {
        self.role.name()
    }

    /// The leader of its term, as far as it knows.
    pub fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    /// The commit index, as far as it knows.
    pub fn commit_index(&self) -> Index {
        self.log.commit()
    }

    /// Its log.
    pub fn log(&self) -> &Log {
        self.log.log()
    }

    /// The voters in force.
    pub fn configuration(&self) -> &Configuration {
        self.log.configuration()
    }

    /// True if it has lost its log, and neither votes nor acknowledges.
    pub fn is_lost(&self) -> bool {
        self.log.is_lost()
    }

    /// Another node knows this one's disk to be older than it was: what it voted for and acknowledged since is not there. From now on it neither votes nor
    /// acknowledges nor leads, and follows what is committed.
    pub fn lose(&mut self) {
        if self.log.lose() {
            self.outbox.report(Trouble::OlderDisk);
            self.become_follower(self.term(), None);
        }
        self.check();
    }

    /// True if there is nothing to take, and what was taken is done.
    pub fn is_at_rest(&self) -> bool {
        self.outbox.is_empty() && self.vote.to_write().is_none() && self.log.is_at_rest()
    }

    /// A unit of time has passed.
    pub fn elapse(&mut self) {
        if self.role.is_leader() {
            self.as_leader(|leading, log, orders| leading.elapse(log, orders));
        } else {
            self.elapsed = self.elapsed.saturating_add(1);
            let timeout = tally::election_timeout(self.options.election_ticks, self.id, self.term(), self.attempts);
            if self.elapsed >= timeout {
                self.stand(false);
            }
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
        let outcome = self.as_leader(|leading, log, orders| leading.propose(change, log, orders));
        self.check();
        outcome.unwrap_or(Err(ProposeError::NotLeader { leader: self.leader }))
    }

    /// Begins a change of the voters to these. They should be live and have the log as it is: their votes count from now on.
    pub fn change_voters(&mut self, voters: &BTreeSet<NodeId>) -> Result<(Term, Index), ProposeError> {
        let outcome = self.as_leader(|leading, log, orders| leading.change_voters(voters, log, orders));
        self.check();
        outcome.unwrap_or(Err(ProposeError::NotLeader { leader: self.leader }))
    }

    /// Asks for a barrier: `Ready::passed` gives it with the commit index of now once a majority has confirmed that this node leads.
    pub fn barrier(&mut self, id: BarrierId) -> Result<(), ProposeError> {
        let outcome = self.as_leader(|leading, log, orders| leading.barrier(id, log, orders));
        self.check();
        outcome.ok_or(ProposeError::NotLeader { leader: self.leader })
    }

    /// Hands leadership over: as soon as `to` has the whole log it is asked to stand. No proposal is accepted meanwhile.
    pub fn transfer(&mut self, to: NodeId) -> Result<(), ProposeError> {
        let outcome = self.as_leader(|leading, log, orders| leading.transfer(to, log, orders));
        self.check();
        outcome.unwrap_or(Err(ProposeError::NotLeader { leader: self.leader }))
    }

    /// Takes what is to be done. Until [`Raft::advance`] there is nothing more to take.
    pub fn take(&mut self) -> Option<Ready> {
        self.outbox.take(self.vote.to_write(), &self.log)
    }

    /// The driver has done what `ready` asks for.
    pub fn advance(&mut self, ready: &Ready) {
        self.outbox.done();
        if let Some(vote) = ready.vote {
            self.vote.written(vote);
        }
        if let Some(commit) = ready.commit {
            self.log.applied(commit);
        }
        self.log.written(&ready.entries);
        self.as_leader(|leading, log, orders| leading.commit_matched(log, orders));
        self.check();
    }

    /// Takes back the changes that could not be made durable. Only a node that is alone in its group may: no other has seen them. False, and nothing is
    /// taken back, for all other nodes, and where an entry is more than a change.
    pub fn withdraw(&mut self) -> bool {
        let is_lone = self.role.is_leader() && self.configuration().is_only(self.id);
        let is_withdrawn = is_lone && self.log.withdraw();
        self.check();
        is_withdrawn
    }

    /// Takes entries that are known to be committed, from whichever node has them; they follow its entry at `previous`. Fails, and changes nothing, where
    /// this log has no such entry: the node asks for the entries after its own commit index.
    pub fn learn(&mut self, previous: (Index, Term), entries: Vec<Entry>) -> Result<(), LogError> {
        let (before, last_term) = (self.log.commit(), entries.last().map_or(previous.1, |entry| entry.term));
        self.log.learn(previous, entries, last_term.max(self.term()))?;
        if last_term > self.term() {
            self.become_follower(last_term, None);
        } else if self.log.commit() > before {
            self.as_leader(|leading, log, orders| leading.committed(log, orders));
        }
        self.check();
        Ok(())
    }

    /// Gives the log a new beginning: a snapshot, or entries known to be committed, were got by other means. What the log has after `origin`
    /// stays if it fits; the origin must not be below the commit index.
    pub fn restore(&mut self, origin: Origin) -> Result<(), LogError> {
        if self.outbox.is_busy() {
            return Err(LogError { index: origin.index });
        }
        let (term, before) = (origin.term.max(self.term()), self.log.commit());
        let is_replaced = self.log.restore(origin)?;
        if is_replaced && (term > self.term() || self.role() != RoleName::Follower) {
            self.become_follower(term, None);
        } else if self.log.commit() > before {
            self.as_leader(|leading, log, orders| leading.committed(log, orders));
        }
        self.check();
        Ok(())
    }

    /// Has a snapshot stand for the log up to an index that was applied.
    pub fn compact(&mut self, index: Index) -> Result<(), LogError> {
        self.log.compact(index)?;
        self.check();
        Ok(())
    }

    pub(crate) fn send(&mut self, to: NodeId, message: Message) {
        self.outbox.send(to, self.vote.term(), message);
    }

    /// Has the leader's part act, and carries out what it orders. None where this node does not lead.
    pub(crate) fn as_leader<T>(
        &mut self,
        act: impl FnOnce(&mut Leading, &mut ReplicatedLog, &mut Orders) -> T,
    ) -> Option<T> {
        let Role::Leader(leading) = &mut self.role else { return None };
        let mut orders = Orders::default();
        let outcome = act(leading, &mut self.log, &mut orders);
        self.carry_out(orders);
        Some(outcome)
    }

    pub(crate) fn carry_out(&mut self, orders: Orders) {
        orders.messages.into_iter().for_each(|(to, message)| self.send(to, message));
        orders.troubles.into_iter().for_each(|trouble| self.outbox.report(trouble));
        self.outbox.pass(orders.passed);
        if orders.makes_way {
            self.become_follower(self.term(), None);
        }
    }

    /// The invariants of one node, after every step.
    fn check(&self) {
        self.vote.check();
        self.log.check(self.term());
        match &self.role {
            Role::Leader(leading) => {
                assert_eq!(self.leader, Some(self.id), "a leader knows who leads");
                leading.check(self.term(), &self.log);
            }
            Role::Candidate(_) => assert_eq!(self.vote().voted_for, Some(self.id), "a candidate votes for itself"),
            Role::PreCandidate(_) | Role::Follower => {}
        }
    }
}
