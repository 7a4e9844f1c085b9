//! Locks of partitions: one task at a time changes the counters of a partition, in the order of their arrival.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use runtime::sync::{Permit, Semaphore};
use schema::TableId;

/// Tasks that may hold or wait for the lock of one partition.
const TASKS_MAX: usize = 1024;

type Partition = (TableId, Vec<u8>);

struct Lock {
    semaphore: Semaphore,
    /// The task that holds it, and those that wait for it.
    tasks: usize,
}

/// The partitions that are locked; the others have no entry.
#[derive(Default, Clone)]
pub(crate) struct PartitionLocks {
    locks: Rc<RefCell<BTreeMap<Partition, Lock>>>,
}

/// The lock of one partition, or a place in the queue for it; given back when dropped.
pub(super) struct PartitionLock {
    locks: PartitionLocks,
    partition: Partition,
    permit: Option<Permit>,
}

impl PartitionLocks {
    /// True if a task holds or waits for the partition's lock: no other may change its counters.
    #[inline]
    pub(super) fn is_locked(&self, table: TableId, key: &[u8]) -> bool {
        let locks = self.locks.borrow();
        !locks.is_empty() && locks.contains_key(&(table, key.to_vec()))
    }

    /// Waits for the partition's lock. `None`: too many tasks wait already.
    pub(super) async fn lock(&self, table: TableId, key: &[u8]) -> Option<PartitionLock> {
        let partition = (table, key.to_vec());
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
