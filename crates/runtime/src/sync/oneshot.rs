//! One value, once, from one task to another.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
    is_sender_gone: bool,
    is_receiver_gone: bool,
}

/// The sender was dropped without sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nothing will be sent")
    }
}

impl std::error::Error for Closed {}

/// Both ends of a channel for one value.
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { value: None, waker: None, is_sender_gone: false, is_receiver_gone: false };
    let state = Rc::new(RefCell::new(state));
    (Sender { state: state.clone() }, Receiver { state })
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<T> {
    state: Rc<RefCell<State<T>>>,
}

impl<T> Sender<T> {
    /// Sends the value, or gives it back if nobody will receive it.
    pub fn send(self, value: T) -> Result<(), T> {
        let mut state = self.state.borrow_mut();
        if state.is_receiver_gone {
            return Err(value);
        }
        state.value = Some(value);
        Ok(())
    }

    /// Whether the receiver was dropped.
    pub fn is_closed(&self) -> bool {
        self.state.borrow().is_receiver_gone
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.state.borrow_mut();
        state.is_sender_gone = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The receiving end: a future of the value.
#[derive(Debug)]
#[must_use = "a future does nothing unless awaited"]
pub struct Receiver<T> {
    state: Rc<RefCell<State<T>>>,
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.state.borrow_mut();
        if let Some(value) = state.value.take() {
            return Poll::Ready(Ok(value));
        }
        if state.is_sender_gone {
            return Poll::Ready(Err(Closed));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.state.borrow_mut();
        state.is_receiver_gone = true;
        let unread = (state.value.take(), state.waker.take());
        drop(state);
        drop(unread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll<T>(receiver: &mut Receiver<T>) -> Poll<Result<T, Closed>> {
        Pin::new(receiver).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn gives_the_value_or_says_that_none_comes() {
        let (sender, mut receiver) = oneshot();
        assert!(poll(&mut receiver).is_pending());
        assert_eq!(sender.send(7), Ok(()));
        assert_eq!(poll(&mut receiver), Poll::Ready(Ok(7)));

        let (sender, mut receiver) = oneshot::<u8>();
        drop(sender);
        assert_eq!(poll(&mut receiver), Poll::Ready(Err(Closed)));

        let (sender, receiver) = oneshot();
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.send(7), Err(7));
    }
}
