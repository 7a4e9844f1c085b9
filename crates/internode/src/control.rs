//! Control connections: messages of the group and heartbeats between the shards 0 of all nodes, each node dialling each other one.
//!
//! A message is sent or dropped, and never waited for: what it is about is said again by whoever needs it. A heartbeat is answered.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use runtime::{Group, Runtime, ShardId, TaskHandle};
use topology::HostId;

use crate::connection::Reply;
use crate::local_node::LocalNode;
use crate::news::{News, Watch};
use crate::peer::{CallError, Peer};
use crate::peers::{Other, Peers};
use crate::purpose::Purpose;
use crate::request::Request;
use crate::send_queue::SendQueue;
use crate::verbs::{Malformed, Verbs};

/// A message of the group. Its body is the owner's; its answer is empty.
pub const GROUP: u8 = 16;
/// A sign of life. Its body and its answer are the owner's.
pub const HEARTBEAT: u8 = 17;
/// The kind of an answer, beside its request's.
const ANSWER: u8 = 128;

/// An answer on a control connection.
struct ControlReply {
    verb: u8,
    body: Vec<u8>,
}

impl Reply for ControlReply {
    fn kind(&self) -> u8 {
        ANSWER + self.verb
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.body);
    }

    /// An answer of the wrong kind, which ends the connection: no owner answers with so much.
    fn too_large(_size: usize, _max: usize) -> Self {
        ControlReply { verb: GROUP, body: Vec::new() }
    }
}

/// The verbs of control connections: `group` takes a message, `heartbeat` gives the answer to one. Both know the node that dialled.
pub fn control_verbs(
    group: impl Fn(HostId, &[u8]) -> Result<(), Malformed> + 'static,
    heartbeat: impl Fn(HostId, &[u8]) -> Result<Vec<u8>, Malformed> + 'static,
) -> Verbs {
    let mut verbs = Verbs::new();
    verbs.register_by_host(GROUP, "a message of the group", move |from, body| {
        group(from, body)?;
        Ok(std::future::ready(ControlReply { verb: GROUP, body: Vec::new() }))
    });
    register_asked(&mut verbs, HEARTBEAT, "a heartbeat", move |from, body| {
        Ok(std::future::ready(heartbeat(from, body)?))
    });
    verbs
}

/// Has `handler` answer requests of kind `verb` on control connections, with a body of its own, as [`Verbs::register_by_host`] says.
pub fn register_asked<F, Fut>(verbs: &mut Verbs, verb: u8, name: &'static str, handler: F)
where
    F: Fn(HostId, &[u8]) -> Result<Fut, Malformed> + 'static,
    Fut: Future<Output = Vec<u8>> + 'static,
{
    verbs.register_by_host(verb, name, move |from, body| {
        let answer = handler(from, body)?;
        Ok(async move { ControlReply { verb, body: answer.await } })
    });
}

/// Makes such a request of a node, and gives the answer's body.
pub async fn ask(peer: &Peer, verb: u8, body: &[u8]) -> Result<Vec<u8>, CallError> {
    let answer = peer.call(Request::of(verb), |out| out.extend_from_slice(body)).await?;
    answer.decode(|kind, body| match kind.checked_sub(ANSWER) {
        Some(of) if of == verb => Ok(body),
        _ => Err(Malformed::new(format!("kind {kind} is no answer to verb {verb}"))),
    })
}

/// Messages on their way to one node.
struct Link {
    queue: Rc<SendQueue>,
    sending: TaskHandle<()>,
}

type Links = RefCell<BTreeMap<HostId, Link>>;

/// The control connections that this node dials. For shard 0.
pub struct Control {
    runtime: Runtime,
    peers: Rc<Peers>,
    links: Rc<Links>,
}

impl Control {
    /// No node is dialled yet. `watch` receives which nodes are up, and which refuse this one.
    ///
    /// # Panics
    /// On another shard than 0.
    pub fn new(runtime: &Runtime, local: LocalNode, watch: Watch) -> Control {
        assert_eq!(runtime.shard(), ShardId(0), "control connections are shard 0's");
        let links = Rc::new(Links::default());
        let dropping = Rc::clone(&links);
        let watch_all: Watch = Rc::new(move |host_id, news| {
            if let News::Down = news
                && let Some(link) = dropping.borrow().get(&host_id)
            {
                // What waits is of the past when the node is back.
                link.queue.clear();
            }
            watch(host_id, news);
        });
        let peers = Rc::new(Peers::of_purpose(runtime, local, Purpose::Control, Some(watch_all)));
        Control { runtime: runtime.clone(), peers, links }
    }

    /// Follows a change of membership, as [`Peers::follow`].
    pub fn follow(&self, others: impl IntoIterator<Item = Other>) {
        let others: BTreeMap<HostId, Other> = others.into_iter().map(|other| (other.host_id, other)).collect();
        self.peers.follow(others.values().copied());
        let mut links = self.links.borrow_mut();
        let gone: Vec<HostId> = links.keys().filter(|host_id| !others.contains_key(host_id)).copied().collect();
        for link in gone.iter().filter_map(|host_id| links.remove(host_id)).collect::<Vec<_>>() {
            link.sending.abort();
        }
        for host_id in others.into_keys() {
            links.entry(host_id).or_insert_with(|| self.link(host_id));
        }
    }

    /// Sends a message if the node is up, without waiting. While more than 1,024 messages or 16 MiB wait for a node, the oldest are dropped.
    pub fn send(&self, to: HostId, body: Vec<u8>) {
        if !self.is_up(to) {
            return;
        }
        let links = self.links.borrow();
        let dropped = links.get(&to).map_or(0, |link| link.queue.push(body));
        if dropped > 0 {
            tracing::debug!(host = %to, dropped, "dropped oldest messages to node; its connection is too slow");
        }
    }

    /// Sends a heartbeat, and gives its answer.
    pub async fn heartbeat(&self, to: HostId, body: &[u8]) -> Result<Vec<u8>, CallError> {
        self.ask(to, HEARTBEAT, body).await
    }

    /// Makes a request of kind `verb` of a node that is followed, as [`ask`].
    pub async fn ask(&self, to: HostId, verb: u8, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let peer = self.peers.get(to).ok_or(CallError::Gone)?;
        ask(&peer, verb, body).await
    }

    /// Dials a node now, if it is followed and not connected: it has shown that it is there.
    pub fn hurry(&self, host_id: HostId) {
        if let Some(peer) = self.peers.get(host_id) {
            peer.hurry();
        }
    }

    /// Ends the connection to a node, which its owner takes for dead: its news follows, and the node is dialled again.
    pub fn convict(&self, host_id: HostId) {
        if let Some(peer) = self.peers.get(host_id) {
            peer.convict();
        }
    }

    /// True if the connection to the node works, as far as is known.
    pub fn is_up(&self, host_id: HostId) -> bool {
        self.peers.get(host_id).is_some_and(|peer| peer.is_up())
    }

    fn link(&self, host_id: HostId) -> Link {
        let queue = Rc::new(SendQueue::default());
        let (peers, messages) = (Rc::clone(&self.peers), Rc::clone(&queue));
        let sending = self.runtime.spawn(Group::Query, async move {
            loop {
                let body = messages.next().await;
                if let Some(peer) = peers.get(host_id) {
                    peer.post(GROUP, &body).await;
                }
            }
        });
        Link { queue, sending }
    }
}
