//! The node that is dialled: accepting, greeting, and answering what comes on a connection.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Notify, Semaphore};
use runtime::{Group, Mesh, Runtime, ShardId, Socket, TcpListener, TcpStream};
use topology::HostId;

use super::codec::{decode_request, encode_answer};
use super::frame::{FRAME_BODY_MAX, FrameReader, write_frame};
use super::greeting::{self, GreetingError, Hello, VERSION, Verdict, Welcome};
use super::outbox::{Outbox, first};
use super::{PeerAnswer, PeerRequest};
use crate::coordinator::ReplicaError;

/// Greetings under way on shard 0.
const GREETINGS_MAX: usize = 64;
/// How long a greeting may take.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// The rest after an accept that failed: out of descriptors, most likely.
const REST: Duration = Duration::from_millis(100);
/// How long the other end may take to close a connection that this node has ended.
const LINGER: Duration = Duration::from_millis(500);
/// What is read at a time of what nobody answers any more.
const LINGER_BYTES: usize = 16 << 10;
/// Requests being served of one connection.
const REQUESTS_MAX: usize = 256;
/// Bytes of the requests being served of one connection; a larger one is served alone.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// A greeted connection on its way to the shard that answers on it.
#[derive(Debug)]
pub struct PeerSocket {
    socket: Socket,
}

/// The connections of other nodes that a shard answers on. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incoming {
    state: Rc<IncomingState>,
}

#[derive(Debug, Default)]
struct IncomingState {
    /// They are to end, and may take so long for the requests that are being served.
    patience: Cell<Option<Duration>>,
    ending: Notify,
    open: Cell<usize>,
    /// One ended.
    ended: Notify,
}

impl Incoming {
    /// Reads no further requests, waits until those being served are answered, at most `patience`, and closes the connections. From then
    /// on nothing is answered any more, on no connection.
    pub(crate) async fn end(&self, patience: Duration) {
        self.state.patience.set(Some(patience));
        self.state.ending.notify_all();
        while self.state.open.get() > 0 {
            self.state.ended.notified().await;
        }
    }

    /// Waits for the end; says how long requests being served may take then.
    async fn ending(&self) -> Duration {
        loop {
            if let Some(patience) = self.state.patience.get() {
                return patience;
            }
            self.state.ending.notified().await;
        }
    }

    /// Answers what comes on a connection with what `serve` says, until it ends.
    pub(crate) async fn serve<F, Fut>(self, runtime: Runtime, socket: PeerSocket, serve: F)
    where
        F: Fn(PeerRequest) -> Fut + 'static,
        Fut: Future<Output = PeerAnswer> + 'static,
    {
        // Closed at once, for the other node to dial again.
        if self.state.patience.get().is_some() {
            return;
        }
        self.state.open.set(self.state.open.get() + 1);
        serve_peer(&self, runtime, socket, serve).await;
        self.state.open.set(self.state.open.get() - 1);
        self.state.ended.notify();
    }
}

/// What the listening shard knows of its cluster.
pub(crate) struct Listening {
    /// This node.
    pub(crate) local: HostId,
    /// The nodes that may dial.
    pub(crate) others: Vec<HostId>,
    /// The cluster.
    pub(crate) cluster_name: String,
}

/// Accepts connections of other nodes, greets each, and hands it to its shard.
pub(crate) async fn listen_for_peers(
    runtime: Runtime,
    listener: TcpListener,
    listening: Listening,
    mesh: Mesh<PeerSocket, ()>,
) {
    let listening = Rc::new(listening);
    let greetings = Semaphore::new(GREETINGS_MAX);
    loop {
        match listener.accept().await {
            Ok((socket, from)) => {
                // Without a permit the socket is dropped, which closes it: the other end dials again.
                let Some(permit) = greetings.try_acquire() else { continue };
                let (runtime, listening, mesh) = (runtime.clone(), listening.clone(), mesh.clone());
                let greeter = runtime.clone();
                greeter.spawn(Group::Query, async move {
                    let stream = runtime.adopt(socket);
                    let met = runtime.timeout(GREETING_TIME, meet(&runtime, &stream, &listening)).await;
                    drop(permit);
                    match met {
                        Ok(Ok(shard)) => hand_over(stream, from, shard, &mesh).await,
                        Ok(Err(error)) => tracing::info!(%from, %error, "a node was not let in"),
                        Err(_) => tracing::info!(%from, "a node was not let in: it did not say who it is"),
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection from another node");
                runtime.sleep(REST).await;
            }
        }
    }
}

/// The greeting; gives the shard that is to have the connection.
async fn meet(runtime: &Runtime, stream: &TcpStream, listening: &Listening) -> Result<ShardId, GreetingError> {
    let hello = greeting::receive(stream, Hello::decode).await?;
    let verdict = match () {
        () if hello.version != VERSION => Verdict::OtherVersion,
        () if hello.cluster_name != listening.cluster_name => Verdict::OtherCluster,
        () if hello.wanted != listening.local => Verdict::OtherNode,
        () if !listening.others.contains(&hello.host_id) => Verdict::Stranger,
        () => Verdict::Welcome,
    };
    let welcome = Welcome {
        version: VERSION,
        verdict,
        shard_count: runtime.shard_count(),
        host_id: listening.local,
        cluster_name: listening.cluster_name.clone(),
    };
    let (result, _) = stream.write_all(welcome.encode()).await;
    result?;
    if verdict != Verdict::Welcome {
        let Hello { host_id, cluster_name, version, .. } = hello;
        return Err(GreetingError::Refused { verdict, host_id, cluster_name, version });
    }
    Ok(ShardId(hello.shard % runtime.shard_count()))
}

async fn hand_over(stream: TcpStream, from: SocketAddr, shard: ShardId, mesh: &Mesh<PeerSocket, ()>) {
    match stream.into_socket() {
        Ok(socket) => {
            if let Err(error) = mesh.call(shard, PeerSocket { socket }).await {
                tracing::info!(%from, %error, "a node's connection was closed");
            }
        }
        Err(error) => tracing::warn!(%from, %error, "a node's connection could not be handed to its shard"),
    }
}

async fn serve_peer<F, Fut>(incoming: &Incoming, runtime: Runtime, socket: PeerSocket, serve: F)
where
    F: Fn(PeerRequest) -> Fut + 'static,
    Fut: Future<Output = PeerAnswer> + 'static,
{
    let stream = runtime.adopt(socket.socket);
    let connection = Rc::new(Connection {
        runtime: runtime.clone(),
        outbox: Outbox::default(),
        requests: Semaphore::new(REQUESTS_MAX),
        bytes: Cell::new(0),
        served: Notify::new(),
        is_open: Cell::new(true),
    });
    let sending = async { Ended::from(connection.outbox.send_all(&stream).await) };
    let receiving = async {
        let received = async { Received::Ended(connection.receive(&stream, &serve).await) };
        let ending = async { Received::Enough(incoming.ending().await) };
        match first(received, ending).await {
            Received::Ended(Ok(())) => Ended::Closed,
            Received::Ended(Err(ended)) => ended,
            Received::Enough(patience) => connection.finish(patience).await,
        }
    };
    let ended = first(sending, receiving).await;
    connection.is_open.set(false);
    connection.outbox.clear();
    if matches!(ended, Ended::Finished) {
        let _ = runtime.timeout(LINGER, read_out(&stream)).await;
    }
    match ended {
        Ended::Finished | Ended::Closed | Ended::Io(_) => tracing::debug!(%ended, "a node's connection ended"),
        ended => tracing::warn!(%ended, "a node's connection was closed"),
    }
}

/// Says that nothing more is sent, and reads until the other end says so too: closed with unread bytes, a connection is reset, and the
/// other end may lose answers that it has not read yet.
async fn read_out(stream: &TcpStream) {
    if stream.shutdown().is_err() {
        return;
    }
    let mut buffer = Vec::with_capacity(LINGER_BYTES);
    while let (Ok(1..), read) = stream.read(buffer).await {
        buffer = read;
        buffer.clear();
    }
}

/// Why nothing more is received on a connection.
enum Received {
    /// The connection ended.
    Ended(Result<(), Ended>),
    /// This node is ending, and requests being served may take so long.
    Enough(Duration),
}

/// Why a connection of a peer ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the other end closed the connection")]
    Closed,
    #[error("this node is ending")]
    Finished,
    #[error("{0}")]
    Frame(#[from] super::FrameError),
    #[error("a request cannot be decoded: {0}")]
    Request(#[from] mutation::DecodeError),
}

struct Connection {
    runtime: Runtime,
    outbox: Outbox,
    requests: Semaphore,
    /// Bytes of the requests being served.
    bytes: Cell<usize>,
    /// One was served.
    served: Notify,
    is_open: Cell<bool>,
}

impl Connection {
    async fn receive<F, Fut>(self: &Rc<Self>, stream: &TcpStream, serve: &F) -> Result<(), Ended>
    where
        F: Fn(PeerRequest) -> Fut,
        Fut: Future<Output = PeerAnswer> + 'static,
    {
        let mut frames = FrameReader::new();
        loop {
            let (result, buffer) = stream.read(frames.take_for_read()).await;
            frames.put_back(buffer);
            if result? == 0 {
                return Ok(());
            }
            while let Some(frame) = frames.next_frame()? {
                let (number, bytes) = (frame.number, frame.body.len());
                let request = decode_request(frame.kind, frame.body)?;
                if request == PeerRequest::Ping {
                    self.answer(number, &PeerAnswer::Pong);
                    continue;
                }
                // The socket is not read on while there is no room for what its requests will answer.
                self.outbox.room().await;
                let permit = self.requests.acquire().await;
                while self.bytes.get() > 0 && self.bytes.get() + bytes > REQUEST_BYTES_MAX {
                    self.served.notified().await;
                }
                self.bytes.set(self.bytes.get() + bytes);
                let (connection, work) = (Rc::clone(self), serve(request));
                self.runtime.spawn(Group::Query, async move {
                    let answer = work.await;
                    connection.answer(number, &answer);
                    connection.bytes.set(connection.bytes.get() - bytes);
                    connection.served.notify();
                    drop(permit);
                });
                self.runtime.maybe_yield().await;
            }
        }
    }

    /// Waits until the requests being served are answered, and the answers sent.
    async fn finish(&self, patience: Duration) -> Ended {
        let answered = async {
            while self.requests.available() < REQUESTS_MAX {
                self.served.notified().await;
            }
            self.outbox.sent().await;
        };
        if self.runtime.timeout(patience, answered).await.is_err() {
            tracing::warn!("requests of another node were still under way at the end");
        }
        Ended::Finished
    }

    fn answer(&self, number: u64, answer: &PeerAnswer) {
        if !self.is_open.get() {
            return;
        }
        let put = |answer: &PeerAnswer| {
            self.outbox.put(|out| write_frame(out, number, answer.kind(), |out| _ = encode_answer(answer, out)))
        };
        if let Err(size) = put(answer) {
            let refusal = PeerAnswer::Failed(ReplicaError::TooLarge { size, max: FRAME_BODY_MAX });
            assert!(put(&refusal).is_ok(), "a refusal is short");
        }
    }
}
