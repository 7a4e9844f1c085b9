//! Histories of thousands of operations, as an object that works makes them and with one answer that is wrong: all checkers must be quick enough for them.

use std::collections::BTreeMap;

use crate::cas_register::{self, CasRegister};
use crate::list_append::{self, ListAppend};
use crate::wr_register::{self, WrRegister};
use crate::{Answer, Operation, Workload};

/// SplitMix64.
struct Source(u64);

impl Source {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[derive(Clone, Copy)]
enum Event {
    Begin { client: usize },
    Effect { operation: usize },
    End { client: usize, operation: usize },
}

/// A history of one partition: clients that wait for each answer, and an object that `applies` each request at one moment. One of `unknown_every` requests has
/// no answer; of those half take effect, some much later.
fn history<W: Workload, S: Default>(
    seed: u64,
    operations_max: usize,
    unknown_every: u64,
    apply: impl Fn(&mut S, &W::Asked) -> W::Told,
) -> Vec<Operation<W::Asked, W::Told>> {
    const CLIENTS: usize = 6;
    let (mut source, mut state, mut fresh) = (Source(seed), S::default(), 1);
    let mut views: Vec<W::View> = (0..CLIENTS).map(|_| W::View::default()).collect();
    let mut operations: Vec<Operation<W::Asked, W::Told>> = Vec::new();
    let mut told: BTreeMap<usize, W::Told> = BTreeMap::new();
    let mut events: BTreeMap<(u64, u64), Event> = BTreeMap::new();
    let mut number = 0;
    let mut put = |events: &mut BTreeMap<(u64, u64), Event>, at: u64, event| {
        number += 1;
        events.insert((at, number), event);
    };
    (0..CLIENTS).for_each(|client| put(&mut events, client as u64, Event::Begin { client }));
    while let Some(((now, _), event)) = events.pop_first() {
        match event {
            Event::Begin { client } if operations.len() < operations_max => {
                let asked = W::choose(&views[client], fresh, &mut |bound| source.below(bound));
                fresh += W::VALUES;
                let operation = operations.len();
                operations.push(Operation { asked, start: now, answer: Answer::Unknown });
                let effect = now + 1 + source.below(50);
                if source.below(unknown_every) == 0 {
                    put(&mut events, now + 200, Event::Begin { client });
                    match source.below(4) {
                        0 => put(&mut events, effect, Event::Effect { operation }),
                        1 => put(&mut events, effect + source.below(20_000), Event::Effect { operation }),
                        _ => {}
                    }
                } else {
                    put(&mut events, effect, Event::Effect { operation });
                    put(&mut events, effect + 1 + source.below(50), Event::End { client, operation });
                }
            }
            Event::Begin { .. } => {}
            Event::Effect { operation } => {
                told.insert(operation, apply(&mut state, &operations[operation].asked));
            }
            Event::End { client, operation } => {
                let told = told[&operation].clone();
                W::learn(&mut views[client], &operations[operation].asked, &told);
                operations[operation].answer = Answer::Told(now, told);
                put(&mut events, now + source.below(20), Event::Begin { client });
            }
        }
    }
    operations
}

fn apply_to_registers(state: &mut cas_register::Registers, asked: &cas_register::Asked) -> cas_register::Told {
    use cas_register::{Asked, Told};
    let before = *state;
    let only = |register: usize| {
        let mut seen = [None; 2];
        seen[register] = Some(before[register]);
        seen
    };
    let (applies, seen) = match *asked {
        Asked::Read => return Told::Have(before),
        Asked::Insert { register, .. } => (before[register].is_none(), only(register)),
        Asked::Set { register, from, .. } => (before[register] == Some(from), only(register)),
        Asked::Delete { register } => (before[register].is_some(), only(register)),
        Asked::SetBoth { from, .. } => (before == from.map(Some), before.map(Some)),
    };
    if !applies {
        return Told::NotApplied(seen);
    }
    match *asked {
        Asked::Insert { register, value } | Asked::Set { register, to: value, .. } => state[register] = Some(value),
        Asked::Delete { register } => state[register] = None,
        Asked::SetBoth { to, .. } => *state = to.map(Some),
        Asked::Read => {}
    }
    Told::Applied
}

fn apply_to_pages(state: &mut wr_register::Registers, asked: &wr_register::Asked) -> wr_register::Told {
    match asked {
        wr_register::Asked::Read => wr_register::Told::Have(*state),
        wr_register::Asked::Write(pairs) => {
            pairs.iter().for_each(|(register, value)| state[*register] = Some(*value));
            wr_register::Told::Applied
        }
    }
}

fn apply_to_list(state: &mut Vec<u64>, asked: &list_append::Asked) -> list_append::Told {
    match asked {
        list_append::Asked::Read => list_append::Told::Have(state.clone()),
        list_append::Asked::Append(element) => {
            state.push(*element);
            list_append::Told::Applied
        }
    }
}

/// Gives one read the answer of an earlier one that must not be given any more: the places of the later and of the earlier one. What an earlier one has shown
/// is not back unless it `may_return`.
fn stale<A: PartialEq, T: PartialEq + Clone>(
    operations: &mut [Operation<A, T>],
    read: &A,
    may_return: impl Fn(&T) -> bool,
) -> (usize, usize) {
    let is_read = |at: &usize| operations[*at].asked == *read && operations[*at].told().is_some();
    let reads: Vec<usize> = (0..operations.len()).filter(is_read).collect();
    let (first, second) = reads.split_at(reads.len() / 2);
    let earlier = first.iter().rev().find(|at| !operations[**at].told().is_some_and(&may_return));
    let (earlier, later) = (*earlier.expect("one of many reads"), second[second.len() / 2]);
    let (end, told) = (operations[later].end(), operations[earlier].told().cloned());
    let answer = end.zip(told).map(|(end, told)| Answer::Told(end, told)).expect("both were answered");
    assert!(operations[later].answer != answer, "the object has changed since");
    operations[later].answer = answer;
    (later, earlier)
}

fn accepts_and_refuses<W: Workload, S: Default>(
    read: W::Asked,
    may_return: impl Fn(&W::Told) -> bool,
    apply: impl Fn(&mut S, &W::Asked) -> W::Told,
) {
    for (seed, count) in (1..).zip([200; 20].into_iter().chain([1_000, 5_000])) {
        let mut history = history::<W, S>(seed, count, 20, &apply);
        let unknown = history.iter().filter(|one| one.end().is_none()).count();
        assert!(history.len() == count && unknown > count / 60, "{unknown} unknown of {count}");
        assert_eq!(W::check(&history), Vec::<String>::new(), "seed {seed}");
        let places = stale(&mut history, &read, &may_return);
        let found = W::check(&history);
        assert!(!found.is_empty(), "seed {seed}: the read {places:?} is stale");
        assert!(!found[0].contains("too many orders"), "seed {seed}: {found:?}");
    }
}

#[test]
fn registers_of_thousands_of_operations() {
    use cas_register::{Asked, Told};
    // A value is not written twice, but deleted.
    let may_return = |told: &Told| matches!(told, Told::Have([None, None]));
    accepts_and_refuses::<CasRegister, _>(Asked::Read, may_return, apply_to_registers);
}

#[test]
fn pages_of_thousands_of_operations() {
    accepts_and_refuses::<WrRegister, _>(wr_register::Asked::Read, |_| false, apply_to_pages);
}

#[test]
fn lists_of_thousands_of_operations() {
    accepts_and_refuses::<ListAppend, _>(list_append::Asked::Read, |_| false, apply_to_list);
}
