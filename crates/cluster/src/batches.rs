//! The copies that a shard keeps of other nodes' logged batches, so that a batch is whole although its coordinator is lost with its disk. See
//! `docs/internals/batch-log.md`; who keeps, and who delivers, is decided in `write/keepers.rs` and `write/kept.rs`.
//!
//! | state | event | state then |
//! |---|---|---|
//! | – | a copy is synced | kept |
//! | – | a copy is synced, and its batch is remembered as done | none: its record is finished |
//! | any | its coordinator says that the batch is done | gone, and remembered |
//! | kept | due, and looked at | asked about |
//! | asked about | its coordinator has it unfinished, or it could not be delivered | kept, due again later |
//! | asked about | its coordinator has it no more, or it is delivered | gone, and remembered |
//!
//! A copy is distinguished from a later one of the same name by its record. The records lie in the shard's commit log, each with the name of its batch, so a start keeps what was kept.
//! The bound of the shard's unfinished batches is that of copies too.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use planted::{Bug, Planted};
use runtime::Instant;
use storage::BatchId;
use topology::HostId;

pub use storage::BatchName;

/// The most names of a message.
pub(crate) const NAMES_MAX: usize = 4096;
/// Names of batches that are done and remembered.
const REMEMBERED_MAX: usize = 4096;
/// The longest rest of a copy that could not be delivered, unless it is looked at less often anyway.
const REST_MAX: Duration = Duration::from_secs(60);

/// A batch as a node knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It does not know it.
    Unknown,
    /// It has it, and its delivery is not done.
    Unfinished,
    /// It is delivered or given up: nothing is left to be done.
    Done,
}

struct Kept {
    /// The record in this shard's log.
    id: BatchId,
    /// Those that are still to be delivered.
    mutations: Rc<Vec<Vec<u8>>>,
    /// When it is looked at next.
    due: Instant,
    is_asked_about: bool,
    /// The rest after the next delivery that fails.
    rest: Duration,
}

/// A copy that is due.
pub(crate) struct Due {
    pub(crate) name: BatchName,
    pub(crate) id: BatchId,
    pub(crate) mutations: Rc<Vec<Vec<u8>>>,
}

/// The last names of batches that are done.
#[derive(Default)]
struct Remembered {
    in_order: VecDeque<BatchName>,
    names: BTreeSet<BatchName>,
}

impl Remembered {
    fn add(&mut self, name: BatchName) {
        if !self.names.insert(name) {
            return;
        }
        self.in_order.push_back(name);
        if self.in_order.len() > REMEMBERED_MAX {
            let oldest = self.in_order.pop_front().expect("it has more than one");
            assert!(self.names.remove(&oldest), "a name in order is a name");
        }
    }
}

/// The copies of a shard.
pub(crate) struct Copies {
    own: HostId,
    kept: RefCell<BTreeMap<BatchName, Kept>>,
    done: RefCell<Remembered>,
    /// A task looks at what is due.
    pub(crate) is_watched: Cell<bool>,
    planted: Planted,
}

impl Copies {
    /// None yet. The node's own batches are no copies.
    pub(crate) fn of_node(own: HostId, planted: Planted) -> Copies {
        Copies { own, kept: RefCell::default(), done: RefCell::default(), is_watched: Cell::new(false), planted }
    }

    /// This node.
    pub(crate) fn own(&self) -> HostId {
        self.own
    }

    /// Keeps a copy whose record is synced, and that is looked at when it is due. `false`: there is one of that name already, or its batch is done.
    pub(crate) fn keep(&self, name: BatchName, id: BatchId, mutations: Vec<Vec<u8>>, due: Instant) -> bool {
        let mut kept = self.kept.borrow_mut();
        if kept.contains_key(&name) || self.is_done(name) {
            return false;
        }
        let mutations = Rc::new(mutations);
        kept.insert(name, Kept { id, mutations, due, is_asked_about: false, rest: Duration::ZERO });
        true
    }

    /// True if a copy of that name is kept.
    pub(crate) fn has(&self, name: BatchName) -> bool {
        self.kept.borrow().contains_key(&name)
    }

    /// True if the batch is among the last that are done.
    pub(crate) fn is_done(&self, name: BatchName) -> bool {
        self.done.borrow().names.contains(&name)
    }

    /// The coordinator is done with a batch, of which a copy may be on its way still. Gives the copy's record, if there is a copy.
    pub(crate) fn done(&self, name: BatchName) -> Option<BatchId> {
        if !self.planted.is(Bug::BatchDoneForgotten) {
            self.done.borrow_mut().add(name);
        }
        self.kept.borrow_mut().remove(&name).map(|kept| kept.id)
    }

    /// A batch as this shard knows it by its copies.
    pub(crate) fn fate(&self, name: BatchName) -> Fate {
        match () {
            () if self.has(name) => Fate::Unfinished,
            () if self.is_done(name) => Fate::Done,
            () => Fate::Unknown,
        }
    }

    /// Copies that are kept.
    pub(crate) fn count(&self) -> u64 {
        self.kept.borrow().len() as u64
    }

    /// Those that are kept of coordinators of which this is true.
    pub(crate) fn count_of(&self, is_counted: impl Fn(HostId) -> bool) -> usize {
        self.kept.borrow().keys().filter(|name| is_counted(name.host_id)).count()
    }

    /// True if no copy is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.borrow().is_empty()
    }

    /// The copies that are due, which are asked about from now on.
    pub(crate) fn take_due(&self, now: Instant) -> Vec<Due> {
        let mut kept = self.kept.borrow_mut();
        let due = kept.iter_mut().filter(|(_, kept)| kept.due <= now && !kept.is_asked_about);
        let due = due.take(NAMES_MAX).map(|(&name, kept)| {
            kept.is_asked_about = true;
            Due { name, id: kept.id, mutations: Rc::clone(&kept.mutations) }
        });
        due.collect()
    }

    /// A copy stays, and is due again after `look`, or later. `left`: the mutations that could not be delivered; else its coordinator sees to it. The copy may be gone
    /// meanwhile, and another be there.
    pub(crate) fn stays(&self, due: &Due, left: Option<Vec<Vec<u8>>>, (now, look): (Instant, Duration)) {
        let mut kept = self.kept.borrow_mut();
        let Some(kept) = kept.get_mut(&due.name).filter(|kept| kept.id == due.id) else { return };
        assert!(kept.is_asked_about, "a copy stays that was looked at");
        kept.is_asked_about = false;
        match left {
            None => kept.due = now + look,
            Some(left) => {
                kept.mutations = Rc::new(left);
                kept.rest = (kept.rest * 2).clamp(look, look.max(REST_MAX));
                kept.due = now + kept.rest;
            }
        }
    }

    /// A copy was delivered, or need not be. It may be gone meanwhile, and another be there.
    pub(crate) fn delivered(&self, due: &Due) {
        self.done.borrow_mut().add(due.name);
        let mut kept = self.kept.borrow_mut();
        if let Some(copy) = kept.get(&due.name).filter(|copy| copy.id == due.id) {
            assert!(copy.is_asked_about, "a copy is delivered that was looked at");
            kept.remove(&due.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(sequence: u64) -> BatchName {
        BatchName { host_id: HostId([1; 16]), boot: 1, shard: 0, sequence }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn names(due: &[Due]) -> Vec<u64> {
        due.iter().map(|due| due.name.sequence).collect()
    }

    const LOOK: Duration = Duration::from_secs(4);

    fn none() -> Copies {
        Copies::of_node(HostId([9; 16]), crate::planted_by_test())
    }

    #[test]
    fn a_copy_is_looked_at_until_its_coordinator_is_done_or_it_is_delivered() {
        let (copies, id) = (none(), BatchId::new(9, 1));
        assert!(copies.keep(name(1), id, vec![vec![1], vec![5]], at(4)) && copies.keep(name(2), id, vec![], at(5)));
        assert!(!copies.keep(name(1), id, vec![vec![3]], at(5)), "one of a name is enough");
        assert_eq!(names(&copies.take_due(at(3))), [0u64; 0]);
        let first = copies.take_due(at(4));
        assert_eq!(names(&first), [1]);
        let second = copies.take_due(at(5));
        assert_eq!(names(&second), [2], "the first one is being looked at");
        copies.stays(&first[0], Some(vec![vec![5]]), (at(5), LOOK));
        copies.delivered(&second[0]);
        assert_eq!(copies.fate(name(1)), Fate::Unfinished);
        assert_eq!((copies.fate(name(2)), copies.fate(name(3))), (Fate::Done, Fate::Unknown));
        let first = copies.take_due(at(9));
        assert_eq!((names(&first), &*first[0].mutations), (vec![1], &vec![vec![5]]), "the other one is delivered");
        assert_eq!((copies.done(name(1)), copies.done(name(1))), (Some(id), None));
        copies.stays(&first[0], None, (at(9), LOOK));
        assert!(copies.is_empty() && copies.fate(name(1)) == Fate::Done);
    }

    #[test]
    fn a_copy_that_cannot_be_delivered_rests_longer_each_time() {
        let copies = none();
        assert!(copies.keep(name(1), BatchId::new(9, 1), vec![vec![1]], at(0)));
        let (mut now, mut rests) = (0, Vec::new());
        for _ in 0..7 {
            let due = copies.take_due(at(now));
            copies.stays(&due[0], Some(vec![vec![1]]), (at(now), LOOK));
            let rest = (1..).find(|rest| !copies.take_due(at(now + rest)).is_empty()).expect("it is due again");
            now += rest;
            rests.push(rest);
            let again = Due { name: name(1), id: BatchId::new(9, 1), mutations: Rc::default() };
            copies.stays(&again, None, (at(now), LOOK));
            now += 4;
        }
        assert_eq!(rests, [4, 8, 16, 32, 60, 60, 60]);
    }

    /// A look at a copy ends when another copy of that name is there: the later one stays as it is.
    #[test]
    fn a_look_at_a_copy_that_is_gone_does_nothing_to_another_of_its_name() {
        let copies = none();
        let (first, second) = (BatchId::new(9, 1), BatchId::new(9, 2));
        assert!(copies.keep(name(1), first, vec![vec![1]], at(0)));
        let due = copies.take_due(at(0));
        assert_eq!(copies.done(name(1)), Some(first));
        // So many batches were done meanwhile that this one is forgotten.
        (2..=REMEMBERED_MAX as u64 + 1).for_each(|sequence| _ = copies.done(name(sequence)));
        assert!(copies.keep(name(1), second, vec![vec![2]], at(0)));
        copies.stays(&due[0], Some(Vec::new()), (at(1), LOOK));
        let again = copies.take_due(at(1));
        assert_eq!((again[0].id, &*again[0].mutations), (second, &vec![vec![2]]));
        copies.stays(&again[0], None, (at(1), LOOK));
        copies.delivered(&due[0]);
        assert!(copies.has(name(1)));
    }

    /// The coordinator waits for the first keeper only: the other may learn that the batch is done while its copy is being synced.
    ///
    /// Planted: batch-done-forgotten.
    #[test]
    fn a_copy_that_is_synced_after_its_batch_is_done_is_not_kept() {
        let copies = none();
        assert_eq!(copies.done(name(1)), None);
        assert!(!copies.keep(name(1), BatchId::new(9, 1), vec![vec![1]], at(0)));
        assert!(copies.is_empty() && copies.fate(name(1)) == Fate::Done);
    }

    #[test]
    fn names_of_batches_that_are_done_are_remembered_up_to_a_bound() {
        let copies = none();
        (0..=REMEMBERED_MAX as u64).for_each(|sequence| _ = copies.done(name(sequence)));
        (0..10).for_each(|_| _ = copies.done(name(5)));
        assert_eq!((copies.fate(name(0)), copies.fate(name(1))), (Fate::Unknown, Fate::Done));
    }
}
