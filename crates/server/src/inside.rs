//! Connections from within the process, which need no port: the console's. They are served whatever the ports speak, TLS alone or with certificates of clients, and nothing is
//! listened on for them, so no other process can have one.
//!
//! Such a client logs in as one of the ports does, within the same limits, and by the address of who it speaks for.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

use runtime::Socket;
use thiserror::Error;

use crate::Server;
use crate::acceptor::{Choice, place, standing_of};
use crate::ports::{Arrival, Security, ShardAwarePorts};

/// A connection from within the process was not opened.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The ports are closed: the node has yet to set how clients log in, or ends.
    #[error("CQL is not available: the node is starting, shutting down or drained")]
    NotAccepting,
    /// The process has no descriptor left, for example.
    #[error("cannot open a connection within the process: {0}")]
    Io(#[from] io::Error),
}

/// Opens a connection for a client within the process that speaks for one at `from`. It is counted, limited, listed and audited as one from that address, and has to log in where clients of the ports
/// do; TLS and certificates are not asked of it. It ends when the socket is dropped. For shard 0.
///
/// # Errors
/// The ports are closed, or there is no socket.
pub fn connect(server: &Server, from: SocketAddr) -> Result<UnixStream, ConnectError> {
    let inner = &server.inner;
    if !inner.accepts.get() {
        return Err(ConnectError::NotAccepting);
    }
    let (socket, client) = Socket::pair(&inner.runtime)?;
    let (standing, shard_aware) = (standing_of(inner, from), ShardAwarePorts::default());
    let arrival = Arrival { socket, address: Some(from), standing, security: Security::Plain, shard_aware };
    place(inner, arrival, from, Choice::FewestConnections);
    Ok(client)
}
