//! A connection that this node answers on: its outbox, and the bounds on what is being served of it.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Notify, Permit, Semaphore};
use runtime::{Group, Instant, Runtime};
use topology::HostId;

use crate::frame::{FRAME_BODY_MAX, write_frame};
use crate::outbox::Outbox;
use crate::stream::Detached;

/// Requests being served of one connection.
const REQUESTS_MAX: usize = 256;
/// Bytes of the requests being served of one connection; a larger one is served alone.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Silence after which a connection counts as dead.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Time between looks for silence.
const SILENCE_CHECK: Duration = Duration::from_secs(2);

/// A greeted connection on its way to the shard that answers on it.
#[derive(Debug)]
pub struct PeerSocket {
    pub(crate) connection: Detached,
    /// The node that dialled.
    pub(crate) host_id: HostId,
}

/// An answer to a request.
pub trait Reply {
    /// The kind of its frame.
    fn kind(&self) -> u8;

    /// Appends its body.
    fn encode(&self, out: &mut Vec<u8>);

    /// The answer in place of one whose body of `size` bytes is above `max`. Its own body is short.
    fn too_large(size: usize, max: usize) -> Self;
}

pub(crate) struct Connection {
    runtime: Runtime,
    pub(crate) outbox: Outbox,
    requests: Semaphore,
    /// Bytes of the requests being served.
    bytes: Cell<usize>,
    /// One was served.
    served: Notify,
    is_open: Cell<bool>,
    /// Since when it has been read without a byte; `None`: it is not read, since there is no room.
    reading_since: Cell<Option<Instant>>,
}

/// A request's place among those being served; dropped, it gives the place back.
pub(crate) struct Ticket {
    connection: Rc<Connection>,
    number: u64,
    bytes: usize,
    _permit: Permit,
}

impl Connection {
    pub(crate) fn new(runtime: &Runtime) -> Rc<Connection> {
        Rc::new(Connection {
            runtime: runtime.clone(),
            outbox: Outbox::default(),
            requests: Semaphore::new(REQUESTS_MAX),
            bytes: Cell::new(0),
            served: Notify::new(),
            is_open: Cell::new(true),
            reading_since: Cell::new(None),
        })
    }

    /// Waits until a request of so many bytes may be served.
    pub(crate) async fn ticket(self: &Rc<Self>, number: u64, bytes: usize) -> Ticket {
        // The socket is not read on while there is no room for what its requests will answer.
        self.outbox.room().await;
        let permit = self.requests.acquire().await;
        while self.bytes.get() > 0 && self.bytes.get() + bytes > REQUEST_BYTES_MAX {
            self.served.notified().await;
        }
        self.bytes.set(self.bytes.get() + bytes);
        Ticket { connection: Rc::clone(self), number, bytes, _permit: permit }
    }

    /// Waits until the requests being served are answered, and the answers sent.
    pub(crate) async fn answered(&self) {
        while self.requests.available() < REQUESTS_MAX {
            self.served.notified().await;
        }
        self.outbox.sent().await;
    }

    /// Nothing is sent on it from now on.
    pub(crate) fn close(&self) {
        self.is_open.set(false);
        self.outbox.clear();
    }

    /// Answers a ping. At most one pong waits, for the latest ping: a dialler that reads none takes no memory by its pings.
    pub(crate) fn pong(&self, number: u64, kind: u8) {
        if self.is_open.get() {
            let put = self.outbox.put_latest(|out| write_frame(out, number, kind, |_| {}));
            assert!(put.is_ok(), "an empty body is short");
        }
    }

    /// The connection is being read since now, or is not read until what came is served.
    pub(crate) fn set_reading(&self, is_reading: bool) {
        self.reading_since.set(is_reading.then(|| self.runtime.poll_start()));
    }

    /// Waits until it has been read for so long that its dialler is gone: one that is there pings.
    pub(crate) async fn silent(&self) {
        loop {
            let before = self.runtime.now();
            self.runtime.sleep(SILENCE_CHECK).await;
            // A shard whose own turn came late has not read what may be there.
            if self.runtime.now() - before > 2 * SILENCE_CHECK {
                continue;
            }
            let is_silent = |since| self.runtime.now() - since >= SILENCE_MAX;
            if self.reading_since.get().is_some_and(is_silent) {
                return;
            }
        }
    }

    fn answer<R: Reply>(&self, number: u64, reply: &R) {
        if !self.is_open.get() {
            return;
        }
        let put = |reply: &R| self.outbox.put(|out| write_frame(out, number, reply.kind(), |out| reply.encode(out)));
        if let Err(size) = put(reply) {
            assert!(put(&R::too_large(size, FRAME_BODY_MAX)).is_ok(), "a refusal is short");
        }
    }
}

impl Ticket {
    /// Sends what `work` gives, when it does.
    pub(crate) fn answer_with<R: Reply>(self, work: impl Future<Output = R> + 'static) {
        let runtime = self.connection.runtime.clone();
        runtime.spawn(Group::Query, async move {
            let reply = work.await;
            self.connection.answer(self.number, &reply);
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connection.bytes.set(self.connection.bytes.get() - self.bytes);
        self.connection.served.notify();
    }
}
