//! One range, one write and all later reads, in all orders.
//!
//! A state is the phase that the log has, and for each node which placement it has applied and whether it has the write, and at which plan it was delivered. A
//! step is one of: the leader commits the next phase, where its condition holds, or an abort; a node applies the next placement; the write reaches a node,
//! planned at the placement that the node has applied. Coordinators lag as far as they like: a message of each plan that was ever committed may be under
//! way, and an acknowledgement is counted at any of them. Messages are lost where they never arrive.
//!
//! In each state in which the write is acknowledged, at whichever level and plan, no later read at a level that overlaps it by a quorum may miss it. In each
//! in which a read of a quorum or more has returned it, no later one may.
//!
//! Left out by argument:
//! - A second write: the nodes that have a write or a newer one only grow in number, whatever else is written.
//! - The steps of a copy. A receiver that copies from a source which lacks the write copies as early as the source serves, which gives it nothing and costs nothing; from
//!   one that has it, only if it cannot do without. So a copy happens at once, when ReadNew is committed, from all sources that ever lacked the write while
//!   they served, and from others only if those are too few.
//! - The steps of a reader. Each node that lacks the write after the acknowledgement may answer a read at each placement that it passes; its answers are
//!   collected by plan. All orders of later steps collect the most where every node applies everything, since nothing later gives it the write but a copy.
//! - Nodes that are down: they do nothing, which is a part of every order. `ends.rs` shows that the others go on.
//!
//! These arguments use that more steps never take the write from a node, and hold for the broken rules, too.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use topology::operations::Phase;

use crate::rules::{ABORTED, ALL_BROKEN, BOTH, Broken, DONE, LevelMask, PLANNED, PLANS, READ_NEW, Rules, is_not_after};
use crate::sets::{Mask, NODES_MAX, Part, Sets, indices, of_one_datacenter, of_two_datacenters};

/// The phases of the log. Of PLANS only Copy is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Planned,
    WriteBoth,
    Copy,
    ReadNew,
    Done,
    Aborted,
}

impl Log {
    const ALL: [Log; 6] = [Log::Planned, Log::WriteBoth, Log::Copy, Log::ReadNew, Log::Done, Log::Aborted];

    fn plan(self) -> usize {
        match self {
            Log::Planned => PLANNED,
            Log::WriteBoth | Log::Copy => BOTH,
            Log::ReadNew => READ_NEW,
            Log::Done => DONE,
            Log::Aborted => ABORTED,
        }
    }
}

const THREADS: usize = 4;

/// No plan: the write has not been delivered.
const NEVER: u8 = 7;

/// One node: 3 bits of the plan that it has applied, 3 of the plan at which it got the write, 1 if it has the write, 1 if it served copies without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member(u8);

impl Member {
    const START: Member = Member(NEVER << 3);

    fn applied(self) -> usize {
        usize::from(self.0 & 7)
    }

    fn delivered(self) -> Option<usize> {
        Some(self.0 >> 3 & 7).filter(|plan| *plan != NEVER).map(usize::from)
    }

    fn has(self) -> bool {
        self.0 & 64 != 0
    }

    fn was_clean(self) -> bool {
        self.0 & 128 != 0
    }

    fn with_applied(self, plan: usize) -> Member {
        Member(self.0 & !7 | plan as u8)
    }

    fn with_write(self, plan: usize) -> Member {
        Member(self.0 & !(7 << 3) | (plan as u8) << 3 | 64)
    }

    fn with_copy(self) -> Member {
        Member(self.0 | 64)
    }

    fn with_clean(self) -> Member {
        Member(self.0 | 128)
    }

    /// True if it had the write while it had applied this plan, and none later.
    fn had_at(self, plan: usize) -> bool {
        match self.delivered() {
            Some(delivered) => is_not_after(delivered, plan) && is_not_after(plan, self.applied()),
            None => self.has() && self.applied() == plan,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    log: Log,
    members: [Member; NODES_MAX],
}

impl State {
    fn pack(&self) -> u64 {
        let members = self.members.iter().fold(0, |packed, member| packed << 8 | u64::from(member.0));
        members << 8 | self.log as u64
    }

    fn unpack(packed: u64) -> State {
        let mut members = [Member::START; NODES_MAX];
        for (place, member) in members.iter_mut().rev().enumerate() {
            *member = Member((packed >> (8 * (place + 1))) as u8);
        }
        State { log: Log::ALL[usize::from(packed as u8)], members }
    }

    fn mask(&self, nodes: usize, of: impl Fn(Member) -> bool) -> Mask {
        self.members[..nodes].iter().enumerate().fold(0, |mask, (node, member)| mask | Mask::from(of(*member)) << node)
    }

    /// The same state with the nodes that are alike in one order.
    fn sorted(mut self, rules: &Rules) -> State {
        for group in &rules.alike {
            let mut values: Vec<Vec<Member>> =
                group.iter().map(|nodes| nodes.iter().map(|&node| self.members[node]).collect()).collect();
            values.sort_unstable();
            for (nodes, values) in group.iter().zip(values) {
                nodes.iter().zip(values).for_each(|(&node, member)| self.members[node] = member);
            }
        }
        self
    }
}

/// A hash of 64 bits by a multiplication: states are numbers that differ.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, _: &[u8]) {
        unreachable!("states are numbers");
    }

    fn write_u64(&mut self, state: u64) {
        let mixed = (state ^ state >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ mixed >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// A lost write.
#[derive(Debug, Clone)]
pub struct Violation {
    pub sets: String,
    pub history: Vec<String>,
    /// It was returned by a read, and missed by a later one; else it was acknowledged.
    pub goes_back: bool,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.sets, self.history.join("; "))
    }
}

/// How far a search came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    pub states: usize,
    /// States in which some level acknowledges the write, or some read returns it.
    pub judged: usize,
}

struct Search<'r> {
    rules: &'r Rules,
    known: HashSet<u64, BuildHasherDefault<Quick>>,
    /// In the order in which they were found, each with the place of the one before.
    states: Vec<(u64, u32)>,
    found: Found,
}

/// Tries everything. An error is the shortest history to a lost write.
pub fn search(rules: &Rules) -> Result<Found, Box<Violation>> {
    let start = State { log: Log::Planned, members: [Member::START; NODES_MAX] };
    let mut search = Search { rules, known: HashSet::default(), states: Vec::new(), found: Found::default() };
    search.reach(start, 0);
    let mut at = 0;
    while at < search.states.len() {
        let state = State::unpack(search.states[at].0);
        search.judge(at, &state)?;
        for (_, next) in steps(rules, &state) {
            search.reach(next, at);
        }
        at += 1;
    }
    search.found.states = search.states.len();
    Ok(search.found)
}

impl Search<'_> {
    fn reach(&mut self, state: State, before: usize) {
        let packed = state.sorted(self.rules).pack();
        if self.known.insert(packed) {
            self.states.push((packed, u32::try_from(before).expect("fewer than 2^32 states")));
        }
    }

    /// Looks whether a read may miss the write, if it is acknowledged or was returned.
    fn judge(&mut self, at: usize, state: &State) -> Result<(), Box<Violation>> {
        let rules = self.rules;
        let answers = later_answers(rules, *state);
        let missing = (0..PLANS.len()).fold(0, |levels, plan| levels | missing_at(rules, &answers, plan));
        let mut is_judged = false;
        for plan in (0..PLANS.len()).filter(|&plan| is_not_after(plan, state.log.plan())) {
            let known = [acknowledged(rules, state, plan), returned(rules, state, plan)];
            for (levels, goes_back) in known.into_iter().zip([false, true]) {
                is_judged |= levels != 0;
                let missing = if goes_back { missing & rules.of_a_quorum } else { missing };
                for level in bits(levels) {
                    if let Some(read) = bits(rules.overlapping[level] & missing).next() {
                        let seen = Seen { level, plan, goes_back };
                        return Err(Box::new(self.violation(at, seen, read, &answers)));
                    }
                }
            }
        }
        self.found.judged += usize::from(is_judged);
        Ok(())
    }

    fn violation(&self, at: usize, seen: Seen, read: usize, missed: &Answers) -> Violation {
        let mut way = vec![State::unpack(self.states[at].0)];
        let mut place = at;
        while place > 0 {
            place = self.states[place].1 as usize;
            way.push(State::unpack(self.states[place].0));
        }
        way.reverse();
        // States are sorted: the names of nodes are those of the unsorted way.
        let mut state = way[0];
        let mut history = Vec::new();
        for wanted in &way[1..] {
            let is_wanted = |(_, next): &(Step, State)| next.sorted(self.rules) == *wanted;
            let (step, next) = steps(self.rules, &state).into_iter().find(is_wanted).expect("a step leads there");
            history.push(step.to_string());
            state = next;
        }
        let what = if seen.goes_back { "a read returns it" } else { "acknowledged" };
        let named = |level: usize, plan: usize| {
            let counted = &self.rules.levels[level];
            format!("at {} of dc{}, plan {}", counted.level, counted.coordinator, PLANS[plan])
        };
        history.push(format!("{what} {}", named(seen.level, seen.plan)));
        let answers = (0..PLANS.len()).filter(|plan| missed[*plan] != 0);
        let answers = answers.map(|plan| format!("{}: {}", PLANS[plan], names(missed[plan])));
        history.push(format!("without it later, nodes in some order: {}", answers.collect::<Vec<_>>().join(", ")));
        let is_missing = |plan: &usize| missing_at(self.rules, missed, *plan) >> read & 1 == 1;
        let plan = (0..PLANS.len()).find(is_missing).expect("it is missed at some plan");
        history.push(format!("a read misses it {}", named(read, plan)));
        Violation { sets: self.rules.sets.name(), history, goes_back: seen.goes_back }
    }
}

/// The write is acknowledged, or was returned by a read, at a level and plan.
#[derive(Debug, Clone, Copy)]
struct Seen {
    level: usize,
    plan: usize,
    goes_back: bool,
}

/// The levels at which the write is acknowledged to a coordinator of this plan.
fn acknowledged(rules: &Rules, state: &State, plan: usize) -> LevelMask {
    let levels = [false, true].map(|is_serial| {
        let counts = |delivered| rules.is_acknowledged(is_serial, delivered, plan);
        let answers = state.mask(rules.sets.nodes, |member| member.delivered().is_some_and(counts));
        rules.acknowledged[plan][usize::from(answers)] & rules.of_writes[usize::from(is_serial)]
    });
    levels[0] | levels[1]
}

/// The levels of a quorum at which a read of this plan may have returned the write, after it had repaired what it read.
fn returned(rules: &Rules, state: &State, plan: usize) -> LevelMask {
    let holding = state.mask(rules.sets.nodes, |member| member.had_at(plan));
    rules.answered[plan][usize::from(holding)] & rules.of_a_quorum
}

/// The levels at which a read of this plan gets enough answers without the write.
fn missing_at(rules: &Rules, missed: &Answers, plan: usize) -> LevelMask {
    let given = (0..PLANS.len()).filter(|&given| missed[given] != 0 && rules.is_answered(given, plan));
    let answers = given.fold(0, |answers, given| answers | missed[given]);
    if answers == 0 { 0 } else { rules.answered[plan][usize::from(answers)] }
}

fn bits(mask: LevelMask) -> impl Iterator<Item = usize> {
    (0..LevelMask::BITS as usize).filter(move |place| mask >> place & 1 == 1)
}

fn name(node: usize) -> char {
    char::from(b'A' + node as u8)
}

fn names(mask: Mask) -> String {
    indices(mask).iter().map(|node| name(usize::from(node.0))).collect()
}

/// By plan: the nodes that may answer a read at it without the write.
type Answers = [Mask; PLANS.len()];

/// A step.
#[derive(Debug, Clone, Copy)]
enum Step {
    Commit(Log),
    Apply(usize, usize),
    Deliver(usize, usize),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Step::Commit(log) => write!(f, "the log has {log:?}"),
            Step::Apply(node, plan) => write!(f, "{} applies {}", name(node), PLANS[plan]),
            Step::Deliver(node, plan) => write!(f, "the write reaches {}, plan {}", name(node), PLANS[plan]),
        }
    }
}

/// All that may happen next.
fn steps(rules: &Rules, state: &State) -> Vec<(Step, State)> {
    let mut next: Vec<(Step, State)> = [forward(rules, state), abort(rules, state)]
        .into_iter()
        .flatten()
        .map(|next| (Step::Commit(next.log), next))
        .collect();
    for node in 0..rules.sets.nodes {
        let member = state.members[node];
        if let Some(plan) = next_plan(member.applied(), state.log) {
            let applied = with_clean(rules, with_member(*state, node, member.with_applied(plan)));
            next.push((Step::Apply(node, plan), applied));
        }
        if member.delivered().is_none() {
            let plans = (0..PLANS.len()).filter(|&plan| rules.serves_plan(member.applied(), plan));
            for plan in plans.filter(|&plan| rules.write_sets[plan] >> node & 1 == 1) {
                let written = with_member(*state, node, member.with_write(plan));
                next.push((Step::Deliver(node, plan), written));
            }
        }
    }
    next
}

fn with_member(mut state: State, node: usize, member: Member) -> State {
    state.members[node] = member;
    state
}

/// The plan that a replica applies after the one that it has.
fn next_plan(applied: usize, log: Log) -> Option<usize> {
    match applied {
        _ if applied == log.plan() => None,
        PLANNED => Some(BOTH),
        BOTH | READ_NEW if log == Log::Aborted => Some(ABORTED),
        BOTH => Some(READ_NEW),
        READ_NEW => Some(DONE),
        _ => None,
    }
}

/// Notes who serves copies without the write.
fn with_clean(rules: &Rules, mut state: State) -> State {
    if state.log == Log::Copy {
        for member in &mut state.members[..rules.sets.nodes] {
            if rules.serves[member.applied()] && !member.has() {
                *member = member.with_clean();
            }
        }
    }
    state
}

/// The leader commits the next phase, if its condition holds.
fn forward(rules: &Rules, state: &State) -> Option<State> {
    let has_passed = |plan| {
        if plan == READ_NEW && rules.broken == Some(Broken::ReadNewNotAwaited) {
            return true;
        }
        let applied = state.mask(rules.sets.nodes, |member| is_not_after(plan, member.applied()));
        rules.barrier[usize::from(applied)]
    };
    let to = |log: Log| State { log, ..*state };
    match state.log {
        Log::Planned => Some(to(Log::WriteBoth)),
        Log::WriteBoth => has_passed(BOTH).then(|| with_clean(rules, to(Log::Copy))),
        Log::Copy => copied(rules, state).map(|state| State { log: Log::ReadNew, ..state }),
        Log::ReadNew => has_passed(READ_NEW).then(|| to(Log::Done)),
        Log::Done | Log::Aborted => None,
    }
}

/// The leader aborts the operation, if it may. An operation that is aborted before WriteBoth changes nothing.
fn abort(rules: &Rules, state: &State) -> Option<State> {
    let may_abort = match state.log {
        Log::WriteBoth => Phase::WriteBoth.may_abort(),
        Log::Copy => Phase::Copy.may_abort(),
        Log::ReadNew => Phase::ReadNew.may_abort() || rules.broken == Some(Broken::AbortedAfterFlip),
        Log::Done => Phase::Done.may_abort(),
        Log::Planned | Log::Aborted => false,
    };
    may_abort.then_some(State { log: Log::Aborted, ..*state })
}

/// The state when all receivers have copied, without the write where that can be; none if some cannot copy.
fn copied(rules: &Rules, state: &State) -> Option<State> {
    if rules.broken == Some(Broken::ReadsFlipBeforeCopy) {
        return Some(*state);
    }
    let nodes = rules.sets.nodes;
    let clean = state.mask(nodes, Member::was_clean);
    let serving = state.mask(nodes, |member| rules.serves[member.applied()]);
    let mut next = *state;
    for receiver in (0..nodes).filter(|receiver| rules.receivers >> receiver & 1 == 1) {
        let is_enough = |from: Mask| rules.copied[receiver][usize::from(from)];
        if !is_enough(clean) {
            if !is_enough(clean | serving) {
                return None;
            }
            next.members[receiver] = next.members[receiver].with_copy();
        }
    }
    Some(next)
}

/// The nodes that may answer without the write, from this state on.
fn later_answers(rules: &Rules, mut state: State) -> Answers {
    let nodes = rules.sets.nodes;
    let mut missed = [0; PLANS.len()];
    if state.log == Log::Planned || state.log == Log::Aborted || abort(rules, &state).is_some() {
        missed[ABORTED] = state.mask(nodes, |member| !member.has());
    }
    loop {
        for node in 0..nodes {
            loop {
                let member = state.members[node];
                if !member.has() {
                    (0..PLANS.len())
                        .filter(|&plan| rules.serves_plan(member.applied(), plan))
                        .for_each(|plan| missed[plan] |= 1 << node);
                }
                let Some(plan) = next_plan(member.applied(), state.log) else { break };
                state = with_clean(rules, with_member(state, node, member.with_applied(plan)));
            }
        }
        match forward(rules, &state) {
            Some(next) => state = next,
            None => return missed,
        }
    }
}

fn part(old: usize, new: usize, stay: usize) -> Part {
    Part { old, new, stay }
}

/// Searches with each of the sets, several at once.
fn search_all(all: &[Sets]) {
    let (next, sum) = (AtomicUsize::new(0), Mutex::new(Found::default()));
    let work = || {
        while let Some(sets) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = search(&Rules::new(sets, None)).unwrap_or_else(|violation| panic!("{violation}"));
            assert!(found.judged > 0, "{}: no level was ever met", sets.name());
            let mut sum = sum.lock().expect("no panic within");
            *sum = Found { states: sum.states + found.states, judged: sum.judged + found.judged };
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let Found { states, judged } = sum.into_inner().expect("no panic within");
    println!("{} pairs of sets, {states} states, {judged} with a write that must be seen", all.len());
}

#[test]
fn no_write_is_lost_whatever_the_order() {
    let exchanged = Sets::new(&[part(3, 3, 2)], false);
    let lowered_in_one = Sets::new(&[part(3, 1, 1), part(1, 1, 1)], false);
    let small = [of_one_datacenter(3, 3), of_two_datacenters(3)].concat();
    let small = small.into_iter().filter(|sets| !sets.is_short());
    search_all(&small.chain([exchanged, lowered_in_one]).collect::<Vec<_>>());
}

#[test]
fn no_write_is_lost_in_larger_sets() {
    if std::env::var_os("HELENUS_SOAK").is_none() {
        println!("only in a soak");
        return;
    }
    search_all(&of_one_datacenter(5, 5));
    search_all(&of_two_datacenters(5));
}

/// The sets by which each broken rule is found.
fn sets_for(broken: Broken) -> Sets {
    let parts = match broken {
        Broken::OneSourceForTheDead | Broken::SourceServesOldEpoch => vec![part(3, 3, 2)],
        Broken::LoweredCopiesNothing => vec![part(3, 1, 0)],
        Broken::ReadCarriedOver => vec![part(3, 1, 1)],
        Broken::NoNearSources => vec![part(3, 3, 2), part(1, 1, 1)],
        // The whole is as large as before.
        Broken::DatacenterNotLowered => vec![part(3, 1, 1), part(0, 2, 0)],
        _ => vec![part(1, 1, 0)],
    };
    Sets::new(&parts, false)
}

#[test]
fn each_broken_rule_loses_a_write() {
    for broken in ALL_BROKEN {
        let sets = sets_for(broken);
        let violation = search(&Rules::new(&sets, Some(broken))).err();
        let violation = violation.unwrap_or_else(|| panic!("{broken:?} loses nothing in {}", sets.name()));
        println!("{broken:?}: {violation}");
        // An acknowledgement counts in both halves, whatever reads do.
        let is_only_seen_by_reads = matches!(broken, Broken::ReadsOldAlone | Broken::AbortedAfterFlip);
        assert_eq!(violation.goes_back, is_only_seen_by_reads, "{broken:?}: {violation}");
    }
}
