//! The ring that a shard plans by at present, and its change.
//!
//! A ring is swapped as a whole, as the schema's snapshot is: what was planned before keeps the ring that it was planned by, with its nodes and their
//! connections, until it is done. So an index of a node never meets another ring.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use internode::{Other, Peer, Peers};
use planted::Planted;
use topology::operations::Operation;
use topology::{HostId, ReplicationStrategy, Ring, Strategies};

use super::nodes::Nodes;
use super::replication::Replication;

/// The present ring of a shard.
pub(crate) struct Placement {
    /// The rules that keyspaces may name.
    strategies: Strategies,
    /// Connections to the ring's other nodes; none where they are not reached.
    peers: Option<Peers>,
    nodes: RefCell<Rc<Nodes>>,
    /// The operation that moves tokens of the ring, if one does.
    operation: RefCell<Option<Rc<Operation>>>,
    planted: Planted,
    /// Replications on the present ring that keyspaces use: one for each strategy, since that and the ring are all that it is made of.
    replications: RefCell<BTreeMap<ReplicationStrategy, Weak<Replication>>>,
}

impl Placement {
    /// The first ring; its other nodes are dialled from now on.
    pub(crate) fn new(ring: Rc<Ring>, peers: Option<Peers>, strategies: Strategies, planted: Planted) -> Rc<Placement> {
        follow(peers.as_ref(), &ring);
        let nodes = Nodes::new(ring, peers.as_ref());
        let (nodes, operation, replications) = (RefCell::new(Rc::new(nodes)), RefCell::default(), RefCell::default());
        Rc::new(Placement { strategies, peers, nodes, operation, planted, replications })
    }

    /// Plans by another ring from now on, of which an operation moves tokens, if one does. Connections to nodes that stay are kept, new nodes are dialled, and the
    /// connections to those that left end.
    ///
    /// True if requests may go to other replicas: nodes, their tokens, datacenters or racks differ, not their addresses alone; or the operation, or its phase.
    ///
    /// # Panics
    /// If its epoch is not later, or it is another node's view: who changes rings decides both before.
    pub(crate) fn install(&self, ring: Rc<Ring>, operation: Option<Rc<Operation>>) -> bool {
        let before = self.nodes();
        let (old, new) = (before.ring().epoch(), ring.epoch());
        assert!(old < new, "rings follow one another: epoch {new} cannot come after {old}");
        let (was, is) = (before.ring().local_node().host_id, ring.local_node().host_id);
        assert_eq!(was, is, "a node stays the same in all rings that it sees");
        follow(self.peers.as_ref(), &ring);
        let operation = operation.filter(|operation| operation.phase.is_running());
        let was = self.operation.replace(operation.clone());
        let is_moved_otherwise = match (was, operation) {
            (Some(was), Some(is)) => was.id != is.id || !was.phase.places_as(is.phase),
            (was, is) => was.is_some() || is.is_some(),
        };
        let is_placed_otherwise = is_moved_otherwise || !ring.places_as(before.ring());
        *self.nodes.borrow_mut() = Rc::new(Nodes::new(ring, self.peers.as_ref()));
        self.replications.borrow_mut().clear();
        is_placed_otherwise
    }

    /// The nodes of the present ring.
    pub(crate) fn nodes(&self) -> Rc<Nodes> {
        Rc::clone(&self.nodes.borrow())
    }

    /// A strategy on the present ring, the same for all keyspaces that have it. Those that no keyspace uses any more are forgotten.
    pub(crate) fn replication(&self, strategy: &ReplicationStrategy) -> Rc<Replication> {
        let mut replications = self.replications.borrow_mut();
        if let Some(known) = replications.get(strategy).and_then(Weak::upgrade) {
            return known;
        }
        replications.retain(|_, replication| replication.strong_count() > 0);
        let rules = self.strategies.rules(strategy).inspect_err(|error| {
            let class = strategy.class();
            tracing::error!(%class, %error, "unknown replication strategy; requests to its keyspaces fail on this node");
        });
        let operation = self.operation.borrow().clone();
        let operation = operation.as_deref().map(|operation| (operation, self.planted));
        let replication = Replication::new(self.nodes(), strategy, rules.ok().as_deref(), operation);
        let replication = Rc::new(replication);
        replications.insert(strategy.clone(), Rc::downgrade(&replication));
        replication
    }

    /// The rules that keyspaces may name, the operation that moves tokens of the present ring, if one does, and the bug that was planted.
    pub(super) fn rules(&self) -> (&Strategies, Option<Rc<Operation>>, Planted) {
        (&self.strategies, self.operation.borrow().clone(), self.planted)
    }

    /// The connection to another node of the present ring.
    pub(crate) fn peer(&self, host_id: HostId) -> Option<Peer> {
        self.peers.as_ref().and_then(|peers| peers.get(host_id))
    }

    /// True if a node of the present ring answers.
    pub(crate) fn is_up(&self, host_id: HostId) -> bool {
        let is_up = |peers: &Peers| peers.get(host_id).is_some_and(|peer| peer.is_up());
        host_id == self.nodes.borrow().ring().local_node().host_id || self.peers.as_ref().is_some_and(is_up)
    }
}

fn follow(peers: Option<&Peers>, ring: &Ring) {
    if let Some(peers) = peers {
        let datacenter = &ring.local_node().datacenter;
        peers.follow(ring.others().map(|node| Other {
            host_id: node.host_id,
            address: node.internode,
            is_in_other_datacenter: node.datacenter != *datacenter,
        }));
    }
}

#[cfg(test)]
mod tests {
    use topology::{Epoch, Node, NodeIndex, token_of};

    use super::*;

    const NODES: u8 = 100;
    const TOKENS: i64 = 16;

    fn ring(epoch: u64) -> Rc<Ring> {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: format!("rack{}", number % 3),
            // Spread over the ring, in another order on each round.
            tokens: (0..TOKENS).map(|turn| token_of(&[number, turn as u8])).collect(),
        };
        Rc::new(Ring::new(Epoch(epoch), (0..NODES).map(node).collect(), NodeIndex(0)))
    }

    fn strategy(replication_factor: u32) -> ReplicationStrategy {
        ReplicationStrategy::NetworkTopology { datacenters: [("datacenter1".to_owned(), replication_factor)].into() }
    }

    #[test]
    fn a_thousand_keyspaces_with_equal_replication_have_one_map() {
        let placement = Placement::new(ring(1), None, Strategies::default(), Planted::NONE);
        let keyspaces: Vec<_> = (0..1_000).map(|_| placement.replication(&strategy(3))).collect();
        assert!(keyspaces.iter().all(|replication| Rc::ptr_eq(replication, &keyspaces[0])));
        assert_eq!(Rc::strong_count(&keyspaces[0]), 1_000);
        let (ranges, nodes) = keyspaces[0].map_size();
        let tokens = usize::from(NODES) * TOKENS as usize;
        assert!(ranges <= tokens && nodes <= 3 * ranges, "{ranges} ranges and {nodes} nodes for {tokens} tokens");
    }

    #[test]
    fn a_replication_that_no_keyspace_uses_is_forgotten() {
        let placement = Placement::new(ring(1), None, Strategies::default(), Planted::NONE);
        let three = placement.replication(&strategy(3));
        let two = placement.replication(&strategy(2));
        assert_eq!(placement.replications.borrow().len(), 2);
        drop(three);
        let one = placement.replication(&strategy(1));
        assert_eq!(placement.replications.borrow().len(), 2, "that of three is gone");
        assert!(Rc::ptr_eq(&two, &placement.replication(&strategy(2))));
        drop((one, two));
    }

    #[test]
    fn replications_of_another_epoch_are_others() {
        let placement = Placement::new(ring(1), None, Strategies::default(), Planted::NONE);
        let before = placement.replication(&strategy(3));
        placement.install(ring(2), None);
        assert!(placement.replications.borrow().is_empty());
        let after = placement.replication(&strategy(3));
        assert!(!Rc::ptr_eq(&before, &after));
        assert_eq!((before.epoch(), after.epoch()), (Epoch(1), Epoch(2)));
    }
}
