//! Long computations for shards, done by threads beside them: a password's hash would hold a core for tens of milliseconds.
//!
//! Jobs lie on a bench, a value under a lock that shards and workers hold for as long as it takes to put a piece of work there or to take one. The bench's owner says what is
//! taken next and when, and bounds it. A worker sleeps while there is nothing to take, and ends when all shards have ended. Results go back by
//! [questions from outside](crate::outside), so a shard that waits for none reads one flag per turn.
//!
//! Not done: a channel into each worker. Who may put something there depends on all that lies there already, whichever shard it is of.
// Nothing of this is on a request's way.
#![allow(clippy::disallowed_types)]

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::outside::{Outside, OutsideSeat, outside};
use crate::reactor::Clock;
use crate::{Instant, Runtime, ShardId};

/// The choice of a worker that looks at the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<T> {
    /// This is to be done now.
    Take(T),
    /// Nothing is to be done before this moment.
    WaitUntil(Instant),
    /// Nothing is to be done.
    Wait,
}

struct Shared<B> {
    bench: Mutex<State<B>>,
    /// The bench has changed, or the last shard has ended.
    changed: Condvar,
}

struct State<B> {
    bench: B,
    /// Shards that have not ended.
    shards: u16,
}

impl<B> Shared<B> {
    fn locked(&self) -> MutexGuard<'_, State<B>> {
        // A worker computes without the lock. What a holder that panicked has left is its owner's to judge, as it is on one thread.
        self.bench.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bench for so many shards, one seat for each, and what its workers are made of. Results under way to one shard are at most `results`; others are lost.
pub fn workbench<B: Send + 'static, R: Send + 'static>(
    shards: u16,
    bench: B,
    results: usize,
) -> (Worker<B, R>, Vec<WorkbenchSeat<B, R>>) {
    let shared = Arc::new(Shared { bench: Mutex::new(State { bench, shards }), changed: Condvar::new() });
    let (back, seats) = outside(shards, results);
    let seat = |seat| WorkbenchSeat { seat, presence: Presence { shared: shared.clone() } };
    let seats = seats.into_iter().map(seat).collect();
    (Worker { shared, back }, seats)
}

/// A shard that may put work on the bench. Dropped when the shard ends, however it does.
struct Presence<B> {
    shared: Arc<Shared<B>>,
}

impl<B> Drop for Presence<B> {
    fn drop(&mut self) {
        let mut state = self.shared.locked();
        state.shards = state.shards.checked_sub(1).expect("a shard ends once");
        drop(state);
        self.shared.changed.notify_all();
    }
}

/// A shard's place at the bench, on its way to the shard's thread.
pub struct WorkbenchSeat<B, R> {
    seat: OutsideSeat<R, ()>,
    presence: Presence<B>,
}

impl<B: Send + 'static, R: Send + 'static> WorkbenchSeat<B, R> {
    /// Takes the seat on its shard. `receive` gets each result, and must be quick.
    ///
    /// # Panics
    /// On another shard than the seat's.
    pub fn open(self, runtime: &Runtime, mut receive: impl FnMut(R) + 'static) -> Workbench<B> {
        let WorkbenchSeat { seat, presence } = self;
        let bench = Workbench { shared: presence.shared.clone() };
        seat.open(runtime, move |result, responder| {
            // The handler is dropped when the shard ends, and the presence with it.
            let _of_handler = &presence;
            receive(result);
            responder.reply(());
        });
        bench
    }
}

/// A shard's hand on the bench. Clones are the same.
pub struct Workbench<B> {
    shared: Arc<Shared<B>>,
}

impl<B> Clone for Workbench<B> {
    fn clone(&self) -> Self {
        Workbench { shared: self.shared.clone() }
    }
}

impl<B> Workbench<B> {
    /// Changes the bench, and has its workers look at it again. `change` must be quick: other shards wait for its end.
    pub fn with<T>(&self, change: impl FnOnce(&mut B) -> T) -> T {
        let result = change(&mut self.shared.locked().bench);
        self.shared.changed.notify_all();
        result
    }
}

/// A worker's view of the bench, for a thread [beside the shards](crate::Companion). Clones are other workers.
pub struct Worker<B, R> {
    shared: Arc<Shared<B>>,
    back: Outside<R, ()>,
}

impl<B, R> Clone for Worker<B, R> {
    fn clone(&self) -> Self {
        Worker { shared: self.shared.clone(), back: self.back.clone() }
    }
}

impl<B: Send + 'static, R: Send + 'static> Worker<B, R> {
    /// Waits until there is something to be done, and takes it. `None`: all shards have ended.
    pub fn take<T>(&self, mut choose: impl FnMut(&mut B, Instant) -> Choice<T>) -> Option<T> {
        let clock = Clock::kernel();
        let mut state = self.shared.locked();
        loop {
            if state.shards == 0 {
                return None;
            }
            let now = clock.now();
            state = match choose(&mut state.bench, now) {
                Choice::Take(work) => return Some(work),
                Choice::Wait => self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Choice::WaitUntil(until) => {
                    let waited = self.shared.changed.wait_timeout(state, until - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Changes the bench, and sends the results that this gives to their shards. Those of a shard that has ended are dropped.
    pub fn finish(&self, change: impl FnOnce(&mut B, Instant) -> Vec<(ShardId, R)>) {
        let now = Clock::kernel().now();
        let results = change(&mut self.shared.locked().bench, now);
        self.shared.changed.notify_all();
        for (shard, result) in results {
            drop(self.back.call(shard, result));
        }
    }
}
