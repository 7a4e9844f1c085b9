//! Accepting connections on shard 0 and choosing the shard of each.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use login::Host;
use runtime::{Group, ShardId, TcpListener};
use thiserror::Error;

use crate::Server;
use crate::arrival;
use crate::ports::{Arrival, Port, Ports, Security, ShardAwarePorts, Standing};
use crate::refusals::Refusal;
use crate::server::{Inner, Message};

/// Where a server listens, with the ports that were really taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// The port on which the server chooses the shard.
    pub native: SocketAddr,
    /// The port on which the client's source port chooses it.
    pub shard_aware: Option<SocketAddr>,
    /// The same two for TLS, where the first two are plain.
    pub native_tls: Option<SocketAddr>,
    /// See `native_tls`.
    pub shard_aware_tls: Option<SocketAddr>,
}

/// The ports of a server that does not accept yet: they are taken, and refuse connections. A connection without an answer would hold up a driver's start.
pub struct Listeners {
    /// Those of [`Ports`], in its order, with the addresses that were bound.
    listeners: [Option<(TcpListener, Port)>; 4],
}

/// Why a port could not be had.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Somebody has it.
    #[error("{address} is in use by another process; choose another port with --port or --shard-aware-port")]
    InUse {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address is not this machine's, the port is privileged, and so on.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

impl ListenError {
    fn of(address: SocketAddr, source: io::Error) -> ListenError {
        match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address },
            _ => ListenError::Refused { address, source },
        }
    }
}

impl Listeners {
    /// Takes all ports. Clients are refused until [`Server::accept`].
    pub async fn bind(runtime: &runtime::Runtime, ports: Ports) -> Result<Listeners, ListenError> {
        let mut listeners = [const { None }; 4];
        for (place, port) in listeners.iter_mut().zip(ports.all()) {
            let Some(Port { address, security }) = port else { continue };
            let listener = TcpListener::bound(runtime, address).map_err(|source| ListenError::of(address, source))?;
            let address = listener.local_addr().unwrap_or(address);
            *place = Some((listener, Port { address, security }));
        }
        Ok(Listeners { listeners })
    }

    /// The addresses that were bound.
    pub fn listening(&self) -> Listening {
        let [native, shard_aware, native_tls, shard_aware_tls] =
            self.listeners.each_ref().map(|bound| bound.as_ref().map(|(_, port)| port.address));
        let native = native.expect("there is always a native port");
        Listening { native, shard_aware, native_tls, shard_aware_tls }
    }
}

/// How a port chooses the shard of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    FewestConnections,
    SourcePort,
}

impl Server {
    /// Listens, and starts to accept. For shard 0, when every shard has its server.
    pub fn accept(&self, listeners: Listeners) -> Result<(), ListenError> {
        let [native, shard_aware, native_tls, shard_aware_tls] = listeners.listeners;
        let of_sources = [&shard_aware, &shard_aware_tls].into_iter().flatten().map(|(_, port)| *port);
        let shard_aware_ports = ShardAwarePorts::of(of_sources);
        let ports = [
            (native, Choice::FewestConnections),
            (shard_aware, Choice::SourcePort),
            (native_tls, Choice::FewestConnections),
            (shard_aware_tls, Choice::SourcePort),
        ];
        for (bound, choice) in ports {
            let Some((listener, Port { address, security })) = bound else { continue };
            // Another process may have taken the port, too, and listened first.
            listener.listen().map_err(|source| ListenError::of(address, source))?;
            let inner = self.inner.clone();
            let task = accept_all(inner, listener, security, choice, shard_aware_ports);
            let handle = self.inner.runtime.spawn(Group::Query, task);
            self.inner.acceptors.borrow_mut().push(handle);
        }
        self.inner.accepts.set(true);
        Ok(())
    }
}

async fn accept_all(
    inner: Rc<Inner>,
    listener: TcpListener,
    security: Security,
    choice: Choice,
    shard_aware: ShardAwarePorts,
) {
    /// Rest after a failed accept: out of descriptors, most likely, and then trying at once only burns the core.
    const REST: Duration = Duration::from_millis(100);
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                let (standing, address) = (standing_of(&inner, peer), Some(peer));
                place(&inner, Arrival { socket, address, standing, security, shard_aware }, peer, choice);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept client connection; retrying");
                inner.runtime.sleep(REST).await;
            }
        }
    }
}

/// Answers a connection that is one too many.
fn refuse(inner: &Rc<Inner>, arrival: Arrival) {
    // A client of TLS could not read an error; its connection is closed.
    if arrival.security != Security::Tls {
        crate::connection::refuse(inner.clone(), arrival.socket);
    }
}

/// How far a client is known that has connected from this address.
pub(crate) fn standing_of(inner: &Inner, peer: SocketAddr) -> Standing {
    match inner.logins.get() {
        Some(_) => Standing::Unauthenticated(Host::from(peer.ip())),
        None => Standing::Served,
    }
}

/// Sends a new connection to its shard.
pub(crate) fn place(inner: &Rc<Inner>, arrival: Arrival, peer: SocketAddr, choice: Choice) {
    let total: u32 = inner.loads.borrow().iter().sum();
    if total >= inner.budget.limits.connections_max {
        tracing::warn!(%peer, limit = inner.budget.limits.connections_max, "rejected client connection: too many connections");
        return refuse(inner, arrival);
    }
    let unauthenticated_max = inner.budget.limits.unauthenticated_max as usize;
    if let Standing::Unauthenticated(host) = arrival.standing
        && !inner.unauthenticated_of.take(host, unauthenticated_max)
    {
        inner.refusals.log(inner.runtime.now(), Some(peer), &Refusal::NotLoggedIn);
        return refuse(inner, arrival);
    }
    let shard = match choice {
        Choice::SourcePort => ShardId(peer.port() % inner.runtime.shard_count()),
        Choice::FewestConnections => inner.least_loaded(),
    };
    inner.count_opened(shard);
    match shard == inner.runtime.shard() {
        true => arrival::open(inner.clone(), arrival),
        false => inner.send(shard, Message::Adopt(arrival)),
    }
}
