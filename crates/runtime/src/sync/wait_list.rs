//! Those who wait for something, in the order they came. Entries are reused: waiting takes no memory once the list has
//! grown to its usual length.

use std::collections::VecDeque;
use std::task::Waker;

/// One waiter's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u32);

#[derive(Debug)]
enum Entry {
    Free,
    Waiting { waker: Waker, ticket: u64 },
    Woken,
}

/// The waiters. Wakers are handed out rather than woken, so that the owner can end its borrow first.
#[derive(Debug, Default)]
pub(super) struct WaitList {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Entry and ticket; a pair whose entry no longer has that ticket is of one who left.
    order: VecDeque<(u32, u64)>,
    waiting: usize,
    tickets: u64,
}

impl WaitList {
    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Joins at the end.
    pub(super) fn insert(&mut self, waker: &Waker) -> Key {
        self.tickets += 1;
        let ticket = self.tickets;
        let entry = Entry::Waiting { waker: waker.clone(), ticket };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 waiters")
            }
        };
        self.drop_stale();
        self.order.push_back((index, ticket));
        self.waiting += 1;
        Key(index)
    }

    /// Whether the waiter has been woken; otherwise it now waits with `waker`.
    pub(super) fn is_woken(&mut self, key: Key, waker: &Waker) -> bool {
        match &mut self.entries[key.0 as usize] {
            Entry::Woken => true,
            Entry::Waiting { waker: old, .. } => {
                old.clone_from(waker);
                false
            }
            Entry::Free => unreachable!("a waiter has an entry until it leaves"),
        }
    }

    /// Leaves. True if the waiter had been woken.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let entry = std::mem::replace(&mut self.entries[key.0 as usize], Entry::Free);
        self.free.push(key.0);
        match entry {
            Entry::Woken => true,
            Entry::Waiting { .. } => {
                self.waiting -= 1;
                false
            }
            Entry::Free => unreachable!("a waiter leaves once"),
        }
    }

    /// The first waiter's waker, if anyone waits; it counts as woken.
    #[must_use]
    pub(super) fn pop(&mut self) -> Option<Waker> {
        while let Some((index, ticket)) = self.order.pop_front() {
            let entry = &mut self.entries[index as usize];
            if !matches!(entry, Entry::Waiting { ticket: current, .. } if *current == ticket) {
                continue;
            }
            self.waiting -= 1;
            if let Entry::Waiting { waker, .. } = std::mem::replace(entry, Entry::Woken) {
                return Some(waker);
            }
        }
        None
    }

    /// Keeps the order no longer than twice the waiters, however many came and left.
    fn drop_stale(&mut self) {
        if self.order.len() < 16 + 2 * self.waiting {
            return;
        }
        let entries = &self.entries;
        self.order.retain(|(index, ticket)| {
            matches!(&entries[*index as usize], Entry::Waiting { ticket: current, .. } if current == ticket)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pops_in_order_and_skips_those_who_left() {
        let mut list = WaitList::default();
        let waker = Waker::noop();
        let keys: Vec<Key> = (0..4).map(|_| list.insert(waker)).collect();
        assert!(!list.remove(keys[0]));
        assert!(list.pop().is_some());
        assert!(list.is_woken(keys[1], waker));
        assert!(!list.is_woken(keys[2], waker));
        assert!(list.remove(keys[1]));
        assert!(list.pop().is_some() && list.pop().is_some() && list.pop().is_none());
        assert_eq!(list.waiting, 0);
    }

    #[test]
    fn coming_and_leaving_takes_no_memory() {
        let mut list = WaitList::default();
        let first = list.insert(Waker::noop());
        for _ in 0..10_000 {
            let key = list.insert(Waker::noop());
            list.remove(key);
        }
        assert!(list.order.len() < 64 && list.entries.len() == 2);
        assert!(list.pop().is_some());
        assert!(list.remove(first));
    }
}
