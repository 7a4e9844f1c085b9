//! Node events for clients: the other nodes as they are, and what clients were notified of each.
//!
//! It decides which event is next, and sends none. Changes that undo each other before their events are sent give none, so all that waits is bounded by
//! the nodes. The table of transitions: `docs/internals/membership.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use query::NodeEvent;
use topology::HostId;
use topology::nodes::Registry;

/// The other nodes, and what clients know of them.
#[derive(Debug, Default)]
pub(super) struct Announced {
    nodes: BTreeMap<HostId, Present>,
    notified: BTreeMap<HostId, Notified>,
    /// Nodes of which there may be an event.
    changed: BTreeSet<HostId>,
}

/// A node of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Present {
    /// The number of its registered start, and that start's address for clients.
    boot: u64,
    address: SocketAddr,
    /// The number of the start that said it is ready for clients, last.
    ready: Option<u64>,
}

impl Present {
    /// True if clients can use the node: an earlier start than the registered one is over, and a later one has the same address as far as is known.
    fn is_usable(self) -> bool {
        self.ready.is_some_and(|boot| boot >= self.boot)
    }
}

/// Clients know of the node.
#[derive(Debug, Clone, Copy)]
struct Notified {
    address: SocketAddr,
    is_up: bool,
}

impl Announced {
    /// Follows the registry of nodes.
    pub(super) fn follow(&mut self, own: HostId, registry: &Registry) {
        let gone = self.nodes.keys().filter(|id| registry.node(**id).is_none());
        self.changed.extend(gone);
        self.nodes.retain(|id, _| registry.node(*id).is_some());
        for (id, node) in registry.nodes().filter(|(id, _)| *id != own) {
            let ready = self.nodes.get(&id).and_then(|before| before.ready);
            let present = Present { boot: node.start.boot.number, address: node.start.native.into(), ready };
            if self.nodes.insert(id, present) != Some(present) {
                self.changed.insert(id);
            }
        }
    }

    /// Takes note of which start of a node is ready for clients, or that none is. True if that is news.
    pub(super) fn hear(&mut self, id: HostId, ready: Option<u64>) -> bool {
        let Some(present) = self.nodes.get_mut(&id) else { return false };
        let is_news = std::mem::replace(&mut present.ready, ready) != ready;
        if is_news {
            self.changed.insert(id);
        }
        is_news
    }

    /// True if clients can use the node, as far as this one knows.
    pub(super) fn is_usable(&self, id: HostId) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.is_usable())
    }

    /// Clients know of all nodes as they are: none was connected until now.
    pub(super) fn begin(&mut self) {
        let known = |node: &Present| Notified { address: node.address, is_up: node.is_usable() };
        self.notified = self.nodes.iter().map(|(id, node)| (*id, known(node))).collect();
        self.changed.clear();
    }

    /// The next event. Clients know of it from then on. Addresses that are no node's any more go first: another node may have one of them next.
    pub(super) fn next(&mut self) -> Option<NodeEvent> {
        let changed: Vec<HostId> = self.changed.iter().copied().collect();
        if let Some(removed) = changed.iter().find_map(|id| self.remove(*id)) {
            return Some(removed);
        }
        for id in changed {
            if let Some(event) = self.next_of(id) {
                return Some(event);
            }
            self.changed.remove(&id);
        }
        None
    }

    /// The removal of an address at which the node is not any more, unless another node has it by now.
    fn remove(&mut self, id: HostId) -> Option<NodeEvent> {
        let before = self.notified.get(&id)?.address;
        if self.nodes.get(&id).is_some_and(|node| node.address == before) {
            return None;
        }
        self.notified.remove(&id);
        let is_taken = self.notified.values().any(|other| other.address == before);
        (!is_taken).then_some(NodeEvent::Removed(before))
    }

    /// The next event of a node whose earlier address, if it had another one, is removed.
    fn next_of(&mut self, id: HostId) -> Option<NodeEvent> {
        let node = *self.nodes.get(&id)?;
        let Some(notified) = self.notified.get_mut(&id) else {
            self.notified.insert(id, Notified { address: node.address, is_up: false });
            return Some(NodeEvent::New(node.address));
        };
        if notified.is_up == node.is_usable() {
            return None;
        }
        notified.is_up = node.is_usable();
        Some(if notified.is_up { NodeEvent::Up(node.address) } else { NodeEvent::Down(node.address) })
    }
}

#[cfg(test)]
mod tests;
