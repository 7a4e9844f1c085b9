//! A node of a group: it proposes, follows the log, applies what is committed, and leads when it is elected. A state machine without I/O.
//!
//! Its driver gives it time, messages, proposals and the news which nodes are up, and carries out the [`Work`] that it takes, in its order: records are
//! made durable, then messages leave, then the commit index is made durable, then effects go to the shards. Each node, voter or not, appends and applies
//! all committed entries in order. It does not decide who the nodes are, nor which of them vote.

use std::collections::{BTreeMap, BTreeSet};

use planted::{Bug, Planted};
use raft::{
    BarrierId, Configuration, Entry as PlacedEntry, Index, NodeId, ProposeError, Raft, Ready, RoleName, Term, Trouble,
};

use super::ask::{Asking, Copy, Elapsed, Next};
use super::ids::{GroupId, ProposalId};
use super::lead::{Addressed, Arrived, Lead};
use super::message::{Answer, GroupMessage, Reply, Request};
use super::proposal::Proposal;
use super::record::{GroupRecord, Snapshot};
use super::state::{Effect, GroupState, Remembered};
use crate::cluster::{ClusterState, Domains, Entry};
use crate::error::DecodeError;

/// Bytes of entries in one answer to [`GroupMessage::Since`], but for a longer entry alone.
const ENTRIES_BYTES_MAX: usize = 256 << 10;

/// Times that a node waits, in units of its time, and a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberOptions {
    /// For the nodes that are up to apply a change, before its asker is answered all the same.
    pub apply_ticks_max: u32,
    /// For a reply to a proposal, before it is sent again.
    pub resend_ticks: u32,
    /// For the answer to a proposal, before this node gives it up. More than `apply_ticks_max`.
    pub give_up_ticks: u32,
    /// A mistake, in a build with mistakes.
    pub planted: Planted,
}

impl Default for MemberOptions {
    /// For units of 100 ms: 10 s, 0.4 s and 12 s.
    fn default() -> Self {
        MemberOptions { apply_ticks_max: 100, resend_ticks: 4, give_up_ticks: 120, planted: Planted::NONE }
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
    /// Plans what `intention` asks for, on the state that it will be applied to. `voters` is the latest configuration of the log before it.
    fn plan(&self, state: &ClusterState, voters: &Configuration, intention: &[u8]) -> Plan;
}

/// Another node of the group.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    is_up: bool,
    /// All its shards have applied up to here.
    epoch: Index,
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
    /// The epoch with which this start began.
    began: Index,
    /// It is the only voter, and was found to have all of the log: its vote is for no other node.
    votes_on: bool,
    /// This node's shards have applied up to here.
    applied: Index,
    peers: BTreeMap<NodeId, Peer>,
    lead: Option<Lead>,
    /// Barriers that this node has asked for, which name the next one: one name for each, whichever terms it leads.
    barriers: u64,
    asking: Asking,
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
        let waits_longer = options.give_up_ticks > options.apply_ticks_max;
        assert!(waits_longer, "an asker waits longer than the leader waits for nodes that lag");
        let mut member = Member {
            id: raft.id(),
            group,
            options,
            domains,
            raft,
            state: state.planted(options.planted),
            began: commit,
            votes_on: false,
            applied: commit,
            peers: BTreeMap::new(),
            lead: None,
            barriers: 0,
            asking: Asking::default(),
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

    /// A mistake, in a build with mistakes.
    pub(crate) fn planted(&self) -> Planted {
        self.options.planted
    }

    /// The group.
    pub fn group(&self) -> GroupId {
        self.group
    }

    /// The consensus core.
    pub fn raft(&self) -> &Raft {
        &self.raft
    }

    /// The number of the cluster's nodes, and of those that are up, this one among them.
    pub fn nodes_up(&self) -> (usize, usize) {
        (1 + self.peers.len(), 1 + self.peers.values().filter(|peer| peer.is_up).count())
    }

    /// The number of nodes that have not applied an epoch, as far as this one knows.
    pub fn lagging(&self, epoch: Index) -> usize {
        usize::from(self.applied < epoch) + self.peers.values().filter(|peer| peer.epoch < epoch).count()
    }

    /// This node's shards have applied up to here.
    pub fn applied(&self) -> Index {
        self.applied
    }

    /// Another node's shards have applied up to here, as far as is known.
    pub fn epoch_of(&self, node: NodeId) -> Index {
        self.peers.get(&node).map_or(Index(0), |peer| peer.epoch)
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

    /// Another node has heard more of this one than its disk has, of its log up to this epoch: it stops voting. The only voter goes on where its log has
    /// all of that, since its vote is for no other node.
    pub fn hear_of_older_disk(&mut self, heard: Index) {
        let is_whole = heard <= self.began;
        self.votes_on = is_whole && (self.votes_on || self.raft.configuration().is_only(self.id));
        if !self.votes_on {
            self.raft.lose();
        }
        self.follow_role();
    }

    /// The epoch with which this start began.
    pub fn began(&self) -> Index {
        self.began
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
        let MemberOptions { resend_ticks, give_up_ticks, .. } = self.options;
        let unsent_ticks = if self.has_quorum() { give_up_ticks } else { give_up_ticks / 4 };
        let Elapsed { late, given_up } = self.asking.elapse(resend_ticks, give_up_ticks, unsent_ticks);
        self.next.answers.extend(given_up);
        late.into_iter().for_each(|id| self.ask(id, planner));
    }

    /// Asks for a change, under an id that no other proposal has. Answered in [`Work::answers`], within `give_up_ticks`.
    pub fn propose(&mut self, id: ProposalId, intention: Vec<u8>, planner: &dyn Planner) {
        match self.asking.begin(id, self.state.epoch().next(), intention) {
            true => self.ask(id, planner),
            false => self.next.answers.push((id, Answer::Busy)),
        }
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
            GroupMessage::Propose { id, first, copy, request } => {
                self.lead_proposal((from, id), Copy { first, copy, request }, planner);
            }
            GroupMessage::Reply { id, copy, reply } => {
                if let Some(to) = self.replied(from, id, copy, reply) {
                    self.ask_of(id, to, planner);
                }
            }
            GroupMessage::WhoLeads { id } => {
                let leader = self.raft.leader();
                self.send(from, GroupMessage::Leads { id, leader });
            }
            GroupMessage::Leads { id, leader } => {
                if let Some(leader) = self.asking.named(id, leader) {
                    self.ask_of(id, leader, planner);
                }
            }
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
            let replies = lead.withdrawn(end.next(), self.state.clone(), reason);
            self.reply_all(replies);
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
        let is_loss = |trouble: &Trouble| matches!(trouble, Trouble::LostOwnLog { .. } | Trouble::OlderDisk);
        let has_lost = ready.troubles.iter().any(is_loss);
        let is_kept = !self.options.planted.is(Bug::VoteNotSynced);
        if (ready.vote.is_some() && is_kept) || has_lost {
            self.next.records.push(GroupRecord::Vote { vote: self.raft.vote(), is_lost });
        }
        let is_committed = self.raft.configuration().is_only(self.id);
        let entries = ready.entries.iter().cloned();
        self.next.records.extend(entries.map(|entry| GroupRecord::Entry { entry, is_committed }));
        if is_committed && let Some(last) = ready.entries.last() {
            self.written_committed = last.index;
        }
        self.next.messages.extend(ready.messages.iter().map(|of| (of.to, GroupMessage::Raft(of.clone()))));
        let planted = self.options.planted;
        let is_kept = |commit: &Index| *commit > self.written_committed && !planted.is(Bug::CommitIndexNotKept);
        self.next.commit = ready.commit.filter(is_kept).map(GroupRecord::Commit);
        let first = self.state.epoch().next();
        let effects = self.state.apply(&ready.committed)?;
        let skipped = if planted.is(Bug::EpochSkipped) { effects.len().saturating_sub(1) } else { 0 };
        self.next.effects.extend((first.0..).map(Index).zip(effects).skip(skipped));
        if let Some(lead) = &mut self.lead {
            ready.passed.iter().for_each(|(barrier, _)| lead.passed(*barrier));
            let has_failed = ready.failed.iter().any(|barrier| lead.waits_for(*barrier));
            assert!(!has_failed, "barriers fail when the leader's part ends, and its proposals with it");
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
            self.lead = Some(Lead::begin(self.raft.term(), self.state.clone()));
        }
        if !leads && let Some(lead) = self.lead.take() {
            let replies = lead.end(self.raft.leader());
            self.reply_all(replies);
        }
        let Some(lead) = &mut self.lead else { return };
        assert_eq!(lead.term, self.raft.term(), "a leader's part ends with its term");
        let following = self.raft.log().from(lead.ahead.epoch().next()).unwrap_or_default();
        if let Err(error) = lead.ahead.apply(following) {
            self.unreadable = Some(error);
        }
    }

    /// Plans and logs a proposal, or refuses it.
    fn lead_proposal(&mut self, (asker, id): (NodeId, ProposalId), copy: Copy, planner: &dyn Planner) {
        self.follow_role();
        let Copy { first, copy, request } = copy;
        let bytes = if let Request::Plan(intention) = &request { intention.len() } else { 0 };
        let arrived = Arrived { asker, id, copy, bytes };
        let leader = self.raft.leader().filter(|leader| *leader != self.id);
        let not_leader = Reply::NotLeader { leader };
        if !self.has_quorum() {
            // It would be logged and not committed, and whether it is one day would not be known.
            return self.reply(asker, id, copy, not_leader);
        }
        let Some(lead) = &mut self.lead else { return self.reply(asker, id, copy, not_leader) };
        if request == Request::Cancel {
            lead.drop_refusal(id);
        }
        if lead.has(id) {
            return;
        }
        if !lead.has_room(bytes) {
            return self.reply(asker, id, copy, Reply::Busy);
        }
        if let Some(known) = lead.ahead.find(id) {
            return lead.logged(arrived, known);
        }
        let next = lead.ahead.epoch().next();
        if first > next {
            // The asker has applied what this node lacks: another one leads.
            return self.reply(asker, id, copy, not_leader);
        }
        // Judged before it is planned: it may have been applied and forgotten, and a planner would refuse it for its own changes.
        if !(Proposal { id, first, entry: None }).may_apply_at(next) {
            return self.reply(asker, id, copy, Reply::TooLate);
        }
        let plan = match &request {
            Request::Plan(intention) => planner.plan(lead.ahead.cluster(), self.raft.configuration(), intention),
            Request::Cancel => return self.log(arrived, first, None),
        };
        match plan {
            Plan::Change(entry) => {
                let is_readable = entry.parts().iter().all(|part| self.domains.check(part).is_ok());
                assert!(is_readable, "a planner makes changes of registered domains");
                self.log(arrived, first, Some(entry));
            }
            Plan::Refused(reason) => {
                self.barriers += 1;
                let barrier = BarrierId(self.barriers);
                lead.refused(arrived, barrier, reason);
                self.raft.barrier(barrier).expect("it leads");
            }
        }
    }

    /// Appends the entry of a proposal, which the leader's log does not have yet.
    fn log(&mut self, arrived: Arrived, first: Index, entry: Option<Entry>) {
        let Arrived { asker, id, copy, .. } = arrived;
        let is_cancelled = entry.is_none();
        match self.raft.propose(&Proposal { id, first, entry }.to_bytes()) {
            Ok((_, epoch)) => {
                let lead = self.lead.as_mut().expect("it leads");
                lead.logged(arrived, Remembered { id, epoch, is_cancelled });
            }
            // It hands over.
            Err(_) => self.reply(asker, id, copy, Reply::NotLeader { leader: None }),
        }
        self.follow_role();
    }

    fn answer_what_is_due(&mut self) {
        let (own, applied, peers) = (self.id, self.applied, &self.peers);
        let Some(lead) = self.lead.as_mut().filter(|lead| !lead.is_idle()) else { return };
        let up = || peers.iter().filter(|(_, peer)| peer.is_up);
        let lagging = |epoch: Index| {
            // One that is down has not applied it either, and some askers need all.
            let others = peers.iter().filter(|(_, peer)| peer.epoch < epoch).map(|(node, _)| *node);
            (applied < epoch).then_some(own).into_iter().chain(others).collect()
        };
        let all = match self.options.planted.is(Bug::SchemaAnsweredEarly) {
            true => applied,
            false => up().map(|(_, peer)| peer.epoch).fold(applied, Index::min),
        };
        let replies = lead.replies((self.state.epoch(), all), self.options.apply_ticks_max, lagging);
        self.reply_all(replies);
    }

    fn reply_all(&mut self, replies: Vec<Addressed>) {
        replies.into_iter().for_each(|(asker, id, copy, reply)| self.reply(asker, id, copy, reply));
    }

    fn reply(&mut self, asker: NodeId, id: ProposalId, copy: u32, reply: Reply) {
        if asker != self.id {
            return self.send(asker, GroupMessage::Reply { id, copy, reply });
        }
        if self.replied(self.id, id, copy, reply).is_some() {
            self.asking.hurry(id);
        }
    }

    /// A node has replied to a copy of this node's proposal. Gives the node that it is to be sent to next.
    fn replied(&mut self, from: NodeId, id: ProposalId, copy: u32, reply: Reply) -> Option<NodeId> {
        match self.asking.replied(from, id, copy, reply) {
            Next::Wait => None,
            Next::Send(to) => Some(to),
            Next::Answer(answer) => {
                self.next.answers.push((id, answer));
                None
            }
        }
    }

    /// The leader, or the node that is most likely to be it, if it is up.
    fn leader(&self) -> Option<NodeId> {
        let is_up = |node: &NodeId| *node == self.id || self.peers.get(node).is_none_or(|peer| peer.is_up);
        self.raft.leader().filter(is_up).or(self.sent_entries.filter(is_up))
    }

    /// True if as many voters are up as make a majority of each half: without them nothing can be decided.
    fn has_quorum(&self) -> bool {
        let is_up = |node: NodeId| node == self.id || self.peers.get(&node).is_some_and(|peer| peer.is_up);
        self.raft.configuration().is_quorum(is_up)
    }

    /// Asks the leader. Where none is known, asks some voter who leads: a copy goes to a node that leads or is said to, so that none is under way
    /// while there is no leader.
    fn ask(&mut self, id: ProposalId, planner: &dyn Planner) {
        let Some(tries) = self.asking.try_again(id) else { return };
        let leader = if self.lead.is_some() { Some(self.id) } else { self.leader() };
        // The leader that was known first; then one voter after the other.
        if let Some(leader) = leader.filter(|leader| *leader == self.id || tries % 2 == 1) {
            return self.ask_of(id, leader, planner);
        }
        let voters: Vec<NodeId> = self.raft.configuration().voters().filter(|node| *node != self.id).collect();
        if let Some(to) = voters.get(tries / 2 % voters.len().max(1)) {
            self.send(*to, GroupMessage::WhoLeads { id });
        }
    }

    /// Sends a copy of the proposal to that node, which may be this one.
    fn ask_of(&mut self, id: ProposalId, to: NodeId, planner: &dyn Planner) {
        let Some(copy) = self.asking.copy(id) else { return };
        if to == self.id {
            return self.lead_proposal((self.id, id), copy, planner);
        }
        let Copy { first, copy, request } = copy;
        self.send(to, GroupMessage::Propose { id, first, copy, request });
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
    pub fn snapshot(&self) -> Snapshot {
        let mut log = self.raft.log().clone();
        log.compact(self.state.epoch()).expect("what is applied is in the log");
        let mut origin = log.origin().clone();
        if self.options.planted.is(Bug::SnapshotForgetsVoters) {
            origin.configuration = Configuration::new([self.id]).expect("there is a voter");
        }
        Snapshot { origin, recent: self.state.recent().collect(), parts: self.state.cluster().snapshot_parts() }
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
        let state = GroupState::of_snapshot(index, cluster, snapshot.recent.clone());
        self.state = state.planted(self.options.planted);
        self.next.effects.clear();
        self.next.records.push(GroupRecord::Snapshot(snapshot));
        self.next.is_replaced = true;
        self.written_committed = self.written_committed.max(index);
    }

    fn send(&mut self, to: NodeId, message: GroupMessage) {
        self.next.messages.push((to, message));
    }
}

/// Another node has applied an epoch, or is at work on it: it is asked for what this one lacks. That it has applied all of it is not noted.
pub fn hear_of_epoch(member: &mut Member, of: NodeId, epoch: Index) {
    if epoch > member.raft.commit_index() {
        member.ask_since(of);
    }
}
