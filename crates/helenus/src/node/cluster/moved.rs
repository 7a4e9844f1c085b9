//! Addresses of members that are not where the log has them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use topology::HostId;
use topology::nodes::{Boot, Registry};

/// Addresses of members whose registered start has another one, with that start.
#[derive(Debug, Default)]
pub(super) struct Moved(BTreeMap<HostId, (Boot, SocketAddr)>);

impl Moved {
    /// Notes where a member is. True if that is news.
    pub(super) fn note(&mut self, registry: &Registry, host_id: HostId, address: SocketAddr) -> bool {
        let Some(node) = registry.node(host_id) else { return false };
        if SocketAddr::from(node.start.internode) == address {
            return self.0.remove(&host_id).is_some();
        }
        let noted = (node.start.boot, address);
        self.0.insert(host_id, noted) != Some(noted)
    }

    /// Forgets what the log knows better by now: another start is registered.
    pub(super) fn follow(&mut self, registry: &Registry) {
        self.0.retain(|id, (boot, _)| registry.node(*id).is_some_and(|node| node.start.boot == *boot));
    }

    /// The address at which the member is dialled, if it is not the one of its registered start.
    pub(super) fn address_of(&self, host_id: HostId) -> Option<SocketAddr> {
        self.0.get(&host_id).map(|(_, address)| *address)
    }
}
