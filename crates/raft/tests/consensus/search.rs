//! All that can happen in a group of three voters within bounds: every order of steps is tried, and each state looked at once.
//!
//! A step is a time-out, a proposal, a change of the voters, the arrival of the next message of a link, or the end of a process: at rest, or when a
//! message has arrived, before or after it wrote what comes of it and before its messages left; it starts again at once. Messages of a link arrive in
//! their order, as a connection delivers them; one that is lost is lost when it is sent. What the world asserts (`world.rs`) and the core asserts of
//! itself holds in every state.
//!
//! Three reductions leave nothing out that could break. Two states that differ in who is who alone count as one. A message that can change nothing
//! any more is taken away. And where no other node can send to a node before that node acts, its steps alone are tried: those of the others commute
//! with them (an ample set of partial-order reduction; Clarke, Grumberg, Peled: *Model Checking*, 1999, chapter 10). No history comes back to an
//! earlier state, so nothing is put off for ever.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use raft::{Envelope, Message, NodeId, Options, Raft, RoleName};

use crate::bugs::planted;
use crate::world::{World, voters};

/// How much of each may happen in one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Left {
    terms: u64,
    timeouts: u8,
    proposals: u8,
    losses: u8,
    ends: u8,
    changes: u8,
}

/// Where a search begins, and how far it goes.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Node 1 leads, and all know it; else nothing has happened.
    has_leader: bool,
    left: Left,
}

/// One step of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    TimeOut,
    Propose,
    /// The leader takes this node out of the voters.
    TakeOut(NodeId),
    /// The next message of the link from this node.
    Arrive(NodeId),
    /// The same; the process ends before what comes of it is written.
    ArriveAndForget(NodeId),
    /// The same; it is written, and the process ends before its messages leave.
    ArriveAndEnd(NodeId),
    End,
}

/// A step: who does what, and which of the messages that it sends is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    node: NodeId,
    action: Action,
    lost: Option<usize>,
}

/// The states that a search reached, counted.
#[derive(Debug, Default)]
struct Found {
    states: AtomicUsize,
    /// Of those, with two leaders in turn.
    second_terms: AtomicUsize,
    /// With a proposal committed.
    committed: AtomicUsize,
    /// With two voters.
    taken_out: AtomicUsize,
}

#[derive(Clone)]
struct State {
    world: World,
    left: Left,
}

/// A hash of 64 bits by multiplications: of ten million states some two in a million searches take another for one that was seen.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word) ^ (part.len() as u64) << 56);
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
        self.0 = (product as u64).rotate_left(29) ^ (product >> 64) as u64;
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// The states that were seen, by their fingerprints.
struct Known(Vec<Mutex<HashSet<u64, BuildHasherDefault<Quick>>>>);

impl Known {
    fn new() -> Known {
        Known((0..256).map(|_| Mutex::default()).collect())
    }

    /// True if it is new.
    fn insert(&self, state: &State) -> bool {
        let fingerprint = fingerprint(state);
        let part = usize::from(fingerprint.to_le_bytes()[0]);
        self.0[part].lock().expect("no panic within").insert(fingerprint)
    }
}

/// The least of the hashes under all names that the nodes may have: those that differ as seen from outside have one order.
fn fingerprint(state: &State) -> u64 {
    let rafts: Vec<&Raft> = state.world.nodes.values().filter_map(|node| node.raft.as_ref()).collect();
    let mut order: Vec<(u64, NodeId)> = rafts.iter().map(|raft| (looks(raft, state), raft.id())).collect();
    order.sort_unstable();
    let mut least = u64::MAX;
    for permutation in PERMUTATIONS {
        let is_sorted = permutation.windows(2).all(|pair| order[pair[0]].0 <= order[pair[1]].0);
        if !is_sorted {
            continue;
        }
        let place = |node: NodeId| permutation.iter().position(|at| order[*at].1 == node).expect("one of three") as u8;
        least = least.min(fingerprint_as(state, &rafts, &place));
    }
    least
}

const PERMUTATIONS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A node as it looks without any name.
fn looks(raft: &Raft, state: &State) -> u64 {
    let mut hasher = Quick::default();
    let is_self = |node: NodeId| u8::from(node == raft.id());
    let voted = raft.vote().voted_for.map(is_self);
    (raft.role() as u8, raft.term(), voted, raft.commit_index(), raft.leader().map(is_self)).hash(&mut hasher);
    for entry in raft.log().entries() {
        (entry.term, std::mem::discriminant(&entry.payload)).hash(&mut hasher);
    }
    let messages = |is: fn(&Envelope) -> NodeId| state.world.messages.iter().filter(|of| is(of) == raft.id()).count();
    (messages(|of| of.to), messages(|of| of.from)).hash(&mut hasher);
    hasher.finish()
}

fn fingerprint_as(state: &State, rafts: &[&Raft], place: &dyn Fn(NodeId) -> u8) -> u64 {
    let mut by_place: Vec<&Raft> = rafts.to_vec();
    by_place.sort_by_key(|raft| place(raft.id()));
    let mut links: BTreeMap<(u8, u8), Vec<&Envelope>> = BTreeMap::new();
    for envelope in &state.world.messages {
        links.entry((place(envelope.from), place(envelope.to))).or_default().push(envelope);
    }
    let mut hasher = Quick::default();
    state.left.hash(&mut hasher);
    by_place.iter().for_each(|raft| raft.fingerprint(place, &mut hasher));
    // Only the order within a link counts.
    links.values().flatten().for_each(|envelope| envelope.fingerprint(place, &mut hasher));
    state.world.committed.values().for_each(|entry| entry.fingerprint(place, &mut hasher));
    for (term, leader) in &state.world.leaders {
        (term, place(*leader)).hash(&mut hasher);
    }
    hasher.finish()
}

/// True if the message changes nothing, now or later: terms do not fall, and there is none after the last.
fn is_dead(envelope: &Envelope, state: &State) -> bool {
    let raft_of = |id| state.world.nodes.get(&id).and_then(|node| node.raft.as_ref()).expect("it runs");
    let (from, to) = (raft_of(envelope.from), raft_of(envelope.to));
    let last_term = state.left.terms;
    let (is_of_before, is_last_term) = (envelope.term < to.term(), to.term().0 == last_term);
    match envelope.message {
        // A question or an order of a former term is answered with the present one, which the sender may not know.
        Message::Vote { pre: false, .. } | Message::Append { .. } | Message::Heartbeat { .. } => {
            is_of_before && from.term().0 == last_term
        }
        Message::Vote { pre: true, .. } => false,
        // What an answer of a former term says is passed over.
        Message::VoteReply { pre: true, .. } => is_last_term && to.role() != RoleName::PreCandidate,
        Message::VoteReply { pre: false, .. } => {
            is_of_before || (envelope.term == to.term() && is_last_term && to.role() != RoleName::Candidate)
        }
        Message::Appended { .. } | Message::Diverged { .. } | Message::HeartbeatReply { .. } => {
            // No node begins to lead a term once its answers are under way.
            is_of_before || (envelope.term == to.term() && to.role() != RoleName::Leader)
        }
        Message::Committed { .. } | Message::TransferNow => is_of_before,
        Message::Outdated => envelope.term <= to.term(),
    }
}

fn raft_of(state: &State, id: NodeId) -> &Raft {
    let node = state.world.nodes.get(&id).expect("there is such a node");
    node.raft.as_ref().expect("processes start again at once")
}

/// True if the node may stand for election.
fn may_stand(state: &State, raft: &Raft) -> bool {
    state.left.timeouts > 0 && raft.role() != RoleName::Leader && raft.term().0 < state.left.terms
}

/// False where `other` sends nothing to `node` before `node` does something.
fn may_send(state: &State, other: NodeId, node: NodeId) -> bool {
    let raft = raft_of(state, other);
    let is_under_way = |from, to| state.world.messages.iter().any(|of| of.from == from && of.to == to);
    let third = state.world.nodes.keys().copied().find(|id| *id != other && *id != node).expect("there are three");
    if may_stand(state, raft) || may_stand(state, raft_of(state, third)) || is_under_way(node, other) {
        return true;
    }
    let is_quiet = |role| matches!(role, RoleName::Follower);
    match raft.role() {
        // It only answers, and only a leader or a candidate asks it.
        RoleName::Follower => false,
        RoleName::Leader => {
            let answers = is_under_way(third, other) || is_under_way(other, third);
            let third = raft_of(state, third).role();
            answers || !is_quiet(third) || state.left.proposals > 0 || state.left.changes > 0
        }
        RoleName::PreCandidate | RoleName::Candidate => true,
    }
}

/// All that the node can do.
fn steps_of(state: &State, node: NodeId) -> Vec<(NodeId, Action)> {
    let (left, raft) = (state.left, raft_of(state, node));
    let mut actions = Vec::new();
    let senders: BTreeSet<NodeId> = state.world.messages.iter().filter(|of| of.to == node).map(|of| of.from).collect();
    for from in senders {
        actions.push(Action::Arrive(from));
        if left.ends > 0 {
            actions.extend([Action::ArriveAndForget(from), Action::ArriveAndEnd(from)]);
        }
    }
    if may_stand(state, raft) {
        actions.push(Action::TimeOut);
    }
    if raft.role() == RoleName::Leader {
        if left.proposals > 0 {
            actions.push(Action::Propose);
        }
        if left.changes > 0 {
            actions.extend(state.world.nodes.keys().map(|other| Action::TakeOut(*other)));
        }
    }
    if left.ends > 0 {
        actions.push(Action::End);
    }
    actions.into_iter().map(|action| (node, action)).collect()
}

/// The steps to try: those of a node to which no other node sends before it acts, or all.
fn steps(state: &State) -> Vec<(NodeId, Action)> {
    let nodes = || state.world.nodes.keys().copied();
    let is_ample = |node: &NodeId| {
        let has_arrived = |from| state.world.messages.iter().any(|of| of.from == from && of.to == *node);
        let is_known = |other| has_arrived(other) || !may_send(state, other, *node);
        nodes().any(has_arrived) && nodes().filter(|other| other != node).all(is_known)
    };
    match nodes().find(is_ample) {
        Some(node) => steps_of(state, node),
        None => nodes().flat_map(|node| steps_of(state, node)).collect(),
    }
}

/// Has the next message of the link arrive.
fn deliver(world: &mut World, from: NodeId, to: NodeId) {
    let place = world.messages.iter().position(|envelope| (envelope.from, envelope.to) == (from, to));
    world.deliver(place.expect("the step was possible"));
}

fn start_again(world: &mut World, node: NodeId) {
    world.stop(node);
    world.start(node);
    world.work(node);
}

/// Makes the step. False where it is refused, or goes beyond the bounds.
fn act(state: &mut State, node: NodeId, action: Action) -> bool {
    let State { world, left } = state;
    match action {
        Action::TimeOut => {
            left.timeouts -= 1;
            world.raft(node).elapse();
        }
        Action::Propose => {
            left.proposals -= 1;
            if world.raft(node).propose(&[b'a' + left.proposals]).is_err() {
                return false;
            }
        }
        Action::TakeOut(other) => {
            left.changes -= 1;
            let stay: BTreeSet<NodeId> = world.nodes.keys().copied().filter(|node| *node != other).collect();
            if world.raft(node).change_voters(&stay).is_err() {
                return false;
            }
        }
        Action::Arrive(from) => deliver(world, from, node),
        Action::ArriveAndForget(from) => {
            left.ends -= 1;
            deliver(world, from, node);
            start_again(world, node);
        }
        Action::ArriveAndEnd(from) => {
            left.ends -= 1;
            deliver(world, from, node);
            // With nothing to write it is as if it had forgotten.
            let Some(ready) = world.take(node).filter(|ready| ready.vote.is_some() || !ready.entries.is_empty()) else {
                return false;
            };
            world.persist(node, &ready);
            start_again(world, node);
        }
        Action::End => {
            left.ends -= 1;
            start_again(world, node);
        }
    }
    world.work(node);
    world.barriers.clear();
    world.troubles.clear();
    let highest = world.nodes.values().filter_map(|node| Some(node.raft.as_ref()?.term().0)).max();
    highest <= Some(left.terms)
}

/// The states after the action: with all that it sends, and with one message of that lost.
fn after(state: &State, (node, action): (NodeId, Action)) -> Vec<(Step, State)> {
    let mut next = state.clone();
    // A message that arrives makes room for one that is sent.
    let arrived =
        usize::from(matches!(action, Action::Arrive(_) | Action::ArriveAndForget(_) | Action::ArriveAndEnd(_)));
    if !act(&mut next, node, action) {
        return Vec::new();
    }
    let first = state.world.messages.len() - arrived;
    let may_lose = if next.left.losses > 0 { first..next.world.messages.len() } else { 0..0 };
    let lost = may_lose.map(|place| {
        let mut next = next.clone();
        next.left.losses -= 1;
        next.world.messages.remove(place);
        (Step { node, action, lost: Some(place) }, next)
    });
    let mut all: Vec<(Step, State)> = lost.collect();
    all.push((Step { node, action, lost: None }, next));
    all.iter_mut().for_each(|(_, state)| bury(state));
    all
}

/// Takes dead messages away.
fn bury(state: &mut State) {
    let dead: Vec<bool> = state.world.messages.iter().map(|envelope| is_dead(envelope, state)).collect();
    let mut dead = dead.into_iter();
    state.world.messages.retain(|_| !dead.next().expect("one for each"));
}

impl Found {
    fn count(&self, state: &State) -> usize {
        let add = |count: &AtomicUsize, is_so: bool| count.fetch_add(usize::from(is_so), Ordering::Relaxed) + 1;
        let mut voters = state.world.nodes.values().filter_map(|node| node.raft.as_ref()).map(Raft::configuration);
        add(&self.second_terms, state.world.leaders.len() > 1);
        let is_proposal = |entry: &raft::Entry| matches!(entry.payload, raft::Payload::Change(_));
        add(&self.committed, state.world.committed.values().any(is_proposal));
        add(&self.taken_out, voters.any(|voters| !voters.is_joint() && voters.voters().count() == 2));
        add(&self.states, true)
    }
}

fn first(bounds: Bounds) -> State {
    let options = Options { heartbeat_ticks: 1, election_ticks: 1, planted: planted(), ..Options::default() };
    let mut world = World::new(&voters([1, 2, 3]), &[], options);
    if bounds.has_leader {
        world.raft(NodeId(1)).elapse();
        world.settle(|_| true);
    }
    State { world, left: bounds.left }
}

/// [`after`], whose panic becomes an error that names the steps to it.
fn looked_at(state: &State, way: &[Step], action: (NodeId, Action)) -> Result<Vec<(Step, State)>, String> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| after(state, action)));
    made.map_err(|_| format!("{way:?}\nthen {action:?}\nfrom\n{}", state.world.status()))
}

/// The state that the steps lead to.
fn at(bounds: Bounds, way: &[Step]) -> State {
    way.iter().fold(first(bounds), |state, step| {
        let all = after(&state, (step.node, step.action));
        all.into_iter().find(|(made, _)| made == step).expect("it was made before").1
    })
}

/// Whoever looks at the states of a search, by several threads.
struct Search<'s> {
    bounds: Bounds,
    states_max: usize,
    known: Known,
    found: &'s Found,
    /// Beginnings whose continuations are still to be looked at.
    beginnings: Mutex<Vec<Vec<Step>>>,
    is_over: AtomicBool,
}

impl Search<'_> {
    /// Tries all that comes after a beginning, depth first. False when there are too many states.
    fn go_on(&self, beginning: &[Step]) -> Result<bool, String> {
        let state = at(self.bounds, beginning);
        let mut way = beginning.to_vec();
        let open = self.next(&state, &way)?;
        let mut stack = vec![open];
        while let Some(open) = stack.last_mut() {
            let Some((step, state)) = open.pop() else {
                stack.pop();
                way.pop();
                continue;
            };
            if self.found.count(&state) >= self.states_max || self.is_over.load(Ordering::Relaxed) {
                return Ok(false);
            }
            way.push(step);
            stack.push(self.next(&state, &way)?);
        }
        Ok(true)
    }

    /// The states after this one that were not looked at yet.
    fn next(&self, state: &State, way: &[Step]) -> Result<Vec<(Step, State)>, String> {
        let mut all = Vec::new();
        for action in steps(state) {
            all.extend(looked_at(state, way, action)?.into_iter().filter(|(_, next)| self.known.insert(next)));
        }
        Ok(all)
    }

    fn work(&self) -> Result<bool, String> {
        loop {
            let beginning = self.beginnings.lock().expect("no panic within").pop();
            let Some(beginning) = beginning else { return Ok(true) };
            let outcome = self.go_on(&beginning);
            if outcome != Ok(true) {
                self.is_over.store(true, Ordering::Relaxed);
                return outcome;
            }
        }
    }
}

/// Tries all. True if no state was left out; the error is the way to a state that does not hold.
fn search(bounds: Bounds, states_max: usize, found: &Found) -> Result<bool, String> {
    const BEGINNINGS: usize = 200;
    const THREADS: usize = 2;
    let known = Known::new();
    let mut beginnings = std::collections::VecDeque::from([(first(bounds), Vec::new())]);
    while beginnings.len() < BEGINNINGS
        && let Some((state, way)) = beginnings.pop_front()
    {
        for action in steps(&state) {
            for (step, next) in looked_at(&state, &way, action)? {
                if known.insert(&next) {
                    found.count(&next);
                    beginnings.push_back((next, [&way[..], &[step]].concat()));
                }
            }
        }
    }
    let beginnings = Mutex::new(beginnings.into_iter().map(|(_, way)| way).collect());
    let search = Search { bounds, states_max, known, found, beginnings, is_over: AtomicBool::new(false) };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| search.work())).collect();
        threads.into_iter().map(|thread| thread.join().expect("it says what it found")).collect::<Vec<_>>()
    });
    outcomes.into_iter().try_fold(true, |all, outcome| Ok(all & outcome?))
}

/// A group that has a leader, one election more: two proposals, one change of the voters, one lost message and one end of a process.
const OF_A_LEADER: Bounds =
    Bounds { has_leader: true, left: Left { terms: 2, timeouts: 1, proposals: 2, losses: 1, ends: 1, changes: 1 } };
/// A group without a leader, in which two may stand at once.
const OF_NO_LEADER: Bounds =
    Bounds { has_leader: false, left: Left { terms: 2, timeouts: 2, proposals: 1, losses: 1, ends: 1, changes: 0 } };
/// The same, which a soak goes into as deep as memory lets it.
const DEEP: [Bounds; 3] = [
    Bounds { has_leader: false, left: Left { terms: 2, timeouts: 2, proposals: 2, losses: 1, ends: 1, changes: 1 } },
    Bounds { has_leader: true, left: Left { terms: 3, timeouts: 2, proposals: 2, losses: 1, ends: 1, changes: 1 } },
    Bounds { has_leader: true, left: Left { terms: 3, timeouts: 3, proposals: 1, losses: 2, ends: 2, changes: 0 } },
];
/// States of one search of a soak: some 4 GiB.
const DEEP_STATES_MAX: usize = 150_000_000;

fn search_all(bounds: Bounds) -> Found {
    let found = Found::default();
    let is_complete = search(bounds, usize::MAX, &found).unwrap_or_else(|way| panic!("{way}"));
    println!("{bounds:?}: {found:?}");
    assert!(
        is_complete && found.second_terms.load(Ordering::Relaxed) > 0 && found.committed.load(Ordering::Relaxed) > 0
    );
    found
}

#[test]
fn nothing_breaks_in_a_small_group_whatever_the_order() {
    let found = search_all(OF_A_LEADER);
    assert!(found.taken_out.load(Ordering::Relaxed) > 0);
    search_all(OF_NO_LEADER);
}

#[test]
fn nothing_breaks_deeper() {
    if std::env::var_os("HELENUS_SOAK").is_none() {
        println!("only in a soak");
        return;
    }
    for bounds in DEEP {
        let found = Found::default();
        let is_complete = search(bounds, DEEP_STATES_MAX, &found).unwrap_or_else(|way| panic!("{way}"));
        println!("frontier: {bounds:?}: {found:?}, {}", if is_complete { "complete" } else { "cut off there" });
    }
}
