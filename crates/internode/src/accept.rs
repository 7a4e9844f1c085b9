//! The listening shard: accepts connections of other nodes, greets each, and hands it to the shard that answers on it.

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, Mesh, Runtime, ShardId, Socket, TcpListener};

use crate::connection::PeerSocket;
use crate::greeting;
use crate::handshake::{GreetingError, Hello, Verdict};
use crate::incoming::Incoming;
use crate::local_node::LocalNode;
use crate::places::Places;
use crate::purpose::Purpose;
use crate::stream::Stream;
use crate::verbs::Verbs;

/// Greetings under way on shard 0.
const GREETINGS_MAX: usize = 64;
/// Timeout of a handshake.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// The rest after an accept that failed: out of descriptors, most likely.
const REST: Duration = Duration::from_millis(100);

/// The owner's verdict on a hello that fits this node and its cluster. It has no effect but its answer: the dialler has not proven the secret yet.
pub type Judge = Rc<dyn Fn(&Hello) -> Verdict>;

/// The cluster as the listening shard knows it.
pub struct Listening {
    /// This node.
    pub local: LocalNode,
    /// Judges all hellos.
    pub judge: Judge,
    /// Sends connections of the purposes requests and bulk to their shards; not set: this node serves none yet.
    pub requests: Rc<OnceCell<Mesh<PeerSocket, ()>>>,
    /// Answers on connections of purpose control; `None`: there are none.
    pub control: Option<Answering>,
}

/// Verbs for connections that the listening shard itself answers on.
pub struct Answering {
    /// Its connections.
    pub incoming: Incoming,
    /// Its verbs.
    pub verbs: Rc<Verbs>,
}

/// Accepts connections of other nodes, greets each, and hands it to its shard, until it is dropped.
pub async fn listen_for_peers(runtime: Runtime, listener: TcpListener, listening: Listening) {
    let listening = Rc::new(listening);
    let places = Places::new(GREETINGS_MAX);
    // A TLS handshake costs a hundred times what a greeting does, and any host may ask for it: clients do not wait for it.
    let group = if listening.local.tls().is_some() { Group::Maintenance } else { Group::Query };
    loop {
        match listener.accept().await {
            Ok((socket, from)) => {
                // Without a place the socket is dropped, which closes it: the other end dials again.
                let Some(place) = places.take(from.ip()) else { continue };
                let (runtime, listening) = (runtime.clone(), listening.clone());
                let greeter = runtime.clone();
                greeter.spawn(group, async move {
                    let met = runtime.timeout(GREETING_TIME, listening.meet(&runtime, socket, from)).await;
                    drop(place);
                    match met {
                        Ok(Ok((stream, hello))) => listening.hand_over(&runtime, stream, from, &hello).await,
                        Ok(Err(error)) => log(from, &error, &listening.local),
                        Err(_) => {
                            tracing::info!(%from, "rejected internode connection: handshake timed out")
                        }
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept internode connection; retrying");
                runtime.sleep(REST).await;
            }
        }
    }
}

fn log(from: SocketAddr, error: &GreetingError, local: &LocalNode) {
    match error {
        GreetingError::Rejected { verdict: Verdict::OtherGroup } => {
            let group = format!("{:032x}", local.group().id);
            tracing::warn!(%from, group, "rejected internode connection: the node is of another metadata group; two clusters never merge");
        }
        GreetingError::Rejected { verdict: Verdict::NotProven } => {
            tracing::warn!(%from, "rejected internode connection: {error}");
        }
        GreetingError::Tls(_) | GreetingError::TlsPeer | GreetingError::PlainPeer => {
            tracing::warn!(%from, "rejected internode connection: {error}");
        }
        // Its dialler says so: it goes on dialling, as where a node is replaced at its address.
        GreetingError::Rejected { verdict: Verdict::OtherNode } => {
            tracing::debug!(%from, "rejected internode connection: {error}");
        }
        GreetingError::Rejected { .. } => tracing::info!(%from, "rejected internode connection: {error}"),
        error => tracing::info!(%from, %error, "rejected internode connection: handshake failed"),
    }
}

impl Listening {
    /// Makes the TLS session, where there is to be one, and greets.
    async fn meet(
        &self,
        runtime: &Runtime,
        socket: Socket,
        from: SocketAddr,
    ) -> Result<(Stream, Hello), GreetingError> {
        let stream = Stream::accept(runtime, socket, from, &self.local).await?;
        let hello = greeting::meet(runtime, &stream, &self.local, |hello| self.judge(hello)).await?;
        Ok((stream, hello))
    }

    fn judge(&self, hello: &Hello) -> Verdict {
        let is_served = match hello.purpose {
            Purpose::Requests | Purpose::Bulk => self.requests.get().is_some(),
            Purpose::Control => self.control.is_some(),
            Purpose::Other(_) => false,
        };
        match is_served {
            true => (self.judge)(hello),
            false => Verdict::OtherPurpose,
        }
    }

    async fn hand_over(&self, runtime: &Runtime, stream: Stream, from: SocketAddr, hello: &Hello) {
        let socket = match stream.detach() {
            Ok(connection) => PeerSocket { connection, host_id: hello.host_id, compresses: hello.compresses },
            Err(error) => {
                tracing::warn!(%from, %error, "closed internode connection; cannot hand it to its shard");
                return;
            }
        };
        match &self.control {
            Some(control) if hello.purpose == Purpose::Control => {
                control.incoming.answer(runtime, socket, &control.verbs);
            }
            _ => {
                let shard = ShardId(hello.shard % runtime.shard_count());
                let Some(requests) = self.requests.get() else { return };
                if let Err(error) = requests.call(shard, socket).await {
                    tracing::info!(%from, %error, "closed internode connection; its shard has stopped");
                }
            }
        }
    }
}
