//! Accepting connections on shard 0 and choosing the shard of each.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, ShardId, Socket, TcpListener};
use thiserror::Error;

use crate::Server;
use crate::server::Inner;

/// Where a server listens, with the ports that were really taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// The port on which the server chooses the shard.
    pub native: SocketAddr,
    /// The port on which the client's source port chooses it.
    pub shard_aware: Option<SocketAddr>,
}

/// A server that is bound to its ports and does not accept yet.
pub struct Listeners {
    native: TcpListener,
    shard_aware: Option<TcpListener>,
    listening: Listening,
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

impl Listeners {
    /// Binds both ports. Clients can connect from now on, and wait until [`Server::accept`].
    pub async fn bind(
        runtime: &runtime::Runtime,
        native: SocketAddr,
        shard_aware: Option<SocketAddr>,
    ) -> Result<Listeners, ListenError> {
        let listen = async |address: SocketAddr| {
            runtime.listen(address).await.map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => ListenError::InUse { address },
                _ => ListenError::Refused { address, source },
            })
        };
        let native_listener = listen(native).await?;
        let shard_aware_listener = match shard_aware {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let listening = Listening {
            native: native_listener.local_addr().unwrap_or(native),
            shard_aware: shard_aware_listener.as_ref().and_then(|listener| listener.local_addr().ok()),
        };
        Ok(Listeners { native: native_listener, shard_aware: shard_aware_listener, listening })
    }

    /// The addresses that were bound.
    pub fn listening(&self) -> Listening {
        self.listening
    }
}

/// How a port chooses the shard of a connection.
#[derive(Debug, Clone, Copy)]
enum Choice {
    FewestConnections,
    SourcePort,
}

impl Server {
    /// Starts to accept. For shard 0, when every shard has its server.
    pub fn accept(&self, listeners: Listeners) {
        let shard_aware_port = listeners.listening.shard_aware.map(|address| address.port());
        let ports = [(Some(listeners.native), Choice::FewestConnections), (listeners.shard_aware, Choice::SourcePort)];
        for (listener, choice) in ports {
            let Some(listener) = listener else { continue };
            let inner = self.inner.clone();
            let task = accept_all(inner, listener, choice, shard_aware_port);
            let handle = self.inner.runtime.spawn(Group::Query, task);
            self.inner.acceptors.borrow_mut().push(handle);
        }
    }
}

async fn accept_all(inner: Rc<Inner>, listener: TcpListener, choice: Choice, shard_aware_port: Option<u16>) {
    /// Rest after a failed accept: out of descriptors, most likely, and then trying at once only burns the core.
    const REST: Duration = Duration::from_millis(100);
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => place(&inner, socket, peer, choice, shard_aware_port),
            Err(error) => {
                tracing::warn!(%error, "cannot accept client connection; retrying");
                inner.runtime.sleep(REST).await;
            }
        }
    }
}

/// Sends a new connection to its shard.
fn place(inner: &Rc<Inner>, socket: Socket, peer: SocketAddr, choice: Choice, shard_aware_port: Option<u16>) {
    let total: u32 = inner.loads.borrow().iter().sum();
    if total >= inner.budget.limits.connections_max {
        tracing::warn!(%peer, limit = inner.budget.limits.connections_max, "rejected client connection: too many connections");
        crate::connection::refuse(inner.clone(), socket);
        return;
    }
    let shard = match choice {
        Choice::SourcePort => ShardId(peer.port() % inner.runtime.shard_count()),
        Choice::FewestConnections => inner.least_loaded(),
    };
    inner.count_opened(shard);
    inner.hand_over(shard, socket, shard_aware_port);
}
