//! Groups of nodes whose disks are lists of records: whatever is lost, late or restarted, all nodes apply one sequence, and answers hold.

use std::collections::BTreeMap;

use proptest::prelude::*;
use raft::{Configuration, Index, NodeId, Origin, RoleName, Term};

use super::*;
use crate::file::History;
use crate::group::{
    Answer, Effect, FoundGroup, GroupId, GroupMessage, GroupRecord, Member, MemberOptions, Plan, Planner, ProposalId,
    Snapshot, founding, host_id as host_of,
};

const GROUP: GroupId = GroupId { id: 9, incarnation: 0 };
const OPTIONS: MemberOptions = MemberOptions { apply_ticks_max: 40, resend_ticks: 7 };

/// A domain of names that are taken once, in the order of their taking.
struct Names;

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

/// An intention is one name.
struct TakeOnce;

impl Planner for TakeOnce {
    fn plan(&self, state: &ClusterState, intention: &[u8]) -> Plan {
        match state.of::<Names>().contains(&intention[0]) {
            true => Plan::Refused(intention.to_vec()),
            false => Plan::Change(Entry::of(Part { domain: Names::ID, version: 1, bytes: intention.to_vec() })),
        }
    }
}

fn names() -> Domains {
    Domains::none().with::<Names>()
}

struct Node {
    member: Option<Member>,
    /// Its records that are synced.
    disk: Vec<Record>,
}

/// Nodes 1 to n, the messages under way, and what was ever agreed on.
struct World {
    nodes: BTreeMap<NodeId, Node>,
    messages: Vec<(NodeId, NodeId, GroupMessage)>,
    /// The names that were taken up to each epoch, as the first node that applied it has it.
    history: BTreeMap<Index, Vec<u8>>,
    /// The proposals, with their names, and the epoch at which they applied.
    proposals: BTreeMap<ProposalId, (u8, Option<Index>)>,
    answers: Vec<(ProposalId, Answer)>,
    random: u64,
}

impl World {
    /// Node 1 has founded; the others have its state, and do not vote.
    fn new(count: u128, seed: u64) -> World {
        let mut world = World {
            nodes: BTreeMap::new(),
            messages: Vec::new(),
            history: BTreeMap::new(),
            proposals: BTreeMap::new(),
            answers: Vec::new(),
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
            world.nodes.insert(id, Node { member: None, disk: disk.collect() });
        }
        (1..=count).for_each(|id| world.start(NodeId(id)));
        world
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn start(&mut self, id: NodeId) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        let node = self.nodes.get_mut(&id).expect("there is such a node");
        let mut history = History::new(&names());
        node.disk.iter().for_each(|record| history.push(record.clone()).expect("its own records"));
        let group: FoundGroup = history.finish().expect("its own records").group;
        let options = raft::Options { election_ticks: 5, ..raft::Options::default() };
        let restored = group.restore(id, options, &names()).expect("its own records").expect("it is of a group");
        let mut member = Member::new(GROUP, restored, names(), OPTIONS);
        member.set_peers(ids.into_iter().map(|id| (id, true)));
        node.member = Some(member);
    }

    fn stop(&mut self, id: NodeId) {
        self.nodes.get_mut(&id).expect("there is such a node").member = None;
        // Its connections end with it.
        self.messages.retain(|(from, to, _)| *from != id && *to != id);
    }

    fn member(&mut self, id: NodeId) -> Option<&mut Member> {
        self.nodes.get_mut(&id).and_then(|node| node.member.as_mut())
    }

    /// Does the node's work. With `ends`, its process ends after so many parts of it: records, messages, commit index.
    fn work(&mut self, id: NodeId, ends: Option<u64>) {
        while let Some(work) = self.member(id).and_then(|member| member.take().expect("all is readable")) {
            let has_ended = |part: u64| ends.is_some_and(|ends| ends <= part);
            let disk = &mut self.nodes.get_mut(&id).expect("there is such a node").disk;
            if has_ended(0) {
                // A part of the records may be on the disk.
                let some = work.records.len() / 2;
                disk.extend(work.records[..some].iter().cloned().map(Record::Group));
                return self.stop(id);
            }
            disk.extend(work.records.iter().cloned().map(Record::Group));
            if has_ended(1) {
                return self.stop(id);
            }
            self.messages.extend(work.messages.iter().map(|(to, message)| (id, *to, message.clone())));
            if has_ended(2) {
                return self.stop(id);
            }
            let disk = &mut self.nodes.get_mut(&id).expect("there is such a node").disk;
            disk.extend(work.commit.iter().cloned().map(Record::Group));
            self.answers.extend(work.answers.iter().cloned());
            let member = self.member(id).expect("it runs");
            let (epoch, taken) = (member.state().epoch(), member.state().cluster().of::<Names>().clone());
            member.advance(&work);
            member.applied_on_all(epoch);
            self.look(epoch, &taken, &work.effects);
        }
    }

    /// All nodes have the same state at an epoch, and a proposal applies once.
    fn look(&mut self, epoch: Index, taken: &Vec<u8>, effects: &[(Index, Effect)]) {
        let known = self.history.entry(epoch).or_insert_with(|| taken.clone());
        assert_eq!(known, taken, "states of epoch {epoch}");
        for (epoch, effect) in effects {
            if let Effect::Applied(id, _) = effect {
                let (_, applied) = self.proposals.get_mut(id).expect("it was proposed");
                assert_eq!(*applied.get_or_insert(*epoch), *epoch, "a proposal applies once");
            }
        }
    }

    fn propose(&mut self, at: NodeId, name: u8) -> ProposalId {
        let id = ProposalId(self.proposals.len() as u128 + 1);
        self.proposals.insert(id, (name, None));
        self.member(at).expect("it runs").propose(id, vec![name], &TakeOnce);
        id
    }

    fn deliver(&mut self, place: usize) -> NodeId {
        let (from, to, message) = self.messages.remove(place);
        if let Some(member) = self.member(to) {
            member.receive(from, super::wire::carried(&message), &TakeOnce);
        }
        to
    }

    /// Time passes for all nodes that run, and nothing is lost.
    fn settle(&mut self, ticks: u32) {
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

    fn leader(&self) -> Option<NodeId> {
        let leads = |node: &Node| node.member.as_ref().is_some_and(|of| of.raft().role() == RoleName::Leader);
        self.nodes.iter().find(|(_, node)| leads(node)).map(|(id, _)| *id)
    }

    fn vote_by(&mut self, ids: &[u128]) {
        let voters = ids.iter().copied().map(NodeId).collect();
        let leader = self.leader().expect("a node leads");
        self.member(leader).expect("it runs").change_voters(&voters).expect("no other change is under way");
        self.settle(3);
    }

    fn epochs(&self) -> BTreeSet<Index> {
        self.nodes.values().map(|node| node.member.as_ref().expect("it runs").state().epoch()).collect()
    }

    fn answer_of(&self, id: ProposalId) -> Option<&Answer> {
        self.answers.iter().find(|(of, _)| *of == id).map(|(_, answer)| answer)
    }

    /// Each answer is true of what was agreed on.
    fn check_answers(&self) {
        for (id, answer) in &self.answers {
            let (name, applied) = self.proposals[id];
            match answer {
                Answer::Applied { epoch, .. } => assert_eq!(applied, Some(*epoch), "{id:?}"),
                Answer::Refused { epoch, .. } => {
                    assert_eq!(applied, None, "{id:?} was refused");
                    let takes = |(other, at): &(u8, Option<Index>)| *other == name && at.is_some_and(|at| at <= *epoch);
                    assert!(self.proposals.values().any(takes), "{id:?} was refused at {epoch}");
                }
                Answer::TooLate => assert_eq!(applied, None, "{id:?} was too late"),
                Answer::NotLeader { .. } => panic!("{id:?}: that is no answer for an asker"),
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

/// Steps of chance, then peace: all nodes have one state, and every answer was true.
fn live(seed: u64, steps: u32) -> World {
    let count = 3 + u128::from(seed % 3);
    let mut world = World::new(count, seed);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    let ids: Vec<NodeId> = world.nodes.keys().copied().collect();
    for _ in 0..steps {
        let id = ids[world.random(count as u64) as usize];
        let is_up = world.nodes[&id].member.is_some();
        match world.random(20) {
            0..=5 if is_up => {
                world.member(id).expect("it runs").elapse(&TakeOnce);
                world.work(id, None);
            }
            6 if is_up => {
                let name = world.random(40) as u8;
                world.propose(id, name);
                world.work(id, None);
            }
            7 if is_up && world.random(4) == 0 => {
                let ends = world.random(4);
                world.member(id).expect("it runs").elapse(&TakeOnce);
                world.work(id, Some(ends));
                world.stop(id);
            }
            8 if !is_up => world.start(id),
            9 if !world.messages.is_empty() && world.random(3) == 0 => {
                let place = world.random(world.messages.len() as u64) as usize;
                world.messages.remove(place);
            }
            10 if is_up && world.random(10) == 0 => world.member(id).expect("it runs").compact(),
            11 if is_up => {
                let epoch = world.member(id).expect("it runs").state().epoch();
                let to = ids[world.random(count as u64) as usize];
                world.messages.push((id, to, GroupMessage::Applied { epoch }));
            }
            12 if world.random(30) == 0 => {
                let voters = [[1, 2, 3], [2, 3, count], [1, 3, count]][world.random(3) as usize].map(NodeId).into();
                if let Some(leader) = world.leader() {
                    // Another change may be under way.
                    let _ = world.member(leader).expect("it runs").change_voters(&voters);
                    world.work(leader, None);
                }
            }
            _ if !world.messages.is_empty() => {
                // Messages of a link arrive in their order.
                let place = world.random(world.messages.len() as u64) as usize;
                let (from, to, _) = world.messages[place];
                let first = world.messages.iter().position(|of| (of.0, of.1) == (from, to)).expect("it is there");
                let ends = if world.random(60) == 0 { Some(world.random(3)) } else { None };
                let to = world.deliver(first);
                world.work(to, ends);
            }
            _ => {}
        }
    }
    for id in ids {
        if world.nodes[&id].member.is_none() {
            world.start(id);
        }
    }
    world.settle(120);
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_there_is_one_sequence(seed in any::<u64>()) {
        let world = live(seed, 600);
        world.check_answers();
        prop_assert_eq!(world.epochs().len(), 1, "all have all of it: {:?}", world.epochs());
        prop_assert!(world.leader().is_some());
        // The nodes that ended have forgotten what they asked for; all others were answered.
        prop_assert!(world.answers.len() <= world.proposals.len());
    }
}
