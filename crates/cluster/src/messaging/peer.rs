//! Another node as this shard sees it: the connection that the shard dialled, and the calls that wait on it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Semaphore, Sender, oneshot};
use runtime::{Group, Instant, Runtime, TcpStream};
use topology::HostId;

use super::codec::{decode_answer, encode_request};
use super::frame::{FRAME_BODY_MAX, FrameReader, write_frame};
use super::greeting::{self, GreetingError, Hello, VERSION, Verdict, Welcome};
use super::outbox::{Outbox, first};
use super::{PeerAnswer, PeerRequest};
use crate::coordinator::ReplicaError;

/// Requests in flight to one node.
const CALLS_MAX: usize = 1024;
/// How long dialling and the greeting may take.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// Silence after which a ping is sent.
const PING_AFTER: Duration = Duration::from_secs(1);
/// Silence after which the connection counts as dead.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// The rest after a failed dial: it doubles from one to the other.
const REST_MIN: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(2);

/// Who is dialled, and by whom.
pub(crate) struct PeerParts {
    /// The other node's internode address.
    pub(crate) address: SocketAddr,
    /// The other node.
    pub(crate) host_id: HostId,
    /// This node.
    pub(crate) local: HostId,
    /// The cluster of both.
    pub(crate) cluster_name: String,
}

/// Another node. Clones are the same.
#[derive(Clone)]
pub(crate) struct Peer {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    parts: PeerParts,
    is_up: Cell<bool>,
    shard_count: Cell<u16>,
    /// Above all numbers that this connection's requests had.
    next_number: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, Sender<PeerAnswer>>>,
    calls: Semaphore,
    outbox: Outbox,
    /// When the connection last gave bytes.
    heard: Cell<Instant>,
}

/// Why a connection to a peer ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("the other end closed the connection")]
    Closed,
    #[error("it has been silent for {SILENCE_MAX:?}")]
    Silent,
    #[error("{0}")]
    Frame(#[from] super::FrameError),
    #[error("an answer cannot be decoded: {0}")]
    Answer(#[from] mutation::DecodeError),
}

/// Takes a call out of those that wait when nobody waits for it any more.
struct Waiting<'p> {
    peer: &'p Inner,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let sender = self.peer.waiting.borrow_mut().remove(&self.number);
        drop(sender);
    }
}

impl Peer {
    /// Begins to dial, and does so until the shard ends.
    pub(crate) fn start(runtime: &Runtime, parts: PeerParts) -> Peer {
        let inner = Inner {
            runtime: runtime.clone(),
            parts,
            is_up: Cell::new(false),
            shard_count: Cell::new(0),
            next_number: Cell::new(1),
            waiting: RefCell::default(),
            calls: Semaphore::new(CALLS_MAX),
            outbox: Outbox::default(),
            heard: Cell::new(runtime.now()),
        };
        let peer = Peer { inner: Rc::new(inner) };
        runtime.spawn(Group::Query, peer.clone().stay_connected());
        peer
    }

    /// Whether the connection works, as far as is known.
    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.inner.is_up.get()
    }

    /// How many shards the node has; 0 before it was greeted.
    pub(crate) fn shard_count(&self) -> u16 {
        self.inner.shard_count.get()
    }

    /// Makes a request and waits for its answer. Dropped early, the answer is dropped when it comes.
    pub(crate) async fn call(&self, request: &PeerRequest) -> Result<PeerAnswer, ReplicaError> {
        let inner = &*self.inner;
        let gone = ReplicaError::Gone { shard: inner.runtime.shard().0 };
        let _permit = inner.calls.acquire().await;
        inner.outbox.room().await;
        if !inner.is_up.get() {
            return Err(gone);
        }
        let number = inner.next_number.get();
        inner.next_number.set(number + 1);
        let written =
            inner.outbox.put(|out| write_frame(out, number, request.kind(), |out| _ = encode_request(request, out)));
        written.map_err(|size| ReplicaError::TooLarge { size, max: FRAME_BODY_MAX })?;
        let (sender, receiver) = oneshot();
        inner.waiting.borrow_mut().insert(number, sender);
        let _waiting = Waiting { peer: inner, number };
        match receiver.await {
            Ok(PeerAnswer::Failed(error)) => Err(error),
            Ok(answer) => Ok(answer),
            Err(_) => Err(gone),
        }
    }

    async fn stay_connected(self) {
        let inner = &*self.inner;
        let mut rest = REST_MIN;
        // A refused node is told once, not at each try.
        let mut last_reason = String::new();
        let mut was_up = false;
        loop {
            match inner.runtime.timeout(GREETING_TIME, inner.meet()).await {
                Ok(Ok((stream, welcome))) => {
                    if was_up {
                        stdx::sometimes!("node back");
                    }
                    was_up = true;
                    rest = REST_MIN;
                    last_reason.clear();
                    let ended = inner.talk(&stream, &welcome).await;
                    tracing::info!(host = %inner.parts.host_id, reason = %ended, "a node is down");
                }
                outcome => {
                    let reason = match outcome {
                        Ok(Err(error)) => error.to_string(),
                        _ => format!("no greeting within {GREETING_TIME:?}"),
                    };
                    if reason != last_reason {
                        let (host, address) = (inner.parts.host_id, inner.parts.address);
                        tracing::info!(%host, %address, %reason, "a node cannot be reached");
                        last_reason = reason;
                    }
                }
            }
            let spread = u64::try_from(rest.as_micros() / 2).unwrap_or(u64::MAX).max(1);
            let more = Duration::from_micros(inner.runtime.random_u64() % spread);
            inner.runtime.sleep(rest + more).await;
            rest = (rest * 2).min(REST_MAX);
        }
    }
}

impl Inner {
    /// Dials and greets.
    async fn meet(&self) -> Result<(TcpStream, Welcome), GreetingError> {
        let parts = &self.parts;
        let stream = self.runtime.connect(parts.address).await?;
        let hello = Hello {
            version: VERSION,
            shard: self.runtime.shard().0,
            shard_count: self.runtime.shard_count(),
            host_id: parts.local,
            wanted: parts.host_id,
            cluster_name: parts.cluster_name.clone(),
        };
        let (result, _) = stream.write_all(hello.encode()).await;
        result?;
        let welcome = greeting::receive(&stream, Welcome::decode).await?;
        if welcome.verdict != Verdict::Welcome || welcome.host_id != parts.host_id || welcome.shard_count == 0 {
            let Welcome { version, verdict, host_id, cluster_name, .. } = welcome;
            return Err(GreetingError::Refused { verdict, host_id, cluster_name, version });
        }
        Ok((stream, welcome))
    }

    /// Uses the connection until it ends.
    async fn talk(&self, stream: &TcpStream, welcome: &Welcome) -> Ended {
        self.shard_count.set(welcome.shard_count);
        self.heard.set(self.runtime.now());
        self.is_up.set(true);
        tracing::info!(host = %self.parts.host_id, shards = welcome.shard_count, "a node is up");
        let sending = async { Ended::from(self.outbox.send_all(stream).await) };
        let receiving = async {
            match self.receive(stream).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        };
        let ended = first(first(sending, receiving), self.watch()).await;
        self.is_up.set(false);
        self.outbox.clear();
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        drop(waiting);
        ended
    }

    async fn receive(&self, stream: &TcpStream) -> Result<std::convert::Infallible, Ended> {
        let mut frames = FrameReader::new();
        loop {
            let (result, buffer) = stream.read(frames.take_for_read()).await;
            frames.put_back(buffer);
            if result? == 0 {
                return Err(Ended::Closed);
            }
            self.heard.set(self.runtime.now());
            while let Some(frame) = frames.next_frame()? {
                let answer = decode_answer(frame.kind, frame.body)?;
                let sender = self.waiting.borrow_mut().remove(&frame.number);
                if let Some(sender) = sender {
                    // Who gave up meanwhile does not miss the answer.
                    let _ = sender.send(answer);
                }
                self.runtime.maybe_yield().await;
            }
        }
    }

    /// Pings when nothing comes; ends when nothing comes even then.
    async fn watch(&self) -> Ended {
        loop {
            self.runtime.sleep(PING_AFTER).await;
            let silence = self.runtime.now() - self.heard.get();
            if silence >= SILENCE_MAX {
                return Ended::Silent;
            }
            if silence >= PING_AFTER {
                let number = self.next_number.get();
                self.next_number.set(number + 1);
                let ping = PeerRequest::Ping;
                let put = self.outbox.put(|out| write_frame(out, number, ping.kind(), |_| {}));
                assert!(put.is_ok(), "a ping has no body");
            }
        }
    }
}
