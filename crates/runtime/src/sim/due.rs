//! Which shards of a world could run, by number. A step costs what has changed, not what there is: a world may have thousands of machines.

use std::collections::{BTreeMap, BTreeSet};

/// The shards that could run, and the first timer of each.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Could run now, in order.
    ready: Vec<usize>,
    /// First timer of each, in the world's time.
    timers: BTreeMap<usize, u64>,
    /// The same by time, of those that have not come and are not of stopped shards.
    by_time: BTreeSet<(u64, usize)>,
    /// Shards of processes that are paused: they take no turn, whatever is due.
    stopped: BTreeSet<usize>,
    /// Those of them that could run otherwise.
    waiting: BTreeSet<usize>,
}

impl Due {
    /// The shard could run.
    pub(super) fn add(&mut self, shard: usize) {
        if self.stopped.contains(&shard) {
            stdx::sometimes!("paused process late");
            self.waiting.insert(shard);
        } else if let Err(place) = self.ready.binary_search(&shard) {
            self.ready.insert(place, shard);
        }
    }

    /// The shards that could run at `now`, in order.
    pub(super) fn at(&mut self, now: u64) -> &[usize] {
        while let Some((_, shard)) = self.by_time.first().copied().filter(|(at, _)| *at <= now) {
            self.by_time.pop_first();
            self.add(shard);
        }
        &self.ready
    }

    /// The first timer of all that may run.
    pub(super) fn next_timer(&self) -> Option<u64> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// The shard takes its turn.
    pub(super) fn take(&mut self, shard: usize) {
        if let Ok(place) = self.ready.binary_search(&shard) {
            self.ready.remove(place);
        }
    }

    /// Sets a shard's first timer.
    pub(super) fn set_timer(&mut self, shard: usize, timer: Option<u64>) {
        if let Some(old) = self.timers.remove(&shard) {
            self.by_time.remove(&(old, shard));
        }
        if let Some(timer) = timer {
            self.timers.insert(shard, timer);
            if !self.stopped.contains(&shard) {
                self.by_time.insert((timer, shard));
            }
        }
    }

    /// Forgets a shard that ended.
    pub(super) fn forget(&mut self, shard: usize) {
        self.take(shard);
        self.set_timer(shard, None);
        self.stopped.remove(&shard);
        self.waiting.remove(&shard);
    }

    /// Keeps a shard from running.
    pub(super) fn stop(&mut self, shard: usize) {
        if self.ready.binary_search(&shard).is_ok() {
            self.take(shard);
            self.waiting.insert(shard);
        }
        self.stopped.insert(shard);
        if let Some(timer) = self.timers.get(&shard) {
            self.by_time.remove(&(*timer, shard));
        }
    }

    /// Lets a stopped shard run again.
    pub(super) fn go_on(&mut self, shard: usize) {
        if !self.stopped.remove(&shard) {
            return;
        }
        if self.waiting.remove(&shard) {
            self.add(shard);
        }
        if let Some(timer) = self.timers.get(&shard) {
            self.by_time.insert((*timer, shard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_is_what_was_added_or_is_late_once_and_in_order() {
        let mut due = Due::default();
        due.set_timer(3, Some(50));
        due.set_timer(1, Some(10));
        due.set_timer(2, Some(90));
        [4, 3, 3].into_iter().for_each(|shard| due.add(shard));
        assert_eq!(due.at(9), [3, 4]);
        assert_eq!(due.next_timer(), Some(10));
        assert_eq!(due.at(10), [1, 3, 4]);
        due.take(1);
        due.set_timer(1, None);
        assert_eq!(due.at(60), [3, 4], "late and added is due once");
        due.forget(3);
        assert_eq!(due.at(60), [4]);
        assert_eq!(due.next_timer(), Some(90));
    }

    #[test]
    fn a_stopped_shard_is_not_due_and_its_timer_is_late_afterwards() {
        let mut due = Due::default();
        due.set_timer(1, Some(10));
        due.add(2);
        due.stop(1);
        due.stop(2);
        due.add(1);
        assert!(due.at(99).is_empty());
        assert_eq!(due.next_timer(), None);
        due.take(1);
        due.set_timer(1, Some(20));
        assert_eq!(due.next_timer(), None);
        due.go_on(1);
        due.go_on(2);
        assert_eq!(due.next_timer(), Some(20));
        assert_eq!(due.at(99), [1, 2]);
    }
}
