//! A connection that this node answers on: its outbox, and the bounds on what is being served of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use planted::{Bug, Planted};
use runtime::sync::{Notify, Permit, Semaphore};
use runtime::{Group, Instant, Runtime, TaskHandle, Trace};
use topology::HostId;

use crate::clock::Clock;
use crate::frame::{FRAME_BODY_MAX, Frame, FrameReader, Head, write_frame};
use crate::memory::{Memory, Part};
use crate::outbox::Outbox;
use crate::steps::{push_steps, split_id};
use crate::stream::Detached;
use crate::verbs::{Malformed, PONG};

/// Requests being served of one connection.
const REQUESTS_MAX: usize = 256;
/// Bytes of the requests being served of one connection; a larger one is served alone.
const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Bytes of a frame that is not whole which are not counted: all of a request on a connection for requests.
const UNCOUNTED: usize = 64 << 10;

/// Silence after which a connection counts as dead.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Time in which a frame is to be whole while other connections wait for its memory.
const FRAME_TIME_MAX: Duration = Duration::from_secs(10);
/// Time between looks for silence.
const SILENCE_CHECK: Duration = Duration::from_secs(2);

/// A greeted connection on its way to the shard that answers on it.
#[derive(Debug)]
pub struct PeerSocket {
    pub(crate) connection: Detached,
    /// The node that dialled.
    pub(crate) host_id: HostId,
    /// Long bodies are compressed on it.
    pub(crate) compresses: bool,
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
    compresses: bool,
    /// This node's epoch, which answers carry.
    epoch: Rc<Cell<u64>>,
    clock: Clock,
    requests: Semaphore,
    memory: Rc<Memory>,
    planted: Planted,
    /// Bytes of the frame that is not whole yet, or waits to be served.
    incomplete: Part,
    /// When that frame began to be counted.
    incomplete_since: Cell<Option<Instant>>,
    /// The turn to be read on beyond the bound.
    beyond: RefCell<Option<Permit>>,
    /// Bytes of the requests being served.
    served_bytes: Cell<usize>,
    /// One was served.
    served: Notify,
    /// Requests being served that their caller may cancel.
    cancellable: RefCell<BTreeMap<u64, TaskHandle<()>>>,
    is_open: Cell<bool>,
    /// Since when it has been read without a byte; `None`: it is not read, since there is no room.
    reading_since: Cell<Option<Instant>>,
}

/// A request's place among those being served; dropped, it gives the place back.
pub(crate) struct Ticket {
    connection: Rc<Connection>,
    head: Head,
    /// The request's trace, as this node fills it.
    trace: Option<Rc<Trace>>,
    bytes: usize,
    /// Bytes of the request, and of the answer that it may get.
    _memory: Part,
    _permit: Permit,
}

/// The end of a connection that takes what it must not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dead {
    /// Its dialler gives no byte.
    Silent,
    /// Its dialler takes no answer.
    Stuck,
    /// Its dialler does not end its frame, and others wait for memory.
    Slow,
}

impl Connection {
    pub(crate) fn new(
        runtime: &Runtime,
        (memory, planted): (&Rc<Memory>, Planted),
        epoch: &Rc<Cell<u64>>,
        compresses: bool,
    ) -> Rc<Connection> {
        Rc::new(Connection {
            runtime: runtime.clone(),
            outbox: Outbox::counted(memory.served.part()),
            compresses,
            epoch: Rc::clone(epoch),
            clock: Clock::begin(runtime.now()),
            requests: Semaphore::new(REQUESTS_MAX),
            memory: Rc::clone(memory),
            planted,
            incomplete: memory.frames.part(),
            incomplete_since: Cell::new(None),
            beyond: RefCell::default(),
            served_bytes: Cell::new(0),
            served: Notify::new(),
            cancellable: RefCell::default(),
            is_open: Cell::new(true),
            reading_since: Cell::new(None),
        })
    }

    /// Waits until the next bytes of the frame may be read.
    pub(crate) async fn room_to_read(&self, frames: &FrameReader) {
        let (bytes, held) = (frames.next_buffer().saturating_sub(UNCOUNTED), self.incomplete.bytes());
        if bytes <= held {
            return;
        }
        if self.beyond.borrow().is_none() {
            let permit = self.memory.room_for_frame(bytes - held).await;
            *self.beyond.borrow_mut() = permit;
        }
        self.incomplete.set(bytes);
        let since = self.incomplete_since.get().unwrap_or_else(|| self.runtime.now());
        self.incomplete_since.set(Some(since));
    }

    /// Waits until a request may be served whose answer has `answer_bytes` at most. `None`: its time is over.
    pub(crate) async fn ticket(self: &Rc<Self>, frame: &Frame<'_>, answer_bytes: usize) -> Option<Ticket> {
        // The socket is not read on while there is no room for what its requests will answer.
        self.outbox.room().await;
        let (head, bytes) = (frame.head, frame.body.length());
        let permit = self.requests.acquire().await;
        while self.served_bytes.get() > 0 && self.served_bytes.get() + bytes > REQUEST_BYTES_MAX {
            self.served.notified().await;
        }
        let room = self.memory.room_to_serve(bytes + answer_bytes);
        // Counted from its receipt, its whole time would be left.
        let deadline = head.deadline.filter(|_| !self.planted.is(Bug::DeadlineFromReceipt));
        let is_late = match deadline.map(|deadline| self.clock.left(deadline, self.runtime.now())) {
            Some(None) => true,
            // One that is late by then would keep the connection from being read for nothing.
            Some(Some(left)) => self.runtime.timeout(left, room).await.is_err(),
            None => {
                room.await;
                false
            }
        };
        if is_late {
            stdx::sometimes!("a request that is late is dropped");
            self.served.notify();
            return None;
        }
        let memory = self.memory.served.part();
        memory.set(bytes + answer_bytes);
        self.served_bytes.set(self.served_bytes.get() + bytes);
        Some(Ticket { connection: Rc::clone(self), head, trace: None, bytes, _memory: memory, _permit: permit })
    }

    /// The frame is being served, or is done with: its memory is counted with its request, and the next frame has its own.
    pub(crate) fn frame_passed(&self) {
        self.beyond.take();
        self.incomplete.set(0);
        self.incomplete_since.set(None);
    }

    /// Ends a request whose caller has given up, if it is still being served and can be cancelled.
    pub(crate) fn cancel(&self, number: u64) {
        let served = self.cancellable.borrow_mut().remove(&number);
        if let Some(task) = served {
            stdx::sometimes!("a request is cancelled");
            task.abort();
        }
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
        self.frame_passed();
        let unanswered = self.cancellable.take();
        unanswered.into_values().for_each(TaskHandle::abort);
    }

    /// Answers a ping with the clock's reading. At most one pong waits, for the latest ping: a dialler that reads none takes no memory by its pings.
    pub(crate) fn pong(&self, number: u64) {
        if self.is_open.get() {
            let reading = self.clock.reading(self.runtime.now());
            let head = self.head(number, PONG);
            let put = self.outbox.put_latest(|out| {
                write_frame(out, &head, false, |body| body.extend_from_slice(&reading.to_be_bytes()))
            });
            assert!(put.is_ok(), "a reading is short");
        }
    }

    fn head(&self, number: u64, kind: u8) -> Head {
        Head { number, kind, epoch: self.epoch.get(), ..Head::default() }
    }

    /// The connection is being read since now, or is not read until what came is served.
    pub(crate) fn set_reading(&self, is_reading: bool) {
        self.reading_since.set(is_reading.then(|| self.runtime.poll_start()));
    }

    /// Waits until its other end is gone, or is no use: one that is there pings, reads its answers, and ends its frames.
    pub(crate) async fn dead(&self) -> Dead {
        loop {
            let before = self.runtime.now();
            self.runtime.sleep(SILENCE_CHECK).await;
            let now = self.runtime.now();
            // A shard whose own turn came late has not read what may be there.
            if now - before > 2 * SILENCE_CHECK {
                continue;
            }
            let reading = self.reading_since.get();
            let is_slow = |since| reading.is_some() && now - since >= FRAME_TIME_MAX && self.memory.frames.is_awaited();
            match () {
                () if reading.is_some_and(|since| now - since >= SILENCE_MAX) => return Dead::Silent,
                () if self.outbox.is_stuck(now) => return Dead::Stuck,
                () if self.incomplete_since.get().is_some_and(is_slow) => return Dead::Slow,
                () => {}
            }
        }
    }

    fn answer<R: Reply>(&self, number: u64, trace: Option<&Trace>, reply: &R) {
        if !self.is_open.get() {
            return;
        }
        let put = |reply: &R| {
            let head = Head { is_traced: trace.is_some(), ..self.head(number, reply.kind()) };
            let encode = |out: &mut Vec<u8>| {
                trace.iter().for_each(|trace| push_steps(trace, out));
                reply.encode(out);
            };
            self.outbox.put(|out| write_frame(out, &head, self.compresses, encode))
        };
        if let Err(size) = put(reply) {
            let refusal = R::too_large(size, FRAME_BODY_MAX);
            assert!(put(&refusal).is_ok(), "a refusal is short");
        }
    }
}

impl Ticket {
    /// The message of a request's body. One that is traced has the trace's id before it, and its trace begins with this.
    pub(crate) fn message<'b>(&mut self, name: &str, body: &'b [u8]) -> Result<&'b [u8], Malformed> {
        if !self.head.is_traced {
            return Ok(body);
        }
        let (id, message) = split_id(body)?;
        let runtime = &self.connection.runtime;
        let trace = runtime.tracing().begin(id);
        runtime.tracing().note(&trace, format!("Message received: {name}"));
        self.trace = Some(trace);
        Ok(message)
    }

    /// The epoch that the request's frame names.
    pub(crate) fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// Sends what `work` gives, when it does.
    pub(crate) fn answer_with<R: Reply>(self, work: impl Future<Output = R> + 'static) {
        let runtime = self.connection.runtime.clone();
        // Where it lies it stays: each future around it would hold it twice, and copy it.
        let work = Box::pin(work);
        runtime.spawn(Group::Query, async move {
            let reply = self.done(work).await;
            self.connection.answer(self.head.number, self.trace.as_deref(), &reply);
        });
    }

    /// Does the work, under the request's trace if it has one.
    async fn done<R>(&self, work: impl Future<Output = R>) -> R {
        let Some(trace) = &self.trace else { return work.await };
        let runtime = &self.connection.runtime;
        let reply = runtime.tracing().under(Rc::clone(trace), work).await;
        runtime.tracing().note(trace, "Enqueuing response".to_owned());
        reply
    }

    /// The same for work that ends when its caller gives up, when its time is over, or with the connection: nothing is done halfway by that.
    pub(crate) fn answer_unless_cancelled<R: Reply>(
        self,
        work: impl Future<Output = R> + 'static,
    ) -> Result<(), Malformed> {
        let connection = Rc::clone(&self.connection);
        if connection.cancellable.borrow().contains_key(&self.head.number) {
            return Err(Malformed::new(format!("request {} is being served already", self.head.number)));
        }
        let (runtime, number) = (connection.runtime.clone(), self.head.number);
        let left = self.head.deadline.map(|deadline| connection.clock.left(deadline, runtime.now()));
        let (timing, work) = (runtime.clone(), Box::pin(work));
        let task = runtime.spawn(Group::Query, async move {
            let reply = match left {
                None => Ok(self.done(work).await),
                Some(left) => timing.timeout(left.unwrap_or_default(), self.done(work)).await,
            };
            if let Ok(reply) = reply {
                self.connection.answer(number, self.trace.as_deref(), &reply);
            }
            let done = self.connection.cancellable.borrow_mut().remove(&number);
            drop(done);
        });
        connection.cancellable.borrow_mut().insert(number, task);
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let served = &self.connection.served_bytes;
        served.set(served.get() - self.bytes);
        self.connection.served.notify();
    }
}
