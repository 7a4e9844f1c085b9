//! The memory that the incoming connections of a shard take together, as two budgets.
//!
//! - *Frames* that are not whole yet, beyond what each connection may have uncounted (80 KiB: a frame as long as requests are, and a read). At the bound, a
//!   connection whose frame needs more is not read on; those with short frames are. If all of it is held by frames that are not whole, none of them would end: so
//!   one connection at a time goes on beyond the bound until its frame is being served. One that lets others wait for too long is closed.
//! - *Served*: requests being served, the answers that they may get, and answers to be sent. All of it ends without another connection's help: work ends, and a
//!   dialler that does not take its answers is closed. Requests get room in the order in which they ask for it: a long one would wait for ever among short ones.
//!
//! A frame passes from the first budget to the second, and is always in one of them.

use std::cell::Cell;
use std::rc::Rc;

use runtime::sync::{Notify, Permit, Semaphore};

use crate::outbox::first;

/// Frames that are not whole.
const FRAMES_MAX: usize = 8 << 20;
/// Requests being served, and answers.
const SERVED_MAX: usize = 24 << 20;

/// A shard's memory for incoming connections.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) frames: Rc<Budget>,
    pub(crate) served: Rc<Budget>,
    /// For the connection that is read on beyond the bound of the frames.
    beyond: Semaphore,
    /// For the request that has the next room.
    turn: Semaphore,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            frames: Budget::new(FRAMES_MAX),
            served: Budget::new(SERVED_MAX),
            beyond: Semaphore::new(1),
            turn: Semaphore::new(1),
        }
    }
}

impl Memory {
    /// Waits until a frame may have so many more bytes, or until the caller may go on beyond the bound: as long as it has the permit.
    pub(crate) async fn room_for_frame(&self, bytes: usize) -> Option<Permit> {
        if self.frames.has_room_for(bytes) {
            return None;
        }
        stdx::sometimes!("incoming connections wait for memory");
        let within = async {
            self.frames.room_for(bytes).await;
            None
        };
        first(within, async { Some(self.beyond.acquire().await) }).await
    }

    /// Waits until a request may have so many bytes, for itself and its answer, and those before it have theirs. The caller takes them in the same call.
    pub(crate) async fn room_to_serve(&self, bytes: usize) {
        let _turn = self.turn.acquire().await;
        self.served.room_for(bytes).await;
    }

    /// Bytes that all connections hold.
    pub(crate) fn used(&self) -> usize {
        self.frames.used.get() + self.served.used.get()
    }
}

/// Bytes of one kind, and their bound.
#[derive(Debug)]
pub(crate) struct Budget {
    used: Cell<usize>,
    max: usize,
    waiting: Cell<u32>,
    room: Notify,
}

impl Budget {
    fn new(max: usize) -> Rc<Budget> {
        Rc::new(Budget { used: Cell::new(0), max, waiting: Cell::new(0), room: Notify::new() })
    }

    /// A part of it, with nothing in it yet.
    pub(crate) fn part(self: &Rc<Self>) -> Part {
        Part { budget: Rc::clone(self), bytes: Cell::new(0) }
    }

    /// Waits until so many more bytes are within the bound, or nothing else is there.
    pub(crate) async fn room_for(&self, bytes: usize) {
        let _waiting = Waiting::begin(&self.waiting);
        while !self.has_room_for(bytes) {
            self.room.notified().await;
        }
    }

    /// True if a connection waits for room.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.get() > 0
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.used.get() == 0 || self.used.get() + bytes <= self.max
    }
}

/// Counts one that waits, until it is dropped.
struct Waiting<'w>(&'w Cell<u32>);

impl Waiting<'_> {
    fn begin(count: &Cell<u32>) -> Waiting<'_> {
        count.set(count.get() + 1);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Bytes that are held for one purpose. Dropped, it gives them back.
#[derive(Debug)]
pub(crate) struct Part {
    budget: Rc<Budget>,
    bytes: Cell<usize>,
}

impl Part {
    /// It holds so many bytes now.
    pub(crate) fn set(&self, bytes: usize) {
        let (budget, before) = (&self.budget, self.bytes.replace(bytes));
        assert!(budget.used.get() >= before, "a part is counted in its budget");
        budget.used.set(budget.used.get() - before + bytes);
        if bytes < before {
            // There may be room for several, and the first may want more than there is.
            budget.room.notify_all();
        }
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn is_ready(future: std::pin::Pin<&mut impl Future>) -> bool {
        matches!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
    }

    #[test]
    fn room_for_several_wakes_them_though_the_first_wants_more() {
        let budget = Budget::new(100);
        let (most, rest) = (budget.part(), budget.part());
        most.set(90);
        rest.set(5);
        let (mut long, mut short) = (pin!(budget.room_for(60)), pin!(budget.room_for(20)));
        assert!(!is_ready(long.as_mut()) && !is_ready(short.as_mut()) && budget.is_awaited());
        most.set(50);
        assert!(!is_ready(long.as_mut()) && is_ready(short.as_mut()));
        most.set(0);
        assert!(is_ready(long.as_mut()));
    }

    #[test]
    fn requests_are_served_in_their_order_however_long_they_are() {
        let memory = Memory::default();
        let (most, rest) = (memory.served.part(), memory.served.part());
        most.set(SERVED_MAX - 10);
        rest.set(5);
        let (mut long, mut short) = (pin!(memory.room_to_serve(SERVED_MAX / 2)), pin!(memory.room_to_serve(1)));
        assert!(!is_ready(long.as_mut()) && !is_ready(short.as_mut()), "there is room for the short one");
        most.set(0);
        assert!(is_ready(long.as_mut()) && is_ready(short.as_mut()));
    }

    #[test]
    fn a_frame_above_the_bound_goes_on_alone() {
        let memory = Memory::default();
        let (one, other) = (memory.frames.part(), memory.frames.part());
        assert!(is_ready(pin!(memory.room_for_frame(FRAMES_MAX * 8))), "nothing else is there");
        one.set(FRAMES_MAX);
        other.set(1);
        let mut first = pin!(memory.room_for_frame(1));
        let Poll::Ready(permit) = first.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("it goes on beyond the bound")
        };
        assert!(permit.is_some());
        let mut second = pin!(memory.room_for_frame(1));
        assert!(!is_ready(second.as_mut()), "one at a time");
        drop(permit);
        assert!(is_ready(second.as_mut()));
    }
}
