//! The maintenance socket: CQL without a login, for the owner of the process. It has places of its own, so it works when the ports are full.

use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, UnixListener};

use crate::Server;
use crate::arrival;
use crate::ports::{Arrival, Security, ShardAwarePorts, Standing};
use crate::server::Inner;

/// Connections at a time.
const CONNECTIONS_MAX: u32 = 16;

impl Server {
    /// Accepts on the maintenance socket. For shard 0, which also serves its connections.
    pub fn accept_maintenance(&self, listener: UnixListener) {
        let task = accept_all(self.inner.clone(), listener);
        let handle = self.inner.runtime.spawn(Group::Query, task);
        self.inner.acceptors.borrow_mut().push(handle);
    }
}

async fn accept_all(inner: Rc<Inner>, listener: UnixListener) {
    /// Rest after a failed accept.
    const REST: Duration = Duration::from_millis(100);
    loop {
        let socket = match listener.accept().await {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%error, "cannot accept connection on the maintenance socket; retrying");
                inner.runtime.sleep(REST).await;
                continue;
            }
        };
        if inner.maintenance.get() >= CONNECTIONS_MAX {
            tracing::warn!(
                limit = CONNECTIONS_MAX,
                "rejected connection on the maintenance socket: too many connections"
            );
            crate::connection::refuse(inner.clone(), socket);
            continue;
        }
        inner.maintenance.set(inner.maintenance.get() + 1);
        let (standing, security) = (Standing::Maintenance, Security::Plain);
        let shard_aware = ShardAwarePorts::default();
        arrival::open(inner.clone(), Arrival { socket, address: None, standing, security, shard_aware });
    }
}
