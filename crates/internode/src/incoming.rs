//! The node that is dialled: answering what comes on a connection.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use planted::Planted;
use runtime::sync::Notify;
use runtime::{Group, Mesh, MeshSeat, Runtime};
use topology::HostId;

use crate::connection::{Connection, Dead, PeerSocket, SILENCE_MAX};
use crate::frame::{FrameError, FrameReader};
use crate::memory::Memory;
use crate::outbox::first;
use crate::stream::{Stream, read_out};
use crate::verbs::{CANCEL, Malformed, PING, Verbs, empty};

/// Time that the peer has to close a connection that this node has ended.
const LINGER: Duration = Duration::from_millis(500);

/// The connections of other nodes that a shard answers on. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    state: Rc<IncomingState>,
}

#[derive(Debug, Default)]
struct IncomingState {
    /// The nodes that may dial; with `is_for_all` those may that the owner has judged, members or not.
    members: RefCell<BTreeSet<HostId>>,
    is_for_all: Cell<bool>,
    /// All are to end, and may take so long for the requests that are being served.
    patience: Cell<Option<Duration>>,
    ending: Notify,
    open: Cell<usize>,
    /// One ended.
    ended: Notify,
    memory: Rc<Memory>,
    planted: Cell<Planted>,
    /// This node's epoch.
    epoch: Rc<Cell<u64>>,
}

impl Incoming {
    /// Connections of members, and of nodes that look for their cluster.
    pub fn for_all() -> Incoming {
        let incoming = Incoming::default();
        incoming.state.is_for_all.set(true);
        incoming
    }

    /// Reads no further requests, waits until those being served are answered, at most `patience`, and closes the connections. From then
    /// on nothing is answered any more, on no connection.
    pub async fn end(&self, patience: Duration) {
        self.state.patience.set(Some(patience));
        self.state.ending.notify_all();
        while self.state.open.get() > 0 {
            self.state.ended.notified().await;
        }
    }

    /// Answers carry this epoch from now on; at first zero, which says nothing.
    pub fn set_epoch(&self, epoch: u64) {
        self.state.epoch.set(epoch);
    }

    /// Makes the mistake of a planted bug from now on.
    pub fn plant(&self, planted: Planted) {
        self.state.planted.set(planted);
    }

    /// Bytes of memory that the connections take: frames that are not whole yet, requests being served, and answers to be sent.
    pub fn memory_used(&self) -> usize {
        self.state.memory.used()
    }

    /// Follows a change of membership: connections of nodes that left are closed.
    pub fn follow(&self, others: impl IntoIterator<Item = HostId>) {
        *self.state.members.borrow_mut() = others.into_iter().collect();
        self.state.ending.notify_all();
    }

    /// True if the node may dial.
    pub fn is_member(&self, host_id: HostId) -> bool {
        self.state.is_for_all.get() || self.state.members.borrow().contains(&host_id)
    }

    /// Waits until the connections of a node are to end.
    async fn ending(&self, host_id: HostId) -> Received {
        loop {
            if let Some(patience) = self.state.patience.get() {
                return Received::Enough(patience);
            }
            if !self.is_member(host_id) {
                return Received::Left;
            }
            self.state.ending.notified().await;
        }
    }

    /// Takes the seat on which greeted connections arrive at this shard; the verbs answer the requests on them.
    pub fn open(&self, runtime: &Runtime, seat: MeshSeat<PeerSocket, ()>, verbs: Verbs) -> Mesh<PeerSocket, ()> {
        let (incoming, verbs, spawner) = (self.clone(), Rc::new(verbs), runtime.clone());
        seat.open(runtime, move |_, socket, responder| {
            incoming.answer(&spawner, socket, &verbs);
            responder.reply(());
        })
    }

    /// Answers on a greeted connection at this shard.
    pub(crate) fn answer(&self, runtime: &Runtime, socket: PeerSocket, verbs: &Rc<Verbs>) {
        runtime.spawn(Group::Query, self.clone().serve(runtime.clone(), socket, Rc::clone(verbs)));
    }

    /// Answers what comes on a connection, until it ends.
    async fn serve(self, runtime: Runtime, socket: PeerSocket, verbs: Rc<Verbs>) {
        // Closed at once, for the other node to dial again.
        if self.state.patience.get().is_some() {
            return;
        }
        self.state.open.set(self.state.open.get() + 1);
        self.serve_open(&runtime, socket, &verbs).await;
        self.state.open.set(self.state.open.get() - 1);
        self.state.ended.notify();
    }

    async fn serve_open(&self, runtime: &Runtime, socket: PeerSocket, verbs: &Verbs) {
        let PeerSocket { connection: detached, host_id, compresses } = socket;
        let stream = detached.attach(runtime);
        let connection =
            Connection::new(runtime, (&self.state.memory, self.state.planted.get()), &self.state.epoch, compresses);
        let sending = async { Ended::from(connection.outbox.send_all(runtime, &stream).await) };
        let receiving = async {
            let dead = async { Err(Ended::from(connection.dead().await)) };
            let received =
                async { Received::Ended(first(receive(runtime, &connection, &stream, (host_id, verbs)), dead).await) };
            match first(received, self.ending(host_id)).await {
                Received::Ended(Ok(())) => Ended::Closed,
                Received::Ended(Err(ended)) => ended,
                Received::Left => Ended::Left,
                Received::Enough(patience) => finish(runtime, &connection, patience).await,
            }
        };
        let ended = first(sending, receiving).await;
        connection.close();
        if matches!(ended, Ended::Finished) {
            let _ = runtime.timeout(LINGER, read_out(&stream)).await;
        }
        match ended {
            Ended::Finished | Ended::Left | Ended::Closed | Ended::Io(_) => {
                tracing::debug!(%ended, "internode connection closed")
            }
            ended => tracing::warn!(%ended, "closed internode connection; the peer reconnects"),
        }
    }
}

/// Why nothing more is received on a connection.
enum Received {
    /// The connection ended.
    Ended(Result<(), Ended>),
    /// The node that dialled is no member any more.
    Left,
    /// This node is ending, and requests being served may take so long.
    Enough(Duration),
}

/// Why a connection of a peer ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the peer closed the connection")]
    Closed,
    #[error("no message for {SILENCE_MAX:?}")]
    Silent,
    #[error("the peer does not read its answers")]
    Stuck,
    #[error("frame incomplete for too long while other connections wait for memory")]
    Slow,
    #[error("this node is shutting down")]
    Finished,
    #[error("the peer left the ring")]
    Left,
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("cannot decode request: unknown verb {verb}")]
    UnknownVerb { verb: u8 },
    #[error("cannot decode request: {0}")]
    Request(#[from] Malformed),
}

impl From<Dead> for Ended {
    fn from(dead: Dead) -> Ended {
        match dead {
            Dead::Silent => Ended::Silent,
            Dead::Stuck => Ended::Stuck,
            Dead::Slow => Ended::Slow,
        }
    }
}

/// Has the verbs answer what comes, until the other end closes the connection.
async fn receive(
    runtime: &Runtime,
    connection: &Rc<Connection>,
    stream: &Stream,
    (host_id, verbs): (HostId, &Verbs),
) -> Result<(), Ended> {
    let mut frames = FrameReader::new();
    loop {
        connection.room_to_read(&frames).await;
        connection.set_reading(true);
        let (result, buffer) = stream.read(frames.take_for_read()).await;
        connection.set_reading(false);
        frames.put_back(buffer);
        if result? == 0 {
            return Ok(());
        }
        while let Some(frame) = frames.next_frame()? {
            match frame.head.kind {
                PING => {
                    empty(frame.body.length())?;
                    connection.pong(frame.head.number);
                }
                CANCEL => {
                    empty(frame.body.length())?;
                    connection.cancel(frame.head.number);
                }
                kind => {
                    let verb = verbs.get(kind).ok_or(Ended::UnknownVerb { verb: kind })?;
                    let ticket = connection.ticket(&frame, verb.answer_bytes).await;
                    connection.frame_passed();
                    if let Some(mut ticket) = ticket {
                        runtime.label(verb.name);
                        let body = frame.body.open()?;
                        let message = ticket.message(verb.name, &body)?;
                        verb.handle(host_id, message, ticket)?;
                    }
                    runtime.maybe_yield().await;
                }
            }
        }
    }
}

/// Waits until the requests being served are answered, and the answers sent.
async fn finish(runtime: &Runtime, connection: &Connection, patience: Duration) -> Ended {
    if runtime.timeout(patience, connection.answered()).await.is_err() {
        tracing::warn!("dropped internode requests in flight at shutdown");
    }
    Ended::Finished
}
