//! Linearizability of a history: an order of all operations, each at one moment between question and answer, that explains every answer.
//!
//! The search is Wing's and Gong's with Lowe's memory: a place, which is the set of operations that are done and the object's state, is looked at once.
//! Operations without an answer may be put anywhere after their question, or nowhere. Three rules keep the search short and exact:
//!
//! - **What changes nothing is done at once**: if an answered operation may come next and leaves the object as it is, any order that has it later also has
//!   it now, since nothing that is left was answered before it began.
//! - **Unanswered operations that ask for the same are counted, not told apart**: all that were sent by a moment may come at any later one.
//! - **Fewer are better**: of two places that differ in the unanswered operations that have taken effect, the one with fewer of each is enough.
//!
//! So it branches only where operations that change the object overlap. It is given up after [`PLACES_MAX`] places, which is an error of its own: the verdict
//! is exact whenever there is one.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Places that are looked at before the search is given up.
pub const PLACES_MAX: usize = 200_000;

/// An operation on an object of which a history is judged.
pub trait Move: Debug {
    /// The object, from its beginning on.
    type State: Clone + Default + Ord + Debug;

    /// The moment before it was sent.
    fn start(&self) -> u64;

    /// The moment of its answer; `None`: there was none, or one that promises nothing.
    fn end(&self) -> Option<u64>;

    /// True if it changes nothing, whatever it finds.
    fn is_read(&self) -> bool;

    /// True if it asks for the same as the other one.
    fn asks_the_same(&self, other: &Self) -> bool;

    /// True if it may change the object again after it has done so once: nothing but its own count keeps it from that.
    fn may_repeat(&self) -> bool {
        true
    }

    /// The object after an operation that takes effect now; `None` if its answer does not fit. An operation without an answer does what it can.
    fn after(&self, before: &Self::State) -> Option<Self::State>;
}

/// A set of operations that are done, and the state that they result in.
#[derive(Debug, Clone)]
struct Place<S> {
    done: Done,
    state: S,
    /// Unanswered operations that have taken effect, for each kind of them.
    taken: Vec<u32>,
}

/// Answered operations that are done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Done {
    /// All before this one.
    from: usize,
    /// Others, in ascending order.
    ahead: Vec<usize>,
}

impl Done {
    fn has(&self, index: usize) -> bool {
        index < self.from || self.ahead.binary_search(&index).is_ok()
    }

    fn add(&mut self, index: usize) {
        if let Err(at) = self.ahead.binary_search(&index) {
            self.ahead.insert(at, index);
        }
        while self.ahead.first() == Some(&self.from) {
            self.ahead.remove(0);
            self.from += 1;
        }
    }
}

/// Unanswered operations that ask for the same.
struct Kind<'a, M> {
    one: &'a M,
    /// The moments before each was sent, in ascending order.
    starts: Vec<u64>,
}

/// The operations of a history.
struct Search<'a, M> {
    /// In the order in which they were sent.
    answered: Vec<&'a M>,
    unanswered: Vec<Kind<'a, M>>,
}

/// Looks for such an order of the operations on one object. An error says what could not be explained, or that the search was given up.
pub fn check<M: Move>(operations: &[M]) -> Result<(), String> {
    let (mut answered, mut unanswered) = (Vec::new(), Vec::<Kind<'_, M>>::new());
    for operation in operations {
        match operation.end() {
            Some(_) => answered.push(operation),
            // It explains nothing.
            None if operation.is_read() => {}
            None => match unanswered.iter_mut().find(|kind| kind.one.asks_the_same(operation)) {
                Some(kind) => kind.starts.push(operation.start()),
                None => unanswered.push(Kind { one: operation, starts: vec![operation.start()] }),
            },
        }
    }
    answered.sort_by_key(|operation| operation.start());
    unanswered.iter_mut().for_each(|kind| kind.starts.sort_unstable());
    Search { answered, unanswered }.run()
}

/// Places that were looked at: for each set of operations and state, what was taken of the unanswered ones, none of which is less than another.
struct Memory<S> {
    taken: BTreeMap<(Done, S), Vec<Vec<u32>>>,
    count: usize,
}

impl<S: Ord + Clone> Memory<S> {
    /// Takes note of a place; false if it was looked at before, or one from which all can be done that can be from here.
    fn is_new(&mut self, place: &Place<S>) -> bool {
        let known = self.taken.entry((place.done.clone(), place.state.clone())).or_default();
        let is_enough = |taken: &Vec<u32>| taken.iter().zip(&place.taken).all(|(one, other)| one <= other);
        if known.iter().any(is_enough) {
            return false;
        }
        known.push(place.taken.clone());
        self.count += 1;
        true
    }
}

impl<M: Move> Search<'_, M> {
    fn run(&self) -> Result<(), String> {
        let done = Done { from: 0, ahead: Vec::new() };
        let mut places = vec![Place { done, state: M::State::default(), taken: vec![0; self.unanswered.len()] }];
        let mut memory = Memory { taken: BTreeMap::new(), count: 0 };
        let mut furthest = (0, None);
        while let Some(mut place) = places.pop() {
            let Some(due) = self.do_what_changes_nothing(&mut place) else { return Ok(()) };
            if !memory.is_new(&place) {
                continue;
            }
            if memory.count > PLACES_MAX {
                return Err(format!("{} operations have too many orders to look at", self.answered.len()));
            }
            let next = self.next(&place, self.answered[due].end().unwrap_or(u64::MAX));
            let progress = place.done.from + place.done.ahead.len();
            if progress > furthest.0 || furthest.1.is_none() {
                furthest = (progress, Some((self.answered[due], place.state)));
            }
            places.extend(next);
        }
        Err(format!("after {} operations nothing explains {:?}", furthest.0, furthest.1))
    }

    /// Does what is answered, may come next and changes nothing. Gives the operation that was answered first of those that are left; `None` if none is.
    fn do_what_changes_nothing(&self, place: &mut Place<M::State>) -> Option<usize> {
        loop {
            let due = self.due(&place.done)?;
            let first_end = self.answered[due].end().unwrap_or(u64::MAX);
            let leaves_all = |index: &usize| {
                !place.done.has(*index) && self.answered[*index].after(&place.state).as_ref() == Some(&place.state)
            };
            let found: Vec<usize> = self.answered_before(place.done.from, first_end).filter(leaves_all).collect();
            if found.is_empty() {
                return Some(due);
            }
            found.into_iter().for_each(|index| place.done.add(index));
        }
    }

    /// Answered operations from one on that began by that moment.
    fn answered_before(&self, from: usize, moment: u64) -> impl Iterator<Item = usize> {
        (from..self.answered.len()).take_while(move |index| self.answered[*index].start() <= moment)
    }

    /// The operation that was answered first of those that are not done.
    fn due(&self, done: &Done) -> Option<usize> {
        let mut due: Option<(u64, usize)> = None;
        for index in done.from..self.answered.len() {
            let operation = self.answered[index];
            if due.is_some_and(|(end, _)| operation.start() > end) {
                break;
            }
            let end = operation.end().unwrap_or(u64::MAX);
            if !done.has(index) && due.is_none_or(|(first, _)| end < first) {
                due = Some((end, index));
            }
        }
        due.map(|(_, index)| index)
    }

    /// The places after one more operation that changes the object, which may come before that moment. The last is to be looked at first: what was answered
    /// earliest, and what was not answered at the end.
    fn next(&self, place: &Place<M::State>, first_end: u64) -> Vec<Place<M::State>> {
        let mut next = Vec::new();
        for (number, kind) in self.unanswered.iter().enumerate() {
            let sent = kind.starts.partition_point(|start| *start <= first_end);
            let Some(state) = kind.one.after(&place.state).filter(|_| place.taken[number] < sent as u32) else {
                continue;
            };
            if state != place.state {
                let mut after = Place { state, ..place.clone() };
                after.taken[number] += u32::from(kind.one.may_repeat());
                next.push(after);
            }
        }
        let mut answered = Vec::new();
        for index in self.answered_before(place.done.from, first_end).filter(|index| !place.done.has(*index)) {
            let Some(state) = self.answered[index].after(&place.state) else { continue };
            let mut after = Place { state, ..place.clone() };
            after.done.add(index);
            answered.push((self.answered[index].end(), after));
        }
        answered.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
        next.extend(answered.into_iter().map(|(_, after)| after));
        next
    }
}
