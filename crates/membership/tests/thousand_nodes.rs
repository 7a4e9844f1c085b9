//! A model of 1,000 nodes, of which 5 vote, in virtual time: a change of the registry is applied by all within a second.
//!
//! Each node is the state machine that a server will run ([`metadata::group::Member`]); links, disks and clocks are the model's. Links take 1 to 20 ms and lose
//! one message of a hundred, a sync takes 5 ms. Where the design has each node give every other a sign of life twice a second, here it gives them to the
//! voters and to some others, a twentieth of all: what is lost is found out later than it will be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

use membership::{Registration, Request, TopologyDomain, plan};
use metadata::group::{
    Answer, GroupId, GroupMessage, GroupState, Member, MemberOptions, Plan, Planner, Proposal, ProposalId, Work,
    host_id, node_id,
};
use metadata::{ClusterState, Domains, Entry};
use raft::{Configuration, Entry as PlacedEntry, Index, Log, NodeId, Origin, Payload, Raft, Restart, RoleName, Term};
use topology::nodes::{Address, Boot, Features, NodeChange, NodeState, RegisteredNode, Registry, Release, Start};
use topology::{HostId, Token, voters};

const NODES: u64 = 1000;
const GROUP: GroupId = GroupId { id: 7, incarnation: 0 };
/// Virtual time is in microseconds.
const SECOND: u64 = 1_000_000;
/// The unit of time of the state machines.
const UNIT: u64 = SECOND / 10;
const SYNC: u64 = 5_000;
/// Signs of life that a node gives in a unit of time, to nodes that it draws.
const SIGNS: u64 = 10;
/// Units of time between its signs of life to each voter.
const SIGN_UNITS: u64 = 5;
/// One message of so many is lost.
const LOSS: u64 = 100;

fn domains() -> Domains {
    Domains::none().with::<TopologyDomain>()
}

/// Plans requests as a leader will.
struct Nodes;

impl Planner for Nodes {
    fn plan(&self, state: &ClusterState, _: &Configuration, intention: &[u8]) -> Plan {
        let request = Request::decode(intention).expect("the model sends requests");
        match plan(state.of::<TopologyDomain>(), &request) {
            Ok(changes) if changes.is_empty() => Plan::Refused(Vec::new()),
            Ok(changes) => Plan::Change(Entry::of(TopologyDomain::part(&changes))),
            Err(error) => Plan::Refused(error.to_string().into_bytes()),
        }
    }
}

fn start(number: u64, boot: u64) -> Start {
    let ip = [10, 0, (number >> 8) as u8, number as u8].into();
    Start {
        boot: Boot { number: boot, word: number },
        internode: Address::new(ip, 7000),
        native: Address::new(ip, 9042),
        shard_count: 16,
        release: Release { major: 0, minor: 1, patch: 0 },
        features: Features(1),
    }
}

fn host(number: u64) -> HostId {
    HostId(u128::from(number + 1).to_be_bytes())
}

fn registration(number: u64, boot: u64) -> Registration {
    Registration {
        host_id: host(number),
        datacenter: format!("datacenter{}", number % 4),
        rack: format!("rack{}", number / 4 % 3),
        tokens: (0..16).map(|of| Token((number * 16 + of) as i64)).collect(),
        has_given_tokens: false,
        is_without_copy: false,
        replaces: None,
        start: start(number, boot),
    }
}

/// The cluster's state with all nodes, by one entry at index 1.
fn founded() -> GroupState {
    let put = (0..NODES).map(|number| {
        let Registration { host_id, datacenter, rack, tokens, start, .. } = registration(number, 1);
        let node = RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start };
        NodeChange::Put(host_id, Rc::new(node))
    });
    let entry = Entry::of(TopologyDomain::part(&put.collect::<Vec<_>>()));
    let proposal = Proposal { id: ProposalId(0), first: Index(1), entry: Some(entry) };
    let payload = Payload::Change(proposal.to_bytes().into());
    let mut state = GroupState::new(&domains());
    state.apply(&[PlacedEntry { term: Term(1), index: Index(1), payload }]).expect("it is readable");
    state
}

enum Event {
    Elapses {
        node: NodeId,
        count: u64,
    },
    Arrives {
        from: NodeId,
        to: NodeId,
        message: GroupMessage,
    },
    /// The records are durable: messages leave.
    Synced(NodeId),
    /// The commit index is durable, and the shards have applied.
    Done(NodeId),
}

struct Cluster {
    now: u64,
    nodes: BTreeMap<NodeId, (Member, Option<Work>)>,
    /// By time, then in the order of their making; the events themselves lie beside.
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    count: u64,
    random: u64,
    lost: u64,
    /// How many nodes have applied each epoch.
    applied: BTreeMap<Index, u64>,
    answers: BTreeMap<ProposalId, (u64, Answer)>,
    proposals: u128,
}

impl Cluster {
    fn new() -> Cluster {
        let state = founded();
        let registry: &Registry = state.cluster().of::<TopologyDomain>();
        let live: BTreeSet<HostId> = registry.nodes().map(|(id, _)| id).collect();
        let chosen = voters::choose(&voters::candidates(registry, &live, &BTreeSet::new()), None);
        assert_eq!(chosen.len(), 5);
        let configuration = Configuration::new(chosen.into_iter().map(node_id)).expect("there are voters");
        let origin = Origin { index: Index(1), term: Term(1), leader: None, configuration };
        let ids: Vec<NodeId> = live.iter().copied().map(node_id).collect();
        let mut cluster = Cluster {
            now: 0,
            nodes: BTreeMap::new(),
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            count: 0,
            random: 1,
            lost: 0,
            applied: BTreeMap::new(),
            answers: BTreeMap::new(),
            proposals: 0,
        };
        for id in &ids {
            let log = Log::new(origin.clone(), Vec::new()).expect("it is empty");
            let vote = raft::Vote { term: Term(1), voted_for: None };
            let restart = Restart { id: *id, vote, log, commit: Index(1), applied: Index(1), is_lost: false };
            let raft = Raft::restart(restart, raft::Options::default());
            let mut member = Member::new(GROUP, (raft, state.clone()), domains(), MemberOptions::default());
            member.set_peers(ids.iter().map(|id| (*id, true)));
            cluster.nodes.insert(*id, (member, None));
            let first = cluster.random(UNIT);
            cluster.after(first, Event::Elapses { node: *id, count: 0 });
        }
        cluster
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.queue.push(Reverse((self.now + delay, self.count)));
        self.events.insert(self.count, event);
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: GroupMessage) {
        if self.random(LOSS) == 0 {
            self.lost += 1;
            return;
        }
        let delay = 1_000 + self.random(19_000);
        self.after(delay, Event::Arrives { from, to, message });
    }

    fn member(&mut self, id: NodeId) -> &mut Member {
        &mut self.nodes.get_mut(&id).expect("there is such a node").0
    }

    /// Takes the node's work, if it has any and none is under way.
    fn work(&mut self, id: NodeId) {
        let (member, under_way) = self.nodes.get_mut(&id).expect("there is such a node");
        let Some(work) = member.take().expect("all is readable") else { return };
        let delay = if work.records.is_empty() { 0 } else { SYNC };
        *under_way = Some(work);
        self.after(delay, Event::Synced(id));
    }

    fn synced(&mut self, id: NodeId) {
        let work = self.nodes.get_mut(&id).and_then(|(_, work)| work.as_mut()).expect("it is under way");
        let messages = std::mem::take(&mut work.messages);
        let delay = if work.commit.is_some() { SYNC } else { 0 };
        messages.into_iter().for_each(|(to, message)| self.send(id, to, message));
        self.after(delay, Event::Done(id));
    }

    fn done(&mut self, id: NodeId) {
        let (member, work) = self.nodes.get_mut(&id).expect("there is such a node");
        let work = work.take().expect("it is under way");
        member.advance(&work);
        member.applied_on_all(member.state().epoch());
        for (epoch, _) in &work.effects {
            *self.applied.entry(*epoch).or_default() += 1;
        }
        let now = self.now;
        self.answers.extend(work.answers.into_iter().map(|(id, answer)| (id, (now, answer))));
        self.work(id);
    }

    fn elapse(&mut self, id: NodeId, count: u64) {
        let member = self.member(id);
        member.elapse(&Nodes);
        let epoch = member.state().epoch();
        let is_due = count.is_multiple_of(SIGN_UNITS);
        let voters: Vec<NodeId> = member.raft().configuration().voters().filter(|_| is_due).collect();
        let drawn: Vec<NodeId> = (0..SIGNS).map(|_| node_id(host(self.random(NODES)))).collect();
        for to in voters.into_iter().chain(drawn) {
            self.send(id, to, GroupMessage::Applied { epoch });
        }
        self.after(UNIT, Event::Elapses { node: id, count: count + 1 });
        self.work(id);
    }

    /// Lets time pass until `until` is so, which is asked whenever a node has done some work. Gives the time that passed; panics when that is more than `max`.
    fn run_until(&mut self, max: u64, until: impl Fn(&Cluster) -> bool) -> u64 {
        let from = self.now;
        let mut is_so = until(self);
        while !is_so {
            let Reverse((time, number)) = self.queue.pop().expect("time never ends");
            self.now = time;
            assert!(self.now - from <= max, "after {max} microseconds; nodes by epoch: {:?}", self.applied);
            match self.events.remove(&number).expect("each is done once") {
                Event::Elapses { node, count } => self.elapse(node, count),
                Event::Arrives { from, to, message } => {
                    self.member(to).receive(from, message, &Nodes);
                    self.work(to);
                }
                Event::Synced(id) => self.synced(id),
                Event::Done(id) => {
                    self.done(id);
                    is_so = until(self);
                }
            }
        }
        self.now - from
    }

    fn leader(&self) -> Option<NodeId> {
        let leads = |member: &Member| member.raft().role() == RoleName::Leader;
        self.nodes.iter().find(|(_, (member, _))| leads(member)).map(|(id, _)| *id)
    }

    fn propose(&mut self, at: NodeId, request: &Request) -> ProposalId {
        self.proposals += 1;
        let id = ProposalId(self.proposals);
        self.member(at).propose(id, request.to_bytes(), &Nodes);
        self.work(at);
        id
    }

    /// True if all nodes have applied the epoch.
    fn has(&self, epoch: Index) -> bool {
        self.applied.get(&epoch).is_some_and(|nodes| *nodes == NODES)
    }
}

#[test]
fn a_change_is_applied_by_a_thousand_nodes_within_a_second() {
    let mut cluster = Cluster::new();
    cluster.run_until(10 * SECOND, |cluster| cluster.leader().is_some());
    let leader = cluster.leader().expect("a node leads");
    // Its first entry is known by all.
    cluster.run_until(2 * SECOND, |cluster| cluster.has(Index(2)));
    // Nodes start again, one after the other; one of them is the leader's own node.
    let numbers = (0..5u64).map(|of| of * 211 % NODES).map(|number| node_id(host(number)));
    let askers: Vec<NodeId> = numbers.chain([leader]).collect();
    let (mut slowest, mut answered) = (0, 0);
    for (epoch, asker) in (3..).map(Index).zip(askers) {
        let HostId(bytes) = host_id(asker);
        let number = u128::from_be_bytes(bytes) as u64 - 1;
        let begun = cluster.now;
        let id = cluster.propose(asker, &Request::Register(registration(number, 1 + epoch.0)));
        let took = cluster.run_until(SECOND, |cluster| cluster.has(epoch));
        slowest = slowest.max(took);
        cluster.run_until(2 * SECOND, |cluster| cluster.answers.contains_key(&id));
        let (at, answer) = &cluster.answers[&id];
        assert_eq!(*answer, Answer::Applied { epoch, lagging: Vec::new() }, "all are up and have it");
        answered = answered.max(at - begun);
        for (member, _) in cluster.nodes.values() {
            let registry = member.state().cluster().of::<TopologyDomain>();
            assert_eq!(registry.node(host_id(asker)).map(|node| node.start.boot.number), Some(1 + epoch.0));
        }
    }
    let mut all = cluster.nodes.values().map(|(member, _)| member.state().cluster().of::<TopologyDomain>());
    let first = all.next().expect("there are nodes");
    assert!(all.all(|registry| registry == first), "all have one registry");
    let bytes = first.snapshot().map_or(0, |bytes| bytes.len());
    assert!(bytes <= 300 << 10, "{bytes} bytes");
    assert!(cluster.lost > 0, "links lose messages");
    println!(
        "applied by all after {} ms at most, answered after {} ms at most; {bytes} bytes of state; {} messages lost",
        slowest / 1000,
        answered / 1000,
        cluster.lost,
    );
}
