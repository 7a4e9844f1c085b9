//! Another node as this shard sees it: the connection that the shard dialled, its liveness, and the calls that wait on it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Notify, Semaphore, Sender, oneshot};
use runtime::{Group, Instant, Runtime, TaskHandle};
use topology::HostId;

use crate::clock::Estimate;
use crate::frame::{FRAME_BODY_MAX, Frame, FrameError, FrameReader, Head, write_frame};
use crate::greeting;
use crate::handshake::{GreetingError, Verdict, Welcome};
use crate::identity::ANY_NODE;
use crate::local_node::LocalNode;
use crate::news::{News, Watch};
use crate::outbox::{Outbox, first};
use crate::purpose::Purpose;
use crate::request::Request;
use crate::responsiveness::Responsiveness;
use crate::steps::{push_id, take_steps};
use crate::stream::Stream;
use crate::suspicion::AnswerTimes;
use crate::verbs::{CANCEL, Malformed, PING, PONG};

/// Requests in flight to one node.
const CALLS_MAX: usize = 1024;
/// Silence after which a ping is sent.
const PING_AFTER: Duration = Duration::from_secs(1);
/// Silence after which the connection counts as dead.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// The same for control connections of members, whose owner judges silence itself, and sooner.
const CONTROL_SILENCE_MAX: Duration = Duration::from_secs(30);
/// The same for bulk.
const BULK_SILENCE_MAX: Duration = Duration::from_secs(30);
/// Lateness of this shard's own turn with which it has not listened: silence until then is its own.
const LATE: Duration = Duration::from_secs(1);
/// The rest after a connection has failed, which doubles from one to the other: a node that is back is to serve soon.
const REST_MIN: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(2);
/// The longest rest after a refusal as a stranger: a node that has joined is a member as soon as the other has read of it.
const STRANGER_REST_MAX: Duration = Duration::from_millis(200);
/// The same for control connections, each time: of which a cluster has many, and a founder waits for longer than this. After the end of one
/// that has lasted for so long the first rest is the short one.
const CONTROL_REST: Duration = Duration::from_secs(2);
/// Time that a large request waits for its own connection.
const DIAL_TIME: Duration = Duration::from_millis(500);
/// The least rest before an attempt to dial that is to hurry.
const HURRY_MIN: Duration = Duration::from_millis(200);
/// Seconds without a request after which the other end is shown that this one is there, though it gives bytes.
const QUIET_MAX: u32 = 3;
/// Seconds after which a ping is sent in any case: its pong has the reading of the other end's clock.
const PING_EVERY: u32 = 10;
/// Larger requests are made on the connection for bulk, so that none stands in front of small ones.
const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Time without a call after which a connection that is dialled on demand is closed.
const IDLE_MAX: Duration = Duration::from_secs(600);

/// The dialled node, this node, and what their connection is for.
pub struct PeerParts {
    /// The other node's internode address.
    pub address: SocketAddr,
    /// The other node.
    pub host_id: HostId,
    /// This node.
    pub local: LocalNode,
    /// The connection's purpose. One for bulk is dialled at its first call; a peer for requests brings its own.
    pub purpose: Purpose,
    /// Long bodies are compressed.
    pub compresses: bool,
    /// Receives the peer's news.
    pub watch: Option<Watch>,
}

/// An answer's head and body.
type Received = (Head, Vec<u8>);

/// A call that waits for its answer.
struct Call {
    sender: Sender<Received>,
    began: Instant,
    is_measured: bool,
}

/// Another node. Clones are the same.
#[derive(Clone)]
pub struct Peer {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    parts: PeerParts,
    is_up: Cell<bool>,
    shard_count: Cell<u16>,
    /// Above all numbers that this connection's requests had.
    next_number: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, Call>>,
    answer_times: RefCell<AnswerTimes>,
    responsiveness: RefCell<Responsiveness>,
    calls: Semaphore,
    outbox: Outbox,
    /// When the connection last gave bytes.
    heard: Cell<Instant>,
    /// The other end's clock.
    estimate: Cell<Estimate>,
    /// The connection for large requests, of a peer for requests.
    bulk: Option<Peer>,
    /// Callers that wait for a connection that is dialled on demand.
    callers: Cell<u32>,
    /// There is a caller, the connection is up, or it cannot be had now.
    changed: Notify,
    /// Attempts to dial that failed.
    failures: Cell<u64>,
    /// When the last call was made.
    called: Cell<Instant>,
    /// The node is there: it is to be dialled now.
    hurry: Notify,
    /// Dialling rests.
    is_resting: Cell<bool>,
    /// Dials and keeps the connection; none once the peer has ended.
    task: RefCell<Option<TaskHandle<()>>>,
    /// Counts connections: an answer speaks of the one that it came on.
    connection: Cell<u64>,
    /// A reason to end the connection: an answer that cannot be decoded, or its owner's judgement.
    refuted: RefCell<Option<Ended>>,
    refute: Notify,
}

/// An answer as it came.
pub struct Answer {
    /// The kind of its frame.
    pub kind: u8,
    /// The message.
    pub body: Vec<u8>,
    peer: Peer,
    connection: u64,
}

/// A call that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The connection ended, or there is none: whether the request was done is not known.
    #[error("the node does not respond")]
    Gone,
    /// The request's body is above what a frame holds; it was not sent.
    #[error("a request of {size} bytes is too large for the maximum size of {max}")]
    TooLarge {
        /// Its size, bytes.
        size: usize,
        /// The most that a frame's body holds, bytes.
        max: usize,
    },
}

impl Answer {
    /// The answer's message, by its kind and body. A body that `decode` calls malformed ends the connection, as any damaged frame does.
    pub fn decode<T>(self, decode: impl FnOnce(u8, Vec<u8>) -> Result<T, Malformed>) -> Result<T, CallError> {
        let Answer { kind, body, peer, connection } = self;
        decode(kind, body).map_err(|malformed| {
            peer.inner.refute(connection, Ended::Answer(malformed));
            CallError::Gone
        })
    }
}

/// Why a connection to a peer ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("the peer closed the connection")]
    Closed,
    #[error("no response for {0:?}")]
    Silent(Duration),
    #[error("heartbeats are not answered")]
    Convicted,
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("cannot decode response: {0}")]
    Answer(#[from] Malformed),
    #[error("not used for {IDLE_MAX:?}")]
    Idle,
}

/// Counts a caller that waits for a connection, until it is dropped.
struct Caller<'c>(&'c Cell<u32>);

impl Caller<'_> {
    fn new(callers: &Cell<u32>) -> Caller<'_> {
        callers.set(callers.get() + 1);
        Caller(callers)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Takes a call out of those that wait when its caller has given up, and cancels its request if it says so.
struct Waiting<'p> {
    peer: &'p Inner,
    number: u64,
    is_cancelled: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let call = self.peer.waiting.borrow_mut().remove(&self.number);
        // An answer, and the end of the connection, take it out before.
        let Some(call) = call else { return };
        if call.is_measured {
            let now = self.peer.runtime.poll_start();
            let waited = now - call.began;
            self.peer.responsiveness.borrow_mut().note_given_up(waited, now);
        }
        if self.is_cancelled {
            self.peer.put_empty(self.number, CANCEL);
        }
    }
}

impl Peer {
    /// Begins to dial, and does so until the peer is ended or the shard ends.
    pub fn start(runtime: &Runtime, parts: PeerParts) -> Peer {
        let bulk = (parts.purpose == Purpose::Requests).then(|| {
            let local = parts.local.clone();
            Peer::start(runtime, PeerParts { local, purpose: Purpose::Bulk, watch: None, ..parts })
        });
        let inner = Inner {
            runtime: runtime.clone(),
            parts,
            is_up: Cell::new(false),
            shard_count: Cell::new(0),
            next_number: Cell::new(1),
            waiting: RefCell::default(),
            answer_times: RefCell::new(AnswerTimes::new(runtime.now())),
            responsiveness: RefCell::new(Responsiveness::new(runtime.now())),
            calls: Semaphore::new(CALLS_MAX),
            outbox: Outbox::default(),
            heard: Cell::new(runtime.now()),
            estimate: Cell::new(Estimate::begin(runtime.now())),
            bulk,
            callers: Cell::new(0),
            failures: Cell::new(0),
            changed: Notify::new(),
            called: Cell::new(runtime.now()),
            hurry: Notify::new(),
            is_resting: Cell::new(false),
            task: RefCell::default(),
            connection: Cell::new(0),
            refuted: RefCell::default(),
            refute: Notify::new(),
        };
        let peer = Peer { inner: Rc::new(inner) };
        let task = runtime.spawn(Group::Query, peer.clone().stay_connected());
        *peer.inner.task.borrow_mut() = Some(task);
        peer
    }

    /// Ends the connection, and is down from now on: the node left the ring, or is dialled elsewhere. Calls that wait are gone.
    pub fn end(&self) {
        let inner = &*self.inner;
        inner.bulk.iter().for_each(Peer::end);
        if let Some(task) = inner.task.take() {
            task.abort();
            inner.down();
            inner.changed.notify_all();
            if !inner.is_on_demand() {
                tracing::info!(host = %inner.parts.host_id, address = %inner.parts.address, "closed connection to node");
            }
        }
    }

    /// Ends the present connection, which its owner takes for dead, and dials again.
    pub(crate) fn convict(&self) {
        if self.is_up() {
            self.inner.refute(self.inner.connection.get(), Ended::Convicted);
        }
    }

    /// Ends the rest before the next attempt to dial, if there is one: the node has shown by a connection of its own that it is there.
    pub fn hurry(&self) {
        if self.inner.is_resting.get() {
            self.inner.hurry.notify();
        }
    }

    /// Where the node is dialled.
    pub fn address(&self) -> SocketAddr {
        self.inner.parts.address
    }

    /// True if the connection works, as far as is known.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.inner.is_up.get()
    }

    /// True if a call waits, and nothing was heard for so long that another replica should be preferred: see `suspicion.rs`.
    pub fn is_suspect(&self) -> bool {
        let inner = &*self.inner;
        let waiting = inner.waiting.borrow();
        let Some((_, call)) = waiting.first_key_value() else { return false };
        let now = inner.runtime.poll_start();
        let silence = now - inner.heard.get().max(call.began);
        inner.answer_times.borrow().is_suspicious(silence, now)
    }

    /// How many of this shard's requests wait for the node's answer.
    pub fn in_flight(&self) -> usize {
        self.inner.waiting.borrow().len()
    }

    /// The smoothed time of answers to measured requests, nanoseconds; `None` if there was none lately.
    pub fn answer_nanos(&self) -> Option<u64> {
        self.inner.responsiveness.borrow().smoothed(self.inner.runtime.poll_start())
    }

    /// A percentile of the times of answers to measured requests, of the last one to two minutes.
    pub fn answer_percentile(&self, percentile: f64) -> Option<Duration> {
        self.inner.responsiveness.borrow().percentile(percentile, self.inner.runtime.poll_start())
    }

    /// True if it is the node's turn to be preferred: always, but in the first minute after a start, in which its share grows to the whole.
    pub fn takes_turn(&self) -> bool {
        self.inner.responsiveness.borrow_mut().takes_turn(self.inner.runtime.poll_start())
    }

    /// How many shards the node has; 0 before it was greeted.
    pub fn shard_count(&self) -> u16 {
        self.inner.shard_count.get()
    }

    /// Makes a request, whose body `encode` appends, and waits for its answer. Dropped early, the answer is dropped when it comes.
    pub async fn call(&self, request: Request, encode: impl FnOnce(&mut Vec<u8>)) -> Result<Answer, CallError> {
        let began = self.inner.runtime.now();
        let peer = match &self.inner.bulk {
            // Without that connection it is made on this one.
            Some(bulk) if request.is_large(REQUEST_BYTES_MAX) && self.is_up() && bulk.inner.dialled().await => bulk,
            _ => self,
        };
        let inner = &*peer.inner;
        let _permit = inner.calls.acquire().await;
        inner.called.set(began);
        inner.outbox.room().await;
        if !inner.is_up.get() {
            return Err(CallError::Gone);
        }
        let number = inner.number();
        let now = inner.runtime.now();
        let left = request.time.map(|time| time.saturating_sub(now - began));
        let deadline = left.map(|left| inner.estimate.get().deadline(left, now));
        let trace = inner.runtime.tracing().present();
        let head = inner.head(number, request.verb);
        let epoch = request.epoch.unwrap_or(head.epoch);
        let head = Head { deadline, epoch, is_traced: trace.is_some(), ..head };
        let encode = |out: &mut Vec<u8>| {
            trace.iter().for_each(|trace| push_id(trace, out));
            encode(out);
        };
        let written = inner.outbox.put(|out| write_frame(out, &head, inner.parts.compresses, encode));
        written.map_err(|size| CallError::TooLarge { size, max: FRAME_BODY_MAX })?;
        let (sender, receiver) = oneshot();
        let call = Call { sender, began: inner.runtime.poll_start(), is_measured: request.is_measured };
        inner.waiting.borrow_mut().insert(number, call);
        let _waiting = Waiting { peer: inner, number, is_cancelled: request.is_cancelled };
        let connection = inner.connection.get();
        inner.runtime.tracing().step(|| format!("Sending request to /{}", inner.parts.address));
        let Ok((head, mut body)) = receiver.await else {
            inner.runtime.tracing().step(|| format!("No response from /{}: the connection ended", inner.parts.address));
            return Err(CallError::Gone);
        };
        if head.is_traced {
            let message = take_steps(trace.as_deref(), &inner.runtime, inner.parts.address, body);
            body = message.map_err(|malformed| {
                inner.refute(connection, Ended::Answer(malformed));
                CallError::Gone
            })?;
        }
        inner.runtime.tracing().step(|| format!("Processing response from /{}", inner.parts.address));
        Ok(Answer { kind: head.kind, body, peer: peer.clone(), connection })
    }

    /// Makes a request without waiting for its answer, once the connection has room. Without a connection it is dropped.
    pub(crate) async fn post(&self, verb: u8, body: &[u8]) {
        let inner = &*self.inner;
        inner.outbox.room().await;
        if !inner.is_up.get() {
            return;
        }
        let (head, compresses) = (inner.head(inner.number(), verb), inner.parts.compresses);
        let append = |out: &mut Vec<u8>| out.extend_from_slice(body);
        if let Err(size) = inner.outbox.put(|out| write_frame(out, &head, compresses, append)) {
            tracing::warn!(host = %inner.parts.host_id, size, "dropped message to node; it exceeds the frame limit");
        }
    }

    async fn stay_connected(self) {
        let inner = &*self.inner;
        let (rest_min, rest_max) = match inner.parts.purpose {
            // A node that looks for its cluster waits for nothing else.
            Purpose::Control if inner.parts.host_id != ANY_NODE => (CONTROL_REST, CONTROL_REST),
            _ => (REST_MIN, REST_MAX),
        };
        let mut rest = rest_min;
        // A refusal is logged once, not at each try.
        let mut last_reason = String::new();
        let mut was_up = false;
        loop {
            while inner.is_on_demand() && inner.callers.get() == 0 {
                inner.changed.notified().await;
            }
            let connect_time = inner.parts.local.connect_time();
            let longest = match inner.runtime.timeout(connect_time, inner.meet()).await {
                Ok(Ok((stream, welcome))) => {
                    if was_up {
                        stdx::sometimes!("node back");
                    }
                    was_up = true;
                    last_reason.clear();
                    let began = inner.runtime.now();
                    let ended = inner.talk(&stream, &welcome).await;
                    rest = if inner.runtime.now() - began >= CONTROL_REST { REST_MIN } else { rest_min };
                    if inner.is_on_demand() {
                        tracing::debug!(host = %inner.parts.host_id, reason = %ended, "closed bulk connection to node");
                    } else {
                        tracing::info!(host = %inner.parts.host_id, reason = %ended, "connection to node ended; reconnecting");
                    }
                    rest_max
                }
                outcome => {
                    inner.failures.set(inner.failures.get() + 1);
                    inner.changed.notify_all();
                    let (reason, verdict) = match outcome {
                        Ok(Err(error)) => (error.to_string(), error.verdict()),
                        _ => (format!("handshake timed out after {connect_time:?}"), None),
                    };
                    if reason != last_reason {
                        let (host, address) = (inner.parts.host_id, inner.parts.address);
                        tracing::info!(%host, %address, %reason, "cannot connect to node; retrying");
                        last_reason = reason;
                        verdict.iter().for_each(|verdict| inner.tell(News::Refused(*verdict)));
                    }
                    match verdict {
                        Some(Verdict::Stranger) => rest_min.max(STRANGER_REST_MAX),
                        _ => rest_max,
                    }
                }
            };
            let spread = u64::try_from(rest.as_micros() / 2).unwrap_or(u64::MAX).max(1);
            let more = Duration::from_micros(inner.runtime.random_u64() % spread);
            inner.rest(rest + more).await;
            rest = (rest * 2).clamp(rest_min, longest);
        }
    }
}

impl Inner {
    /// Dials and greets.
    async fn meet(&self) -> Result<(Stream, Welcome), GreetingError> {
        let parts = &self.parts;
        let stream = Stream::dial(&self.runtime, parts.address, &parts.local).await?;
        let wanted = (parts.host_id, parts.purpose, parts.compresses);
        let welcome = greeting::greet(&self.runtime, &stream, &parts.local, wanted).await?;
        Ok((stream, welcome))
    }

    /// True if the node is dialled at a call, and not before.
    fn is_on_demand(&self) -> bool {
        self.parts.purpose == Purpose::Bulk
    }

    /// True when a connection that is dialled on demand is up; false as soon as it cannot be had.
    async fn dialled(&self) -> bool {
        let _caller = Caller::new(&self.callers);
        self.changed.notify_all();
        let failures = self.failures.get();
        let settled = async {
            while !self.is_up.get() && self.failures.get() == failures && self.task.borrow().is_some() {
                self.changed.notified().await;
            }
        };
        let _ = self.runtime.timeout(DIAL_TIME, settled).await;
        self.is_up.get()
    }

    /// Rests before the next attempt to dial, or until it is to hurry: not sooner than after a while all the same, since the node may refuse this one each time.
    async fn rest(&self, time: Duration) {
        let least = time.min(HURRY_MIN);
        self.is_resting.set(true);
        self.runtime.sleep(least).await;
        first(self.runtime.sleep(time - least), self.hurry.notified()).await;
        self.is_resting.set(false);
    }

    fn number(&self) -> u64 {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        number
    }

    fn head(&self, number: u64, kind: u8) -> Head {
        Head { number, kind, epoch: self.parts.local.epoch(), ..Head::default() }
    }

    fn put_empty(&self, number: u64, kind: u8) {
        let head = self.head(number, kind);
        let put = self.outbox.put(|out| write_frame(out, &head, false, |_| {}));
        assert!(put.is_ok(), "an empty body is short");
    }

    /// Uses the connection until it ends.
    async fn talk(&self, stream: &Stream, welcome: &Welcome) -> Ended {
        self.shard_count.set(welcome.shard_count);
        self.responsiveness.borrow_mut().greeted(welcome.boot, self.runtime.now());
        self.heard.set(self.runtime.now());
        self.estimate.set(Estimate::begin(self.runtime.now()));
        self.connection.set(self.connection.get() + 1);
        self.refuted.take();
        self.is_up.set(true);
        self.changed.notify_all();
        self.tell(News::Up(welcome));
        if !self.is_on_demand() {
            tracing::info!(host = %self.parts.host_id, address = %self.parts.address, shards = welcome.shard_count, "connected to node");
        }
        let sending = async { Ended::from(self.outbox.send_all(&self.runtime, stream).await) };
        let receiving = async {
            match self.receive(stream).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        };
        let watching = first(self.watch(), self.refuted());
        let ended = first(first(sending, receiving), watching).await;
        self.down();
        ended
    }

    /// The connection has ended: all calls on it are gone.
    fn down(&self) {
        let was_up = self.is_up.replace(false);
        self.outbox.clear();
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        drop(waiting);
        if was_up {
            self.tell(News::Down);
        }
    }

    fn tell(&self, news: News<'_>) {
        if let Some(watch) = &self.parts.watch {
            watch(self.parts.host_id, news);
        }
    }

    async fn receive(&self, stream: &Stream) -> Result<std::convert::Infallible, Ended> {
        let mut frames = FrameReader::new();
        loop {
            let (result, buffer) = stream.read(frames.take_for_read()).await;
            frames.put_back(buffer);
            if result? == 0 {
                return Err(Ended::Closed);
            }
            self.heard.set(self.runtime.now());
            while let Some(Frame { head, body }) = frames.next_frame()? {
                let call = self.waiting.borrow_mut().remove(&head.number);
                match call {
                    // Who gave up meanwhile does not miss the answer.
                    Some(Call { sender, began, is_measured }) => {
                        let heard = self.heard.get();
                        self.answer_times.borrow_mut().note(heard - began, heard);
                        if is_measured {
                            self.responsiveness.borrow_mut().note(heard - began, heard);
                        }
                        _ = sender.send((head, body.open()?.into_owned()));
                    }
                    None if head.kind == PONG => self.observe(&body.open()?)?,
                    None => {}
                }
                self.runtime.maybe_yield().await;
            }
        }
    }

    /// Takes the reading of the other end's clock.
    fn observe(&self, body: &[u8]) -> Result<(), Malformed> {
        let reading = <[u8; 4]>::try_from(body).map_err(|_| Malformed::new("a pong has four bytes"))?;
        let mut estimate = self.estimate.get();
        estimate.observe(u32::from_be_bytes(reading), self.runtime.now());
        self.estimate.set(estimate);
        Ok(())
    }

    /// Pings when nothing comes, and now and then; ends when nothing comes even then, and a connection on demand when nothing is asked.
    async fn watch(&self) -> Ended {
        let (mut last_number, mut quiet, mut since_ping) = (self.next_number.get(), 0, 0);
        let silence_max = match self.parts.purpose {
            Purpose::Control if self.parts.host_id != ANY_NODE => CONTROL_SILENCE_MAX,
            // The other end does not read on while its memory is full.
            Purpose::Bulk => BULK_SILENCE_MAX,
            _ => SILENCE_MAX,
        };
        loop {
            let before = self.runtime.now();
            self.runtime.sleep(PING_AFTER).await;
            if self.runtime.now() - before > PING_AFTER + LATE {
                stdx::sometimes!("peer watched late");
                // And the other end has heard nothing of this one.
                (quiet, last_number) = (QUIET_MAX, self.next_number.get());
                self.heard.set(self.runtime.now());
            }
            quiet = if last_number == self.next_number.get() { quiet + 1 } else { 0 };
            since_ping += 1;
            let now = self.runtime.now();
            let silence = now - self.heard.get();
            if silence >= silence_max {
                return Ended::Silent(silence_max);
            }
            if self.is_on_demand() && self.waiting.borrow().is_empty() && now - self.called.get() >= IDLE_MAX {
                return Ended::Idle;
            }
            if silence >= PING_AFTER || quiet >= QUIET_MAX || since_ping >= PING_EVERY {
                (quiet, since_ping) = (0, 0);
                self.put_empty(self.number(), PING);
            }
            last_number = self.next_number.get();
        }
    }

    /// Waits for a reason to end the connection.
    async fn refuted(&self) -> Ended {
        loop {
            let refuted = self.refuted.take();
            if let Some(ended) = refuted {
                return ended;
            }
            self.refute.notified().await;
        }
    }

    /// The connection with this number is to end. The peer may be on another one by now.
    fn refute(&self, connection: u64, reason: Ended) {
        if connection == self.connection.get() {
            *self.refuted.borrow_mut() = Some(reason);
            self.refute.notify();
        }
    }
}
