//! Operations end: with one in every quorum of each set up, and all receivers.

use std::collections::BTreeSet;

use topology::operations::{Confirmed, Kind, Operation, OperationId, Phase, RangeMove, Target, Waiting, waits_for};
use topology::{NodeIndex, ReplicationStrategy};

use crate::sets::{Mask, Sets, of_one_datacenter, of_two_datacenters};

/// The nodes that are up, each of which has done all that it can do in the present phase.
struct Alive {
    nodes: Mask,
}

impl Confirmed for Alive {
    fn is_up(&self, node: NodeIndex) -> bool {
        self.nodes >> node.0 & 1 == 1
    }

    fn has_applied(&self, node: NodeIndex) -> bool {
        self.is_up(node)
    }
}

fn planned() -> Operation {
    let target = Target::Replication {
        keyspace: "k".into(),
        before: ReplicationStrategy::Local,
        after: ReplicationStrategy::Everywhere,
    };
    let (id, kind, phase) = (OperationId(1), Kind::Replication, Phase::Planned);
    let (lost, copied, has_given_tokens) = (BTreeSet::new(), BTreeSet::new(), false);
    Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy: false, is_forced: false }
}

/// Goes on from phase to phase while only these nodes do anything. Returns the last phase, and what it waits for.
fn run(sets: &Sets, range_move: &RangeMove, nodes: Mask) -> (Phase, Option<Waiting>) {
    let (ring, mut operation) = (sets.ring(0), planned());
    let alive = Alive { nodes };
    let moves = [range_move.clone()];
    while operation.phase.is_running() {
        if operation.phase == Phase::Copy {
            for receiver in range_move.receivers(&ring).filter(|&node| alive.is_up(node)) {
                if let Ok(from) = range_move.sources(&ring, receiver, |node| alive.is_up(node)) {
                    assert!(range_move.is_copied(&ring, receiver, &from), "the sources of a receiver are enough");
                    operation.copied.insert(ring.node(receiver).host_id);
                }
            }
        }
        if let Some(waiting) = waits_for(&operation, &moves, &ring, &alive) {
            return (operation.phase, Some(waiting));
        }
        operation.phase = operation.phase.next().expect("it runs");
    }
    (operation.phase, None)
}

fn ends(sets: &Sets, range_move: &RangeMove, nodes: Mask) -> bool {
    run(sets, range_move, nodes).0 == Phase::Done
}

#[test]
fn an_operation_ends_with_one_in_every_quorum_of_each_set() {
    let mut tried = 0;
    for sets in [of_one_datacenter(5, 5), of_two_datacenters(5)].concat() {
        let (ring, range_move) = (sets.ring(0), sets.range_move());
        let receivers = range_move.receivers(&ring).fold(0, |mask, node| mask | 1 << node.0);
        let parts = (0..sets.parts.len()).map(|number| sets.of_datacenter(number));
        let parts: Vec<Mask> = parts.chain([Mask::MAX]).collect();
        for alive in 0..(1u16 << sets.nodes) as Mask {
            let has_half = |set: Mask| (set & alive).count_ones() >= set.count_ones().div_ceil(2);
            let is_enough = parts.iter().all(|part| has_half(sets.old & part) && has_half(sets.new & part));
            if is_enough && receivers & !alive == 0 {
                tried += 1;
                assert!(ends(&sets, &range_move, alive), "{} with the nodes {alive:b}", sets.name());
            }
        }
    }
    println!("{tried} sets of nodes that are up");
    assert!(tried > 0);
}

#[test]
fn an_operation_does_not_end_without_a_receiver_or_with_too_few_of_a_set() {
    for sets in of_one_datacenter(5, 5) {
        let (ring, range_move) = (sets.ring(0), sets.range_move());
        let receivers: BTreeSet<NodeIndex> = range_move.receivers(&ring).collect();
        for alive in 0..(1u16 << sets.nodes) as Mask {
            let is_without_receiver = receivers.iter().any(|node| alive >> node.0 & 1 == 0);
            let has_fewer = |set: Mask| (set & alive).count_ones() < set.count_ones().div_ceil(2);
            if is_without_receiver || has_fewer(sets.old) || has_fewer(sets.new) {
                assert!(!ends(&sets, &range_move, alive), "{} with the nodes {alive:b}", sets.name());
            }
        }
    }
}

#[test]
fn what_an_operation_waits_for_is_named() {
    let sets = Sets::new(&[crate::sets::Part { old: 3, new: 3, stay: 2 }], false);
    let range_move = sets.range_move();
    let waits = |nodes: Mask| {
        let (phase, waiting) = run(&sets, &range_move, nodes);
        (phase, waiting.map(|waiting| waiting.to_string()))
    };
    assert_eq!(waits(0b1111), (Phase::Done, None));
    let few = "too few replicas of the tokens after 4 up to 4 are up; down: 01010101-0101-0101-0101-010101010101, \
               02020202-0202-0202-0202-020202020202, 03030303-0303-0303-0303-030303030303"
        .to_owned();
    assert_eq!(waits(0b0001), (Phase::Planned, Some(few)));
    // The receiver is down, and the others pass their barriers without it.
    let copy = "node 03030303-0303-0303-0303-030303030303 has not copied the tokens after 4 up to 4".to_owned();
    assert_eq!(waits(0b0111), (Phase::Copy, Some(copy)));
}

/// All are up, and one has just come up.
struct Fresh(NodeIndex);

impl Confirmed for Fresh {
    fn is_up(&self, _node: NodeIndex) -> bool {
        true
    }

    fn is_fresh(&self, node: NodeIndex) -> bool {
        node == self.0
    }

    fn has_applied(&self, _node: NodeIndex) -> bool {
        true
    }
}

/// Its ranges' requests count it from then on, and nodes that have no connection to it would refuse them if another replica failed.
#[test]
fn an_operation_begins_when_the_others_can_reach_the_node_that_gains_ranges() {
    let sets = Sets::new(&[crate::sets::Part { old: 3, new: 3, stay: 2 }], false);
    let (ring, moves) = (sets.ring(0), [sets.range_move()]);
    let gains = moves[0].receivers(&ring).next().expect("it gains the range");
    for node in moves[0].old_replicas().iter().copied().chain([gains]) {
        let waiting = waits_for(&planned(), &moves, &ring, &Fresh(node));
        let expected = (node == gains).then(|| Waiting::Fresh { node: ring.node(gains).host_id });
        assert_eq!(waiting, expected, "{node:?}");
    }
}

/// Its old replicas would drop the range, and there is no new one.
#[test]
fn an_operation_that_leaves_a_range_without_replicas_does_not_begin() {
    for old in 1..=3 {
        let sets = Sets::new(&[crate::sets::Part { old, new: 0, stay: 0 }], false);
        let (phase, waiting) = run(&sets, &sets.range_move(), Mask::MAX);
        let is_unplaced = matches!(&waiting, Some(Waiting::Unplaced { holders, .. }) if holders.len() == old);
        assert!(phase == Phase::Planned && is_unplaced, "{waiting:?}");
    }
}

/// The barrier of what follows counts it, and nothing could be aborted then.
#[test]
fn an_operation_whose_copies_are_made_waits_in_copy_for_the_replicas_that_come_next() {
    let sets = Sets::new(&[crate::sets::Part { old: 1, new: 1, stay: 0 }], false);
    let (ring, range_move) = (sets.ring(0), sets.range_move());
    let receiver = ring.node(range_move.receivers(&ring).next().expect("it gains the range")).host_id;
    let operation = Operation { phase: Phase::Copy, copied: [receiver].into(), ..planned() };
    let waits = |nodes: Mask| waits_for(&operation, std::slice::from_ref(&range_move), &ring, &Alive { nodes });
    let only_old = waits(sets.new);
    assert!(matches!(only_old, Some(Waiting::Up { .. })), "{only_old:?}");
    assert!(matches!(waits(sets.old), Some(Waiting::Up { .. })), "its only new replica");
    assert_eq!(waits(sets.old | sets.new), None);
    let forced = range_move.clone().without(&range_move.losing().collect());
    assert_eq!(waits_for(&operation, &[forced], &ring, &Alive { nodes: sets.new }), None, "it is given up");
}

/// Nothing can be aborted then; an operator gives the node up.
#[test]
fn an_operation_whose_new_replicas_are_read_does_not_wait_for_one_that_is_given_up() {
    let sets = Sets::new(&[crate::sets::Part { old: 1, new: 1, stay: 0 }], false);
    let (ring, range_move) = (sets.ring(0), sets.range_move());
    let operation = Operation { phase: Phase::ReadNew, ..planned() };
    for lost in [sets.old, sets.new] {
        let alive = Alive { nodes: (sets.old | sets.new) & !lost };
        let gone: BTreeSet<NodeIndex> = crate::sets::indices(lost).into_iter().collect();
        let hosts: Vec<_> = gone.iter().map(|node| ring.node(*node).host_id).collect();
        let waiting = waits_for(&operation, std::slice::from_ref(&range_move), &ring, &alive);
        assert!(matches!(&waiting, Some(Waiting::Read { lacking, .. }) if *lacking == hosts), "{waiting:?}");
        let without = [range_move.clone().without(&gone)];
        assert_eq!(waits_for(&operation, &without, &ring, &alive), None);
        let none_up = waits_for(&operation, &without, &ring, &Alive { nodes: 0 });
        assert!(matches!(none_up, Some(Waiting::Read { .. })), "the other one is waited for: {none_up:?}");
    }
}

/// With some replicas given up by force, the others are enough.
#[test]
fn an_operation_by_force_ends_with_what_is_left() {
    for sets in of_one_datacenter(5, 5) {
        let ring = sets.ring(0);
        let losing: Vec<NodeIndex> = sets.range_move().losing().collect();
        for count in 1..=losing.len() {
            let lost: BTreeSet<NodeIndex> = losing[..count].iter().copied().collect();
            let alive = lost.iter().fold(Mask::MAX, |alive, node| alive & !(1 << node.0));
            let range_move = sets.range_move().without(&lost);
            assert!(ends(&sets, &range_move, alive), "{} without {lost:?}", sets.name());
            for receiver in range_move.receivers(&ring) {
                let is_left = |node| !lost.contains(&node);
                let sources = range_move.sources(&ring, receiver, is_left).expect("what is left is enough");
                assert!(sources.into_iter().all(is_left), "what is given up is not waited for");
                // Those that serve all the same are as good as others.
                let given_up_but_up = range_move.sources(&ring, receiver, |_| true).expect("all serve");
                assert!(
                    sets.range_move().is_copied(&ring, receiver, &given_up_but_up),
                    "{} without {lost:?}",
                    sets.name()
                );
            }
        }
    }
}
