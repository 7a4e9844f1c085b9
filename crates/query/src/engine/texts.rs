//! How much of long texts is parsed, planned and run at once.
//!
//! A text's syntax tree and plan take some twenty times its bytes, and the server bounds the bytes of requests alone. So long texts take their
//! turn: the first in the queue begins when there is room for it, or nothing else is under way.

use std::cell::Cell;

use runtime::sync::{Notify, Semaphore};

/// Bytes of texts under way on a shard, unless one text is longer.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// A text of at most this many bytes is not counted: the server's bound on requests is one on these.
const TEXT_BYTES_COUNTED: usize = 8 << 10;

/// One shard's bound.
pub(super) struct TextBudget {
    bytes: Cell<usize>,
    /// The first of those that wait for room has it.
    turn: Semaphore,
    freed: Notify,
}

/// A text that is under way, until this is dropped.
pub(super) struct TextUnderWay<'b> {
    budget: &'b TextBudget,
    bytes: usize,
}

impl TextBudget {
    pub(super) fn new() -> TextBudget {
        TextBudget { bytes: Cell::new(0), turn: Semaphore::new(1), freed: Notify::new() }
    }

    /// Waits until texts of so many bytes may be parsed. What holds this must not wait for the budget of another shard.
    pub(super) async fn begin(&self, bytes: usize) -> TextUnderWay<'_> {
        if bytes <= TEXT_BYTES_COUNTED {
            return TextUnderWay { budget: self, bytes: 0 };
        }
        let _turn = self.turn.acquire().await;
        while self.bytes.get() > 0 && self.bytes.get() + bytes > TEXT_BYTES_MAX {
            self.freed.notified().await;
        }
        self.bytes.set(self.bytes.get() + bytes);
        TextUnderWay { budget: self, bytes }
    }
}

impl Drop for TextUnderWay<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let left = self.budget.bytes.get().checked_sub(self.bytes);
            self.budget.bytes.set(left.expect("a text gives back what it took"));
            self.budget.freed.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_ready<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn long_texts_wait_for_room_in_their_order() {
        let budget = TextBudget::new();
        let mut long = pin!(budget.begin(16 << 20));
        let long = is_ready(long.as_mut()).expect("one is never too long");
        let (mut second, mut third) = (pin!(budget.begin(3 << 20)), pin!(budget.begin(9 << 10)));
        assert!(is_ready(second.as_mut()).is_none());
        assert!(is_ready(third.as_mut()).is_none(), "it does not overtake");
        assert!(is_ready(pin!(budget.begin(100))).is_some(), "short ones are not counted");
        drop(long);
        let second = is_ready(second.as_mut()).expect("there is room");
        let third = is_ready(third.as_mut()).expect("both have room");
        assert_eq!(budget.bytes.get(), (3 << 20) + (9 << 10));
        drop((second, third));
        assert_eq!(budget.bytes.get(), 0);
    }

    #[test]
    fn one_that_gives_up_waiting_takes_nothing() {
        let budget = TextBudget::new();
        let first = is_ready(pin!(budget.begin(TEXT_BYTES_MAX))).expect("there is room");
        {
            let mut waiting = pin!(budget.begin(9 << 10));
            assert!(is_ready(waiting.as_mut()).is_none());
        }
        drop(first);
        assert!(is_ready(pin!(budget.begin(TEXT_BYTES_MAX))).is_some());
    }
}
