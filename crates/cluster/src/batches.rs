//! The copies that a shard keeps of other nodes' logged batches, so that a batch is whole although its coordinator is lost with its disk. See
//! `docs/internals/batch-log.md`; who keeps, and who delivers, is decided in `write/keepers.rs` and `write/kept.rs`.
//!
//! | state | event | state then |
//! |---|---|---|
//! | – | a copy is synced | kept |
//! | kept, asked about | its coordinator says that the batch is done | gone |
//! | kept | due, and looked at | asked about |
//! | asked about | its coordinator has it unfinished, or it could not be delivered | kept, due again later |
//! | asked about | delivered | gone, and remembered |
//!
//! The records lie in the shard's commit log as unfinished batches of its own, so a start delivers what is kept. What bounds those bounds copies.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use runtime::Instant;
use storage::BatchId;
use topology::HostId;

/// The most names of a message.
pub(crate) const NAMES_MAX: usize = 4096;
/// Names of delivered copies that are remembered.
const REMEMBERED_MAX: usize = 4096;

/// The name of a batch among those of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchName {
    /// Its coordinator.
    pub host_id: HostId,
    /// The coordinator's start at which it was logged.
    pub boot: u64,
    /// The coordinator's shard.
    pub shard: u16,
    /// The place of its record in that shard's log.
    pub sequence: u64,
}

/// A batch as a node knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It does not know it.
    Unknown,
    /// It has it, and its delivery is not done.
    Unfinished,
    /// It has delivered it.
    Delivered,
}

struct Kept {
    /// The record in this shard's log.
    id: BatchId,
    mutations: Rc<Vec<Vec<u8>>>,
    /// When it is looked at next.
    due: Instant,
    is_asked_about: bool,
    /// A delivery was tried.
    is_tried: bool,
}

/// A copy that is due.
pub(crate) struct Due {
    pub(crate) name: BatchName,
    pub(crate) id: BatchId,
    pub(crate) mutations: Rc<Vec<Vec<u8>>>,
    /// A delivery was tried before.
    pub(crate) is_tried: bool,
}

/// The copies of a shard.
pub(crate) struct Copies {
    own: HostId,
    kept: RefCell<BTreeMap<BatchName, Kept>>,
    delivered: RefCell<VecDeque<BatchName>>,
    /// A task looks at what is due.
    pub(crate) is_watched: Cell<bool>,
}

impl Copies {
    /// None yet. The node's own batches are no copies.
    pub(crate) fn of_node(own: HostId) -> Copies {
        Copies { own, kept: RefCell::default(), delivered: RefCell::default(), is_watched: Cell::new(false) }
    }

    /// This node.
    pub(crate) fn own(&self) -> HostId {
        self.own
    }

    /// Keeps a copy whose record is synced, and that is looked at when it is due. `false`: there is one of that name already.
    pub(crate) fn keep(&self, name: BatchName, id: BatchId, mutations: Vec<Vec<u8>>, due: Instant) -> bool {
        let mut kept = self.kept.borrow_mut();
        if kept.contains_key(&name) {
            return false;
        }
        let mutations = Rc::new(mutations);
        kept.insert(name, Kept { id, mutations, due, is_asked_about: false, is_tried: false });
        true
    }

    /// True if a copy of that name is kept.
    pub(crate) fn has(&self, name: BatchName) -> bool {
        self.kept.borrow().contains_key(&name)
    }

    /// The coordinator is done with a batch. Gives the copy's record, if there is a copy.
    pub(crate) fn done(&self, name: BatchName) -> Option<BatchId> {
        self.kept.borrow_mut().remove(&name).map(|kept| kept.id)
    }

    /// A batch as this shard knows it by its copies.
    pub(crate) fn fate(&self, name: BatchName) -> Fate {
        match () {
            () if self.has(name) => Fate::Unfinished,
            () if self.delivered.borrow().contains(&name) => Fate::Delivered,
            () => Fate::Unknown,
        }
    }

    /// Copies that are kept.
    pub(crate) fn count(&self) -> u64 {
        self.kept.borrow().len() as u64
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
            Due { name, id: kept.id, mutations: Rc::clone(&kept.mutations), is_tried: kept.is_tried }
        });
        due.collect()
    }

    /// A copy stays, and is due again at this time; `is_tried`: it could not be delivered. It may be gone meanwhile.
    pub(crate) fn stays(&self, name: BatchName, is_tried: bool, due: Instant) {
        if let Some(kept) = self.kept.borrow_mut().get_mut(&name) {
            assert!(kept.is_asked_about, "a copy stays that was looked at");
            (kept.due, kept.is_asked_about) = (due, false);
            kept.is_tried |= is_tried;
        }
    }

    /// A copy was delivered. It may be gone meanwhile.
    pub(crate) fn delivered(&self, name: BatchName) {
        if let Some(kept) = self.kept.borrow_mut().remove(&name) {
            assert!(kept.is_asked_about, "a copy is delivered that was looked at");
        }
        let mut delivered = self.delivered.borrow_mut();
        if delivered.len() == REMEMBERED_MAX {
            delivered.pop_front();
        }
        delivered.push_back(name);
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

    #[test]
    fn a_copy_is_looked_at_until_its_coordinator_is_done_or_it_is_delivered() {
        let (copies, id) = (Copies::of_node(HostId([9; 16])), BatchId::new(9, 1));
        assert!(copies.keep(name(1), id, vec![vec![1]], at(4)) && copies.keep(name(2), id, vec![vec![2]], at(5)));
        assert!(!copies.keep(name(1), id, vec![vec![3]], at(5)), "one of a name is enough");
        assert_eq!(names(&copies.take_due(at(3))), [0u64; 0]);
        assert_eq!(names(&copies.take_due(at(4))), [1]);
        assert_eq!(names(&copies.take_due(at(5))), [2], "the first one is being looked at");
        copies.stays(name(1), true, at(9));
        copies.delivered(name(2));
        assert_eq!(copies.fate(name(1)), Fate::Unfinished);
        assert_eq!((copies.fate(name(2)), copies.fate(name(3))), (Fate::Delivered, Fate::Unknown));
        let due = copies.take_due(at(9));
        assert_eq!((names(&due), due[0].is_tried), (vec![1], true));
        assert_eq!((copies.done(name(1)), copies.done(name(1))), (Some(id), None));
        copies.stays(name(1), false, at(13));
        assert!(copies.is_empty() && copies.fate(name(1)) == Fate::Unknown);
    }

    #[test]
    fn delivered_names_are_remembered_up_to_a_bound() {
        let copies = Copies::of_node(HostId([9; 16]));
        (0..=REMEMBERED_MAX as u64).for_each(|sequence| copies.delivered(name(sequence)));
        assert_eq!((copies.fate(name(0)), copies.fate(name(1))), (Fate::Unknown, Fate::Delivered));
    }
}
