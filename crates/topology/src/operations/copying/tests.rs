//! Sources and confirmed copies of single moves. Their consequences are searched in `tests/operations`.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::super::placements::Placement;
use super::*;
use crate::ring::{Epoch, HostId, Node};
use crate::token::{Token, TokenRange};

/// Ten nodes, of which the even ones are in one datacenter.
fn ring() -> Ring {
    let node = |number: u8| Node {
        host_id: HostId([number; 16]),
        address: ([127, 0, 0, number + 1], 9042).into(),
        internode: ([127, 0, 0, number + 1], 7000).into(),
        datacenter: format!("dc{}", number % 2),
        rack: "rack".into(),
        tokens: vec![Token(i64::from(number))],
    };
    Ring::new(Epoch::FIRST, (0..10).map(node).collect(), NodeIndex(0))
}

fn nodes(set: &[u16]) -> Vec<NodeIndex> {
    set.iter().copied().map(NodeIndex).collect()
}

fn range_move(old: &[u16], new: &[u16]) -> RangeMove {
    let (old, new) = (nodes(old), nodes(new));
    RangeMove::new(TokenRange::ALL, Placement { old: &old, new: &new })
}

#[test]
fn a_counterpart_is_of_the_same_datacenter() {
    let ring = ring();
    let of = range_move(&[0, 1, 2, 3], &[5, 4, 6, 7]);
    let counterparts: Vec<_> = [4, 6, 5, 7].map(|node| of.counterpart(&ring, NodeIndex(node)).map(|of| of.0)).to_vec();
    assert_eq!(counterparts, [Some(0), Some(2), Some(1), Some(3)]);
    let of = range_move(&[0, 1], &[2, 4]);
    assert_eq!(of.counterpart(&ring, NodeIndex(2)), Some(NodeIndex(0)));
    assert_eq!(of.counterpart(&ring, NodeIndex(4)), None, "the other one that loses the range is elsewhere");
    assert_eq!(of.counterpart(&ring, NodeIndex(8)), None, "it gains nothing");
}

#[test]
fn staying_replicas_copy_where_fewer_may_miss_a_write() {
    let ring = ring();
    let copies =
        |old: &[u16], new: &[u16]| range_move(old, new).receivers(&ring).map(|node| node.0).collect::<Vec<_>>();
    assert_eq!(copies(&[0, 2, 4], &[0, 2]), [0, 2]);
    assert_eq!(copies(&[0, 2], &[0]), []);
    assert_eq!(copies(&[0, 2, 4, 6], &[0, 2, 4]), []);
    assert_eq!(copies(&[0, 2, 4], &[0]), [0]);
    assert_eq!(copies(&[0, 2, 4, 6, 8], &[0, 2, 4]), [0, 2, 4]);
    assert_eq!(copies(&[0, 2, 4, 6, 8], &[0, 2, 4, 6]), [0, 2, 4, 6]);
    // In the first datacenter alone: its replicas copy, and those of the other one do not.
    assert_eq!(copies(&[0, 2, 4, 1, 3, 5], &[0, 2, 1, 3, 5]), [0, 2]);
    // In none alone, and in the whole.
    assert_eq!(copies(&[0, 2, 1, 3], &[0]), [0]);
}

#[test]
fn too_few_sources_are_refused_in_words() {
    let ring = ring();
    let of = range_move(&[0, 2, 4], &[6, 2, 4]);
    let refused = of.sources(&ring, NodeIndex(6), |node| node.0 == 2).unwrap_err();
    assert_eq!(refused, TooFewSources { needed: 2, found: 1, datacenter: Some("dc0".into()) });
    assert_eq!(of.sources(&ring, NodeIndex(6), |node| node.0 != 0), Ok(nodes(&[2, 4])));
    assert_eq!(of.sources(&ring, NodeIndex(6), |_| true), Ok(nodes(&[0])), "the counterpart alone");
}

/// A is dead, B was down for the moment when A was removed by force, and is back: A and B alone may have a write that a quorum has acknowledged.
#[test]
fn a_replica_that_was_given_up_is_a_source_when_it_serves() {
    let ring = ring();
    let [a, b, c, d] = [0, 2, 4, 6].map(NodeIndex);
    let of = range_move(&[0, 2, 4], &[6, 2, 4]).without(&[a, b].into());
    assert_eq!(of.sources(&ring, d, |node| node != a), Ok(vec![c, b]));
    assert_eq!(of.sources(&ring, d, |node| node == c), Ok(vec![c]), "nothing waits for it");
    assert_eq!(of.sources(&ring, d, |node| node == b).unwrap_err().needed, 2, "one that is not given up is waited for");
    assert!(of.is_copied(&ring, d, &[c]) && of.is_copied(&ring, d, &[b, c]) && !of.is_copied(&ring, d, &[b]));
    let only_a = range_move(&[0, 2, 4], &[6, 2, 4]).without(&[a].into());
    assert_eq!(only_a.sources(&ring, d, |_| true), Ok(vec![b, c]), "those that are not given up are enough");
    // A staying replica that copies has been down itself.
    let lowered = range_move(&[0, 2, 4], &[2]).without(&[a, b].into());
    assert_eq!(lowered.sources(&ring, b, |node| node != a), Ok(vec![c]));
}

/// Of the near datacenter as many as it needs, also if they are given up; beside them others first.
#[test]
fn replicas_that_were_given_up_fill_the_part_of_a_datacenter() {
    let ring = ring();
    let of = range_move(&[0, 2, 4, 1, 3, 5], &[6, 2, 4, 1, 3, 5]).without(&[NodeIndex(0), NodeIndex(2)].into());
    let sources = |down: u16| of.sources(&ring, NodeIndex(6), |node| node.0 != down);
    assert_eq!(sources(0), Ok(nodes(&[4, 2, 1])));
    assert_eq!(sources(9), Ok(nodes(&[4, 0, 1])));
}

/// A write is acknowledged by B and R; A has missed it, and R has it no more.
#[test]
fn a_regressed_replica_is_no_source_where_the_others_are_enough() {
    let ring = ring();
    let [a, r] = [0, 4].map(NodeIndex);
    let sources = |of: &RangeMove, receiver: NodeIndex, up: &[u16]| {
        of.sources_beside(&ring, receiver, |node| up.contains(&node.0), |node| node == r)
    };
    let shrinks = range_move(&[0, 4, 2], &[0]);
    assert_eq!(sources(&shrinks, a, &[0, 2, 4]), Ok(nodes(&[2])));
    let waits = sources(&shrinks, a, &[0, 4]).unwrap_err();
    assert_eq!((waits.needed, waits.found), (2, 1), "the other one is waited for");
    // The regressed one stays, and counts not even itself.
    assert_eq!(sources(&range_move(&[0, 4, 2], &[4]), r, &[0, 2, 4]), Ok(nodes(&[0, 2])));
    // It leaves: what it has does not take its place.
    assert_eq!(sources(&range_move(&[0, 2, 4], &[0, 2, 6]), NodeIndex(6), &[0, 2, 4]), Ok(nodes(&[0, 2])));
    // It is all that there is, in the whole or in the datacenter.
    assert_eq!(sources(&range_move(&[4], &[6]), NodeIndex(6), &[4]), Ok(nodes(&[4])));
    assert_eq!(sources(&range_move(&[4, 1], &[6, 1]), NodeIndex(6), &[1, 4]), Ok(nodes(&[4])));
    let elsewhere = range_move(&[4, 1, 3], &[4, 1, 5]);
    assert_eq!(
        sources(&elsewhere, NodeIndex(5), &[1, 4]),
        Err(elsewhere.sources(&ring, NodeIndex(5), |node| node.0 == 1).unwrap_err())
    );
}

/// A is dead and given up by force, and D takes its place: nothing waits for A, whatever else is regressed.
#[test]
fn a_replica_that_was_given_up_is_not_waited_for_beside_a_regressed_one() {
    let ring = ring();
    let [a, c, r, d] = [0, 2, 4, 6].map(NodeIndex);
    for (old, new, all) in [(&[0, 4][..], &[6, 4][..], vec![r]), (&[0, 2, 4], &[6, 2, 4], vec![c, r])] {
        let of = range_move(old, new);
        let sources =
            |of: &RangeMove, down: NodeIndex| of.sources_beside(&ring, d, |node| node != down, |node| node == r);
        assert!(sources(&of, a).is_err(), "{old:?}: it may come back");
        let given_up = of.without(&[a].into());
        assert_eq!(sources(&given_up, a), Ok(all), "{old:?}: what there is");
        let serves = sources(&given_up, NodeIndex(9)).expect("all are up");
        assert!(!serves.contains(&r), "{old:?}: it serves after all, and {serves:?} are enough");
    }
    // Those that are not given up are enough, and are waited for.
    let of = range_move(&[0, 2, 8, 4], &[6, 2, 8, 4]).without(&[a].into());
    assert!(of.sources_beside(&ring, d, |node| node != a && node != c, |node| node == r).is_err());
}

#[test]
fn a_barrier_counts_the_datacenters_whose_part_changes() {
    let ring = ring();
    let of = range_move(&[0, 2, 4, 1, 3, 5], &[0, 2, 6, 1, 3, 5]);
    let passes = |applied: &[u16]| of.is_one_in_every_quorum(&ring, |node| applied.contains(&node.0));
    assert!(passes(&[0, 2, 1]), "of the other datacenter one is enough for the whole");
    assert!(!passes(&[0, 1, 3, 5]), "two of three of the datacenter that changes");
    assert!(!passes(&[2, 4, 1]), "of the old set two, of the new one not");
}

fn any_move() -> impl Strategy<Value = RangeMove> {
    let set = || btree_set(0..10u16, 0..7).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    (set(), set(), btree_set(0..10u16, 0..3))
        .prop_map(|(old, new, lost)| range_move(&old, &new).without(&lost.into_iter().map(NodeIndex).collect()))
}

proptest! {
    /// The sources that a receiver is given are enough, each is of the old set and can serve, and no nodes that can serve are enough where none are given.
    #[test]
    fn sources_are_enough_or_there_are_none(of in any_move(), serving in vec(any::<bool>(), 10)) {
        let ring = ring();
        let can_serve = |node: NodeIndex| serving[usize::from(node.0)];
        for receiver in of.receivers(&ring) {
            let all: Vec<NodeIndex> = of.old_replicas().iter().copied().filter(|&node| can_serve(node)).collect();
            match of.sources(&ring, receiver, can_serve) {
                Ok(from) => {
                    prop_assert!(of.is_copied(&ring, receiver, &from), "{from:?}");
                    prop_assert!(from.iter().all(|node| all.contains(node) && *node != receiver));
                }
                Err(refused) => prop_assert!(!of.is_copied(&ring, receiver, &all), "{refused}"),
            }
        }
    }

    /// Quorums that nodes can give which are not given up have one that has passed a barrier: of the whole, and of each datacenter whose part changes.
    #[test]
    fn a_barrier_without_lost_nodes_is_met_by_each_quorum_of_the_others(of in any_move(), passed in vec(any::<bool>(), 10), also_new in any::<bool>()) {
        let ring = ring();
        let has_passed = |node: NodeIndex| passed[usize::from(node.0)];
        let of = if also_new { let all = of.new.iter().chain(&of.old).copied().take(3).collect(); of.without(&all) } else { of };
        prop_assume!(of.is_one_in_every_quorum(&ring, has_passed));
        for datacenter in [None, Some("dc0"), Some("dc1")] {
            let [old, new] = [&of.old, &of.new].map(|set| part_of(set, &ring, datacenter).collect::<Vec<_>>());
            let (one, other): (BTreeSet<_>, BTreeSet<_>) = (old.iter().collect(), new.iter().collect());
            for set in [&old, &new].into_iter().filter(|_| datacenter.is_none() || one != other) {
                let stale = set.iter().filter(|node| !has_passed(**node) && !of.lost.contains(node)).count();
                prop_assert!(stale <= set.len() / 2, "{stale} of {set:?} make a quorum that has not passed");
            }
        }
    }

    /// More copies never make a copy less whole.
    #[test]
    fn a_copy_stays_whole(of in any_move(), from in btree_set(0..10u16, 0..10), more in 0..10u16) {
        let ring = ring();
        let mut from: Vec<NodeIndex> = from.into_iter().map(NodeIndex).collect();
        for receiver in of.receivers(&ring) {
            let before = of.is_copied(&ring, receiver, &from);
            from.push(NodeIndex(more));
            prop_assert!(!before || of.is_copied(&ring, receiver, &from));
            from.pop();
        }
    }
}
