//! The ring that a shard plans by at present, and its change.
//!
//! A ring is swapped as a whole, as the schema's snapshot is: what was planned before keeps the ring that it was planned by, with its nodes and their
//! connections, until it is done. So an index of a node never meets another ring.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use internode::{Other, Peer, Peers};
use planted::Planted;
use topology::operations::{Operation, OperationId, Phase, RangeMove, Target};
use topology::{HostId, ReplicationStrategy, Ring, Strategies};

use super::nodes::Nodes;
use super::replication::Replication;
use super::transition::Transition;

/// A keyspace, where it has a placement of its own, and a strategy.
type Placed = (Option<String>, ReplicationStrategy);

/// The present ring of a shard.
pub(crate) struct Placement {
    /// The rules that keyspaces may name.
    strategies: Strategies,
    /// Connections to the ring's other nodes; none where they are not reached.
    peers: Option<Peers>,
    nodes: RefCell<Rc<Nodes>>,
    /// The operations that move tokens of the ring, or replicas of keyspaces.
    transition: RefCell<Transition>,
    planted: Planted,
    /// Replications on the present ring that keyspaces use. Without a name: one for each strategy, since that and the ring are all that it is made of. With one: of
    /// the keyspace, while an operation moves its replicas alone.
    replications: RefCell<BTreeMap<Placed, Weak<Replication>>>,
}

impl Placement {
    /// The first ring, with the operations of the cluster's state; its other nodes are dialled from now on.
    pub(crate) fn new(
        (ring, operations): (Rc<Ring>, Vec<Rc<Operation>>),
        peers: Option<Peers>,
        strategies: Strategies,
        planted: Planted,
    ) -> Rc<Placement> {
        follow(peers.as_ref(), &ring);
        let transition = RefCell::new(Transition::new(&ring, operations));
        let nodes = Nodes::new(ring, peers.as_ref());
        let (nodes, replications) = (RefCell::new(Rc::new(nodes)), RefCell::default());
        Rc::new(Placement { strategies, peers, nodes, transition, planted, replications })
    }

    /// Plans by another ring from now on, with the operations of the cluster's state. Connections to nodes that stay are kept, new nodes are dialled, and the
    /// connections to those that left end.
    ///
    /// True if requests may go to other replicas: nodes, their tokens, datacenters or racks differ, not their addresses alone; or an operation moves ranges, or is in
    /// another phase of that. A node that waits to join changes nothing.
    ///
    /// # Panics
    /// If its epoch is not later, it is another node's view, or operations run that touch each other: who changes rings decides all three before.
    pub(crate) fn install(&self, ring: Rc<Ring>, operations: impl IntoIterator<Item = Rc<Operation>>) -> bool {
        let before = self.nodes();
        let (old, new) = (before.ring().epoch(), ring.epoch());
        assert!(old < new, "rings follow one another: epoch {new} cannot come after {old}");
        let (was, is) = (before.ring().local_node().host_id, ring.local_node().host_id);
        assert_eq!(was, is, "a node stays the same in all rings that it sees");
        follow(self.peers.as_ref(), &ring);
        let transition = Transition::new(&ring, operations);
        let was = self.transition.replace(transition);
        let is_placed_otherwise = !self.transition.borrow().places_as(&ring, (&was, before.ring()));
        *self.nodes.borrow_mut() = Rc::new(Nodes::new(ring, self.peers.as_ref()));
        self.replications.borrow_mut().clear();
        is_placed_otherwise
    }

    /// The nodes of the present ring.
    pub(crate) fn nodes(&self) -> Rc<Nodes> {
        Rc::clone(&self.nodes.borrow())
    }

    /// The replication of a keyspace with this strategy in the schema, on the present ring: its own while an operation of it is queued or runs, before which it is
    /// placed by the strategy from before; else [that of the strategy](Placement::replication).
    pub(crate) fn replication_of(&self, keyspace: &str, strategy: &ReplicationStrategy) -> Rc<Replication> {
        let is_own = self.transition.borrow().is_of(keyspace);
        self.replication_as(is_own.then_some(keyspace), strategy)
    }

    /// A strategy on the present ring, the same for all keyspaces that have it and no operation of their own. Those that no keyspace uses any more are forgotten.
    pub(crate) fn replication(&self, strategy: &ReplicationStrategy) -> Rc<Replication> {
        self.replication_as(None, strategy)
    }

    fn replication_as(&self, keyspace: Option<&str>, strategy: &ReplicationStrategy) -> Rc<Replication> {
        let mut replications = self.replications.borrow_mut();
        let key = (keyspace.map(str::to_owned), strategy.clone());
        if let Some(known) = replications.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        replications.retain(|_, replication| replication.strong_count() > 0);
        let by = (&self.strategies, &*self.transition.borrow());
        let replication = Rc::new(Replication::new(self.nodes(), (keyspace, strategy), by, self.planted));
        replications.insert(key, Rc::downgrade(&replication));
        replication
    }

    /// True if a node has no data yet: an operation gives it its first tokens.
    pub(crate) fn is_joining(&self, host_id: HostId) -> bool {
        self.transition.borrow().joining().contains(&host_id)
    }

    /// True if a node hands on what it keeps for others, since its ranges have moved and it leaves.
    pub(crate) fn is_leaving(&self, host_id: HostId) -> bool {
        self.transition.borrow().is_leaving(host_id)
    }

    /// True if an operation is in this phase.
    pub(crate) fn is_in(&self, id: OperationId, phase: Phase) -> bool {
        self.transition.borrow().phase_of(id) == Some(phase)
    }

    /// The ranges that an operation moves, of a keyspace with this strategy in the schema. Fails where its rules are not known.
    pub(crate) fn moves(
        &self,
        operation: &Operation,
        (keyspace, strategy): (&str, &ReplicationStrategy),
    ) -> Result<Vec<RangeMove>, String> {
        let is_of_another =
            matches!(operation.target, Target::Replication { .. }) && !operation.is_of_keyspace(keyspace);
        if is_of_another {
            return Ok(Vec::new());
        }
        let transition = self.transition.borrow();
        let strategy = transition.placed_by(keyspace, strategy);
        let moves = operation.moves(self.nodes().ring(), strategy, &self.strategies);
        moves.map_err(|error| error.to_string())
    }

    /// The strategy by which a keyspace is placed that has this one in the schema.
    pub(super) fn placed_by(&self, keyspace: &str, strategy: &ReplicationStrategy) -> ReplicationStrategy {
        self.transition.borrow().placed_by(keyspace, strategy).clone()
    }

    /// The rules that keyspaces may name, the operation that runs and moves replicas of a keyspace, if one does, and the bug that was planted.
    pub(super) fn rules(&self, keyspace: &str) -> (&Strategies, Option<Rc<Operation>>, Planted) {
        (&self.strategies, self.transition.borrow().running_of(keyspace), self.planted)
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
    use topology::operations::{Kind, OperationId, Phase};
    use topology::{ConsistencyLevel, Epoch, Node, NodeIndex, Required, Token, token_of};

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
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let keyspaces: Vec<_> = (0..1_000).map(|_| placement.replication(&strategy(3))).collect();
        assert!(keyspaces.iter().all(|replication| Rc::ptr_eq(replication, &keyspaces[0])));
        assert_eq!(Rc::strong_count(&keyspaces[0]), 1_000);
        let (ranges, nodes) = keyspaces[0].map_size();
        let tokens = usize::from(NODES) * TOKENS as usize;
        assert!(ranges <= tokens && nodes <= 3 * ranges, "{ranges} ranges and {nodes} nodes for {tokens} tokens");
    }

    #[test]
    fn a_replication_that_no_keyspace_uses_is_forgotten() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
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
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let before = placement.replication(&strategy(3));
        placement.install(ring(2), None);
        assert!(placement.replications.borrow().is_empty());
        let after = placement.replication(&strategy(3));
        assert!(!Rc::ptr_eq(&before, &after));
        assert_eq!((before.epoch(), after.epoch()), (Epoch(1), Epoch(2)));
    }

    fn operation(id: u64, phase: Phase, target: Target) -> Rc<Operation> {
        let kind = if matches!(target, Target::Tokens(_)) { Kind::Bootstrap } else { Kind::Replication };
        let (id, lost, is_without_copy, is_forced) = (OperationId(id), Default::default(), false, false);
        Rc::new(Operation {
            id,
            kind,
            phase,
            target,
            lost,
            copied: Default::default(),
            has_given_tokens: false,
            is_without_copy,
            is_forced,
        })
    }

    /// The operation by which a keyspace gets more replicas.
    fn altering(id: u64, keyspace: &str, phase: Phase) -> Rc<Operation> {
        let (keyspace, before, after) = (keyspace.to_owned(), strategy(2), strategy(3));
        operation(id, phase, Target::Replication { keyspace, before, after })
    }

    /// Keyspaces with the same strategy have one replication, but for that which an operation moves.
    #[test]
    fn an_operation_of_a_keyspace_moves_no_other() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let written = |keyspace: &str| {
            let replication = placement.replication_of(keyspace, &strategy(2));
            assert!(Rc::ptr_eq(&replication, &placement.replication_of(keyspace, &strategy(2))));
            let written = replication.written(Token(5), ConsistencyLevel::Quorum).0.len();
            (written, Rc::ptr_eq(&replication, &placement.replication(&strategy(2))))
        };
        let mut epoch = 1;
        let mut install = |operations: Vec<Rc<Operation>>| {
            epoch += 1;
            placement.install(ring(epoch), operations)
        };
        assert!(!install(vec![altering(1, "one", Phase::Planned), altering(2, "two", Phase::Queued)]));
        assert_eq!([written("one"), written("two"), written("three")], [(2, false), (2, false), (2, true)]);
        assert!(install(vec![altering(1, "one", Phase::WriteBoth), altering(2, "two", Phase::Planned)]));
        assert_eq!([written("one"), written("two"), written("three")], [(3, false), (2, false), (2, true)]);
        assert!(!install(vec![altering(1, "one", Phase::Copy), altering(2, "two", Phase::Planned)]));
        assert!(install(vec![altering(1, "one", Phase::ReadNew), altering(2, "two", Phase::WriteBoth)]));
        assert_eq!([written("one"), written("two"), written("three")], [(3, false), (3, false), (2, true)]);
        // Another operation of the keyspace waits for its first one: the schema has the last strategy from the beginning.
        let second = |phase| {
            let (keyspace, before, after) = ("one".to_owned(), strategy(3), strategy(5));
            operation(3, phase, Target::Replication { keyspace, before, after })
        };
        assert!(!install(vec![
            altering(1, "one", Phase::ReadNew),
            altering(2, "two", Phase::WriteBoth),
            second(Phase::Queued)
        ]));
        let replicas =
            |keyspace: &str, factor| placement.replication_of(keyspace, &strategy(factor)).replicas(Token(5)).len();
        assert_eq!(
            [written("one"), (replicas("one", 5), true), (replicas("two", 3), true)],
            [(3, false), (2, true), (2, true)]
        );
        assert!(install(vec![altering(2, "two", Phase::Aborted), second(Phase::Queued)]));
        assert_eq!([written("two"), (replicas("one", 5), true)], [(2, true), (3, true)], "not five before it runs");
        assert!(!install(Vec::new()), "a queued operation that is aborted moves nothing");
        assert_eq!(replicas("one", 3), 3);
    }

    /// A keyspace whose new replication waits for nodes that join is placed by the one before, on both rings.
    #[test]
    fn a_queued_replication_is_none_while_tokens_move() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let last = HostId([NODES - 1; 16]);
        let leaves = |phase| operation(1, phase, Target::Tokens([(last, Vec::new())].into()));
        for (epoch, phase) in [(2, Phase::Planned), (3, Phase::WriteBoth), (4, Phase::ReadNew)] {
            placement.install(ring(epoch), [leaves(phase), altering(2, "one", Phase::Queued)]);
            let [own, of_all] = [placement.replication_of("one", &strategy(3)), placement.replication(&strategy(2))];
            for token in (0..200u8).map(|key| token_of(&[key])) {
                let written = |of: &Replication| of.written(token, ConsistencyLevel::Quorum).0.to_vec();
                assert_eq!(written(&own), written(&of_all), "{phase} {token}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "operations that touch do not run together")]
    fn operations_that_touch_each_other_are_no_placement() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        placement.install(ring(2), [altering(1, "one", Phase::Planned), altering(2, "one", Phase::Copy)]);
    }

    /// The ring of all nodes, and so many more that have no tokens.
    fn with_joining(epoch: u64, count: u8) -> Rc<Ring> {
        let mut nodes = ring(epoch).nodes().to_vec();
        let joining = |number: u8| Node {
            host_id: HostId([number; 16]),
            internode: ([10, 0, 0, number], 7000).into(),
            tokens: Vec::new(),
            ..nodes[0].clone()
        };
        let joining: Vec<Node> = (NODES..NODES + count).map(joining).collect();
        nodes.extend(joining);
        Rc::new(Ring::new(Epoch(epoch), nodes, NodeIndex(0)))
    }

    /// Its number rises with a phase that moves replicas, and with no node that waits, whatever else runs.
    #[test]
    fn a_node_that_waits_to_join_places_nothing_otherwise() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let joins = |node: u8, phase| {
            let tokens = [(HostId([NODES + node; 16]), vec![Token(i64::from(node))])].into();
            operation(1 + u64::from(node), phase, Target::Tokens(tokens))
        };
        let mut epoch = 1;
        let mut install = |joining: &[Phase], nodes: u8| {
            epoch += 1;
            let operations = (0u8..).zip(joining).map(|(node, phase)| joins(node, *phase));
            let is_placed_otherwise = placement.install(with_joining(epoch, nodes), operations);
            let everywhere = placement.replication(&ReplicationStrategy::Everywhere);
            let written = everywhere.written(Token(5), ConsistencyLevel::All).0.len();
            (is_placed_otherwise, written - usize::from(NODES))
        };
        assert_eq!(install(&[Phase::Queued], 1), (false, 0));
        assert_eq!(install(&[Phase::Planned], 1), (false, 0));
        assert_eq!(install(&[Phase::WriteBoth], 1), (true, 1));
        assert_eq!(install(&[Phase::Copy], 1), (false, 1));
        assert_eq!(install(&[Phase::Copy, Phase::Queued], 2), (false, 1), "another one waits");
        assert_eq!(install(&[Phase::Copy], 1), (false, 1), "it has given up");
        assert_eq!(install(&[Phase::ReadNew, Phase::Queued], 2), (true, 1));
        assert!(install(&[Phase::Done, Phase::Planned], 2).0, "the first moves nothing any more");
        assert!(install(&[], 2).0, "a node without tokens that no operation names");
    }

    /// A node that waits for its turn to join is none of all nodes yet.
    #[test]
    fn a_node_that_joins_is_no_replica_of_what_is_everywhere() {
        let placement = Placement::new((ring(1), Vec::new()), None, Strategies::default(), Planted::NONE);
        let (last, token) = (HostId([NODES - 1; 16]), Token(7));
        let joining = |epoch: u64| {
            let mut nodes = ring(epoch).nodes().to_vec();
            nodes.last_mut().expect("there are some").tokens.clear();
            Rc::new(Ring::new(Epoch(epoch), nodes, NodeIndex(0)))
        };
        let count = |phase, epoch| {
            let tokens = Target::Tokens([(last, vec![token])].into());
            placement.install(joining(epoch), [operation(1, phase, tokens)]);
            assert!(placement.is_joining(last));
            let everywhere = placement.replication(&ReplicationStrategy::Everywhere);
            let all = everywhere.required(ConsistencyLevel::All).clone();
            (everywhere.written(Token(5), ConsistencyLevel::All).0.len(), all)
        };
        let before = Required::Total(u32::from(NODES) - 1);
        for (epoch, phase) in [(2, Phase::Queued), (3, Phase::Planned)] {
            assert_eq!(count(phase, epoch), (usize::from(NODES) - 1, before.clone()), "{phase}");
        }
        assert_eq!(count(Phase::WriteBoth, 4), (usize::from(NODES), before));
    }
}
