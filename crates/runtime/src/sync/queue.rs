//! A bounded queue between tasks of one shard.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Closed;
use super::notify::{Notified, Notify};

#[derive(Debug)]
struct State<T> {
    items: RefCell<VecDeque<T>>,
    capacity: usize,
    is_closed: Cell<bool>,
    not_empty: Notify,
    not_full: Notify,
}

/// The queue has no room, or is closed; the item comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

/// First in, first out, for any count of pushing and popping tasks. Clones are the same queue.
#[derive(Debug)]
pub struct Queue<T> {
    state: Rc<State<T>>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Queue { state: self.state.clone() }
    }
}

impl<T> Queue<T> {
    /// A queue with room for `capacity` items, at least one.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue without room moves nothing");
        let state = State {
            items: RefCell::default(),
            capacity,
            is_closed: Cell::new(false),
            not_empty: Notify::new(),
            not_full: Notify::new(),
        };
        Queue { state: Rc::new(state) }
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.state.items.borrow().len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// No more is taken in; what is inside can still be popped.
    pub fn close(&self) {
        self.state.is_closed.set(true);
        self.state.not_empty.notify_all();
        self.state.not_full.notify_all();
    }

    /// Whether [`Queue::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.state.is_closed.get()
    }

    /// Puts the item in if there is room.
    pub fn try_push(&self, item: T) -> Result<(), Full<T>> {
        let mut items = self.state.items.borrow_mut();
        if self.state.is_closed.get() || items.len() >= self.state.capacity {
            return Err(Full(item));
        }
        items.push_back(item);
        drop(items);
        self.state.not_empty.notify();
        Ok(())
    }

    /// The first item, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        let item = self.state.items.borrow_mut().pop_front()?;
        self.state.not_full.notify();
        Some(item)
    }

    /// Waits for room, then puts the item in; gives it back if the queue is closed.
    pub fn push(&self, item: T) -> Push<'_, T> {
        Push { queue: self, item: Some(item), wait: None }
    }

    /// Waits for an item; [`Closed`] once the queue is closed and empty.
    pub fn pop(&self) -> Pop<'_, T> {
        Pop { queue: self, wait: None }
    }
}

/// Waits for room; see [`Queue::push`].
#[must_use = "a future does nothing unless awaited"]
#[derive(Debug)]
pub struct Push<'a, T> {
    queue: &'a Queue<T>,
    item: Option<T>,
    wait: Option<Notified<'a>>,
}

impl<T> Unpin for Push<'_, T> {}

impl<T> Future for Push<'_, T> {
    type Output = Result<(), Full<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let queue = self.queue;
        loop {
            if let Some(wait) = &mut self.wait
                && Pin::new(wait).poll(cx).is_pending()
            {
                return Poll::Pending;
            }
            self.wait = None;
            let item = self.item.take().expect("a finished push is not polled");
            match queue.try_push(item) {
                Ok(()) => {
                    // One signal may stand for room for several: pass it on while there is some.
                    if queue.len() < queue.state.capacity {
                        queue.state.not_full.notify();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(full) if queue.is_closed() => return Poll::Ready(Err(full)),
                Err(Full(item)) => {
                    self.item = Some(item);
                    self.wait = Some(queue.state.not_full.notified());
                }
            }
        }
    }
}

/// Waits for an item; see [`Queue::pop`].
#[must_use = "a future does nothing unless awaited"]
#[derive(Debug)]
pub struct Pop<'a, T> {
    queue: &'a Queue<T>,
    wait: Option<Notified<'a>>,
}

impl<T> Future for Pop<'_, T> {
    type Output = Result<T, Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let queue = self.queue;
        loop {
            if let Some(wait) = &mut self.wait
                && Pin::new(wait).poll(cx).is_pending()
            {
                return Poll::Pending;
            }
            self.wait = None;
            if let Some(item) = queue.try_pop() {
                // One signal may stand for several items: pass it on while there are some.
                if !queue.is_empty() {
                    queue.state.not_empty.notify();
                }
                return Poll::Ready(Ok(item));
            }
            if queue.is_closed() {
                return Poll::Ready(Err(Closed));
            }
            self.wait = Some(queue.state.not_empty.notified());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn keeps_order_and_its_bound() {
        let queue = Queue::new(2);
        assert_eq!(queue.try_push(1), Ok(()));
        assert_eq!(queue.try_push(2), Ok(()));
        assert_eq!(queue.try_push(3), Err(Full(3)));
        let mut push = queue.push(3);
        assert!(poll(&mut push).is_pending());
        assert_eq!(queue.try_pop(), Some(1));
        assert_eq!(poll(&mut push), Poll::Ready(Ok(())));
        assert_eq!((queue.try_pop(), queue.try_pop(), queue.try_pop()), (Some(2), Some(3), None));
    }

    #[test]
    fn closed_it_drains_and_then_says_so() {
        let queue = Queue::new(1);
        let mut waiting = queue.pop();
        assert!(poll(&mut waiting).is_pending());
        queue.try_push(1).expect("there is room");
        queue.close();
        assert_eq!(queue.try_push(2), Err(Full(2)));
        assert_eq!(poll(&mut waiting), Poll::Ready(Ok(1)));
        assert_eq!(poll(&mut queue.pop()), Poll::Ready(Err(Closed)));
        assert_eq!(poll(&mut queue.push(4)), Poll::Ready(Err(Full(4))));
    }
}
