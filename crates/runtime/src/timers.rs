//! Who waits for which moment: a heap of deadlines with four children per node, in which each timer knows its place, so
//! that one that is no longer wanted leaves at once. A timing wheel would set timers in constant time, but only on its
//! grid; a heap of even ten thousand timers is seven steps deep, and its first entry is exact.

use std::task::Waker;

use crate::time::Instant;

/// A timer's number while it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimerKey(u32);

const NO_PLACE: u32 = u32::MAX;
const CHILDREN: usize = 4;

#[derive(Debug)]
struct Timer {
    waker: Option<Waker>,
    /// Index in the heap, or [`NO_PLACE`] once the moment has come.
    place: u32,
}

/// One entry of the heap. Equal deadlines come in the order they were set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    deadline: Instant,
    sequence: u64,
    timer: u32,
}

/// The timers of a shard.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<Entry>,
    timers: Vec<Timer>,
    free: Vec<u32>,
    sequence: u64,
}

impl Timers {
    /// The first deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.deadline)
    }

    /// Sets a timer.
    pub(crate) fn insert(&mut self, deadline: Instant, waker: &Waker) -> TimerKey {
        let timer = Timer { waker: Some(waker.clone()), place: NO_PLACE };
        let index = match self.free.pop() {
            Some(index) => {
                self.timers[index as usize] = timer;
                index
            }
            None => {
                self.timers.push(timer);
                u32::try_from(self.timers.len() - 1).expect("fewer than 2^32 timers")
            }
        };
        self.sequence += 1;
        self.heap.push(Entry { deadline, sequence: self.sequence, timer: index });
        self.rise(self.heap.len() - 1);
        TimerKey(index)
    }

    /// Whether the timer's moment has come; if not, `waker` is woken when it does.
    pub(crate) fn is_over(&mut self, key: TimerKey, waker: &Waker) -> bool {
        let timer = &mut self.timers[key.0 as usize];
        if timer.place == NO_PLACE {
            return true;
        }
        match &mut timer.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        false
    }

    /// Removes the timer, whether its moment has come or not.
    pub(crate) fn remove(&mut self, key: TimerKey) {
        let place = self.timers[key.0 as usize].place;
        if place != NO_PLACE {
            self.take_out(place as usize);
        }
        self.timers[key.0 as usize].waker = None;
        self.free.push(key.0);
    }

    /// Takes note that it is `now`: who waited until then or earlier is put into `woken`, in order.
    pub(crate) fn advance(&mut self, now: Instant, woken: &mut Vec<Waker>) {
        while let Some(first) = self.heap.first().copied()
            && first.deadline <= now
        {
            self.take_out(0);
            woken.extend(self.timers[first.timer as usize].waker.take());
        }
    }

    fn take_out(&mut self, place: usize) {
        let entry = self.heap.swap_remove(place);
        self.timers[entry.timer as usize].place = NO_PLACE;
        if place < self.heap.len() {
            self.rise(place);
            self.sink(place);
        }
    }

    /// Puts the entry into its place and tells its timer.
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.timers[entry.timer as usize].place = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if entry <= self.heap[least] {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;

    use super::*;

    /// Waking takes the next number of a common count.
    #[derive(Default)]
    struct Numbered {
        next: Arc<AtomicU64>,
        number: AtomicU64,
    }

    impl Wake for Numbered {
        fn wake(self: Arc<Self>) {
            self.number.store(self.next.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// The positions of the deadlines in the order in which their timers wake, without those `removed`.
    fn woken(deadlines: &[u64], removed: &[usize]) -> Vec<usize> {
        let next = Arc::<AtomicU64>::default();
        let wakers: Vec<Arc<Numbered>> =
            deadlines.iter().map(|_| Arc::new(Numbered { next: next.clone(), ..Numbered::default() })).collect();
        let mut timers = Timers::default();
        let set = |(deadline, waker): (&u64, &Arc<Numbered>)| {
            timers.insert(Instant::from_nanos(*deadline), &Waker::from(waker.clone()))
        };
        let keys: Vec<TimerKey> = deadlines.iter().zip(&wakers).map(set).collect();
        for place in removed {
            timers.remove(keys[*place]);
        }
        let mut list = Vec::new();
        while let Some(next) = timers.next() {
            timers.advance(next, &mut list);
        }
        list.into_iter().for_each(Waker::wake);
        let number = |place: &usize| wakers[*place].number.load(Ordering::Relaxed);
        let mut order: Vec<usize> = (0..deadlines.len()).filter(|place| number(place) > 0).collect();
        order.sort_by_key(number);
        order
    }

    #[test]
    fn wakes_in_order_of_deadlines_then_of_setting() {
        let mut random = 1u64;
        for count in [1, 2, 5, 64, 500] {
            let mut deadlines = Vec::new();
            for _ in 0..count {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                deadlines.push((random >> 33) % 100);
            }
            let removed: Vec<usize> = (0..count).filter(|place| place % 3 == 1).collect();
            let mut expected: Vec<usize> = (0..count).filter(|place| place % 3 != 1).collect();
            expected.sort_by_key(|place| (deadlines[*place], *place));
            assert_eq!(woken(&deadlines, &removed), expected);
        }
    }

    #[test]
    fn a_removed_timer_leaves_nothing() {
        let mut timers = Timers::default();
        for _ in 0..1000 {
            let key = timers.insert(Instant::from_nanos(5), Waker::noop());
            assert!(!timers.is_over(key, Waker::noop()));
            timers.remove(key);
        }
        assert!(timers.heap.is_empty() && timers.timers.len() == 1 && timers.next().is_none());
    }
}
