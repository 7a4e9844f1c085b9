//! Turns: who changes the counters of a partition, one task at a time, in the order in which they came.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use runtime::sync::{Permit, Semaphore};
use schema::TableId;

/// How many tasks may want the turn of one partition.
const WANTING_MAX: usize = 1024;

type Partition = (TableId, Vec<u8>);

struct Wanted {
    turn: Semaphore,
    /// The task that has it, and those that wait for it.
    tasks: usize,
}

/// The partitions whose turn a task has or wants; the others are free.
#[derive(Default, Clone)]
pub(crate) struct Turns {
    wanted: Rc<RefCell<BTreeMap<Partition, Wanted>>>,
}

/// The turn of one partition, or a place in the queue for it; given back when dropped.
pub(super) struct Turn {
    turns: Turns,
    partition: Partition,
    permit: Option<Permit>,
}

impl Turns {
    /// Whether a task has or waits for the partition's turn, so that nobody else may change its counters.
    #[inline]
    pub(super) fn is_taken(&self, table: TableId, key: &[u8]) -> bool {
        let wanted = self.wanted.borrow();
        !wanted.is_empty() && wanted.contains_key(&(table, key.to_vec()))
    }

    /// Waits for the partition's turn. `None`: too many wait already.
    pub(super) async fn take(&self, table: TableId, key: &[u8]) -> Option<Turn> {
        let partition = (table, key.to_vec());
        let semaphore = {
            let mut wanted = self.wanted.borrow_mut();
            let one = wanted.entry(partition.clone()).or_insert_with(|| Wanted { turn: Semaphore::new(1), tasks: 0 });
            if one.tasks >= WANTING_MAX {
                return None;
            }
            one.tasks += 1;
            one.turn.clone()
        };
        // From here on dropping it, also while it waits, gives the place back.
        let mut turn = Turn { turns: self.clone(), partition, permit: None };
        turn.permit = Some(semaphore.acquire().await);
        Some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The next one has it before the place is counted out.
        self.permit.take();
        let mut wanted = self.turns.wanted.borrow_mut();
        if let Some(one) = wanted.get_mut(&self.partition) {
            one.tasks -= 1;
            if one.tasks == 0 {
                wanted.remove(&self.partition);
            }
        }
    }
}
