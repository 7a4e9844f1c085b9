//! A count of permits, handed out in the order they are asked for.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::wait_list::{Key, WaitList};

#[derive(Debug)]
struct State {
    available: Cell<usize>,
    waiters: RefCell<WaitList>,
}

impl State {
    fn release(&self) {
        let waker = self.waiters.borrow_mut().pop();
        match waker {
            // The permit is promised to the one who is woken, whose entry in the list says so until it takes it.
            Some(waker) => waker.wake(),
            None => self.available.set(self.available.get() + 1),
        }
    }
}

/// Limits how many do something at once. Clones share the permits. A permit goes to the longest waiting: nobody who
/// comes later takes it first.
#[derive(Debug, Clone)]
pub struct Semaphore {
    state: Rc<State>,
}

impl Semaphore {
    /// A semaphore with `permits` to hand out.
    pub fn new(permits: usize) -> Self {
        let state = State { available: Cell::new(permits), waiters: RefCell::default() };
        Semaphore { state: Rc::new(state) }
    }

    /// Permits that nobody holds or is promised.
    pub fn available(&self) -> usize {
        self.state.available.get()
    }

    /// Who waits for a permit.
    pub fn waiting(&self) -> usize {
        self.state.waiters.borrow().waiting()
    }

    /// A permit, if one is to be had at once.
    pub fn try_acquire(&self) -> Option<Permit> {
        let available = self.state.available.get();
        if available == 0 {
            return None;
        }
        self.state.available.set(available - 1);
        Some(Permit { state: self.state.clone() })
    }

    /// Waits for a permit.
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire { semaphore: self, key: None }
    }
}

/// Waits for a permit; see [`Semaphore::acquire`].
#[must_use = "a future does nothing unless awaited"]
#[derive(Debug)]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    key: Option<Key>,
}

impl Future for Acquire<'_> {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Permit> {
        let Some(key) = self.key else {
            if let Some(permit) = self.semaphore.try_acquire() {
                return Poll::Ready(permit);
            }
            let key = self.semaphore.state.waiters.borrow_mut().insert(cx.waker());
            self.key = Some(key);
            return Poll::Pending;
        };
        let state = &self.semaphore.state;
        let mut waiters = state.waiters.borrow_mut();
        if !waiters.is_woken(key, cx.waker()) {
            return Poll::Pending;
        }
        waiters.remove(key);
        drop(waiters);
        let permit = Permit { state: state.clone() };
        self.key = None;
        Poll::Ready(permit)
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let state = &self.semaphore.state;
        let was_promised = state.waiters.borrow_mut().remove(key);
        if was_promised {
            state.release();
        }
    }
}

/// Held permission; given back when dropped.
#[derive(Debug)]
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct Permit {
    state: Rc<State>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.state.release();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn poll(future: &mut Acquire<'_>) -> Poll<Permit> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_permit_goes_to_the_longest_waiting() {
        let semaphore = Semaphore::new(1);
        let held = semaphore.try_acquire().expect("one is free");
        let mut first = semaphore.acquire();
        let mut second = semaphore.acquire();
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        drop(held);
        assert!(semaphore.try_acquire().is_none(), "it is promised to the first");
        assert!(poll(&mut second).is_pending());
        drop(first);
        let Poll::Ready(permit) = poll(&mut second) else { panic!("the promise passes on") };
        drop(permit);
        assert_eq!(semaphore.available(), 1);
    }
}
