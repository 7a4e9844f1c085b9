//! Groups of nodes whose disks are lists of records, and directed histories of them. All nodes apply one sequence, and answers are true.

use std::collections::BTreeMap;

use planted::Planted;
use raft::{Configuration, Index, NodeId, Origin, RoleName, Term, Trouble};

use super::*;
use crate::file::History;
use crate::group::{
    Answer, Effect, FoundGroup, GroupId, GroupMessage, GroupRecord, Member, MemberOptions, Plan, Planner, ProposalId,
    Remembered, Snapshot, Work, founding, host_id as host_of,
};

const GROUP: GroupId = GroupId { id: 9, incarnation: 0 };
pub(super) const OPTIONS: MemberOptions =
    MemberOptions { apply_ticks_max: 40, resend_ticks: 7, give_up_ticks: 100, planted: Planted::NONE };

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
pub(super) fn planted() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("a bug of the list");
    }
    Planted::NONE
}

/// A domain of names that are taken and given back, in the order of that.
pub(super) struct Names;

/// Of a name that is given back.
pub(super) const BACK: u8 = 0x80;

/// True if the name was taken last, and not given back since.
fn is_taken(names: &[u8], name: u8) -> bool {
    names.iter().rev().find(|at| *at & !BACK == name & !BACK).is_some_and(|at| at & BACK == 0)
}

impl Domain for Names {
    const ID: DomainId = DomainId(201);
    const NAME: &'static str = "names";
    const VERSION: u8 = 1;
    type State = Vec<u8>;
    type Change = Vec<u8>;

    fn decode(_: u8, bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
        Ok(bytes.to_vec())
    }

    fn apply(state: &Vec<u8>, changes: Vec<Vec<u8>>) -> Vec<u8> {
        [state.clone(), changes.concat()].concat()
    }

    fn snapshot(state: &Vec<u8>) -> Option<Vec<u8>> {
        (!state.is_empty()).then(|| state.clone())
    }
}

/// An intention is one name, to take where it is free, or to give back where it is taken.
pub(super) struct TakeOnce;

impl Planner for TakeOnce {
    fn plan(&self, state: &ClusterState, _: &Configuration, intention: &[u8]) -> Plan {
        match is_taken(state.of::<Names>(), intention[0]) == (intention[0] & BACK == 0) {
            true => Plan::Refused(intention.to_vec()),
            false => Plan::Change(Entry::of(Part { domain: Names::ID, version: 1, bytes: intention.to_vec() })),
        }
    }
}

fn names() -> Domains {
    Domains::none().with::<Names>()
}

pub(super) struct Node {
    pub(super) member: Option<Member>,
    /// Its records that are synced.
    pub(super) disk: Vec<Record>,
    /// Its shards were handed all effects up to here.
    pub(super) handed: Index,
    /// Work that was taken and is not done.
    pub(super) under_way: Option<Work>,
}

/// Nodes 1 to n, the messages under way, and what was ever agreed on.
pub(super) struct World {
    pub(super) nodes: BTreeMap<NodeId, Node>,
    pub(super) messages: Vec<(NodeId, NodeId, GroupMessage)>,
    /// The names that were taken up to each epoch, as the first node that applied it has it.
    history: BTreeMap<Index, Vec<u8>>,
    /// The proposals, with their names, and the epoch at which they applied.
    pub(super) proposals: BTreeMap<ProposalId, (u8, Option<Index>)>,
    pub(super) answers: Vec<(ProposalId, Answer)>,
    /// The outcome of each that was logged.
    outcomes: BTreeMap<ProposalId, Remembered>,
    /// The askers of proposals that have no answer yet, of nodes that run since.
    pub(super) asked: BTreeMap<ProposalId, NodeId>,
    /// The links between the datacenters, of the even nodes and of the odd ones, are cut.
    pub(super) is_cut: bool,
    /// Shards apply when the history says so, not at once.
    pub(super) are_shards_slow: bool,
    random: u64,
}

impl World {
    /// Node 1 has founded; the others have its state, and do not vote.
    pub(super) fn new(count: u128, seed: u64) -> World {
        let mut world = World {
            nodes: BTreeMap::new(),
            messages: Vec::new(),
            history: BTreeMap::new(),
            proposals: BTreeMap::new(),
            answers: Vec::new(),
            outcomes: BTreeMap::new(),
            asked: BTreeMap::new(),
            is_cut: false,
            are_shards_slow: false,
            random: seed,
        };
        let configuration = Configuration::new([NodeId(1)]).expect("there is a voter");
        let origin = Origin { index: Index(1), term: Term(1), leader: Some(NodeId(1)), configuration };
        let follower = Snapshot { origin, recent: Vec::new(), parts: Vec::new() };
        for id in (1..=count).map(NodeId) {
            let records = match id {
                NodeId(1) => founding(GROUP, id, Index(1), &ClusterState::empty(&names())),
                _ => [GroupRecord::Group(GROUP), GroupRecord::Snapshot(follower.clone())],
            };
            let disk = [Record::from(Fact::HostId(host_of(id)))].into_iter().chain(records.map(Record::Group));
            world.nodes.insert(id, Node { member: None, disk: disk.collect(), handed: Index(0), under_way: None });
        }
        (1..=count).for_each(|id| world.start(NodeId(id)));
        world
    }

    pub(super) fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    pub(super) fn start(&mut self, id: NodeId) {
        self.start_of(id, raft::Options::default());
        self.look(id);
    }

    /// Puts another disk in place of a node's that is down.
    fn replace_disk(&mut self, id: NodeId, disk: Vec<Record>) {
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        assert!(node.member.is_none(), "the process is down");
        (node.disk, node.handed) = (disk, Index(0));
    }

    fn epochs_of(&self, id: NodeId) -> Index {
        self.nodes[&id].member.as_ref().expect("it runs").state().epoch()
    }

    /// Does the node's work on a disk of its own, and gives the messages: what it decides is not held against the history.
    fn work_unchecked(&mut self, id: NodeId) -> Vec<GroupMessage> {
        let member = self.member(id).expect("it runs");
        let mut messages = Vec::new();
        while let Some(work) = member.take().expect("all is readable") {
            messages.extend(work.messages.iter().map(|(_, message)| message.clone()));
            let epoch = member.state().epoch();
            member.advance(&work);
            member.applied_on_all(epoch);
        }
        messages
    }

    /// Starts a node by these settings.
    fn start_of(&mut self, id: NodeId, options: raft::Options) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        let mut history = History::new(&names());
        node.disk.iter().for_each(|record| history.push(record.clone()).expect("its own records"));
        let group: FoundGroup = history.finish().expect("its own records").group;
        let options = raft::Options { election_ticks: 5, planted: planted(), ..options };
        let restored = group.restore(id, options, &names()).expect("its own records").expect("it is of a group");
        let mut member = Member::new(GROUP, restored, names(), MemberOptions { planted: planted(), ..OPTIONS });
        assert!(member.state().epoch() >= node.handed, "{id:?}: a start has what the shards were handed");
        node.handed = member.state().epoch();
        member.set_peers(ids.into_iter().map(|id| (id, true)));
        node.member = Some(member);
    }

    /// Ends its process. Of work that is under way any part of the records may be on the disk.
    pub(super) fn stop(&mut self, id: NodeId) {
        let some = self.random(u64::MAX) as usize;
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        node.member = None;
        let records = node.under_way.take().map_or(Vec::new(), |work| work.records);
        let some = some % (records.len() + 1);
        node.disk.extend(records.into_iter().take(some).map(Record::Group));
        // Its connections end with it.
        self.messages.retain(|(from, to, _)| *from != id && *to != id);
        self.asked.retain(|_, asker| *asker != id);
    }

    pub(super) fn member(&mut self, id: NodeId) -> Option<&mut Member> {
        self.nodes.get_mut(&id).and_then(|node| node.member.as_mut())
    }

    /// Takes the node's work, if it has none under way. True if some is now.
    pub(super) fn take(&mut self, id: NodeId) -> bool {
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        if let (Some(member), None) = (&mut node.member, &node.under_way) {
            node.under_way = member.take().expect("all is readable");
        }
        node.under_way.is_some()
    }

    /// Does the node's work. With `ends`, its process ends after so many parts of it: records, messages, commit index.
    pub(super) fn work(&mut self, id: NodeId, ends: Option<u64>) {
        while self.take(id) {
            let has_ended = |part: u64| ends.is_some_and(|ends| ends <= part);
            if has_ended(0) {
                return self.stop(id);
            }
            let node = self.nodes.get_mut(&id).expect("there is such a node");
            let work = node.under_way.take().expect("it was taken");
            node.disk.extend(work.records.iter().cloned().map(Record::Group));
            if has_ended(1) {
                return self.stop(id);
            }
            self.messages.extend(work.messages.iter().map(|(to, message)| (id, *to, message.clone())));
            let is_commit_written = !has_ended(2) || self.random(2) == 0;
            let disk = &mut self.nodes.get_mut(&id).expect("there is such a node").disk;
            disk.extend(work.commit.iter().filter(|_| is_commit_written).cloned().map(Record::Group));
            if has_ended(2) {
                return self.stop(id);
            }
            self.finish(id, &work);
        }
    }

    /// Hands the effects of work to the shards, and the answers to their askers.
    fn finish(&mut self, id: NodeId, work: &Work) {
        for (of, answer) in &work.answers {
            assert!(self.asked.remove(of) == Some(id), "{of:?} is answered once, where it was asked");
            self.answers.push((*of, answer.clone()));
        }
        let is_of_lag = |trouble: &Trouble| matches!(trouble, Trouble::Behind(_));
        assert!(work.troubles.iter().all(is_of_lag), "no disk lost what was synced: {:?}", work.troubles);
        let are_shards_slow = self.are_shards_slow;
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        let member = node.member.as_mut().expect("it runs");
        let epoch = member.state().epoch();
        member.advance(work);
        if !are_shards_slow {
            member.applied_on_all(epoch);
        }
        let handed: Vec<Index> = work.effects.iter().map(|(at, _)| *at).collect();
        let before = if work.is_replaced { Index(epoch.0 - handed.len() as u64) } else { node.handed };
        let each = (before.0 + 1..=epoch.0).map(Index);
        assert_eq!(handed, each.collect::<Vec<_>>(), "{id:?}: shards get each epoch, in order");
        node.handed = epoch;
        self.look(id);
        for (at, effect) in &work.effects {
            let is_applied = |of: &ProposalId| self.proposals[of].1 == Some(*at);
            assert!(
                !matches!(effect, Effect::Applied(of, _) if !is_applied(of)),
                "shards get what was applied: {effect:?}"
            );
        }
    }

    /// All nodes have the same state at an epoch, and a proposal applies once, or is cancelled.
    fn look(&mut self, id: NodeId) {
        let state = self.nodes[&id].member.as_ref().expect("it runs").state().clone();
        let (epoch, taken) = (state.epoch(), state.cluster().of::<Names>());
        let known = self.history.entry(epoch).or_insert_with(|| taken.clone());
        assert_eq!(known, taken, "states of epoch {epoch}");
        for of in state.recent() {
            let known = self.outcomes.entry(of.id).or_insert(of);
            assert_eq!(*known, of, "a proposal applies once, or is cancelled");
            let (_, applied) = self.proposals.get_mut(&of.id).expect("it was proposed");
            *applied = (!of.is_cancelled).then_some(of.epoch);
        }
    }

    pub(super) fn propose(&mut self, at: NodeId, name: u8) -> ProposalId {
        let id = ProposalId(self.proposals.len() as u128 + 1);
        self.proposals.insert(id, (name, None));
        self.asked.insert(id, at);
        self.member(at).expect("it runs").propose(id, vec![name], &TakeOnce);
        id
    }

    /// Compacts a node's log, on the disk and in memory. It has no work under way.
    pub(super) fn compact(&mut self, id: NodeId) {
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        assert!(node.under_way.is_none(), "its disk is at rest");
        let mut history = History::new(&names());
        node.disk.iter().for_each(|record| history.push(record.clone()).expect("its own records"));
        node.disk = crate::file::compact(&history.finish().expect("its own records"));
        node.member.as_mut().expect("it runs").compact();
    }

    /// A unit of time passes for one node.
    pub(super) fn elapse(&mut self, id: NodeId) {
        self.member(id).expect("it runs").elapse(&TakeOnce);
        self.work(id, None);
    }

    pub(super) fn deliver(&mut self, place: usize) -> NodeId {
        let (from, to, message) = self.messages.remove(place);
        let is_lost = self.is_cut && from.0 % 2 != to.0 % 2;
        if let Some(member) = self.member(to).filter(|_| !is_lost) {
            member.receive(from, super::wire::carried(&message), &TakeOnce);
        }
        to
    }

    /// Time passes for all nodes that run, and nothing is lost.
    pub(super) fn settle(&mut self, ticks: u32) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        for _ in 0..ticks {
            for id in &ids {
                let Some(member) = self.member(*id) else { continue };
                member.elapse(&TakeOnce);
                // The sign of life that each node gives.
                let epoch = member.state().epoch();
                let others = ids.iter().filter(|other| *other != id);
                self.messages.extend(others.map(|other| (*id, *other, GroupMessage::Applied { epoch })));
                self.work(*id, None);
            }
            for count in 0.. {
                if self.messages.is_empty() {
                    break;
                }
                assert!(count < 20_000, "messages without an end: {:?}", &self.messages[..self.messages.len().min(9)]);
                let to = self.deliver(0);
                self.work(to, None);
            }
        }
    }

    pub(super) fn leader(&self) -> Option<NodeId> {
        let leads = |node: &Node| node.member.as_ref().is_some_and(|of| of.raft().role() == RoleName::Leader);
        self.nodes.iter().find(|(_, node)| leads(node)).map(|(id, _)| *id)
    }

    pub(super) fn vote_by(&mut self, ids: &[u128]) {
        let voters = ids.iter().copied().map(NodeId).collect();
        let leader = self.leader().expect("a node leads");
        self.member(leader).expect("it runs").change_voters(&voters).expect("no other change is under way");
        self.settle(3);
    }

    pub(super) fn epochs(&self) -> BTreeSet<Index> {
        self.nodes.values().map(|node| node.member.as_ref().expect("it runs").state().epoch()).collect()
    }

    pub(super) fn answer_of(&self, id: ProposalId) -> Option<&Answer> {
        self.answers.iter().find(|(of, _)| *of == id).map(|(_, answer)| answer)
    }

    /// The names up to an epoch, by the proposals that were applied.
    fn names_at(&self, epoch: Index) -> Vec<u8> {
        let applied = self.proposals.values().filter_map(|(name, at)| Some(((*at)?, *name)));
        applied.filter(|(at, _)| *at <= epoch).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Each answer is true of what was agreed on.
    pub(super) fn check_answers(&self) {
        for (id, answer) in &self.answers {
            let (name, applied) = self.proposals[id];
            match answer {
                Answer::Applied { epoch, .. } => assert_eq!(applied, Some(*epoch), "{id:?}"),
                Answer::Refused { epoch, .. } => {
                    assert_eq!(applied, None, "{id:?} was refused");
                    assert_eq!(
                        is_taken(&self.names_at(*epoch), name),
                        name & BACK == 0,
                        "{id:?} was refused at {epoch}"
                    );
                }
                Answer::TooLate | Answer::Busy | Answer::NoLeader | Answer::Failed { .. } => {
                    assert_eq!(applied, None, "{id:?}: {answer:?}")
                }
                Answer::Unknown => {}
            }
        }
        for (first, second) in self.history.iter().zip(self.history.iter().skip(1)) {
            assert!(second.1.starts_with(first.1), "one sequence: {first:?} and {second:?}");
        }
    }
}

#[test]
fn a_lone_node_commits_by_one_record() {
    let mut world = World::new(1, 1);
    let before = world.nodes[&NodeId(1)].disk.len();
    let (taken, refused) = (world.propose(NodeId(1), b'a'), world.propose(NodeId(1), b'a'));
    world.work(NodeId(1), None);
    assert_eq!(world.nodes[&NodeId(1)].disk.len(), before + 1, "one synced write for a change, none for a refusal");
    assert_eq!(world.answer_of(taken), Some(&Answer::Applied { epoch: Index(2), lagging: Vec::new() }));
    assert_eq!(world.answer_of(refused), Some(&Answer::Refused { epoch: Index(2), reason: vec![b'a'] }));
    world.stop(NodeId(1));
    world.start(NodeId(1));
    world.work(NodeId(1), None);
    assert_eq!(world.nodes[&NodeId(1)].disk.len(), before + 1, "a start writes nothing");
    assert_eq!(world.member(NodeId(1)).expect("it runs").state().cluster().of::<Names>(), b"a");
}

#[test]
fn a_change_is_answered_when_all_nodes_that_are_up_have_applied_it() {
    let mut world = World::new(5, 1);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    // A node that does not vote asks; the leader sends it what is committed.
    let id = world.propose(NodeId(5), b'a');
    world.settle(1);
    let epoch = world.proposals[&id].1.expect("it is applied");
    assert_eq!(world.answer_of(id), Some(&Answer::Applied { epoch, lagging: Vec::new() }));
    assert_eq!(world.epochs(), [epoch].into());
    // One is silent: it is waited for, and named.
    world.stop(NodeId(4));
    let id = world.propose(NodeId(2), b'b');
    world.settle(OPTIONS.apply_ticks_max - 1);
    assert_eq!(world.answer_of(id), None);
    world.settle(3);
    let epoch = world.proposals[&id].1.expect("it is applied");
    assert_eq!(world.answer_of(id), Some(&Answer::Applied { epoch, lagging: vec![NodeId(4)] }));
    // Back again it hears from others of their epoch.
    world.start(NodeId(4));
    world.settle(2);
    assert_eq!(world.member(NodeId(4)).expect("it runs").state().epoch(), epoch);
    world.check_answers();
}

#[test]
fn a_node_far_behind_is_given_the_state() {
    let mut world = World::new(3, 1);
    world.stop(NodeId(3));
    for name in b'a'..b'f' {
        world.propose(NodeId(1), name);
        world.work(NodeId(1), None);
    }
    world.member(NodeId(1)).expect("it runs").compact();
    world.start(NodeId(3));
    world.settle(3);
    let member = world.member(NodeId(3)).expect("it runs");
    assert_eq!(member.state().cluster().of::<Names>(), b"abcde");
    let (epoch, recent) = (member.state().epoch(), member.state().recent().count());
    assert_eq!((epoch, recent), (Index(6), 5));
    world.stop(NodeId(3));
    world.start(NodeId(3));
    assert_eq!(world.member(NodeId(3)).expect("it runs").state().epoch(), epoch, "it is on its disk");
}

/// Its vote is for no other node, so it goes on where its log is whole; where it is not, others have entries that it lacks.
#[test]
fn the_only_voter_with_an_older_disk_votes_on_if_its_log_is_whole() {
    let mut world = World::new(2, 1);
    world.propose(NodeId(1), b'a');
    world.settle(2);
    let epoch = world.member(NodeId(1)).expect("it runs").applied();
    // What it has decided since its start is no proof of what its disk had.
    world.stop(NodeId(1));
    world.start(NodeId(1));
    world.propose(NodeId(1), b'b');
    world.settle(2);
    for (heard, leads) in [(epoch, true), (epoch.next(), false)] {
        let member = world.member(NodeId(1)).expect("it runs");
        assert!(member.applied() > member.began());
        member.hear_of_older_disk(heard);
        assert_eq!((member.raft().is_lost(), member.raft().role() == RoleName::Leader), (!leads, leads), "{heard:?}");
    }
    let work = world.member(NodeId(1)).expect("it runs").take().expect("it is readable").expect("it is to be durable");
    let is_lost = |record: &GroupRecord| matches!(record, GroupRecord::Vote { is_lost: true, .. });
    assert!(work.records.iter().any(is_lost), "a start finds it lost: {:?}", work.records);
}

/// The image decides in another term than the others have: they refuse it, where the same term would have them take it for the entries after
/// their own.
#[test]
fn the_only_voter_on_an_older_disk_makes_no_node_follow_it() {
    let mut world = World::new(2, 1);
    world.propose(NodeId(1), b'a');
    world.settle(2);
    let image = world.nodes[&NodeId(1)].disk.clone();
    world.propose(NodeId(1), b'b');
    world.settle(2);
    world.stop(NodeId(1));
    let (before, names) = (world.epochs_of(NodeId(2)), b"ab");
    world.replace_disk(NodeId(1), image);
    world.start_of(NodeId(1), raft::Options { keeps_term: false, ..raft::Options::default() });
    for name in [b'c', b'd'] {
        world.member(NodeId(1)).expect("it runs").propose(ProposalId(u128::from(name)), vec![name], &TakeOnce);
    }
    let messages = world.work_unchecked(NodeId(1));
    for message in messages {
        world.member(NodeId(2)).expect("it runs").receive(NodeId(1), message, &TakeOnce);
    }
    let follower = world.member(NodeId(2)).expect("it runs");
    assert_eq!((follower.state().epoch(), &follower.state().cluster().of::<Names>()[..]), (before, &names[..]));
}

#[test]
fn without_a_majority_nothing_changes_and_nothing_is_lost() {
    let mut world = World::new(3, 1);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    let leader = world.leader().expect("a node leads");
    let others: Vec<NodeId> = world.nodes.keys().copied().filter(|id| *id != leader).collect();
    others.iter().for_each(|id| world.stop(*id));
    let id = world.propose(leader, b'z');
    world.settle(30);
    assert_eq!((world.answer_of(id), world.leader()), (None, None), "a leader that hears no majority makes way");
    others.iter().for_each(|id| world.start(*id));
    world.settle(60);
    assert!(matches!(world.answer_of(id), Some(Answer::Applied { .. })), "it was asked again: {:?}", world.answers);
    world.check_answers();
}
