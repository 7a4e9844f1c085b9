//! Messages for one node that wait for their connection. Pushing never waits: beyond the bounds the oldest are dropped.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use runtime::sync::Notify;

/// Messages that wait.
const MESSAGES_MAX: usize = 1024;
/// Their bytes.
const BYTES_MAX: usize = 16 << 20;

/// Messages in order.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    messages: RefCell<VecDeque<Vec<u8>>>,
    bytes: Cell<usize>,
    pushed: Notify,
}

impl SendQueue {
    /// Adds a message. Gives how many were dropped for it; one that is above the bounds by itself is dropped.
    pub(crate) fn push(&self, message: Vec<u8>) -> usize {
        if message.len() > BYTES_MAX {
            return 1;
        }
        let mut messages = self.messages.borrow_mut();
        let mut bytes = self.bytes.get() + message.len();
        let before = messages.len();
        while messages.len() >= MESSAGES_MAX || bytes > BYTES_MAX {
            let oldest = messages.pop_front().expect("one message alone is within the bounds");
            bytes -= oldest.len();
        }
        let dropped = before - messages.len();
        messages.push_back(message);
        self.bytes.set(bytes);
        self.pushed.notify();
        dropped
    }

    /// Waits for the next message. For one who waits.
    pub(crate) async fn next(&self) -> Vec<u8> {
        loop {
            let next = self.messages.borrow_mut().pop_front();
            if let Some(message) = next {
                self.bytes.set(self.bytes.get() - message.len());
                return message;
            }
            self.pushed.notified().await;
        }
    }

    /// Drops all messages.
    pub(crate) fn clear(&self) {
        self.messages.borrow_mut().clear();
        self.bytes.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(queue: &SendQueue) -> Vec<usize> {
        queue.messages.borrow().iter().map(Vec::len).collect()
    }

    #[test]
    fn beyond_the_bounds_the_oldest_are_dropped() {
        let queue = SendQueue::default();
        assert!((0..1024).all(|length| queue.push(vec![0; length]) == 0));
        assert_eq!(queue.push(vec![0; 7]), 1);
        assert_eq!((lengths(&queue)[0], lengths(&queue).len()), (1, 1024));
        queue.clear();
        assert_eq!((queue.push(vec![0; 10 << 20]), queue.push(vec![0; 6 << 20]), queue.push(vec![0; 1])), (0, 0, 1));
        assert_eq!(lengths(&queue), [6 << 20, 1]);
        assert_eq!(queue.push(vec![0; 16 << 20]), 2);
        assert_eq!(queue.push(vec![0; (16 << 20) + 1]), 1, "it fits no queue");
        assert_eq!((lengths(&queue), queue.bytes.get()), (vec![16 << 20], 16 << 20));
    }
}
