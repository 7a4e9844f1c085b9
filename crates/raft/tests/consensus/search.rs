//! All that can happen in a group of three voters within bounds: every order of steps is tried, and each state looked at once.
//!
//! A step is a time-out, a proposal, a change of the voters, the arrival or the loss of the next message of a link, or the end of a
//! process: after its step but before it wrote, after it wrote but before its messages left, or at rest; it starts again at once. Messages of a
//! link arrive in their order, as a connection delivers them. What the world asserts (`world.rs`) and the core asserts of itself holds in every state.
//!
//! Two states that differ in who is who alone count as one, and a message that can change nothing any more is taken away.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use raft::{Envelope, Message, NodeId, Options, Raft, RoleName};

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

/// One step of one node, or of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    TimeOut(NodeId),
    Propose(NodeId),
    /// The leader takes the other node out of the voters, or itself.
    TakeOut(NodeId, NodeId),
    Arrive(NodeId, NodeId),
    Lose(NodeId, NodeId),
    /// The message arrives, what comes of it is written, and the process ends before it says so.
    ArriveAndEnd(NodeId, NodeId),
    End(NodeId),
}

/// What a search came by.
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

/// The states that were seen, by their fingerprints.
struct Known(Vec<Mutex<HashSet<u128>>>);

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
fn fingerprint(state: &State) -> u128 {
    let rafts: Vec<&Raft> = state.world.nodes.values().filter_map(|node| node.raft.as_ref()).collect();
    let mut order: Vec<(u64, NodeId)> = rafts.iter().map(|raft| (looks(raft, state), raft.id())).collect();
    order.sort_unstable();
    let mut least = u128::MAX;
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

/// What can be seen of a node without a name.
fn looks(raft: &Raft, state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
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

fn fingerprint_as(state: &State, rafts: &[&Raft], place: &dyn Fn(NodeId) -> u8) -> u128 {
    let mut by_place: Vec<&Raft> = rafts.to_vec();
    by_place.sort_by_key(|raft| place(raft.id()));
    let mut links: BTreeMap<(u8, u8), Vec<&Envelope>> = BTreeMap::new();
    for envelope in &state.world.messages {
        links.entry((place(envelope.from), place(envelope.to))).or_default().push(envelope);
    }
    let (mut low, mut high) = (DefaultHasher::new(), DefaultHasher::new());
    1.hash(&mut high);
    for hasher in [&mut low, &mut high] {
        state.left.hash(hasher);
        by_place.iter().for_each(|raft| raft.fingerprint(place, hasher));
        // Only the order within a link counts.
        links.values().flatten().for_each(|envelope| envelope.fingerprint(place, hasher));
        state.world.committed.values().for_each(|entry| entry.fingerprint(place, hasher));
        for (term, leader) in &state.world.leaders {
            (term, place(*leader)).hash(hasher);
        }
    }
    u128::from(high.finish()) << 64 | u128::from(low.finish())
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
            // Nobody begins to lead a term once its answers are under way.
            is_of_before || (envelope.term == to.term() && to.role() != RoleName::Leader)
        }
        Message::TransferNow => is_of_before,
        Message::Outdated => envelope.term <= to.term(),
    }
}

fn links(world: &World) -> BTreeSet<(NodeId, NodeId)> {
    world.messages.iter().map(|envelope| (envelope.from, envelope.to)).collect()
}

/// The steps that can be made.
fn steps(state: &State) -> Vec<Step> {
    let (world, left) = (&state.world, state.left);
    let mut steps = Vec::new();
    for (from, to) in links(world) {
        steps.push(Step::Arrive(from, to));
        if left.losses > 0 {
            steps.push(Step::Lose(from, to));
        }
        if left.ends > 0 {
            steps.push(Step::ArriveAndEnd(from, to));
        }
    }
    for (id, node) in &world.nodes {
        let raft = node.raft.as_ref().expect("processes start again at once");
        match raft.role() {
            RoleName::Leader => {
                if left.proposals > 0 {
                    steps.push(Step::Propose(*id));
                }
                if left.changes > 0 {
                    steps.extend(world.nodes.keys().map(|other| Step::TakeOut(*id, *other)));
                }
            }
            _ if left.timeouts > 0 && raft.term().0 < left.terms => steps.push(Step::TimeOut(*id)),
            _ => {}
        }
        if left.ends > 0 {
            steps.push(Step::End(*id));
        }
    }
    steps
}

/// Takes the first message of the link.
fn take(world: &mut World, from: NodeId, to: NodeId) -> usize {
    let place = world.messages.iter().position(|envelope| (envelope.from, envelope.to) == (from, to));
    place.expect("the step was possible")
}

/// Makes the step. False where it is refused, or goes beyond the bounds.
fn make(state: &mut State, step: Step) -> bool {
    let State { world, left } = state;
    match step {
        Step::TimeOut(id) => {
            left.timeouts -= 1;
            world.raft(id).tick();
            world.work(id);
        }
        Step::Propose(id) => {
            left.proposals -= 1;
            if world.raft(id).propose(&[b'a' + left.proposals]).is_err() {
                return false;
            }
            world.work(id);
        }
        Step::TakeOut(id, other) => {
            left.changes -= 1;
            let stay: BTreeSet<NodeId> = world.nodes.keys().copied().filter(|node| *node != other).collect();
            if world.raft(id).change_voters(&stay).is_err() {
                return false;
            }
            world.work(id);
        }
        Step::Arrive(from, to) => {
            let place = take(world, from, to);
            world.deliver(place);
            world.work(to);
        }
        Step::Lose(from, to) => {
            left.losses -= 1;
            let place = take(world, from, to);
            world.messages.remove(place);
        }
        Step::ArriveAndEnd(from, to) => {
            left.ends -= 1;
            let place = take(world, from, to);
            world.deliver(place);
            // Without anything to write it is the loss of the message and an end.
            let Some(ready) = world.take(to) else { return false };
            world.persist(to, &ready);
            world.stop(to);
            world.start(to);
            world.work(to);
        }
        Step::End(id) => {
            left.ends -= 1;
            world.stop(id);
            world.start(id);
            world.work(id);
        }
    }
    world.barriers.clear();
    world.troubles.clear();
    let highest = world.nodes.values().filter_map(|node| Some(node.raft.as_ref()?.term().0)).max();
    if highest > Some(left.terms) {
        return false;
    }
    let dead: Vec<bool> = state.world.messages.iter().map(|envelope| is_dead(envelope, state)).collect();
    let mut dead = dead.into_iter();
    state.world.messages.retain(|_| !dead.next().expect("one for each"));
    true
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

fn first(left: Left) -> State {
    let options = Options { heartbeat_ticks: 1, election_ticks: 1, ..Options::default() };
    State { world: World::new(&voters([1, 2, 3]), &[], options), left }
}

/// The state after a step, if there is one. A panic is told with the steps to it.
fn after(state: &State, way: &[Step], step: Step) -> Result<Option<State>, String> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut next = state.clone();
        make(&mut next, step).then_some(next)
    }));
    made.map_err(|_| format!("{way:?}\nthen {step:?}\nfrom\n{}", state.world.status()))
}

/// Whoever looks at the states of a search, by several threads.
struct Search<'s> {
    left: Left,
    states_max: usize,
    known: Known,
    found: &'s Found,
    /// Beginnings whose continuations nobody has looked at.
    beginnings: Mutex<Vec<Vec<Step>>>,
    is_over: AtomicBool,
}

impl Search<'_> {
    /// Tries all that comes after a beginning, depth first. False when there are too many states.
    fn go_on(&self, beginning: &[Step]) -> Result<bool, String> {
        let mut state = first(self.left);
        beginning.iter().for_each(|step| assert!(make(&mut state, *step), "it was made before"));
        let mut way = beginning.to_vec();
        let open = steps(&state);
        let mut stack = vec![(state, open)];
        while let Some((state, open)) = stack.last_mut() {
            let Some(step) = open.pop() else {
                stack.pop();
                way.pop();
                continue;
            };
            let Some(next) = after(state, &way, step)?.filter(|next| self.known.insert(next)) else { continue };
            if self.found.count(&next) >= self.states_max || self.is_over.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let open = steps(&next);
            way.push(step);
            stack.push((next, open));
        }
        Ok(true)
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
fn search(left: Left, states_max: usize, threads: usize, found: &Found) -> Result<bool, String> {
    const BEGINNINGS: usize = 200;
    let known = Known::new();
    let mut beginnings = std::collections::VecDeque::from([(first(left), Vec::new())]);
    while beginnings.len() < BEGINNINGS
        && let Some((state, way)) = beginnings.pop_front()
    {
        for step in steps(&state) {
            if let Some(next) = after(&state, &way, step)?.filter(|next| known.insert(next)) {
                found.count(&next);
                beginnings.push_back((next, [&way[..], &[step]].concat()));
            }
        }
    }
    let beginnings = Mutex::new(beginnings.into_iter().map(|(_, way)| way).collect());
    let search = Search { left, states_max, known, found, beginnings, is_over: AtomicBool::new(false) };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| search.work())).collect();
        threads.into_iter().map(|thread| thread.join().expect("it says what it found")).collect::<Vec<_>>()
    });
    outcomes.into_iter().try_fold(true, |all, outcome| Ok(all & outcome?))
}

#[test]
fn nothing_breaks_in_a_small_group_whatever_the_order() {
    let number = |name: &str, or: u8| std::env::var(name).map_or(or, |text| text.parse().expect("a number"));
    let left = Left {
        terms: 2,
        timeouts: number("T", 2),
        proposals: number("P", 2),
        losses: number("L", 1),
        ends: number("E", 0),
        changes: number("C", 0),
    };
    let began = std::time::Instant::now();
    let found = Found::default();
    let is_complete = search(left, 20_000_000, 2, &found).unwrap_or_else(|way| panic!("{way}"));
    println!("{found:?} complete: {is_complete} in {:?}", began.elapsed());
    assert!(is_complete);
}
