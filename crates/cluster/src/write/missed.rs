//! The misses of a write, and the hints that are kept of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use topology::{ConsistencyLevel, Epoch, Node};

use super::tally::Answer;
use crate::hints::{Hints, Promise, Start};
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
    hinting: Hinting,
    start: Option<Start>,
    /// By mutation, the hints of it, where one is enough.
    promises: RefCell<Vec<Vec<Rc<Promise>>>>,
}

impl Missed {
    /// Of so many mutations that were planned by the ring of an epoch, and whose plans stand in this call. Their hints are as old as their write, which began at
    /// `created`, however long it waited in a batch's record or in another hint; of truncations they know those up to this call.
    pub(super) fn new(
        hints: Option<&Rc<Hints>>,
        hinting: Hinting,
        (epoch, created): (Epoch, Option<i64>),
        mutations: usize,
    ) -> Missed {
        let hints = hints.filter(|_| hinting != Hinting::None).cloned();
        let start = hints.as_ref().and_then(|hints| hints.start(epoch.0));
        let start = start.map(|start| Start { created: created.unwrap_or(start.created), ..start });
        let promises = match hinting {
            Hinting::Enough => vec![Vec::new(); mutations],
            _ => Vec::new(),
        };
        Missed { hints, hinting, start, promises: RefCell::new(promises) }
    }

    /// A node misses these mutations, which are the write's at `indices`.
    pub(super) fn keep(&self, node: &Node, indices: &[usize], mutations: &[&[u8]]) {
        let Some(hints) = &self.hints else { return };
        let is_enough = self.hinting == Hinting::Enough;
        let Some(kept) = hints.keep(node, self.start.as_ref(), mutations, is_enough) else { return };
        if let Some(ticket) = kept {
            let promise = Promise::new(ticket);
            let mut promises = self.promises.borrow_mut();
            indices.iter().for_each(|&index| promises[index].push(Rc::clone(&promise)));
        }
    }

    /// The time after which the write is decided. At ANY hints are made of what is silent at the end of the usual time.
    pub(super) fn patience(&self, time: Duration) -> Duration {
        if self.may_suffice() { time + SYNC_TIME } else { time }
    }

    /// True if hints may be enough.
    pub(super) fn may_suffice(&self) -> bool {
        self.hinting == Hinting::Enough && self.hints.is_some()
    }

    /// True if hints are enough, and one of each of these mutations is on the disk.
    pub(super) async fn suffice(&self, indices: &[usize]) -> bool {
        let Some(hints) = self.hints.as_ref().filter(|_| self.hinting == Hinting::Enough) else { return false };
        let of_each = {
            let promises = self.promises.borrow();
            indices.iter().map(|&index| promises[index].clone()).collect()
        };
        let is_kept = hints.all_synced(of_each).await;
        if is_kept {
            stdx::sometimes!("write at ANY by hints alone");
        }
        is_kept
    }
}

/// True if a part with this outcome is to be sent again later.
pub(super) fn is_missed(answer: &Answer) -> bool {
    match answer {
        Answer::Written => false,
        Answer::Silent => true,
        // It would be refused again.
        Answer::Refused(ReplicaError::Malformed { .. } | ReplicaError::TooLarge { .. }) => false,
        // It is planned again, and sent then.
        Answer::Refused(ReplicaError::Stale { .. }) => false,
        Answer::Refused(_) => true,
    }
}
