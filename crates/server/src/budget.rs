//! What the connections of one shard have taken together, against the limits.

use std::cell::Cell;
use std::rc::Rc;

use crate::Limits;

/// One shard's count of requests and bytes under way.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    /// Requests that are tasks now.
    tasks: Cell<usize>,
    /// Bytes of large frames that are arriving and of requests that are tasks.
    bytes: Cell<usize>,
    /// Requests refused so far.
    refused: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget { limits, tasks: Cell::new(0), bytes: Cell::new(0), refused: Cell::new(0) }
    }

    /// Takes a request of so many bytes; false if there are too many requests or bytes.
    pub(crate) fn take_task(&self, bytes: usize) -> bool {
        if self.tasks.get() >= self.limits.shard_requests_max || !self.change_bytes(0, bytes) {
            self.refused.set(self.refused.get() + 1);
            return false;
        }
        self.tasks.set(self.tasks.get() + 1);
        true
    }

    /// Gives back what [`Budget::take_task`] took.
    pub(crate) fn give_task(&self, bytes: usize) {
        self.tasks.set(self.tasks.get() - 1);
        self.bytes.set(self.bytes.get() - bytes);
    }

    /// Changes what an arriving frame takes from `before` to `now` bytes; false, and no change, if that is too much.
    pub(crate) fn take_bytes(&self, before: usize, now: usize) -> bool {
        let taken = self.change_bytes(before, now);
        if !taken {
            self.refused.set(self.refused.get() + 1);
        }
        taken
    }

    /// Takes bytes until the value that is given is dropped; `None` if that is too much and not `in_any_case`.
    pub(crate) fn hold(self: &Rc<Self>, bytes: usize, in_any_case: bool) -> Option<HeldBytes> {
        if in_any_case {
            self.bytes.set(self.bytes.get() + bytes);
        } else if !self.take_bytes(0, bytes) {
            return None;
        }
        Some(HeldBytes { budget: self.clone(), bytes })
    }

    /// Requests refused so far because there was too much under way.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Requests that are tasks now.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.get()
    }

    /// Bytes under way.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    fn change_bytes(&self, before: usize, now: usize) -> bool {
        let all = self.bytes.get() - before + now;
        // What shrinks is always taken, so that a limit that was met can be left again.
        if now > before && all > self.limits.shard_bytes_in_flight_max {
            return false;
        }
        self.bytes.set(all);
        true
    }
}

/// Bytes that count against a shard's limit for as long as this lives.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    budget: Rc<Budget>,
    bytes: usize,
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.take_bytes(self.bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_bytes_count_while_they_are_held() {
        let limits = Limits { shard_bytes_in_flight_max: 100, ..Limits::default() };
        let budget = Rc::new(Budget::new(limits));
        let held = budget.hold(80, false);
        assert!(held.is_some() && budget.hold(30, false).is_none());
        assert!(budget.hold(30, true).is_some());
        drop(held);
        assert_eq!((budget.bytes(), budget.refused()), (0, 1));
        assert!(budget.hold(100, false).is_some());
    }

    #[test]
    fn requests_and_bytes_have_limits_and_come_back() {
        let limits = Limits { shard_requests_max: 2, shard_bytes_in_flight_max: 100, ..Limits::default() };
        let budget = Budget::new(limits);
        assert!(budget.take_task(60));
        assert!(!budget.take_task(41), "too many bytes");
        assert!(budget.take_task(40));
        assert!(!budget.take_task(0), "too many requests");
        budget.give_task(60);
        assert!(budget.take_bytes(0, 30));
        assert!(!budget.take_bytes(30, 61));
        assert!(budget.take_bytes(30, 60));
        assert!(budget.take_bytes(60, 0));
        budget.give_task(40);
        assert_eq!((budget.bytes(), budget.refused()), (0, 3));
    }
}
