//! Who is next at a partition: attempts that cannot be done in one call claim it, one after the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use runtime::Runtime;
use runtime::sync::{Permit, Semaphore};
use schema::TableId;

/// How many may wait for one partition.
const WAITING_MAX: usize = 128;

type Place = (TableId, Vec<u8>);

/// The partitions of a shard at which somebody is, or waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    places: Rc<RefCell<BTreeMap<Place, Semaphore>>>,
}

/// One attempt's time at a partition; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    queue: Queue,
    place: Place,
    /// Missing while it is waited for, and while it is dropped.
    permit: Option<Permit>,
}

impl Queue {
    /// Whether nobody is at the partition and nobody waits for it. Until the call ends nobody can come.
    #[inline]
    pub(crate) fn is_free(&self, table: TableId, key: &[u8]) -> bool {
        let places = self.places.borrow();
        // Where all attempts are done in one call there are no places, and nothing is copied for the search.
        places.is_empty() || !places.contains_key(&(table, key.to_vec()))
    }

    /// Waits for the claim of a partition, for so long. `None`: it took too long, or too many wait already.
    pub(crate) async fn claim(
        &self,
        (runtime, time): (&Runtime, Duration),
        table: TableId,
        key: &[u8],
    ) -> Option<Claim> {
        let place = (table, key.to_vec());
        let waiting = self.places.borrow_mut().entry(place.clone()).or_insert_with(|| Semaphore::new(1)).clone();
        if waiting.waiting() >= WAITING_MAX {
            stdx::sometimes!("too many wait for a partition");
            return None;
        }
        // Also where the future is dropped, the partition is left.
        let mut claim = Claim { queue: self.clone(), place, permit: None };
        claim.permit = match waiting.try_acquire() {
            Some(permit) => Some(permit),
            None => {
                stdx::sometimes!("conditional statements wait for each other");
                runtime.timeout(time, waiting.acquire()).await.ok()
            }
        };
        claim.permit.is_some().then_some(claim)
    }

    /// Forgets the partition if nobody is there any more.
    fn leave(&self, place: &Place) {
        let mut places = self.places.borrow_mut();
        // A permit that is promised to somebody who was woken is neither available nor waited for.
        let is_free = |waiting: &Semaphore| waiting.available() == 1 && waiting.waiting() == 0;
        if places.get(place).is_some_and(is_free) {
            places.remove(place);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.queue.leave(&self.place);
    }
}
