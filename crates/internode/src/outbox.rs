//! Bytes that a connection has yet to send, and waiting for the first of several things.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use runtime::sync::Notify;
use runtime::{Instant, Runtime};

use crate::memory::Part;
use crate::stream::Stream;

/// Bytes that wait for the socket before who has more must wait.
const BYTES_MAX: usize = 4 << 20;
/// A buffer larger than this is given back after use.
const BYTES_KEPT: usize = 256 << 10;
/// Time that the other end has to take what is sent at once, and more for each piece of it: a link may be slow, and an end that reads nothing keeps memory.
const TAKING_MAX: Duration = Duration::from_secs(10);
const PIECE: usize = 256 << 10;
const PIECE_TIME: Duration = Duration::from_secs(1);
/// The longest that it has.
const TAKING_LONGEST: Duration = Duration::from_secs(60);

/// Bytes on their way to one connection's other end.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: RefCell<Vec<u8>>,
    /// A frame that takes the place of the one before it.
    latest: RefCell<Vec<u8>>,
    /// Bytes that were put before are being sent: since when, and how many.
    sending: Cell<Option<(Instant, usize)>>,
    /// The memory that all of them are counted in; none at the dialler's end, whose callers are bounded.
    memory: Option<Part>,
    wake: Notify,
    /// Nothing is left to be sent.
    idle: Notify,
    room: Notify,
}

impl Outbox {
    /// An outbox whose bytes are counted.
    pub(crate) fn counted(memory: Part) -> Outbox {
        Outbox { memory: Some(memory), ..Outbox::default() }
    }

    /// Waits until more may be put.
    pub(crate) async fn room(&self) {
        while self.bytes.borrow().len() >= BYTES_MAX {
            self.room.notified().await;
            // Several may wait, and one signal wakes one of them.
            if self.bytes.borrow().len() < BYTES_MAX {
                self.room.notify();
            }
        }
    }

    /// Puts what `write` appends.
    pub(crate) fn put<T>(&self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let result = write(&mut self.bytes.borrow_mut());
        self.count();
        self.wake.notify();
        result
    }

    /// Puts what `write` appends in place of what was put so before, if that still waits: however many come, one is sent.
    pub(crate) fn put_latest<T>(&self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut latest = self.latest.borrow_mut();
        latest.clear();
        self.wake.notify();
        write(&mut latest)
    }

    /// Forgets what waits: the connection is gone.
    pub(crate) fn clear(&self) {
        *self.bytes.borrow_mut() = Vec::new();
        self.latest.borrow_mut().clear();
        self.sending.set(None);
        self.count();
        self.room.notify_all();
    }

    /// True if the other end does not take what is being sent to it.
    pub(crate) fn is_stuck(&self, now: Instant) -> bool {
        self.sending.get().is_some_and(|(since, bytes)| {
            let pieces = u32::try_from(bytes / PIECE).unwrap_or(u32::MAX);
            now - since >= TAKING_MAX.saturating_add(PIECE_TIME.saturating_mul(pieces)).min(TAKING_LONGEST)
        })
    }

    fn count(&self) {
        if let Some(memory) = &self.memory {
            memory.set(self.bytes.borrow().len() + self.sending.get().map_or(0, |(_, bytes)| bytes));
        }
    }

    /// Waits until all that was put is sent. For one who waits.
    pub(crate) async fn sent(&self) {
        while self.sending.get().is_some() || !self.bytes.borrow().is_empty() || !self.latest.borrow().is_empty() {
            self.idle.notified().await;
        }
    }

    /// Sends what is put, for ever, or until the connection fails.
    pub(crate) async fn send_all(&self, runtime: &Runtime, stream: &Stream) -> io::Error {
        let mut buffer = Vec::new();
        loop {
            std::mem::swap(&mut *self.bytes.borrow_mut(), &mut buffer);
            buffer.append(&mut self.latest.borrow_mut());
            self.sending.set((!buffer.is_empty()).then(|| (runtime.now(), buffer.len())));
            self.count();
            if buffer.is_empty() {
                self.idle.notify();
                self.wake.notified().await;
                continue;
            }
            self.room.notify();
            let (result, sent) = stream.write_all(buffer).await;
            buffer = sent;
            if let Err(error) = result {
                return error;
            }
            buffer.clear();
            if buffer.capacity() > BYTES_KEPT {
                buffer = Vec::new();
            }
        }
    }
}

/// What ends first; the other is dropped.
pub(crate) async fn first<T>(a: impl Future<Output = T>, b: impl Future<Output = T>) -> T {
    let (mut a, mut b) = (pin!(a), pin!(b));
    std::future::poll_fn(|cx| match a.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(output),
        Poll::Pending => b.as_mut().poll(cx),
    })
    .await
}
