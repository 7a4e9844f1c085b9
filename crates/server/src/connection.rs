//! One client's connection: the state its tasks share, its begin and its end.
//!
//! Three tasks live as long as the connection, none as long as a request: the reader decodes and executes, the writer
//! sends, the releaser (from the first held reply on) waits for syncs. See `docs/internals/server.md`.

mod dispatch;
mod handshake;
mod held;
mod inbound;
mod large;
mod login;
mod output;
mod read_buffer;
mod reader;
mod transport;
mod violation;
mod writer;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{ErrorBody, EventKinds, Version, write_error};
use query::Session;
use runtime::sync::Notify;
use runtime::{Group, Socket, TaskHandle};

use crate::logins::Logins;
use crate::ports::{ShardAwarePorts, Standing};
use crate::server::{Counted, Inner};
use crate::stream::Stream;
use output::Output;
use transport::Transport;

/// How long a connection that is to end may take to send its last replies.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A connection's shared state. Everything here belongs to the shard's thread.
pub(crate) struct Connection {
    pub(crate) server: Rc<Inner>,
    stream: Stream,
    pub(crate) session: Session,
    /// The ports SUPPORTED names for shard-aware drivers.
    shard_aware: ShardAwarePorts,
    output: RefCell<Output>,
    /// Its place in the node's counts, by which it is known whether it has to log in.
    pub(crate) counted: Counted,
    /// The client's address; `None`: it is on this machine.
    address: Option<SocketAddr>,
    /// STARTUP was answered with AUTHENTICATE: the client has no certificate that counts.
    is_authenticating: Cell<bool>,
    /// The verification of a password that is under way.
    login: RefCell<Option<TaskHandle<()>>>,
    /// Requests may come: STARTUP was answered with READY, or the client has logged in.
    started: Cell<bool>,
    /// Version of the first frame; all others must have it.
    version: Cell<Option<Version>>,
    transport: Cell<Transport>,
    /// Events the client has registered for.
    events: Cell<EventKinds>,
    /// Requests that are tasks now, and their bytes.
    tasks: Cell<usize>,
    task_bytes: Cell<usize>,
    /// Nothing more is read: when all replies are sent, the writer ends.
    closing: Cell<bool>,
    /// Nothing more is sent; what comes is dropped.
    ended: Cell<bool>,
    /// Something is ready to be sent, or the connection closes.
    to_write: Notify,
    /// A reply was held.
    to_release: Notify,
    /// Replies were sent or a request was done: a reader that paused may go on.
    room: Notify,
    releaser_runs: Cell<bool>,
    /// The audit log's queue is full of entries of this client: nothing is read until it has room.
    waits_for_audit: Cell<bool>,
    /// Bytes that may wait to be sent before the reader pauses.
    out_bytes_max: Cell<usize>,
    /// True if what is under way, held or to be audited may have become too much since the reader last looked at it.
    has_more_under_way: Cell<bool>,
}

/// A connection whose first frame may come.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    /// Bytes of the first frames that were read already.
    pub(crate) first: Vec<u8>,
    /// The client's address; `None`: it is on this machine.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) shard_aware: ShardAwarePorts,
    pub(crate) counted: Counted,
}

/// Serves a connection until it ends.
pub(crate) fn serve(server: Rc<Inner>, mut opened: Opened) {
    let first = std::mem::take(&mut opened.first);
    let connection = Connection::new(server.clone(), opened);
    let listed = Listed { id: server.register(&connection), server: server.clone() };
    server.runtime.clone().spawn(Group::Query, async move {
        let _listed = listed;
        let writer = server.runtime.spawn(Group::Query, writer::run(connection.clone()));
        reader::run(&connection, first).await;
        connection.closing.set(true);
        connection.to_write.notify();
        connection.to_release.notify();
        // The client may have sent its last request and closed only its own direction: it still gets its replies. If it
        // does not take them, it is gone.
        if server.runtime.timeout(LAST_WORDS, connection.finished()).await.is_err() {
            writer.abort();
        }
    });
}

/// A connection's place in its server's list. The two hold each other, so it is left however the connection's task ends, also when
/// its shard does.
struct Listed {
    server: Rc<Inner>,
    id: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.server.unregister(self.id);
    }
}

/// Tells a client that there are too many connections, and closes.
pub(crate) fn refuse(server: Rc<Inner>, socket: Socket) {
    let stream = server.runtime.adopt(socket);
    server.runtime.clone().spawn(Group::Query, async move {
        let mut frame = Vec::new();
        // Its version is not known yet; every driver reads version 4 here.
        write_error(&mut frame, Version::V4, 0, &ErrorBody::overloaded("This node has too many connections"));
        let _ = server.runtime.timeout(LAST_WORDS, stream.write_all(frame)).await;
    });
}

impl Connection {
    fn new(server: Rc<Inner>, opened: Opened) -> Rc<Connection> {
        let Opened { stream, address, shard_aware, counted, .. } = opened;
        let session = Session::new();
        match (counted.standing(), address) {
            (Standing::Served, Some(address)) => query::list_client(&server.engine, &session, address),
            (Standing::Maintenance, _) => session.log_in_maintenance(),
            // One that has to log in is listed when it has.
            _ => {}
        }
        if let Stream::Tls(tls) = &stream
            && let Some((version, suite)) = tls.session().agreed()
        {
            session.encrypted(version, &suite);
        }
        let out_bytes_max = server.budget.limits.unauthenticated_out_bytes_max;
        Rc::new(Connection {
            server,
            stream,
            session,
            shard_aware,
            counted,
            address,
            is_authenticating: Cell::new(false),
            login: RefCell::default(),
            output: RefCell::default(),
            started: Cell::new(false),
            version: Cell::new(None),
            transport: Cell::new(Transport::Plain),
            events: Cell::default(),
            tasks: Cell::new(0),
            task_bytes: Cell::new(0),
            closing: Cell::new(false),
            ended: Cell::new(false),
            to_write: Notify::new(),
            to_release: Notify::new(),
            room: Notify::new(),
            releaser_runs: Cell::new(false),
            waits_for_audit: Cell::new(false),
            out_bytes_max: Cell::new(out_bytes_max),
            has_more_under_way: Cell::new(true),
        })
    }

    /// Requests may come from now on.
    fn begin_requests(&self) {
        self.started.set(true);
        self.out_bytes_max.set(self.server.budget.limits.out_bytes_max);
    }

    /// How the client has to log in before it makes requests; `None`: it need not.
    fn must_log_in(&self) -> Option<&Logins> {
        let logins = self.server.logins.get();
        logins.filter(|_| matches!(self.counted.standing(), Standing::Unauthenticated(_)))
    }

    /// The client's address; `None`: it is on this machine.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Reads nothing more until the audit log has room.
    pub(crate) fn wait_for_audit(&self) {
        self.waits_for_audit.set(true);
        self.has_more_under_way.set(true);
    }

    /// The audit log has room.
    pub(crate) fn go_on_after_audit(&self) {
        if self.waits_for_audit.replace(false) {
            self.room.notify();
        }
    }

    /// Ends the verification that is under way.
    pub(crate) fn give_up_login(&self) {
        let login = self.login.borrow_mut().take();
        login.into_iter().for_each(|login| login.abort());
    }

    /// Whether nothing is under way and nothing waits to be sent.
    pub(crate) fn is_quiet(&self) -> bool {
        let output = self.output.borrow();
        self.tasks.get() == 0 && output.held.len() == 0 && output.is_empty() && !output.writing
    }

    /// Ends sending, after what was written. Requests that still come are read and dropped: closing with bytes unread would
    /// reset the connection, and the client might lose replies that it has yet to read.
    pub(crate) fn shutdown(self: &Rc<Self>) {
        if self.ended.replace(true) {
            return;
        }
        match &self.stream {
            // Fails when the client has gone already, which is as well.
            Stream::Plain(tcp) => drop(tcp.shutdown()),
            Stream::Tls(_) => {
                let connection = self.clone();
                self.server.runtime.spawn(Group::Query, async move {
                    let Stream::Tls(tls) = &connection.stream else { return };
                    let _ = connection.server.runtime.timeout(LAST_WORDS, tls.shutdown()).await;
                });
            }
        }
    }

    /// True if the reader must pause: too much under way, too much unsent, or an audit log without room. A request that is answered at once makes
    /// more unsent alone: the rest is looked at where [`Connection::has_more_under_way`] says so.
    #[inline]
    fn is_full(&self, output: &Output) -> bool {
        output.len() >= self.out_bytes_max.get() || self.has_more_under_way.get() && self.has_too_much_under_way(output)
    }

    fn has_too_much_under_way(&self, output: &Output) -> bool {
        let limits = &self.server.budget.limits;
        let has_too_much = self.waits_for_audit.get()
            || self.tasks.get() + output.held.len() >= limits.connection_requests_max
            || self.task_bytes.get() >= limits.connection_bytes_in_flight_max;
        self.has_more_under_way.set(has_too_much);
        has_too_much
    }

    /// Appends an event frame for a client that registered for its kind, unless the client does not read.
    pub(crate) fn push_event<'f>(&self, kind: EventKinds, frame_of: impl FnOnce(Version) -> &'f [u8]) {
        let Some(version) = self.version.get() else { return };
        if !self.events.get().contains(kind) || self.closing.get() {
            return;
        }
        let mut output = self.output.borrow_mut();
        if output.len() >= self.server.budget.limits.event_bytes_max {
            self.server.count(|stats| stats.events_dropped += 1);
            return;
        }
        output.ready.extend_from_slice(frame_of(version));
        self.to_write.notify();
    }

    /// Waits until the writer has ended.
    async fn finished(self: &Rc<Self>) {
        while !self.is_quiet() && !self.output.borrow().broken {
            self.room.notified().await;
        }
        self.shutdown();
    }
}
