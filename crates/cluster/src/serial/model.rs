//! A search through the courses of attempts at one partition: three acceptors and three coordinators, whose messages are lost, come late and in any order, and
//! who may stop anywhere.
//!
//! All of it beside a low bound that is agreed on now and then, which acceptors and coordinators hear of at different times, the fence between them.
//!
//! Registers, findings and doubts are the product's ([`State`], [`judge`], [`Doubts`]). What joins them follows [`super::Agreement`]. Each write's condition is
//! that the partition's head is the one that the statement saw first: so what is chosen is a chain.

use std::collections::{BTreeMap, BTreeSet};

use cql_types::timeuuid;
use planted::Planted;
use topology::NodeIndex;

use super::findings::{Doubts, Fate, Finding, Next, has_left, judge, settled_up_to};
use crate::paxos::{Ballot, Bound, Commit, Promise, Proposal, Purpose, State};

const ACCEPTORS: usize = 3;
const COORDINATORS: usize = 3;
const MAJORITY: usize = 2;
/// Runs of one search.
const RUNS: u64 = 32_000;
/// Operations of one run, and the most steps.
const OPERATIONS: usize = 7;
const STEPS_MAX: usize = 600;
/// Tries of one operation.
const TRIES_MAX: u32 = 6;

/// The partition's data: the originals of the proposals that are applied. The latest one is its head.
type Data = BTreeSet<u128>;

fn number(ballot: Ballot) -> u128 {
    u128::from(timeuuid::steps(&ballot.0)) << 8 | u128::from(ballot.0[15])
}

/// An operation of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Becomes the head if the head is the one that it saw first.
    Write,
    /// Its condition never holds.
    Fails,
    Read,
    /// Finishes what its own acceptor has up to the low bound.
    Finish,
}

#[derive(Debug, Clone)]
enum Request {
    Prepare {
        ballot: Ballot,
        purpose: Purpose,
        wants_committed: bool,
    },
    /// The page of a prepare, which is read after its promise was written.
    Page {
        finding: Finding,
        promise: Promise,
    },
    Accept(Proposal),
    Commit(Proposal),
}

#[derive(Debug, Clone)]
enum Answer {
    Promised {
        finding: Finding,
        promise: Promise,
        data: Data,
    },
    Accepted,
    Outrun(Ballot),
    Committed,
    /// It has applied a change of the low bound that the plan does not know.
    Stale,
}

#[derive(Debug, Clone)]
enum Packet {
    /// To an acceptor, from a coordinator's question of that number.
    Ask {
        acceptor: usize,
        coordinator: usize,
        question: u64,
        /// Up to which change of the low bound its plan rests on all that were closed.
        planned: usize,
        request: Request,
    },
    Tell {
        acceptor: usize,
        coordinator: usize,
        question: u64,
        answer: Answer,
    },
}

#[derive(Debug, Default)]
struct Acceptor {
    state: State,
    data: Data,
    /// How many changes of the low bound it has applied; its coordinator plans by them.
    applied: usize,
    /// It has finished what it has up to the low bound that is refused.
    has_finished: bool,
}

/// The present question of a coordinator.
#[derive(Debug, Clone)]
enum Asked {
    Prepare {
        ballot: Ballot,
    },
    /// The own proposal, an empty one, or that of another.
    Accept {
        proposal: Proposal,
        is_empty: bool,
        is_found: bool,
    },
    /// The commit of another's, or of the own one.
    Commit {
        is_own: bool,
        needs: usize,
    },
    /// The commit that some lack; those that have it; what is read then.
    Lacking {
        have: usize,
        ready: Ready,
    },
}

#[derive(Debug, Clone)]
struct Ready {
    ballot: Ballot,
    is_pending: bool,
    may_propose: bool,
    head: Option<u128>,
    /// Else it is prepared again.
    holds_all: bool,
}

/// An attempt under way.
#[derive(Debug)]
struct Attempt {
    operation: Operation,
    purpose: Purpose,
    /// How many proposals were chosen when it began.
    began: usize,
    expected: Option<Option<u128>>,
    originals: Vec<u128>,
    doubts: Doubts,
    chosen: Option<Proposal>,
    latest: Option<Ballot>,
    settled: Option<Ballot>,
    wants_committed: bool,
    tries: u32,
    question: u64,
    asked: Asked,
    done: Vec<(usize, Answer)>,
    outrun: usize,
    stale: usize,
    /// The last change of the low bound that its coordinator knows as closed.
    planned: usize,
    /// How many changes of the low bound its node had applied when it began.
    looked_at: usize,
    /// The head that it saw, its answer once an empty proposal is chosen.
    head: Option<u128>,
}

/// The end of a step of an attempt.
enum Step {
    Goes,
    /// Its outcome is not known.
    Unknown,
    Applied,
    /// It is to be planned again: nothing of it is written, or will be.
    Outdated,
    /// Nothing is left that it was to finish.
    Finished,
    /// A read, or a condition that failed: the head, and the ballot of the answer.
    Shown(Option<u128>, Ballot),
}

struct Model {
    random: u64,
    now: u64,
    /// Steps of a microsecond: where they are several, so are ballots of one microsecond.
    pace: u64,
    /// Of so many steps, one is of the low bound.
    bound_pace: u64,
    acceptors: [Acceptor; ACCEPTORS],
    attempts: [Option<Attempt>; COORDINATORS],
    skews: [u64; COORDINATORS],
    /// Of 256 messages, how many are lost, by coordinator and acceptor.
    losses: [[u64; ACCEPTORS]; COORDINATORS],
    packets: Vec<Packet>,
    /// The low bound after each change.
    bounds: Vec<Bound>,
    questions: u64,
    operations: usize,
    /// The acceptors of each proposal, by its ballot and its original.
    accepted: BTreeMap<(u128, u128), BTreeSet<usize>>,
    /// The head that each proposal's maker saw.
    bases: BTreeMap<u128, Option<u128>>,
    /// The chosen proposals that are not empty, in the order in which they were.
    chosen: Vec<u128>,
    /// Proposals of which a client knows that they are not.
    refused: BTreeSet<u128>,
    /// The latest ballot of an answer that showed the head.
    shown: u128,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    applied: u64,
    shown: u64,
    unknown: u64,
    finished: u64,
    sent: u64,
    emptied: u64,
    doubted: u64,
    stale: u64,
    closed: u64,
    older: u64,
}

impl Model {
    fn new(seed: u64) -> Model {
        let mut model = Model {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now: 1_000,
            pace: 1,
            bound_pace: 1,
            acceptors: Default::default(),
            attempts: Default::default(),
            skews: [0; COORDINATORS],
            losses: [[0; ACCEPTORS]; COORDINATORS],
            packets: Vec::new(),
            bounds: Vec::new(),
            questions: 0,
            operations: 0,
            accepted: BTreeMap::new(),
            bases: BTreeMap::new(),
            chosen: Vec::new(),
            refused: BTreeSet::new(),
            shown: 0,
            counts: Counts::default(),
        };
        model.pace = [1, 6][model.below(2) as usize];
        model.bound_pace = [2, 4, 1_000][model.below(3) as usize];
        for coordinator in 0..COORDINATORS {
            model.skews[coordinator] = model.below(3) * model.below(if model.pace == 1 { 40 } else { 9 });
        }
        model.change_losses();
        model
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }

    fn change_losses(&mut self) {
        for coordinator in 0..COORDINATORS {
            for acceptor in 0..ACCEPTORS {
                self.losses[coordinator][acceptor] = [0, 0, 0, 60, 240][self.below(5) as usize];
            }
        }
    }

    /// Runs until all operations have ended.
    fn run(&mut self) {
        for _ in 0..STEPS_MAX {
            self.now += u64::from(self.below(self.pace) == 0);
            if self.below(40) == 0 {
                self.change_losses();
            }
            if self.below(self.bound_pace) == 0 {
                self.change_bound();
            }
            let idle = (0..COORDINATORS).find(|coordinator| self.attempts[*coordinator].is_none());
            match idle {
                Some(coordinator) if self.operations < OPERATIONS && self.below(6) == 0 => self.begin(coordinator),
                _ if !self.packets.is_empty() => self.deliver(),
                _ => match (0..COORDINATORS).find(|coordinator| self.attempts[*coordinator].is_some()) {
                    // Nothing will come any more: its time is over.
                    Some(silent) => self.stop(silent),
                    None if self.operations == OPERATIONS => return,
                    None => {}
                },
            }
            if self.below(100) == 0 {
                let coordinator = self.below(COORDINATORS as u64) as usize;
                self.stop(coordinator);
            }
        }
    }

    /// The coordinator stops, or its time is over: what it has proposed may be chosen.
    fn stop(&mut self, coordinator: usize) {
        self.counts.unknown += u64::from(self.attempts[coordinator].take().is_some());
    }

    /// A node applies the next change of the low bound, or the group agrees on one.
    fn change_bound(&mut self) {
        let node = self.below(ACCEPTORS as u64) as usize;
        if self.acceptors[node].applied < self.bounds.len() && self.below(4) > 0 {
            return self.apply(node, self.acceptors[node].applied + 1);
        }
        let last = self.bounds.last().copied().unwrap_or_default();
        if last.refused == last.closed {
            let refused = self.now as i64 + 10 - self.below(30) as i64;
            if refused > last.refused {
                self.acceptors.iter_mut().for_each(|acceptor| acceptor.has_finished = false);
                self.bounds.push(Bound { refused, ..last });
            }
        } else if self.acceptors.iter().filter(|acceptor| acceptor.has_finished).count() >= MAJORITY {
            self.counts.closed += 1;
            self.bounds.push(Bound { closed: last.refused, ..last });
        } else {
            self.begin_finish(node);
        }
    }

    /// The last of so many changes of the low bound that has closed it.
    fn closed_at(&self, count: usize) -> usize {
        self.bounds[..count].iter().rposition(|bound| bound.refused == bound.closed).map_or(0, |index| index + 1)
    }

    /// A node applies changes of the low bound, up to so many.
    fn apply(&mut self, node: usize, count: usize) {
        let acceptor = &mut self.acceptors[node];
        while acceptor.applied < count {
            let bound = self.bounds[acceptor.applied];
            acceptor.applied += 1;
            acceptor.state =
                State { low_bound: bound.refused, ..std::mem::take(&mut acceptor.state).without(bound.closed) };
        }
    }

    /// A node that refuses what is up to the low bound begins to finish what it has.
    fn begin_finish(&mut self, node: usize) {
        let acceptor = &mut self.acceptors[node];
        if acceptor.applied < self.bounds.len() || acceptor.has_finished || self.attempts[node].is_some() {
            return;
        }
        let refused = acceptor.state.low_bound;
        let committed = acceptor.state.committed.map(|commit| commit.ballot.micros());
        let has_any = acceptor.state.accepted.is_some() || acceptor.state.promised.is_some() || committed.is_some();
        match has_any && committed <= Some(refused) {
            true => self.begin_as(node, Operation::Finish),
            false => acceptor.has_finished = true,
        }
    }

    fn begin(&mut self, coordinator: usize) {
        self.operations += 1;
        let operation = match self.below(6) {
            0..3 => Operation::Write,
            3 => Operation::Fails,
            _ => Operation::Read,
        };
        self.begin_as(coordinator, operation);
    }

    fn begin_as(&mut self, coordinator: usize, operation: Operation) {
        let purpose = match operation {
            Operation::Read => Purpose::Read,
            Operation::Finish => Purpose::Look,
            Operation::Write | Operation::Fails => Purpose::Write,
        };
        let mut attempt = Attempt {
            operation,
            purpose,
            began: self.chosen.len(),
            expected: None,
            originals: Vec::new(),
            doubts: Doubts::default(),
            chosen: None,
            latest: None,
            settled: None,
            wants_committed: false,
            tries: 0,
            question: 0,
            asked: Asked::Commit { is_own: false, needs: 0 },
            done: Vec::new(),
            outrun: 0,
            stale: 0,
            planned: self.closed_at(self.acceptors[coordinator].applied),
            looked_at: self.acceptors[coordinator].applied,
            head: None,
        };
        self.prepare(coordinator, &mut attempt);
        self.attempts[coordinator] = Some(attempt);
    }

    /// Asks all acceptors that are not left out.
    fn ask(&mut self, coordinator: usize, attempt: &mut Attempt, to: &[usize], asked: Asked, request: &Request) {
        self.questions += 1;
        attempt.question = self.questions;
        attempt.done.clear();
        (attempt.outrun, attempt.stale) = (0, 0);
        attempt.asked = asked;
        for &acceptor in to {
            let (question, planned, request) = (self.questions, attempt.planned, request.clone());
            self.send(Packet::Ask { acceptor, coordinator, question, planned, request });
        }
    }

    fn send(&mut self, packet: Packet) {
        let (Packet::Ask { acceptor, coordinator, .. } | Packet::Tell { acceptor, coordinator, .. }) = packet;
        if self.below(256) >= self.losses[coordinator][acceptor] {
            self.packets.push(packet);
        }
    }

    fn prepare(&mut self, coordinator: usize, attempt: &mut Attempt) {
        let after = attempt.latest.map_or(0, |latest| latest.micros().unsigned_abs() + 1);
        let micros = after.max(self.now + self.skews[coordinator]);
        let ballot =
            Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + micros * 10, 0, [0, 0, 0, 0, 0, coordinator as u8 + 1]));
        attempt.latest = Some(ballot);
        attempt.tries += 1;
        let (purpose, wants_committed) = (attempt.purpose, attempt.wants_committed);
        let request = Request::Prepare { ballot, purpose, wants_committed };
        self.ask(coordinator, attempt, &[0, 1, 2], Asked::Prepare { ballot }, &request);
    }

    /// Any message is next.
    fn deliver(&mut self) {
        let index = self.below(self.packets.len() as u64) as usize;
        match self.packets.swap_remove(index) {
            Packet::Ask { acceptor, coordinator, question, planned, request } => {
                match self.answer(acceptor, planned, request) {
                    Ok(answer) => self.send(Packet::Tell { acceptor, coordinator, question, answer }),
                    Err(request) => {
                        self.packets.push(Packet::Ask { acceptor, coordinator, question, planned, request });
                    }
                }
            }
            Packet::Tell { acceptor, coordinator, question, answer } => {
                let Some(mut attempt) = self.attempts[coordinator].take() else { return };
                if attempt.question != question {
                    self.attempts[coordinator] = Some(attempt);
                    return;
                }
                match answer {
                    Answer::Outrun(latest) => {
                        attempt.outrun += 1;
                        attempt.latest = attempt.latest.max(Some(latest));
                    }
                    Answer::Stale => {
                        self.counts.stale += 1;
                        attempt.stale += 1;
                    }
                    answer => attempt.done.push((acceptor, answer)),
                }
                match self.step(coordinator, &mut attempt) {
                    Step::Goes => self.attempts[coordinator] = Some(attempt),
                    Step::Unknown => self.counts.unknown += 1,
                    Step::Outdated if attempt.doubts.is_empty() => self.check_refused(&attempt),
                    Step::Outdated => self.counts.unknown += 1,
                    Step::Finished => {
                        // Of the bound that it has looked at, or of the next one it has more to do.
                        let acceptor = &mut self.acceptors[coordinator];
                        acceptor.has_finished |= attempt.looked_at == self.bounds.len();
                    }
                    Step::Applied => self.applied(&attempt),
                    Step::Shown(head, ballot) => self.check_shown(&attempt, head, ballot),
                }
            }
        }
    }

    /// An acceptor's answer. An error: its next step for the same question.
    fn answer(&mut self, at: usize, planned: usize, request: Request) -> Result<Answer, Request> {
        if !matches!(request, Request::Commit(_)) {
            self.apply(at, planned);
            if self.closed_at(self.acceptors[at].applied) > planned {
                return Ok(Answer::Stale);
            }
        }
        let acceptor = &mut self.acceptors[at];
        match request {
            Request::Prepare { ballot, purpose, wants_committed } => {
                let before = acceptor.state.clone();
                match acceptor.state.prepare(purpose, ballot) {
                    Err(outrun) => Ok(Answer::Outrun(outrun.0)),
                    Ok(promise) => {
                        let (earlier, committed) = (before.promised, before.committed);
                        let (accepted, is_left_out) = before.shown(wants_committed);
                        let node = NodeIndex(at as u16);
                        let finding = Finding { node, earlier, accepted, is_left_out, committed };
                        Err(Request::Page { finding, promise })
                    }
                }
            }
            Request::Page { finding, promise } => {
                Ok(Answer::Promised { finding, promise, data: acceptor.data.clone() })
            }
            Request::Accept(proposal) => {
                let of = (number(proposal.ballot), number(proposal.original));
                let is_empty = proposal.mutations.is_empty();
                match acceptor.state.accept(proposal) {
                    Err(outrun) => Ok(Answer::Outrun(outrun.0)),
                    Ok(()) => {
                        let all = self.accepted.entry(of).or_default();
                        all.insert(at);
                        if all.len() >= MAJORITY && !is_empty {
                            self.check_chosen(of.1);
                        }
                        Ok(Answer::Accepted)
                    }
                }
            }
            Request::Commit(proposal) => {
                let Proposal { ballot, original, .. } = proposal;
                acceptor.state.commit(Commit { ballot, original });
                acceptor.data.extend(proposal.mutations.iter().map(|mutation| {
                    u128::from_be_bytes(mutation[..16].try_into().expect("it begins with its number"))
                }));
                Ok(Answer::Committed)
            }
        }
    }

    /// The coordinator's step by the answers so far, as `Electorate::ask` waits for them.
    fn step(&mut self, coordinator: usize, attempt: &mut Attempt) -> Step {
        let answered = attempt.done.len() + attempt.outrun + attempt.stale;
        let is_lost = ACCEPTORS - attempt.outrun - attempt.stale < MAJORITY;
        match attempt.asked.clone() {
            Asked::Prepare { ballot } if attempt.done.len() == MAJORITY => self.promised(coordinator, attempt, ballot),
            Asked::Prepare { .. } if is_lost => self.again(coordinator, attempt),
            Asked::Accept { proposal, is_empty, is_found } if attempt.done.len() == MAJORITY => {
                self.accepted_by_majority(coordinator, attempt, proposal, (is_empty, is_found))
            }
            Asked::Accept { proposal, .. } if is_lost && (answered == ACCEPTORS || !attempt.done.is_empty()) => {
                let is_untouched = answered == ACCEPTORS && attempt.done.is_empty();
                if is_untouched && attempt.doubts.has(&proposal) && proposal.ballot == proposal.original {
                    attempt.doubts.pop();
                } else {
                    self.counts.doubted += 1;
                }
                self.again(coordinator, attempt)
            }
            Asked::Commit { is_own, needs } if attempt.done.len() >= needs => match is_own {
                true => Step::Applied,
                false => self.again(coordinator, attempt),
            },
            Asked::Lacking { have, ready } if have + attempt.done.len() >= MAJORITY && !ready.holds_all => {
                self.counts.older += 1;
                self.again(coordinator, attempt)
            }
            Asked::Lacking { have, ready } if have + attempt.done.len() >= MAJORITY => {
                self.ready(coordinator, attempt, ready)
            }
            _ => Step::Goes,
        }
    }

    fn again(&mut self, coordinator: usize, attempt: &mut Attempt) -> Step {
        if attempt.stale > 0 && attempt.done.len() < MAJORITY {
            return Step::Outdated;
        }
        if attempt.tries >= TRIES_MAX {
            return Step::Unknown;
        }
        self.prepare(coordinator, attempt);
        Step::Goes
    }

    /// [`super::Agreement::prepare`], when a majority has promised.
    fn promised(&mut self, coordinator: usize, attempt: &mut Attempt, ballot: Ballot) -> Step {
        let mut findings = Vec::new();
        let (mut may_propose, mut shown) = (true, Data::new());
        for (_, answer) in &attempt.done {
            let Answer::Promised { finding, promise, data } = answer else { panic!("it is the answer to a prepare") };
            findings.push(finding.clone());
            may_propose &= *promise == Promise::Made;
            shown.extend(data);
        }
        let fate = attempt.doubts.fate(&findings, ballot);
        match fate {
            Fate::Chosen(original) => {
                let own = attempt.doubts.take(original).expect("it is the own one");
                return self.commit(coordinator, attempt, &own, true);
            }
            Fate::Unknown => return Step::Unknown,
            Fate::Open | Fate::NotChosen => {}
        }
        if attempt.purpose == Purpose::Look {
            if !has_left(&findings, Planted::NONE) {
                return Step::Finished;
            }
            attempt.purpose = Purpose::Write;
            return self.again(coordinator, attempt);
        }
        let (settled, all_have_it) = settled_up_to(&findings);
        let holds_all = all_have_it || settled <= attempt.settled;
        attempt.settled = attempt.settled.max(settled);
        let head = shown.last().copied();
        let is_whole = shown.iter().eq(self.chosen.iter().take_while(|chosen| Some(**chosen) <= head));
        match judge(&findings, Planted::NONE) {
            Next::Go { .. } if fate == Fate::Open => panic!("nothing is void here"),
            Next::Go { .. } if !holds_all => {
                self.counts.older += 1;
                self.again(coordinator, attempt)
            }
            Next::Go { is_pending } => {
                assert!(is_whole, "the pages of a majority hold all that was chosen before the last of it");
                self.ready(coordinator, attempt, Ready { ballot, is_pending, may_propose, head, holds_all })
            }
            Next::Finish(_) if !may_propose => {
                attempt.purpose = Purpose::Write;
                self.again(coordinator, attempt)
            }
            Next::Finish(proposal) => {
                self.counts.finished += 1;
                let is_found = true;
                self.propose(coordinator, attempt, Proposal { ballot, ..proposal }, (false, is_found))
            }
            Next::Commit(None, _) => {
                attempt.wants_committed = true;
                self.again(coordinator, attempt)
            }
            Next::Commit(Some(proposal), lacking) => {
                self.counts.sent += 1;
                let promised = findings.iter().filter_map(|finding| finding.earlier).max();
                assert!(
                    is_whole || !holds_all,
                    "the pages of a majority hold all that was chosen before the last of it"
                );
                let is_pending = promised > Some(proposal.ballot);
                let ready = Ready { ballot, is_pending, may_propose, head, holds_all };
                let asked = Asked::Lacking { have: findings.len() - lacking.len(), ready };
                let to: Vec<usize> = lacking.iter().map(|node| usize::from(node.0)).collect();
                self.ask(coordinator, attempt, &to, asked, &Request::Commit(proposal));
                Step::Goes
            }
        }
    }

    /// The statement's step by the head that it sees.
    fn ready(&mut self, coordinator: usize, attempt: &mut Attempt, ready: Ready) -> Step {
        let Ready { ballot, is_pending, may_propose, head, .. } = ready;
        let is_pending = is_pending || attempt.operation == Operation::Finish;
        let expected = *attempt.expected.get_or_insert(head);
        let holds = attempt.operation == Operation::Write && expected == head;
        attempt.head = head;
        if !holds && !is_pending {
            return Step::Shown(head, ballot);
        }
        if !may_propose {
            attempt.purpose = Purpose::Write;
            return self.again(coordinator, attempt);
        }
        let original = number(ballot);
        let mutations = match holds {
            true => vec![[&original.to_be_bytes()[..], &[0; 16]].concat()],
            false => Vec::new(),
        };
        let proposal = Proposal { ballot, original: ballot, mutations };
        if holds {
            self.bases.insert(original, head);
            attempt.originals.push(original);
            attempt.doubts.push(proposal.clone());
        } else {
            self.counts.emptied += 1;
        }
        self.propose(coordinator, attempt, proposal, (!holds, false))
    }

    fn propose(
        &mut self,
        coordinator: usize,
        attempt: &mut Attempt,
        proposal: Proposal,
        (is_empty, is_found): (bool, bool),
    ) -> Step {
        let request = Request::Accept(proposal.clone());
        self.ask(coordinator, attempt, &[0, 1, 2], Asked::Accept { proposal, is_empty, is_found }, &request);
        Step::Goes
    }

    fn accepted_by_majority(
        &mut self,
        coordinator: usize,
        attempt: &mut Attempt,
        proposal: Proposal,
        (is_empty, is_found): (bool, bool),
    ) -> Step {
        if attempt.doubts.has(&proposal) {
            return self.commit(coordinator, attempt, &proposal, true);
        }
        attempt.doubts.clear();
        match (is_empty, is_found) {
            (true, _) if attempt.operation == Operation::Finish => Step::Finished,
            (true, _) => Step::Shown(attempt.head, proposal.ballot),
            (false, true) => self.commit(coordinator, attempt, &proposal, false),
            (false, false) => panic!("an own proposal is in doubt until it is chosen"),
        }
    }

    /// A commit of another's waits for a majority, the own one for any number.
    fn commit(&mut self, coordinator: usize, attempt: &mut Attempt, proposal: &Proposal, is_own: bool) -> Step {
        if is_own {
            attempt.chosen = Some(proposal.clone());
        }
        let needs = if is_own { 1 + self.below(ACCEPTORS as u64) as usize } else { MAJORITY };
        let asked = Asked::Commit { is_own, needs };
        self.ask(coordinator, attempt, &[0, 1, 2], asked, &Request::Commit(proposal.clone()));
        Step::Goes
    }

    /// A proposal has been accepted by a majority under one ballot.
    fn check_chosen(&mut self, original: u128) {
        if self.chosen.contains(&original) {
            return;
        }
        let last = self.chosen.last().copied();
        assert_eq!(self.bases[&original], last, "what is chosen rests on what was chosen before it");
        assert!(original >> 8 > last.unwrap_or(0) >> 8, "timestamps ascend");
        assert!(!self.refused.contains(&original), "a client knows that it is not written");
        assert!(original > self.shown, "an answer did not show it, and has a later ballot");
        self.chosen.push(original);
    }

    fn applied(&mut self, attempt: &Attempt) {
        self.counts.applied += 1;
        let chosen = number(attempt.chosen.as_ref().expect("it is chosen").original);
        assert!(self.chosen.contains(&chosen), "what is answered as written is chosen");
        let own = attempt.originals.iter().filter(|original| self.chosen.contains(original)).count();
        assert_eq!(own, 1, "a statement is applied once");
        self.refused.extend(attempt.originals.iter().filter(|original| **original != chosen));
    }

    /// Nothing of the statement is written, or will be.
    fn check_refused(&mut self, attempt: &Attempt) {
        for original in &attempt.originals {
            assert!(!self.chosen.contains(original), "a statement that is written is not answered as if it were not");
        }
        self.refused.extend(&attempt.originals);
    }

    /// The head was that one at some time between the beginning and the end, and nothing of the statement is written, or will be.
    fn check_shown(&mut self, attempt: &Attempt, head: Option<u128>, ballot: Ballot) {
        self.counts.shown += 1;
        let at = head.map_or(0, |head| {
            1 + self.chosen.iter().position(|chosen| *chosen == head).expect("what is shown is chosen")
        });
        assert!(at >= attempt.began, "an answer shows all that was chosen when its statement began");
        self.check_refused(attempt);
        self.shown = self.shown.max(number(ballot));
    }
}

#[test]
fn one_proposal_is_chosen_after_another_and_each_answer_stays_true() {
    let mut sum = Counts::default();
    for seed in 1..=RUNS {
        let mut model = Model::new(seed);
        model.run();
        let Counts { applied, shown, unknown, finished, sent, emptied, doubted, stale, closed, older } = model.counts;
        sum.applied += applied;
        sum.shown += shown;
        sum.unknown += unknown;
        sum.finished += finished;
        sum.sent += sent;
        sum.emptied += emptied;
        sum.doubted += doubted;
        sum.stale += stale;
        sum.closed += closed;
        sum.older += older;
    }
    let Counts { applied, shown, unknown, finished, sent, emptied, doubted, stale, closed, older } = sum;
    let all = [applied, shown, unknown, finished, sent, emptied, doubted, stale, closed, older];
    assert!(all.iter().all(|count| *count > RUNS / 50), "each way is gone often: {sum:?}");
}
