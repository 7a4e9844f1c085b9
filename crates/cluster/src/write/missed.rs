//! The misses of a write, and the hints that are kept of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use runtime::sync::Notify;
use topology::{ConsistencyLevel, Epoch, Node};

use super::tally::Answer;
use crate::hints::{Hints, OnDisk, Promise, Start};
use crate::replica::ReplicaError;

/// Time beyond a write's own for the hints of a write at ANY to be synced.
const SYNC_TIME: Duration = Duration::from_secs(2);

/// The hints that a write has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hinting {
    /// None: an earlier try has made them.
    None,
    /// Of each part that a replica misses.
    Kept,
    /// The same; and one of each mutation on the disk is enough.
    Enough,
}

impl Hinting {
    /// The hints of a write at `level`.
    pub(crate) fn of(level: ConsistencyLevel) -> Hinting {
        if level == ConsistencyLevel::Any { Hinting::Enough } else { Hinting::Kept }
    }
}

/// The misses of one round of a write.
pub(super) struct Missed {
    hints: Option<Rc<Hints>>,
    start: Option<Start>,
    /// By mutation, the hints of it, where one is enough. `None`: nothing waits for them any more.
    promises: RefCell<Option<Vec<Vec<Rc<Promise>>>>>,
    /// Wakes the write when a hint is on the disk, or lost.
    changed: Notify,
}

impl Missed {
    /// Of so many mutations that were planned by the ring of an epoch, and whose plans stand in this call. Their hints are as old as their write, which began at
    /// `created`, however long it waited in a batch's record or in another hint; of truncations they know those up to this call. The write is woken by `changed`.
    pub(super) fn new(
        hints: Option<&Rc<Hints>>,
        hinting: Hinting,
        (epoch, created): (Epoch, Option<i64>),
        mutations: usize,
        changed: &Notify,
    ) -> Missed {
        let hints = hints.filter(|_| hinting != Hinting::None).cloned();
        let start = hints.as_ref().and_then(|hints| hints.start(epoch.0));
        let start = start.map(|start| Start { created: created.unwrap_or(start.created), ..start });
        let is_enough = hinting == Hinting::Enough && hints.is_some();
        let promises = RefCell::new(is_enough.then(|| vec![Vec::new(); mutations]));
        Missed { hints, start, promises, changed: changed.clone() }
    }

    /// A node misses these mutations, which are the write's at `indices`.
    pub(super) fn keep(&self, node: &Node, indices: &[usize], mutations: &[&[u8]]) {
        let Some(hints) = &self.hints else { return };
        let mut promises = self.promises.borrow_mut();
        let waits = promises.is_some().then_some(&self.changed);
        let kept = hints.keep(node, self.start.as_ref(), mutations, waits);
        if let (Some(promises), Some(promise)) = (&mut *promises, kept) {
            indices.iter().for_each(|&index| promises[index].push(Rc::clone(&promise)));
        }
    }

    /// The time after which the write is decided. At ANY hints are made of what is silent at the end of the usual time.
    pub(super) fn patience(&self, time: Duration) -> Duration {
        if self.may_suffice() { time + SYNC_TIME } else { time }
    }

    /// True if hints may be enough.
    pub(super) fn may_suffice(&self) -> bool {
        self.promises.borrow().is_some()
    }

    /// True if hints are enough, and of each of these mutations one is on the disk.
    pub(super) fn suffice(&self, indices: &[usize]) -> bool {
        let is_enough = self.each_has(indices, |state| state == OnDisk::Synced);
        if is_enough {
            stdx::sometimes!("write at ANY by hints alone");
        }
        is_enough
    }

    /// True if hints may still get to the disk that are enough.
    pub(super) fn are_on_their_way(&self, indices: &[usize]) -> bool {
        self.each_has(indices, |state| state != OnDisk::Lost)
    }

    /// Has the hints on the disk at once: no replica may answer any more for what waits for them.
    pub(super) fn hurry(&self) {
        if let Some(hints) = self.hints.as_ref().filter(|_| self.may_suffice()) {
            hints.hurry();
        }
    }

    /// Nothing waits for the hints any more: they are synced when others are.
    pub(super) fn end(&self) {
        self.promises.take();
    }

    fn each_has(&self, indices: &[usize], is_so: impl Fn(OnDisk) -> bool) -> bool {
        let Some(promises) = &*self.promises.borrow() else { return false };
        let is_planted = self.hints.as_ref().is_some_and(|hints| hints.planted().is(Bug::AnyBeforeHintSynced));
        indices.iter().all(|&index| promises[index].iter().any(|promise| is_planted || is_so(promise.state())))
    }
}

/// True if a part with this outcome is to be sent again later.
pub(super) fn is_missed(answer: &Answer) -> bool {
    match answer {
        Answer::Written => false,
        Answer::Silent => true,
        // It would be refused again.
        Answer::Refused(ReplicaError::Malformed { .. } | ReplicaError::TooLarge { .. }) => false,
        // It is planned again, and sent then; where that cannot be it is hinted at last.
        Answer::Refused(ReplicaError::Stale { .. }) => false,
        Answer::Refused(_) => true,
    }
}
