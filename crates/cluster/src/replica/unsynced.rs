//! What waits for the commit log's sync.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use planted::Bug;
use runtime::sync::Notify;
use runtime::{Group, Runtime};
use storage::{LogSequence, Shard, SyncError};

/// Things that are finished when the log is synced as far as each needs it: one task for all, since records are synced in order.
pub struct Unsynced<T> {
    inner: Rc<Inner<T>>,
}

struct Inner<T> {
    storage: Shard,
    /// In the order of the log.
    waiting: RefCell<VecDeque<(LogSequence, T)>>,
    wake: Notify,
    finish: Box<dyn Fn(T, Result<(), SyncError>)>,
}

impl<T: 'static> Unsynced<T> {
    /// Finishes with `finish` what is pushed, which bounds how much that is.
    pub fn new(runtime: &Runtime, storage: Shard, finish: impl Fn(T, Result<(), SyncError>) + 'static) -> Self {
        let inner = Inner { storage, waiting: RefCell::default(), wake: Notify::new(), finish: Box::new(finish) };
        let inner = Rc::new(inner);
        runtime.spawn(Group::Query, Rc::clone(&inner).run());
        Unsynced { inner }
    }

    /// Finishes it once the log is synced up to `sequence`, behind what was pushed earlier.
    pub fn push(&self, sequence: LogSequence, what: T) {
        let inner = &*self.inner;
        if inner.storage.planted().is(Bug::ShardAnswersBeforeSync) {
            return (inner.finish)(what, Ok(()));
        }
        inner.waiting.borrow_mut().push_back((sequence, what));
        inner.wake.notify();
    }
}

impl<T> Inner<T> {
    async fn run(self: Rc<Self>) {
        loop {
            let next = self.waiting.borrow().front().map(|(sequence, _)| *sequence);
            let Some(next) = next else {
                self.wake.notified().await;
                continue;
            };
            let outcome = self.storage.wait_synced(next).await;
            let synced = self.storage.synced();
            while let Some(what) = self.pop_due(synced, outcome.is_err()) {
                (self.finish)(what, outcome);
            }
        }
    }

    /// The first, if the log is synced as far as it needs or is not to be waited for.
    fn pop_due(&self, synced: LogSequence, in_any_case: bool) -> Option<T> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.front().filter(|(sequence, _)| in_any_case || *sequence <= synced)?;
        waiting.pop_front().map(|(_, what)| what)
    }
}
