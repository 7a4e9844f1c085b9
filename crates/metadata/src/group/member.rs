//! A node of a group: it proposes, follows the log, applies what is committed, and leads when it is elected. A state machine without I/O.
//!
//! Its driver gives it time, messages, proposals and the news which nodes are up, and carries out the [`Work`] that it takes, in its order: records are
//! made durable, then messages leave, then the commit index is made durable, then effects go to the shards. Each node, voter or not, appends and applies
//! all committed entries in order. It does not decide who the nodes are, nor which of them vote.

use std::collections::{BTreeMap, BTreeSet};

use raft::{Entry as PlacedEntry, Index, NodeId, ProposeError, Raft, Ready, RoleName, Term, Trouble};

use super::ids::{GroupId, ProposalId};
use super::lead::{Addressed, Lead};
use super::message::{Answer, GroupMessage};
use super::proposal::Proposal;
use super::record::{GroupRecord, Snapshot};
use super::state::{Effect, GroupState};
use crate::cluster::{ClusterState, Domains, Entry};
use crate::error::DecodeError;

/// Bytes of entries in one answer to [`GroupMessage::Since`], but for a longer entry alone.
const ENTRIES_BYTES_MAX: usize = 256 << 10;

/// Times that a node waits, in units of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberOptions {
    /// For the nodes that are up to apply a change, before its asker is answered all the same.
    pub apply_ticks_max: u32,
    /// For an answer to a proposal, before it is sent again.
    pub resend_ticks: u32,
}

impl Default for MemberOptions {
    /// For units of 100 ms: 10 s, and 1 s.
    fn default() -> Self {
        MemberOptions { apply_ticks_max: 100, resend_ticks: 10 }
    }
}

/// The plan of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// These changes, all of registered domains.
    Change(Entry),
    /// There is nothing to change, or it cannot be; in the planner's own words.
    Refused(Vec<u8>),
}

/// Makes changes of requests. Asked on the leader alone, so it may read settings.
pub trait Planner {
    /// Plans what `intention` asks for, on the state that it will be applied to.
    fn plan(&self, state: &ClusterState, intention: &[u8]) -> Plan;
}

/// Another node of the group.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    is_up: bool,
    /// All its shards have applied up to here.
    epoch: Index,
}

/// A proposal of this node that has no answer yet.
#[derive(Debug)]
struct Asked {
    first: Index,
    intention: Vec<u8>,
    ticks: u32,
    tries: usize,
    /// It was sent on to the leader that another node named, in this unit of time. Two nodes may name each other.
    is_sent_on: bool,
}

/// Work for the driver, in the order of the fields.
#[derive(Debug, Default)]
pub struct Work {
    /// To append, and to sync before a message leaves.
    pub records: Vec<GroupRecord>,
    /// To send.
    pub messages: Vec<(NodeId, GroupMessage)>,
    /// To append and sync before an effect goes to a shard.
    pub commit: Option<GroupRecord>,
    /// The state was replaced by another node's: shards take all of it.
    pub is_replaced: bool,
    /// Effects of the entries that were applied, with their epochs.
    pub effects: Vec<(Index, Effect)>,
    /// Answers to proposals of this node.
    pub answers: Vec<(ProposalId, Answer)>,
    /// News for an operator.
    pub troubles: Vec<Trouble>,
    ready: Option<Ready>,
}

impl Work {
    fn is_empty(&self) -> bool {
        let is_quiet = self.records.is_empty() && self.messages.is_empty() && self.answers.is_empty();
        is_quiet && !self.is_replaced && self.ready.is_none()
    }
}

/// One node.
pub struct Member {
    id: NodeId,
    group: GroupId,
    options: MemberOptions,
    domains: Domains,
    raft: Raft,
    state: GroupState,
    /// This node's shards have applied up to here.
    applied: Index,
    peers: BTreeMap<NodeId, Peer>,
    lead: Option<Lead>,
    asked: BTreeMap<ProposalId, Asked>,
    /// Entries up to here were written as committed.
    written_committed: Index,
    /// The node that sent committed entries last: to one that does not vote, that is the leader usually.
    sent_entries: Option<NodeId>,
    /// It asked for entries that it lacks, in this unit of time.
    has_asked_since: bool,
    /// Work that is not taken yet.
    next: Work,
    is_busy: bool,
    /// An entry of the log that this code cannot read: it is older than the cluster's agreement.
    unreadable: Option<DecodeError>,
}

impl Member {
    /// A node at its start, from what its log restores.
    pub fn new(group: GroupId, restored: (Raft, GroupState), domains: Domains, options: MemberOptions) -> Member {
        let (raft, state) = restored;
        let commit = raft.commit_index();
        assert_eq!(state.epoch(), commit, "a start has applied what is committed");
        let mut member = Member {
            id: raft.id(),
            group,
            options,
            domains,
            raft,
            state,
            applied: commit,
            peers: BTreeMap::new(),
            lead: None,
            asked: BTreeMap::new(),
            written_committed: commit,
            sent_entries: None,
            has_asked_since: false,
            next: Work::default(),
            is_busy: false,
            unreadable: None,
        };
        member.follow_role();
        member
    }

    /// The group.
    pub fn group(&self) -> GroupId {
        self.group
    }

    /// The consensus core.
    pub fn raft(&self) -> &Raft {
        &self.raft
    }

    /// The cluster's state with all that is applied.
    pub fn state(&self) -> &GroupState {
        &self.state
    }

    /// The other nodes of the cluster, and which of them are up.
    pub fn set_peers(&mut self, peers: impl IntoIterator<Item = (NodeId, bool)>) {
        let known = std::mem::take(&mut self.peers);
        let epoch = |node: NodeId| known.get(&node).map_or(Index(0), |peer| peer.epoch);
        let others = peers.into_iter().filter(|(node, _)| *node != self.id);
        self.peers = others.map(|(node, is_up)| (node, Peer { is_up, epoch: epoch(node) })).collect();
        self.answer_what_is_due();
    }

    /// Begins a change of the voters.
    pub fn change_voters(&mut self, voters: &BTreeSet<NodeId>) -> Result<(Term, Index), ProposeError> {
        let begun = self.raft.change_voters(voters);
        self.follow_role();
        begun
    }

    /// Hands leadership over, for an orderly end.
    pub fn transfer(&mut self, to: NodeId) -> Result<(), ProposeError> {
        self.raft.transfer(to)
    }

    /// A unit of time has passed.
    pub fn elapse(&mut self, planner: &dyn Planner) {
        self.raft.elapse();
        self.has_asked_since = false;
        if let Some(lead) = &mut self.lead {
            lead.elapse();
        }
        self.follow_role();
        self.answer_what_is_due();
        let late = self.asked.iter_mut().filter_map(|(id, asked)| {
            asked.ticks += 1;
            asked.is_sent_on = false;
            (asked.ticks >= self.options.resend_ticks).then_some(*id)
        });
        let late: Vec<ProposalId> = late.collect();
        late.into_iter().for_each(|id| self.ask(id, planner));
    }

    /// Asks for a change, under an id that no other proposal has.
    pub fn propose(&mut self, id: ProposalId, intention: Vec<u8>, planner: &dyn Planner) {
        let asked = Asked { first: self.state.epoch().next(), intention, ticks: 0, tries: 0, is_sent_on: false };
        let before = self.asked.insert(id, asked);
        assert!(before.is_none(), "ids of proposals are drawn once");
        self.ask(id, planner);
    }

    /// A message has arrived.
    pub fn receive(&mut self, from: NodeId, message: GroupMessage, planner: &dyn Planner) {
        match message {
            GroupMessage::Raft(envelope) if envelope.from == from => self.raft.step(envelope),
            GroupMessage::Raft(_) => {}
            GroupMessage::Entries { previous, entries } => {
                self.sent_entries = Some(from);
                if self.raft.learn(previous, entries).is_err() {
                    self.ask_since(from);
                }
            }
            GroupMessage::Since { epoch } => self.send_since(from, epoch),
            GroupMessage::Snapshot(snapshot) => self.replace(snapshot),
            GroupMessage::Applied { epoch } => {
                if let Some(peer) = self.peers.get_mut(&from) {
                    peer.epoch = peer.epoch.max(epoch);
                }
                if epoch > self.raft.commit_index() {
                    self.ask_since(from);
                }
            }
            GroupMessage::Propose { id, first, intention } => {
                self.lead_proposal((from, id), first, &intention, planner);
            }
            GroupMessage::Answer { id, answer } => self.answered(id, answer, planner),
        }
        self.follow_role();
        self.answer_what_is_due();
    }

    /// All shards have applied up to this epoch.
    pub fn applied_on_all(&mut self, epoch: Index) {
        assert!(epoch >= self.applied && epoch <= self.state.epoch(), "shards apply what was handed to them, in order");
        if epoch == self.applied {
            return;
        }
        self.applied = epoch;
        if let Some(leader) = self.leader().filter(|leader| *leader != self.id) {
            self.send(leader, GroupMessage::Applied { epoch });
        }
        self.answer_what_is_due();
    }

    /// Takes what is to be done; nothing until that is done ([`Member::advance`]). Fails where a committed entry cannot be decoded: this node must stop, since
    /// all others go on.
    pub fn take(&mut self) -> Result<Option<Work>, DecodeError> {
        if let Some(error) = self.unreadable.take() {
            return Err(error);
        }
        if self.is_busy {
            return Ok(None);
        }
        if let Some(ready) = self.raft.take() {
            self.take_ready(ready)?;
        }
        let work = std::mem::take(&mut self.next);
        self.is_busy = !work.is_empty();
        Ok(self.is_busy.then_some(work))
    }

    /// The driver has done its work, but for the effects, which the shards may be applying.
    pub fn advance(&mut self, work: &Work) {
        assert!(self.is_busy, "something was taken");
        self.is_busy = false;
        if let Some(ready) = &work.ready {
            self.raft.advance(ready);
        }
        self.follow_role();
        self.answer_what_is_due();
    }

    /// The records of this work could not be made durable. A node that is alone in its group takes its changes back: their proposals have failed, and the rest
    /// of the work is to be done. False for all other nodes, which try again.
    pub fn withdraw(&mut self, work: &mut Work, reason: &str) -> bool {
        assert!(self.is_busy, "something was taken");
        let is_entry = |record: &GroupRecord| matches!(record, GroupRecord::Entry { .. });
        if !work.records.iter().all(is_entry) || !self.raft.withdraw() {
            return false;
        }
        work.records.clear();
        if let Some(ready) = &mut work.ready {
            ready.entries.clear();
        }
        let end = self.raft.log().last_index();
        self.written_committed = self.written_committed.min(end);
        // What waits to be applied is in the log still.
        if let Some(lead) = &mut self.lead {
            let answers = lead.withdrawn(end.next(), self.state.clone(), reason);
            self.send_answers(answers);
        }
        self.follow_role();
        true
    }

    /// Has a snapshot stand for the log up to what is applied, as the driver's compaction has written.
    pub fn compact(&mut self) {
        // While work is under way the core keeps what it may need.
        let _ = self.raft.compact(self.state.epoch());
    }

    /// Sorts what the core wants done into the next work.
    fn take_ready(&mut self, ready: Ready) -> Result<(), DecodeError> {
        let is_lost = self.raft.is_lost();
        let has_lost = ready.troubles.iter().any(|trouble| matches!(trouble, Trouble::LostOwnLog { .. }));
        if ready.vote.is_some() || has_lost {
            self.next.records.push(GroupRecord::Vote { vote: self.raft.vote(), is_lost });
        }
        let is_committed = self.raft.configuration().is_only(self.id);
        let entries = ready.entries.iter().cloned();
        self.next.records.extend(entries.map(|entry| GroupRecord::Entry { entry, is_committed }));
        if is_committed && let Some(last) = ready.entries.last() {
            self.written_committed = last.index;
        }
        self.next.messages.extend(ready.messages.iter().map(|of| (of.to, GroupMessage::Raft(of.clone()))));
        self.next.commit = ready.commit.filter(|commit| *commit > self.written_committed).map(GroupRecord::Commit);
        let first = self.state.epoch().next();
        let effects = self.state.apply(&ready.committed)?;
        self.next.effects.extend((first.0..).map(Index).zip(effects));
        if let Some(lead) = &mut self.lead {
            ready.passed.iter().for_each(|(barrier, index)| lead.passed(*barrier, *index));
        }
        self.push(&ready.committed);
        self.next.troubles.extend(ready.troubles.iter().cloned());
        self.next.ready = Some(ready);
        self.answer_what_is_due();
        Ok(())
    }

    /// A leader sends what is committed to the nodes that are up and do not vote.
    fn push(&mut self, committed: &[PlacedEntry]) {
        let (Some(first), true) = (committed.first(), self.raft.role() == RoleName::Leader) else { return };
        let before = first.index.previous();
        let Some(term) = self.raft.log().term(before) else { return };
        let others = self.peers.iter().filter(|(node, peer)| peer.is_up && !self.raft.configuration().has(**node));
        let message = || GroupMessage::Entries { previous: (before, term), entries: committed.to_vec() };
        self.next.messages.extend(others.map(|(node, _)| (*node, message())));
    }

    /// Takes up or lays down the leader's part, as the core says, and keeps the state that proposals are planned on.
    fn follow_role(&mut self) {
        let leads = self.raft.role() == RoleName::Leader;
        if leads && self.lead.is_none() {
            self.lead = Some(Lead::begin(self.state.clone()));
        }
        if !leads && let Some(lead) = self.lead.take() {
            let answers = lead.end(self.raft.leader());
            self.send_answers(answers);
        }
        let Some(lead) = &mut self.lead else { return };
        let following = self.raft.log().from(lead.ahead.epoch().next()).unwrap_or_default();
        if let Err(error) = lead.ahead.apply(following) {
            self.unreadable = Some(error);
        }
    }

    /// Plans and logs a proposal, or refuses it.
    fn lead_proposal(
        &mut self,
        (asker, id): (NodeId, ProposalId),
        first: Index,
        intention: &[u8],
        planner: &dyn Planner,
    ) {
        self.follow_role();
        let leader = self.raft.leader().filter(|leader| *leader != self.id);
        let not_leader = Answer::NotLeader { leader };
        let Some(lead) = &mut self.lead else { return self.answer(asker, id, not_leader) };
        if lead.has(id) {
            return;
        }
        if let Some(index) = lead.ahead.applied_at(id) {
            return lead.logged(id, asker, index);
        }
        let next = lead.ahead.epoch().next();
        if first > next {
            // The asker has applied what this node lacks: another one leads.
            return self.answer(asker, id, not_leader);
        }
        match planner.plan(lead.ahead.cluster(), intention) {
            Plan::Change(entry) => {
                let is_readable = entry.parts().iter().all(|part| self.domains.check(part).is_ok());
                assert!(is_readable, "a planner makes changes of registered domains");
                let proposal = Proposal { id, first, entry };
                if !proposal.may_apply_at(next) {
                    return self.answer(asker, id, Answer::TooLate);
                }
                match self.raft.propose(&proposal.to_bytes()) {
                    Ok((_, index)) => lead.logged(id, asker, index),
                    Err(_) => self.answer(asker, id, not_leader),
                }
                self.follow_role();
            }
            Plan::Refused(reason) => {
                let barrier = lead.refused(id, asker, reason);
                // It leads: a barrier fails with the leader's part alone.
                let _ = self.raft.barrier(barrier);
            }
        }
    }

    fn answer_what_is_due(&mut self) {
        let (own, applied, peers) = (self.id, self.applied, &self.peers);
        let Some(lead) = &mut self.lead else { return };
        let lagging = |epoch: Index| {
            let others = peers.iter().filter(|(_, peer)| peer.is_up && peer.epoch < epoch).map(|(node, _)| *node);
            (applied < epoch).then_some(own).into_iter().chain(others).collect()
        };
        let answers = lead.answers(self.state.epoch(), self.options.apply_ticks_max, lagging);
        self.send_answers(answers);
    }

    fn send_answers(&mut self, answers: Vec<Addressed>) {
        answers.into_iter().for_each(|(asker, id, answer)| self.answer(asker, id, answer));
    }

    fn answer(&mut self, asker: NodeId, id: ProposalId, answer: Answer) {
        match (asker == self.id, answer) {
            (false, answer) => self.send(asker, GroupMessage::Answer { id, answer }),
            // It is asked again at the next leader, in its time.
            (true, Answer::NotLeader { .. }) => {}
            (true, answer) => self.finish(id, answer),
        }
    }

    /// An answer to a proposal of this node has come.
    fn answered(&mut self, id: ProposalId, answer: Answer, planner: &dyn Planner) {
        match answer {
            Answer::NotLeader { leader } => {
                let Some(asked) = self.asked.get_mut(&id) else { return };
                match leader.filter(|_| !std::mem::replace(&mut asked.is_sent_on, true)) {
                    Some(leader) if leader != self.id => self.ask_of(id, leader),
                    Some(_) => self.ask(id, planner),
                    None => {}
                }
            }
            answer => self.finish(id, answer),
        }
    }

    fn finish(&mut self, id: ProposalId, answer: Answer) {
        // A proposal that was sent twice is answered twice.
        if self.asked.remove(&id).is_some() {
            self.next.answers.push((id, answer));
        }
    }

    /// The leader, or the node that is most likely to be it.
    fn leader(&self) -> Option<NodeId> {
        self.raft.leader().or(self.sent_entries)
    }

    /// Asks the leader, or some voter that may know it.
    fn ask(&mut self, id: ProposalId, planner: &dyn Planner) {
        let Some(asked) = self.asked.get_mut(&id) else { return };
        (asked.ticks, asked.tries) = (0, asked.tries + 1);
        let (first, tries) = (asked.first, asked.tries);
        if self.lead.is_some() {
            let intention = asked.intention.clone();
            return self.lead_proposal((self.id, id), first, &intention, planner);
        }
        let voters: Vec<NodeId> = self.raft.configuration().voters().filter(|node| *node != self.id).collect();
        // The leader that was known first; then one after the other.
        let known = self.leader().filter(|_| tries % 2 == 1);
        let other = voters.get(tries / 2 % voters.len().max(1)).copied();
        if let Some(to) = known.or(other) {
            self.ask_of(id, to);
        }
    }

    fn ask_of(&mut self, id: ProposalId, to: NodeId) {
        let Some(asked) = self.asked.get_mut(&id) else { return };
        asked.ticks = 0;
        let (first, intention) = (asked.first, asked.intention.clone());
        self.send(to, GroupMessage::Propose { id, first, intention });
    }

    /// Asks a node that is ahead for what this one lacks, once in a unit of time.
    fn ask_since(&mut self, from: NodeId) {
        if !std::mem::replace(&mut self.has_asked_since, true) {
            self.send(from, GroupMessage::Since { epoch: self.raft.commit_index() });
        }
    }

    /// Sends the committed entries after an epoch, as many as one message has room for, or the state where they are compacted away.
    fn send_since(&mut self, to: NodeId, epoch: Index) {
        let own = self.state.epoch();
        if epoch >= own {
            return;
        }
        let log = self.raft.log();
        let message = match (log.term(epoch), log.from(epoch.next())) {
            (Some(term), Some(entries)) => {
                let mut bytes = 0;
                let fits = |entry: &&PlacedEntry| {
                    let is_first = bytes == 0;
                    bytes += entry.bytes();
                    entry.index <= own && (is_first || bytes <= ENTRIES_BYTES_MAX)
                };
                GroupMessage::Entries {
                    previous: (epoch, term),
                    entries: entries.iter().take_while(fits).cloned().collect(),
                }
            }
            _ => GroupMessage::Snapshot(self.snapshot()),
        };
        self.send(to, message);
    }

    /// The state with all that is applied.
    fn snapshot(&self) -> Snapshot {
        let mut log = self.raft.log().clone();
        log.compact(self.state.epoch()).expect("what is applied is in the log");
        let parts = self.state.cluster().snapshot_parts();
        Snapshot { origin: log.origin().clone(), recent: self.state.recent().collect(), parts }
    }

    /// Puts another node's state in place of this one's, which is older.
    fn replace(&mut self, snapshot: Snapshot) {
        let index = snapshot.origin.index;
        if self.is_busy || index <= self.raft.commit_index() {
            return;
        }
        // One that cannot be decoded, or does not fit, is not taken over; the node asks again.
        let Ok(cluster) = ClusterState::of_parts(&self.domains, snapshot.parts.clone()) else { return };
        if self.raft.restore(snapshot.origin.clone()).is_err() {
            return;
        }
        self.state = GroupState::of_snapshot(index, cluster, snapshot.recent.clone());
        self.next.effects.clear();
        self.next.records.push(GroupRecord::Snapshot(snapshot));
        self.next.is_replaced = true;
        self.written_committed = self.written_committed.max(index);
    }

    fn send(&mut self, to: NodeId, message: GroupMessage) {
        self.next.messages.push((to, message));
    }
}
