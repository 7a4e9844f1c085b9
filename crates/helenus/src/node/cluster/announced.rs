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
    /// True if it was convicted by its silence and has said nothing since: it may be this node that is cut off.
    is_silent: bool,
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
        // One that joins is no node of the ring for clients yet, one whose ranges have moved is none any more.
        let is_there = |id: &HostId| registry.node(*id).is_some_and(|node| !node.tokens.is_empty());
        let gone = self.nodes.keys().filter(|id| !is_there(id));
        self.changed.extend(gone);
        self.nodes.retain(|id, _| is_there(id));
        for (id, node) in registry.nodes().filter(|(id, _)| *id != own && is_there(id)) {
            let before = self.nodes.get(&id);
            let (ready, is_silent) = before.map_or((None, false), |before| (before.ready, before.is_silent));
            let present = Present { boot: node.start.boot.number, address: node.start.native.into(), ready, is_silent };
            if self.nodes.insert(id, present) != Some(present) {
                self.changed.insert(id);
            }
        }
        self.reconsider_silent();
    }

    /// Takes note of which start of a node is ready for clients, or that none is. True if that is news.
    pub(super) fn hear(&mut self, id: HostId, ready: Option<u64>) -> bool {
        let Some(present) = self.nodes.get_mut(&id) else { return false };
        present.is_silent &= ready.is_none();
        let is_news = std::mem::replace(&mut present.ready, ready) != ready;
        if is_news {
            self.changed.insert(id);
            self.reconsider_silent();
        }
        is_news
    }

    /// The nodes that are heard decide on the events of those that are silent.
    fn reconsider_silent(&mut self) {
        self.changed.extend(self.nodes.iter().filter(|(_, node)| node.is_silent).map(|(id, _)| *id));
    }

    /// Takes note that a node was convicted by its silence. True if that is news.
    pub(super) fn silenced(&mut self, id: HostId) -> bool {
        if let Some(present) = self.nodes.get_mut(&id) {
            present.is_silent = true;
        }
        self.hear(id, None)
    }

    /// True if this node hears too few others to know which of them are down: with itself no majority, of three or more. It is cut off itself, or they are
    /// too many to serve a quorum.
    fn is_cut_off(&self) -> bool {
        let heard = 1 + self.nodes.values().filter(|node| node.is_usable()).count();
        let all = 1 + self.nodes.len();
        all > 2 && heard <= all / 2
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
        let is_in_doubt = node.is_silent && self.is_cut_off();
        let Some(notified) = self.notified.get_mut(&id) else {
            self.notified.insert(id, Notified { address: node.address, is_up: false });
            return Some(NodeEvent::New(node.address));
        };
        if notified.is_up == node.is_usable() || (notified.is_up && is_in_doubt) {
            return None;
        }
        notified.is_up = node.is_usable();
        Some(if notified.is_up { NodeEvent::Up(node.address) } else { NodeEvent::Down(node.address) })
    }
}

#[cfg(test)]
mod tests;
