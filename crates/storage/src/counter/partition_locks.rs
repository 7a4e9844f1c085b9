//! Locks of partitions: one task at a time changes the counters of a partition, in the order of their arrival. And tables that are closed: what their
//! counters are is about to be truncated, so none may be changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use runtime::sync::{Notify, Permit, Semaphore};
use schema::TableId;

/// Tasks that may hold or wait for the lock of one partition.
const TASKS_MAX: usize = 1024;

/// A partition, or all of a table that is closed.
type Partition = (TableId, Option<Vec<u8>>);

struct Lock {
    semaphore: Semaphore,
    /// The task that holds it, and those that wait for it.
    tasks: usize,
}

/// The partitions that are locked and the tables that are closed; the others have no entry.
#[derive(Default, Clone)]
pub(crate) struct PartitionLocks {
    locks: Rc<RefCell<BTreeMap<Partition, Lock>>>,
    opened: Notify,
}

/// The lock of one partition, or a place in the queue for it; given back when dropped.
pub(super) struct PartitionLock {
    locks: PartitionLocks,
    partition: Partition,
    permit: Option<Permit>,
}

impl PartitionLocks {
    /// True if a task holds or waits for the partition's lock, or the table is closed: no other may change its counters.
    #[inline]
    pub(super) fn is_locked(&self, table: TableId, key: &[u8]) -> bool {
        let locks = self.locks.borrow();
        let is_in = |partition: &Partition| locks.contains_key(partition);
        !locks.is_empty() && (is_in(&(table, Some(key.to_vec()))) || is_in(&(table, None)))
    }

    /// Closes a table.
    pub(crate) fn close(&self, table: TableId) {
        self.locks.borrow_mut().insert((table, None), Lock { semaphore: Semaphore::new(0), tasks: 0 });
    }

    /// Opens a table again.
    pub(crate) fn open(&self, table: TableId) {
        self.locks.borrow_mut().remove(&(table, None));
        self.opened.notify_all();
    }

    /// True if the table is closed.
    pub(super) fn is_closed(&self, table: TableId) -> bool {
        self.locks.borrow().contains_key(&(table, None))
    }

    /// Waits until the table is open.
    pub(super) async fn wait_open(&self, table: TableId) {
        while self.is_closed(table) {
            self.opened.notified().await;
        }
    }

    /// Waits for the partition's lock. `None`: too many tasks wait already.
    pub(super) async fn lock(&self, table: TableId, key: &[u8]) -> Option<PartitionLock> {
        let partition = (table, Some(key.to_vec()));
        let semaphore = {
            let mut locks = self.locks.borrow_mut();
            let one = locks.entry(partition.clone()).or_insert_with(|| Lock { semaphore: Semaphore::new(1), tasks: 0 });
            if one.tasks >= TASKS_MAX {
                return None;
            }
            one.tasks += 1;
            one.semaphore.clone()
        };
        // From here on dropping it, also while it waits, gives the place back.
        let mut lock = PartitionLock { locks: self.clone(), partition, permit: None };
        lock.permit = Some(semaphore.acquire().await);
        Some(lock)
    }
}

impl Drop for PartitionLock {
    fn drop(&mut self) {
        // The next task has it before the place is counted out.
        self.permit.take();
        let mut locks = self.locks.locks.borrow_mut();
        if let Some(one) = locks.get_mut(&self.partition) {
            one.tasks -= 1;
            if one.tasks == 0 {
                locks.remove(&self.partition);
            }
        }
    }
}
