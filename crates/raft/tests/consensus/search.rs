//! All that can happen in a group of three voters within bounds: every order of steps is tried, and each state looked at once.
//!
//! A step is a time-out, a heartbeat, a proposal, a change of the voters, the arrival or the loss of the next message of a link, or the end of a
//! process: after its step but before it wrote, after it wrote but before its messages left, or at rest; it starts again at once. Messages of a link arrive in
//! their order, as a connection delivers them. What the world asserts (`world.rs`) and the core asserts of itself holds in every state.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use raft::{NodeId, Options, RoleName};

use crate::world::{World, voters};

/// How much of each may happen in one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Left {
    terms: u64,
    proposals: u8,
    timeouts: u8,
    heartbeats: u8,
    losses: u8,
    ends: u8,
    changes: u8,
}

/// One step of one node, or of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    TimeOut(NodeId),
    Heartbeat(NodeId),
    Propose(NodeId),
    Change(NodeId),
    Arrive(usize),
    Lose(usize),
    /// The message arrives, what comes of it is written, and the process ends before it says so.
    ArriveAndEnd(usize),
    End(NodeId),
}

/// What a search came by.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    states: usize,
    leaders: usize,
    second_terms: usize,
    committed: usize,
    settled: usize,
}

#[derive(Clone)]
struct State {
    world: World,
    left: Left,
}

fn hash(state: &State) -> u128 {
    let of = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, state.left).hash(&mut hasher);
        for (id, node) in &state.world.nodes {
            (id, &node.disk).hash(&mut hasher);
            if let Some(raft) = &node.raft {
                raft.hash_state(&mut hasher);
            }
        }
        // Only the order within a link counts.
        for (from, to) in links(&state.world) {
            for envelope in state.world.messages.iter().filter(|of| (of.from, of.to) == (from, to)) {
                envelope.hash(&mut hasher);
            }
        }
        (&state.world.committed, &state.world.leaders).hash(&mut hasher);
        hasher.finish()
    };
    u128::from(of(1)) << 64 | u128::from(of(2))
}

fn links(world: &World) -> BTreeSet<(NodeId, NodeId)> {
    world.messages.iter().map(|envelope| (envelope.from, envelope.to)).collect()
}

/// The steps that can be made.
fn steps(state: &State) -> Vec<Step> {
    let (world, left) = (&state.world, state.left);
    let mut steps = Vec::new();
    let mut seen = BTreeSet::new();
    for (place, envelope) in world.messages.iter().enumerate() {
        if !seen.insert((envelope.from, envelope.to)) {
            continue;
        }
        steps.push(Step::Arrive(place));
        if left.losses > 0 {
            steps.push(Step::Lose(place));
        }
        if left.ends > 0 {
            steps.push(Step::ArriveAndEnd(place));
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
                    steps.push(Step::Change(*id));
                }
                if left.heartbeats > 0 {
                    steps.push(Step::Heartbeat(*id));
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

/// The state after a step; none where it changes nothing, or goes beyond the bounds.
fn after(state: &State, step: Step) -> Option<State> {
    let mut next = state.clone();
    let State { world, left } = &mut next;
    match step {
        Step::TimeOut(id) => {
            left.timeouts -= 1;
            world.raft(id).tick();
            world.work(id);
        }
        Step::Heartbeat(id) => {
            left.heartbeats -= 1;
            world.raft(id).tick();
            world.work(id);
        }
        Step::Propose(id) => {
            left.proposals -= 1;
            let text = [b'a' + left.proposals];
            world.raft(id).propose(&text).ok()?;
            world.work(id);
        }
        Step::Change(id) => {
            left.changes -= 1;
            world.raft(id).change_voters(&BTreeSet::from([NodeId(1), NodeId(2)])).ok()?;
            world.work(id);
        }
        Step::Arrive(place) => {
            let to = world.messages[place].to;
            world.deliver(place);
            world.work(to);
        }
        Step::Lose(place) => {
            left.losses -= 1;
            world.messages.remove(place);
        }
        Step::ArriveAndEnd(place) => {
            left.ends -= 1;
            let to = world.messages[place].to;
            world.deliver(place);
            let ready = world.take(to)?;
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
    (highest <= Some(left.terms)).then_some(next)
}

/// Tries all, depth first. Gives the steps to a state that does not hold, with what does not.
fn search(left: Left, states_max: usize) -> Result<(Found, bool), String> {
    let options = Options { heartbeat_ticks: 1, election_ticks: 1, ..Options::default() };
    let first = State { world: World::new(&voters([1, 2, 3]), &[], options), left };
    let mut found = Found::default();
    let mut known = HashSet::from([hash(&first)]);
    let mut stack = vec![(first.clone(), steps(&first))];
    let mut way: Vec<Step> = Vec::new();
    while let Some((state, open)) = stack.last_mut() {
        let Some(step) = open.pop() else {
            stack.pop();
            way.pop();
            continue;
        };
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| after(state, step)));
        let Ok(next) = next else {
            way.push(step);
            return Err(format!("{way:?}\nfrom\n{}", state.world.status()));
        };
        let Some(next) = next.filter(|next| known.insert(hash(next))) else { continue };
        found.states += 1;
        let rafts = || next.world.nodes.values().filter_map(|node| node.raft.as_ref());
        found.leaders += usize::from(rafts().any(|raft| raft.role() == RoleName::Leader));
        found.second_terms += usize::from(next.world.leaders.len() > 1);
        found.committed += usize::from(next.world.committed.len() > 2);
        found.settled += usize::from(rafts().any(|raft| raft.configuration().voters().count() == 2));
        if found.states >= states_max {
            return Ok((found, false));
        }
        let open = steps(&next);
        way.push(step);
        stack.push((next, open));
    }
    Ok((found, true))
}

#[test]
fn nothing_breaks_in_a_small_group_whatever_the_order() {
    let left = Left { terms: 2, proposals: 2, timeouts: 2, heartbeats: 0, losses: 1, ends: 0, changes: 0 };
    let began = std::time::Instant::now();
    let (found, is_complete) = search(left, 3_000_000).unwrap_or_else(|way| panic!("{way}"));
    println!("{found:?} complete: {is_complete} in {:?}", began.elapsed());
    assert!(is_complete);
}
