//! The ports for clients, and how each of them speaks.

use std::net::SocketAddr;

use login::Host;
use runtime::Socket;

/// The beginning of connections on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Frames as they are.
    Plain,
    /// TLS.
    Tls,
    /// The client's first byte decides.
    Either,
}

/// A port for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Its address; port 0 takes any free one.
    pub address: SocketAddr,
    /// The beginning of connections on it.
    pub security: Security,
}

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The port on which the server chooses the shard.
    pub native: Port,
    /// The port on which the client's source port chooses it.
    pub shard_aware: Option<Port>,
    /// The same two for TLS, where the first two are plain.
    pub native_tls: Option<Port>,
    /// See `native_tls`.
    pub shard_aware_tls: Option<Port>,
}

impl Ports {
    /// Plain ports only.
    pub fn plain(native: SocketAddr, shard_aware: Option<SocketAddr>) -> Ports {
        let plain = |address| Port { address, security: Security::Plain };
        Ports { native: plain(native), shard_aware: shard_aware.map(plain), native_tls: None, shard_aware_tls: None }
    }

    /// All of them, in the order of the fields.
    pub(crate) fn all(&self) -> [Option<Port>; 4] {
        [Some(self.native), self.shard_aware, self.native_tls, self.shard_aware_tls]
    }
}

/// The ports that SUPPORTED names for shard-aware drivers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShardAwarePorts {
    /// For plain connections.
    pub(crate) plain: Option<u16>,
    /// For connections under TLS.
    pub(crate) tls: Option<u16>,
}

impl ShardAwarePorts {
    /// The first of the ports that speaks plainly, and the first that speaks TLS.
    pub(crate) fn of(ports: impl IntoIterator<Item = Port>) -> ShardAwarePorts {
        let mut found = ShardAwarePorts::default();
        for Port { address, security } in ports {
            if security != Security::Tls {
                found.plain.get_or_insert(address.port());
            }
            if security != Security::Plain {
                found.tls.get_or_insert(address.port());
            }
        }
        found
    }
}

/// How far a connection's client is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is on the maintenance socket: the owner of the process.
    Maintenance,
    /// It may make requests.
    Served,
    /// It must log in first.
    Unauthenticated(Host),
}

/// A socket that shard 0 accepted or made, on its way to the shard that owns it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: Socket,
    /// The client's address; `None`: it is on this machine.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) standing: Standing,
    /// The port's.
    pub(crate) security: Security,
    pub(crate) shard_aware: ShardAwarePorts,
}
