//! Old and new sets of the kinds of operations on small rings, worked out by hand, and what holds on any ring.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::btree_set;
use proptest::prelude::*;

use super::*;
use crate::replicas::replicas;
use crate::ring::{Epoch, HostId, Node};
use crate::strategy::{EverywhereStrategy, LocalStrategy, NetworkTopologyStrategy, SimpleStrategy, Strategy};

const RF2: SimpleStrategy = SimpleStrategy { replication_factor: 2 };

/// Nodes with these tokens; the first is the local one.
fn ring(nodes: &[&[i64]]) -> Ring {
    let node = |(number, tokens): (u8, &&[i64])| Node {
        host_id: host(number),
        address: ([127, 0, 0, number + 1], 9042).into(),
        internode: ([127, 0, 0, number + 1], 7000).into(),
        datacenter: "dc".into(),
        rack: "rack".into(),
        tokens: tokens.iter().copied().map(Token).collect(),
    };
    Ring::new(Epoch::FIRST, (0..).zip(nodes).map(node).collect(), NodeIndex(0))
}

fn host(number: u8) -> HostId {
    HostId([number; 16])
}

fn after(nodes: &[(u8, &[i64])]) -> BTreeMap<HostId, Vec<Token>> {
    nodes.iter().map(|(node, tokens)| (host(*node), tokens.iter().copied().map(Token).collect())).collect()
}

fn of(ring: &Ring, tokens: &BTreeMap<HostId, Vec<Token>>, rules: &dyn Strategy) -> Placements {
    Placements::new(&RingChange::new(ring, tokens), rules, rules)
}

/// Moves as (after, end, old set, new set).
fn moves(placements: &Placements) -> Vec<(i64, i64, Vec<u16>, Vec<u16>)> {
    let numbers = |set: &[NodeIndex]| set.iter().map(|node| node.0).collect::<Vec<_>>();
    let row =
        |of: &RangeMove| (of.range.after.0, of.range.end.0, numbers(of.old_replicas()), numbers(of.new_replicas()));
    placements.moves().iter().map(row).collect()
}

#[test]
fn a_node_joins() {
    let ring = ring(&[&[0], &[100], &[]]);
    let placements = of(&ring, &after(&[(2, &[50])]), &SimpleStrategy { replication_factor: 1 });
    assert_eq!(moves(&placements), [(0, 50, vec![1], vec![2])]);
    // With two replicas on two nodes all is everywhere; then each range is on two of three.
    let placements = of(&ring, &after(&[(2, &[50])]), &RF2);
    assert_eq!(moves(&placements), [(100, 0, vec![0, 1], vec![0, 2]), (0, 50, vec![1, 0], vec![2, 1])]);
    assert!(!placements.of(Token(51)).is_moving());
}

#[test]
fn several_nodes_join_at_once() {
    let ring = ring(&[&[0], &[], &[]]);
    let one = SimpleStrategy { replication_factor: 1 };
    let placements = of(&ring, &after(&[(1, &[50]), (2, &[100])]), &one);
    assert_eq!(moves(&placements), [(0, 50, vec![0], vec![1]), (50, 100, vec![0], vec![2])]);
}

#[test]
fn a_node_leaves() {
    let ring = ring(&[&[0], &[50], &[100]]);
    let placements = of(&ring, &after(&[(1, &[])]), &RF2);
    assert_eq!(
        moves(&placements),
        [(100, 0, vec![0, 1], vec![0, 2]), (0, 50, vec![1, 2], vec![2, 0])],
        "its neighbours take its ranges"
    );
}

#[test]
fn a_node_takes_the_place_of_another() {
    let ring = ring(&[&[0], &[50], &[100], &[]]);
    let placements = of(&ring, &after(&[(1, &[]), (3, &[50])]), &RF2);
    assert_eq!(moves(&placements), [(100, 0, vec![0, 1], vec![0, 3]), (0, 50, vec![1, 2], vec![3, 2])]);
    let range_move = &placements.moves()[0];
    assert_eq!(range_move.counterpart(&ring, NodeIndex(3)), Some(NodeIndex(1)));
}

#[test]
fn a_node_exchanges_a_token() {
    let ring = ring(&[&[0], &[50], &[100]]);
    let placements = of(&ring, &after(&[(1, &[70])]), &SimpleStrategy { replication_factor: 1 });
    assert_eq!(moves(&placements), [(50, 70, vec![2], vec![1])]);
}

#[test]
fn a_keyspace_has_another_replication() {
    let ring = ring(&[&[0], &[50], &[100]]);
    let change = RingChange::none(&ring);
    let [one, three] = [1, 3].map(|replication_factor| SimpleStrategy { replication_factor });
    let placements = Placements::new(&change, &one, &three);
    assert_eq!(placements.moves().len(), 3);
    let levels = placements.levels(ConsistencyLevel::Quorum, &ring);
    assert_eq!((levels.old, levels.new), (Required::Total(1), Required::Total(2)), "each side by its own factor");
    assert!(Placements::new(&change, &three, &three).moves().is_empty());
    // The same replicas in another order do not move.
    let everywhere = Placements::new(&change, &three, &EverywhereStrategy);
    assert!(everywhere.moves().is_empty());
}

#[test]
fn a_joining_node_is_of_no_set_before_and_a_leaving_one_of_none_afterwards() {
    let ring = ring(&[&[0], &[50], &[]]);
    let placements = of(&ring, &after(&[(2, &[70])]), &EverywhereStrategy);
    assert_eq!(placements.moves().len(), 1, "all tokens");
    let placement = placements.of(Token(1));
    let both: Vec<u16> = placement.replicas(Halves::Both).map(|node| node.0).collect();
    assert_eq!((placement.old.len(), placement.new.len(), both), (2, 3, vec![0, 1, 2]));
    let levels = placements.levels(ConsistencyLevel::All, &ring);
    assert_eq!((levels.old, levels.new), (Required::Total(2), Required::Total(3)));
    let leaving = of(&ring, &after(&[(0, &[])]), &EverywhereStrategy);
    let new: Vec<u16> = leaving.of(Token(1)).new.iter().map(|node| node.0).collect();
    assert_eq!(new, [1], "one that waits to join is on no side");
}

#[test]
fn data_that_is_not_shared_does_not_move() {
    let ring = ring(&[&[0], &[50], &[]]);
    for tokens in [after(&[(2, &[70])]), after(&[(0, &[])])] {
        let placements = of(&ring, &tokens, &LocalStrategy);
        assert!(placements.moves().is_empty());
        assert_eq!(placements.of(Token(7)).old, [NodeIndex(0)]);
    }
}

#[test]
fn staying_replicas_come_first_and_a_node_keeps_what_is_of_either_set() {
    let (old, new) = ([1, 2, 3].map(NodeIndex), [4, 3, 2].map(NodeIndex));
    let placement = Placement { old: &old, new: &new };
    let of = |halves| placement.replicas(halves).map(|node| node.0).collect::<Vec<_>>();
    assert_eq!((of(Halves::Old), of(Halves::New), of(Halves::Both)), (vec![1, 2, 3], vec![4, 3, 2], vec![2, 3, 1, 4]));
    assert_eq!((0..6).filter(|&node| placement.keeps(NodeIndex(node))).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_rebuild_copies_what_the_node_has_from_the_datacenter_that_is_named() {
    let mut nodes = ring(&[&[0], &[50], &[100], &[150]]).nodes().to_vec();
    nodes[2].datacenter = "other".into();
    nodes[3].datacenter = "other".into();
    let ring = Ring::new(Epoch::FIRST, nodes, NodeIndex(0));
    let datacenters = BTreeMap::from([("dc".to_owned(), 1), ("other".to_owned(), 2)]);
    let rules = NetworkTopologyStrategy { datacenters };
    let placements = Placements::new(&RingChange::none(&ring), &rules, &rules);
    assert!(placements.moves().is_empty());
    let renewals = placements.renewals(NodeIndex(0), Some("other"));
    assert!(!renewals.is_empty());
    for range_move in renewals {
        assert_eq!(range_move.receivers(&ring).collect::<Vec<_>>(), [NodeIndex(0)]);
        let from = range_move.sources(&ring, NodeIndex(0), |_| true).expect("one of two");
        assert!(from.len() == 1 && from[0].0 >= 2, "{from:?}");
        assert!(range_move.is_copied(&ring, NodeIndex(0), &from));
        assert!(range_move.sources(&ring, NodeIndex(0), |node| node.0 < 2).is_err());
    }
}

#[test]
fn a_rebuild_of_the_only_replica_copies_nothing() {
    let ring = ring(&[&[0], &[50]]);
    let rules = SimpleStrategy { replication_factor: 1 };
    let renewals = Placements::new(&RingChange::none(&ring), &rules, &rules).renewals(NodeIndex(0), None);
    let [only] = &renewals[..] else { panic!("one range: {renewals:?}") };
    assert_eq!(only.sources(&ring, NodeIndex(0), |_| true), Ok(Vec::new()));
    assert!(only.is_copied(&ring, NodeIndex(0), &[]));
    // Of two replicas it copies the other one.
    let renewals = Placements::new(&RingChange::none(&ring), &RF2, &RF2).renewals(NodeIndex(0), None);
    assert_eq!(renewals.len(), 2);
    assert_eq!(renewals[0].sources(&ring, NodeIndex(0), |_| true), Ok(vec![NodeIndex(1)]));
    assert!(!renewals[0].is_copied(&ring, NodeIndex(0), &[]));
}

#[test]
#[should_panic(expected = "a token has one owner")]
fn a_token_that_is_given_twice_is_a_mistake() {
    of(&ring(&[&[0], &[50], &[]]), &after(&[(2, &[50])]), &RF2);
}

prop_compose! {
    /// Six nodes in two datacenters and up to two racks each, their tokens before, and those of some of them afterwards.
    fn any_change()(
        before in proptest::collection::vec(btree_set(0i64..30, 0..4), 6),
        racks in proptest::collection::vec(0..2u8, 6),
        changed in proptest::collection::vec((0..6u8, btree_set(0i64..30, 0..4)), 0..4),
        local in 0..6u16,
    ) -> (Ring, BTreeMap<HostId, Vec<Token>>) {
        let mut taken = BTreeSet::new();
        let nodes: Vec<Node> = (0u8..).zip(before).map(|(number, tokens)| {
            let tokens = tokens.into_iter().filter(|token| taken.insert(*token)).map(Token);
            // Some node has a token all the time.
            let tokens = (number == 0).then_some(Token(-1)).into_iter().chain(tokens).collect();
            let rack = format!("rack{}", racks[usize::from(number)]);
            let node = ring(&[&[]]).nodes()[0].clone();
            Node { host_id: host(number), datacenter: format!("dc{}", number % 2), rack, tokens, ..node }
        }).collect();
        // A node that stays as it is keeps its tokens, and node 0 stays.
        let mut after = BTreeMap::new();
        for (node, tokens) in changed {
            if node > 0 {
                let tokens = tokens.into_iter().filter(|token| taken.insert(*token)).map(Token).collect();
                after.insert(host(node), tokens);
            }
        }
        (Ring::new(Epoch::FIRST, nodes, NodeIndex(local)), after)
    }
}

proptest! {
    /// Of each token, both sets are those of the strategy on a ring of the nodes that are there before and afterwards; and the moves are the ranges in which they differ.
    #[test]
    fn both_sets_are_those_of_a_ring_of_that_side((ring, after) in any_change(), factor in 1..4u32) {
        let datacenters = BTreeMap::from([("dc0".to_owned(), factor), ("dc1".to_owned(), 1)]);
        let rules = NetworkTopologyStrategy { datacenters };
        let change = RingChange::new(&ring, &after);
        let placements = Placements::new(&change, &rules, &rules);
        let moves = placements.moves();
        let hosts = |of: &Ring, set: &[NodeIndex]| set.iter().map(|&node| of.node(node).host_id).collect::<Vec<_>>();
        for token in -1..31 {
            let token = Token(token);
            let placement = placements.of(token);
            prop_assert_eq!(hosts(&ring, placement.old), hosts(change.before(), &replicas(change.before(), &rules, token)));
            prop_assert_eq!(hosts(&ring, placement.new), hosts(change.after(), &replicas(change.after(), &rules, token)));
            let of_it: Vec<&RangeMove> = moves.iter().filter(|of| of.range.contains(token)).collect();
            prop_assert_eq!(of_it.len(), usize::from(placement.is_moving()), "{}", token);
            if let [only] = of_it[..] {
                prop_assert!(only.places(placement));
            }
        }
        let joins = |node: &Node| after.contains_key(&node.host_id) && node.tokens.is_empty();
        let joining: BTreeSet<HostId> = ring.nodes().iter().filter(|node| joins(node)).map(|node| node.host_id).collect();
        prop_assert!(change.before().nodes().iter().all(|node| !joining.contains(&node.host_id)));
    }
}
