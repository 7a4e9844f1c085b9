//! A signal without a value.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::wait_list::{Key, WaitList};

#[derive(Debug, Default)]
struct State {
    permit: Cell<bool>,
    waiters: RefCell<WaitList>,
}

impl State {
    fn pop(&self) -> Option<Waker> {
        self.waiters.borrow_mut().pop()
    }
}

/// Wakes tasks that wait for something to have changed. Clones are the same signal.
#[derive(Debug, Clone, Default)]
pub struct Notify {
    state: Rc<State>,
}

impl Notify {
    /// A signal that nobody waits for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes the longest waiting, or, if nobody waits, lets the next to wait through at once. It does not add up.
    pub fn notify(&self) {
        match self.state.pop() {
            Some(waker) => waker.wake(),
            None => self.state.permit.set(true),
        }
    }

    /// Wakes all who wait now, and nobody else.
    pub fn notify_all(&self) {
        while let Some(waker) = self.state.pop() {
            waker.wake();
        }
    }

    /// Waits for the signal. The wait begins with the first poll.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, key: None }
    }
}

/// Waits for a signal; see [`Notify::notified`].
#[must_use = "a future does nothing unless awaited"]
#[derive(Debug)]
pub struct Notified<'a> {
    notify: &'a Notify,
    key: Option<Key>,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let state = &self.notify.state;
        let Some(key) = self.key else {
            if state.permit.replace(false) {
                return Poll::Ready(());
            }
            let key = state.waiters.borrow_mut().insert(cx.waker());
            self.key = Some(key);
            return Poll::Pending;
        };
        let mut waiters = state.waiters.borrow_mut();
        if !waiters.is_woken(key, cx.waker()) {
            return Poll::Pending;
        }
        waiters.remove(key);
        drop(waiters);
        self.key = None;
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let was_woken = self.notify.state.waiters.borrow_mut().remove(key);
        if was_woken {
            // The signal was for one who no longer listens: it goes to the next, so that none is lost.
            self.notify.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_signal_before_the_wait_is_kept_once() {
        let notify = Notify::new();
        notify.notify();
        notify.notify();
        assert!(poll(std::pin::pin!(notify.notified())).is_ready());
        assert!(poll(std::pin::pin!(notify.notified())).is_pending());
    }

    #[test]
    fn a_dropped_waiter_hands_its_signal_on() {
        let notify = Notify::new();
        let mut first = Box::pin(notify.notified());
        let mut second = Box::pin(notify.notified());
        assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
        notify.notify();
        drop(first);
        assert!(poll(second.as_mut()).is_ready());
    }

    #[test]
    fn all_are_those_who_wait() {
        let notify = Notify::new();
        let mut first = Box::pin(notify.notified());
        assert!(poll(first.as_mut()).is_pending());
        notify.notify_all();
        assert!(poll(first.as_mut()).is_ready());
        assert!(poll(std::pin::pin!(notify.notified())).is_pending());
    }
}
