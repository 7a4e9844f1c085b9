//! One shard's part of the server, and what the shards say to each other: "take this socket", "a connection has ended".

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use audit::Audit;
use login::{Host, Ticket};
use planted::Planted;
use query::Engine;
use runtime::sync::Notify;
use runtime::{Group, Mesh, MeshSeat, Runtime, ShardId, TaskHandle};
use stdx::LogHistogram;
use tls::{FileFigures, ServerIdentity};

use crate::Limits;
use crate::auditing::Auditing;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::logins::{Logins, Proofs};
use crate::notable::{Notable, NotableRequest};
use crate::places::Places;
use crate::ports::{Arrival, Standing};
use crate::refusals::Refusals;
use crate::requests::Requests;
use crate::shares::Shares;
use crate::tickets::Tickets;

/// How long a drained server waits for its clients to close.
const LINGER: Duration = Duration::from_millis(500);

/// What one shard says to another.
pub(crate) enum Message {
    /// Shard 0 accepted a connection that is the other's from now on.
    Adopt(Arrival),
    /// A connection of the sender has ended; for shard 0, which counts.
    Ended(Standing),
    /// The client of a connection of the sender, from this host, has logged in; for shard 0, which counts.
    LoggedIn(Host),
}

/// One shard's place in the server, on its way to the shard's thread.
pub struct Seat(pub(crate) MeshSeat<Message, ()>);

/// One seat per shard, to be made before the shards run.
pub fn seats(shards: u16) -> Vec<Seat> {
    /// Hand-overs and endings under way from one shard to another: a burst of connects waits, nothing is lost.
    const CREDITS: usize = 64;
    runtime::mesh(shards, CREDITS).into_iter().map(Seat).collect()
}

/// One shard's part of the server. Clones are the same.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Rc<Inner>,
}

/// Counters of one shard's server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Connections open. Where a login is needed, those that have not logged in are none.
    pub connections: u64,
    /// Connections taken since the start.
    pub connections_total: u64,
    /// Connections open that have not logged in, where a login is needed.
    pub connections_unauthenticated: u64,
    /// Logins that were refused.
    pub logins_failed: u64,
    /// Requests read, of any kind.
    pub requests: u64,
    /// Requests that had to wait, each as a task.
    pub requests_waited: u64,
    /// Requests that another shard was to run, since it has their partition.
    pub requests_handed_over: u64,
    /// Those of them that do now.
    pub requests_under_way: u64,
    /// Bytes of large frames that are arriving and of requests that wait.
    pub bytes_in_flight: u64,
    /// Requests answered with OVERLOADED by this layer.
    pub overloaded: u64,
    /// Protocol errors of clients, whether or not that ended its connection.
    pub protocol_errors: u64,
    /// Events dropped because the client does not read.
    pub events_dropped: u64,
    /// Requests that were slow.
    pub requests_slow: u64,
    /// Requests whose replies were large.
    pub replies_large: u64,
}

/// State of a shard's server.
pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) engine: Engine,
    pub(crate) budget: Rc<Budget>,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) stats: Cell<ServerStats>,
    pub(crate) requests: RefCell<Requests>,
    pub(crate) notable: RefCell<Notable>,
    pub(crate) connections: RefCell<BTreeMap<u64, Rc<Connection>>>,
    next_connection: Cell<u64>,
    /// Connections in the list that have not logged in.
    unauthenticated: Cell<u64>,
    pub(crate) draining: Cell<bool>,
    /// A connection was drained of replies, or ended.
    pub(crate) quiet: Notify,
    /// Set once the seat is open; its handler needs the rest of this first.
    mesh: RefCell<Option<Mesh<Message, ()>>>,
    /// Connections of each shard; kept by shard 0.
    pub(crate) loads: RefCell<Vec<u32>>,
    /// Connections of each host that have not logged in; kept by shard 0.
    pub(crate) unauthenticated_of: Shares,
    /// Connections on the maintenance socket; kept by shard 0.
    pub(crate) maintenance: Cell<u32>,
    pub(crate) acceptors: RefCell<Vec<TaskHandle<()>>>,
    /// The ports are open: how clients log in is set. Kept by shard 0.
    pub(crate) accepts: Cell<bool>,
    /// Set before the node accepts, where a port speaks TLS.
    pub(crate) tls: OnceCell<ServerIdentity>,
    /// Set before the node accepts, where clients log in.
    pub(crate) logins: OnceCell<Logins>,
    pub(crate) tickets: Tickets,
    pub(crate) auditing: Auditing,
    pub(crate) places: Places,
    pub(crate) refusals: Refusals,
}

/// A connection in the node's counts, from accept on, until it is dropped.
pub(crate) struct Counted {
    server: Rc<Inner>,
    standing: Cell<Standing>,
}

impl Counted {
    pub(crate) fn new(server: &Rc<Inner>, standing: Standing) -> Counted {
        Counted { server: Rc::clone(server), standing: Cell::new(standing) }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing.get()
    }

    /// Its client has logged in.
    pub(crate) fn logged_in(&self) {
        let Standing::Unauthenticated(host) = self.standing.replace(Standing::Served) else {
            unreachable!("a client logs in once");
        };
        self.server.unauthenticated.set(self.server.unauthenticated.get() - 1);
        self.server.count(|stats| stats.connections_total += 1);
        self.tell(Message::LoggedIn(host));
    }

    /// Tells shard 0, which counts.
    fn tell(&self, message: Message) {
        match self.server.runtime.shard() {
            ShardId(0) => self.server.take_note(ShardId(0), &message),
            _ => self.server.send(ShardId(0), message),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tell(Message::Ended(self.standing.get()));
    }
}

impl Server {
    /// Connections under TLS are made with this identity. For each shard, before any accepts.
    pub fn use_tls(&self, identity: ServerIdentity) {
        assert!(self.inner.tls.set(identity).is_ok(), "the identity is set once");
    }

    /// Clients of the ports must log in from now on. For each shard, before any accepts.
    pub fn use_logins(&self, logins: Logins) {
        let Proofs { has_passwords, certificates, .. } = &logins.proofs;
        assert!(*has_passwords || certificates.is_some(), "there is a way to log in");
        assert!(self.inner.logins.set(logins).is_ok(), "how clients log in is set once");
    }

    /// Requests and logins are written to the audit log, when that is on. `host` is the node, as entries name it. For each shard, before any accepts.
    pub fn use_audit(&self, seat: audit::Seat, host: &str, planted: Planted) {
        // Weak, because the way to the log lives inside what this uses.
        let weak = Rc::downgrade(&self.inner);
        let has_room = move || {
            let Some(inner) = weak.upgrade() else { return };
            inner.connections.borrow().values().for_each(|connection| connection.go_on_after_audit());
        };
        let audit = Audit::open(&self.inner.runtime, seat, host, has_room);
        self.inner.auditing.open(audit, planted);
    }

    /// The shard's way to the audit log; `None`: it has none.
    pub fn audit(&self) -> Option<&Audit> {
        self.inner.auditing.audit()
    }

    /// Lets one connection log in by a ticket. For each shard, since a connection may be any shard's.
    pub fn admit_ticket(&self, ticket: Ticket) {
        self.inner.tickets.admit(ticket, self.inner.runtime.now());
    }

    /// Ends a ticket.
    pub fn end_ticket(&self, ticket: &Ticket) {
        self.inner.tickets.end(ticket);
    }

    /// Looks at the files of the identity now.
    pub fn reload_tls(&self) {
        self.inner.tls.get().into_iter().for_each(ServerIdentity::reload);
    }

    /// Figures of the identity's files; `None`: there is no identity.
    pub fn tls_figures(&self) -> Option<FileFigures> {
        self.inner.tls.get().map(ServerIdentity::figures)
    }

    /// Counters of this shard.
    pub fn stats(&self) -> ServerStats {
        let unauthenticated = self.inner.unauthenticated.get();
        ServerStats {
            connections: self.inner.connections.borrow().len() as u64 - unauthenticated,
            connections_unauthenticated: unauthenticated,
            overloaded: self.inner.budget.refused(),
            requests_under_way: self.inner.budget.tasks() as u64,
            bytes_in_flight: self.inner.budget.bytes() as u64,
            requests_slow: self.inner.notable.borrow().slow_count(),
            replies_large: self.inner.notable.borrow().large_count(),
            ..self.inner.stats.get()
        }
    }

    /// Each kind of requests with the microseconds that each took, from its arrival until its reply was ready to be sent.
    pub fn requests_by_kind(&self) -> Vec<(&'static str, LogHistogram)> {
        self.inner.requests.borrow().by_kind()
    }

    /// The last requests that were slow or whose replies were large, oldest first.
    pub fn notable_requests(&self) -> Vec<NotableRequest> {
        self.inner.notable.borrow().all()
    }

    /// Each error and how often a request was answered with it.
    pub fn errors(&self) -> Vec<(&'static str, u64)> {
        self.inner.requests.borrow().errors()
    }

    /// Whether clients are served: not from a drain on.
    pub fn is_serving(&self) -> bool {
        !self.inner.draining.get()
    }

    /// Stops accepting; for shard 0, before the shards drain.
    pub fn stop_accepting(&self) {
        self.inner.accepts.set(false);
        for handle in self.inner.acceptors.borrow_mut().drain(..) {
            handle.abort();
        }
    }

    /// Refuses new requests, waits until those under way are answered and written, at most `patience`, and ends the
    /// connections.
    pub async fn drain(&self, patience: Duration) {
        self.inner.draining.set(true);
        let quiet = async {
            while self.inner.connections.borrow().values().any(|connection| !connection.is_quiet()) {
                self.inner.quiet.notified().await;
            }
        };
        if self.inner.runtime.timeout(patience, quiet).await.is_err() {
            tracing::warn!("drain timed out; dropping requests in flight");
        }
        let connections: Vec<_> = self.inner.connections.borrow().values().cloned().collect();
        connections.iter().for_each(Connection::shutdown);
        drop(connections);
        // A client that was writing reads its last replies and then the end; if the process ended first, what it wrote would
        // reset the connection. Clients that wait for nothing end at once, others may not notice.
        let ended = async {
            while !self.inner.connections.borrow().is_empty() {
                self.inner.quiet.notified().await;
            }
        };
        let _ = self.inner.runtime.timeout(LINGER, ended).await;
    }
}

impl Inner {
    /// A shard's part that serves nothing yet.
    pub(crate) fn new(runtime: &Runtime, engine: Engine, limits: Limits) -> Rc<Inner> {
        Rc::new(Inner {
            runtime: runtime.clone(),
            engine,
            budget: Rc::new(Budget::new(limits)),
            buffers: Rc::default(),
            stats: Cell::default(),
            requests: RefCell::default(),
            notable: RefCell::default(),
            connections: RefCell::default(),
            next_connection: Cell::new(0),
            unauthenticated: Cell::new(0),
            draining: Cell::new(false),
            quiet: Notify::new(),
            mesh: RefCell::default(),
            loads: RefCell::new(vec![0; usize::from(runtime.shard_count())]),
            unauthenticated_of: Shares::default(),
            maintenance: Cell::new(0),
            acceptors: RefCell::default(),
            accepts: Cell::new(false),
            tls: OnceCell::new(),
            logins: OnceCell::new(),
            tickets: Tickets::default(),
            auditing: Auditing::default(),
            places: Places::default(),
            refusals: Refusals::default(),
        })
    }

    /// The shard with the fewest connections, the first of them on a tie.
    pub(crate) fn least_loaded(&self) -> ShardId {
        let loads = self.loads.borrow();
        let least = loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(shard, _)| shard);
        ShardId(least as u16)
    }

    pub(crate) fn count_opened(&self, shard: ShardId) {
        if let Some(load) = self.loads.borrow_mut().get_mut(usize::from(shard.0)) {
            *load += 1;
        }
    }

    /// Counts what a shard says of its connections; on shard 0.
    pub(crate) fn take_note(&self, from: ShardId, message: &Message) {
        match message {
            Message::LoggedIn(host) => self.unauthenticated_of.give_back(*host),
            Message::Ended(Standing::Maintenance) => self.maintenance.set(self.maintenance.get() - 1),
            Message::Ended(Standing::Served) => self.count_ended(from),
            Message::Ended(Standing::Unauthenticated(host)) => {
                self.unauthenticated_of.give_back(*host);
                self.count_ended(from);
            }
            Message::Adopt(_) => unreachable!("a socket is no news of a connection"),
        }
    }

    fn count_ended(&self, shard: ShardId) {
        if let Some(load) = self.loads.borrow_mut().get_mut(usize::from(shard.0)) {
            *load = load.saturating_sub(1);
        }
    }

    /// Enters a new connection into the list.
    pub(crate) fn register(&self, connection: &Rc<Connection>) -> u64 {
        let id = self.next_connection.get();
        self.next_connection.set(id + 1);
        self.connections.borrow_mut().insert(id, connection.clone());
        match connection.counted.standing() {
            Standing::Unauthenticated(_) => self.unauthenticated.set(self.unauthenticated.get() + 1),
            Standing::Served | Standing::Maintenance => self.count(|stats| stats.connections_total += 1),
        }
        id
    }

    /// Takes an ended connection out of the list.
    pub(crate) fn unregister(&self, id: u64) {
        let connection = self.connections.borrow_mut().remove(&id).expect("a connection is in the list once");
        connection.give_up_login();
        if let Standing::Unauthenticated(_) = connection.counted.standing() {
            self.unauthenticated.set(self.unauthenticated.get() - 1);
        }
        drop(connection);
        self.quiet.notify();
    }

    /// The shards' messages arrive by this mesh.
    pub(crate) fn use_mesh(&self, mesh: Mesh<Message, ()>) {
        *self.mesh.borrow_mut() = Some(mesh);
    }

    /// Sends without waiting; a shard that is gone has nothing to hear.
    pub(crate) fn send(&self, shard: ShardId, message: Message) {
        let Some(mesh) = self.mesh.borrow().clone() else { return };
        self.runtime.spawn(Group::Query, async move {
            if let Err(gone) = mesh.call(shard, message).await {
                tracing::debug!(%gone, "message to another shard lost; that shard has stopped");
            }
        });
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut ServerStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
}
