//! Whether a history of conditional statements is linearizable: whether there is an order of all that was done, in which each did
//! its work in one moment between question and answer, that explains every answer.
//!
//! The search is Wing's and Gong's with Lowe's memory: which operations are done, and what the registers have then, is looked at
//! once. What was never answered may be put anywhere after its question, or nowhere.

use std::collections::BTreeSet;
use std::fmt::Debug;

use crate::workload::{Asked, Operation, Registers, Told};

/// Places that are looked at before the search is given up.
const PLACES_MAX: usize = 400_000;

/// An operation on an object of which a history is judged.
pub trait Move: Debug {
    /// The object, from its beginning on.
    type State: Clone + Default + Ord + Debug;

    /// When it was asked for.
    fn start(&self) -> u64;

    /// When it was answered; `None`: never, or by an answer that promises nothing.
    fn end(&self) -> Option<u64>;

    /// True if it changes nothing, whatever it finds.
    fn is_read(&self) -> bool;

    /// The object after an operation that did its work now; `None` if its answer does not fit. An operation that was not answered does what it can.
    fn after(&self, before: &Self::State) -> Option<Self::State>;
}

/// Looks for such an order of the operations on one object, which come in the order in which they were sent. An error says what
/// could not be explained, or that the search took too long.
pub fn check<M: Move>(operations: &[M]) -> Result<(), String> {
    // What was not answered and changes nothing explains nothing.
    let counts = |operation: &&M| operation.end().is_some() || !operation.is_read();
    let operations: Vec<&M> = operations.iter().filter(counts).collect();
    let words = operations.len().div_ceil(64);
    let mut seen: BTreeSet<(Vec<u64>, M::State)> = BTreeSet::new();
    let mut places = vec![(vec![0u64; words], M::State::default())];
    let mut furthest = (0, None);
    while let Some((done, state)) = places.pop() {
        let is_done = |index: usize| done[index / 64] & (1 << (index % 64)) != 0;
        let open = || operations.iter().enumerate().filter(|(index, _)| !is_done(*index));
        let Some(first_end) = open().filter_map(|(_, operation)| operation.end()).min() else { return Ok(()) };
        let progress = operations.iter().enumerate().filter(|(at, one)| is_done(*at) && one.end().is_some()).count();
        let mut next = Vec::new();
        for (index, operation) in open().take_while(|(_, operation)| operation.start() <= first_end) {
            let Some(after) = operation.after(&state) else { continue };
            if operation.end().is_none() && after == state {
                continue;
            }
            let mut done = done.clone();
            done[index / 64] |= 1 << (index % 64);
            next.push((operation.end().unwrap_or(u64::MAX), (done, after)));
        }
        if next.is_empty() && progress >= furthest.0 {
            let due = open().find(|(_, operation)| operation.end() == Some(first_end)).map(|(_, operation)| *operation);
            furthest = (progress, due.map(|due| (due, state)));
        }
        // What is taken last is looked at first: what was answered earliest.
        next.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
        for (_, place) in next {
            if seen.insert(place.clone()) {
                places.push(place);
            }
        }
        if seen.len() > PLACES_MAX {
            return Err(format!("{} operations have too many orders to look at", operations.len()));
        }
    }
    Err(format!("after {} operations nothing explains {:?}", furthest.0, furthest.1))
}

impl Move for Operation {
    type State = Registers;

    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> Option<u64> {
        self.end
    }

    fn is_read(&self) -> bool {
        self.asked == Asked::Read
    }

    fn after(&self, before: &Registers) -> Option<Registers> {
        after(self, *before)
    }
}

/// What the registers have after an operation that did its work now, if its answer fits. What was not answered does what it can.
fn after(operation: &Operation, before: Registers) -> Option<Registers> {
    let mut changed = before;
    let applies = match operation.asked {
        Asked::Read => {
            return match operation.told {
                Told::Have(registers) => (registers == before).then_some(before),
                _ => Some(before),
            };
        }
        Asked::Insert { register, value } => {
            changed[register] = Some(value);
            before[register].is_none()
        }
        Asked::Set { register, from, to } => {
            changed[register] = Some(to);
            before[register] == Some(from)
        }
        Asked::Delete { register } => {
            changed[register] = None;
            before[register].is_some()
        }
        Asked::SetBoth { from, to } => {
            changed = to.map(Some);
            before == from.map(Some)
        }
    };
    match operation.told {
        Told::Applied => applies.then_some(changed),
        Told::NotApplied(seen) => {
            let is_seen = seen.iter().zip(before).all(|(seen, before)| seen.is_none_or(|seen| seen == before));
            (!applies && is_seen).then_some(before)
        }
        Told::Nothing if applies => Some(changed),
        Told::Nothing => Some(before),
        Told::Have(_) => None,
    }
}

#[cfg(test)]
mod tests;
