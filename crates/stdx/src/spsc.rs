//! A bounded queue from one thread to one other. It has no lock and no atomic read-modify-write: each end publishes its
//! own position with a release store, reads the other's with an acquire load, and keeps a copy of what it last read, so
//! that the other end's cache line is touched only when the queue looks full or empty.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two of the usual 64: processors fetch lines in pairs.
#[repr(align(128))]
struct Padded<T>(T);

struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    mask: usize,
    /// Count of items ever taken. Written by the consumer only.
    head: Padded<AtomicUsize>,
    /// Count of items ever put. Written by the producer only.
    tail: Padded<AtomicUsize>,
}

// SAFETY: slots in [head, tail) belong to the consumer, all others to the producer; ownership passes with the release
// stores of `tail` and `head`. Items move between threads, hence T: Send.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above; whoever drops the ring last owns all of it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let tail = *self.tail.0.get_mut();
        let mut at = *self.head.0.get_mut();
        while at != tail {
            // SAFETY: both ends are gone, and the slots from head to tail hold items.
            unsafe { (*self.slots[at & self.mask].get()).assume_init_drop() };
            at = at.wrapping_add(1);
        }
    }
}

/// Both ends of a queue with room for at least `capacity` items.
pub fn spsc<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let capacity = capacity.max(1).next_power_of_two();
    let slots = (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let head = Padded(AtomicUsize::new(0));
    let tail = Padded(AtomicUsize::new(0));
    let ring = Arc::new(Ring { slots, mask: capacity - 1, head, tail });
    (Producer { ring: ring.clone(), tail: 0, head_seen: 0 }, Consumer { ring, head: 0, tail_seen: 0 })
}

/// The end that puts items in.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: usize,
    head_seen: usize,
}

impl<T: Send> Producer<T> {
    /// Puts the item in, or gives it back if there is no room.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        let capacity = self.ring.mask + 1;
        if self.tail.wrapping_sub(self.head_seen) == capacity {
            self.head_seen = self.ring.head.0.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.head_seen) == capacity {
                return Err(item);
            }
        }
        // SAFETY: the slot is outside [head, tail), so it is the producer's, and `&mut self` makes this the only one.
        unsafe { (*self.ring.slots[self.tail & self.ring.mask].get()).write(item) };
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.0.store(self.tail, Ordering::Release);
        Ok(())
    }
}

/// The end that takes items out.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    tail_seen: usize,
}

impl<T: Send> Consumer<T> {
    /// The first item, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the slot is inside [head, tail), so it holds an item that is the consumer's.
        let item = unsafe { (*self.ring.slots[self.head & self.ring.mask].get()).assume_init_read() };
        self.head = self.head.wrapping_add(1);
        self.ring.head.0.store(self.head, Ordering::Release);
        Some(item)
    }

    /// Whether there is nothing to take.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.head != self.tail_seen {
            return false;
        }
        self.tail_seen = self.ring.tail.0.load(Ordering::Acquire);
        self.head == self.tail_seen
    }
}

impl<T> std::fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Producer {{ put: {} }}", self.tail)
    }
}

impl<T> std::fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Consumer {{ taken: {} }}", self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_first_in_first_out_and_bounded() {
        let (mut producer, mut consumer) = spsc(4);
        for round in 0..10 {
            for item in 0..4 {
                assert_eq!(producer.push(round * 4 + item), Ok(()));
            }
            assert_eq!(producer.push(99), Err(99));
            for item in 0..4 {
                assert_eq!(consumer.pop(), Some(round * 4 + item));
            }
            assert_eq!(consumer.pop(), None);
        }
    }

    #[test]
    fn items_left_inside_are_dropped_once() {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut producer, mut consumer) = spsc(8);
        for _ in 0..5 {
            assert!(producer.push(Counted(drops.clone())).is_ok());
        }
        drop(consumer.pop());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        drop(consumer);
        drop(producer);
        assert_eq!(drops.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn two_threads_see_every_item_in_order() {
        let items = if cfg!(miri) { 200 } else { 200_000 };
        let (mut producer, mut consumer) = spsc::<Box<u64>>(16);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for item in 0..items {
                    let mut boxed = Box::new(item);
                    while let Err(back) = producer.push(boxed) {
                        boxed = back;
                        std::thread::yield_now();
                    }
                }
            });
            for expected in 0..items {
                let item = loop {
                    if let Some(item) = consumer.pop() {
                        break item;
                    }
                    std::thread::yield_now();
                };
                assert_eq!(*item, expected);
            }
        });
    }
}
