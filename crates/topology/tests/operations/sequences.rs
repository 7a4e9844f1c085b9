//! Sequences that break careless versions, step by step, each with the rule that it is about.

use topology::operations::{Answer, Phase, RangeMove};
use topology::{ConsistencyLevel, NodeIndex, Ring, Token};

use crate::sets::{Mask, Part, Sets, indices};

const A: NodeIndex = NodeIndex(0);
const B: NodeIndex = NodeIndex(1);
const C: NodeIndex = NodeIndex(2);
const D: NodeIndex = NodeIndex(3);

fn sets(old: usize, new: usize, stay: usize) -> Sets {
    Sets::new(&[Part { old, new, stay }], false)
}

fn is_written(sets: &Sets, phase: Phase, level: ConsistencyLevel, acknowledged: &[NodeIndex]) -> bool {
    let ring = sets.ring(0);
    let placements = sets.placements(&ring);
    let levels = placements.levels(level, &ring);
    placements.of(Token(0)).write_needs(phase, &levels).is_met(&ring, acknowledged)
}

fn is_read(sets: &Sets, phase: Phase, level: ConsistencyLevel, answered: &[NodeIndex]) -> bool {
    let ring = sets.ring(0);
    let placements = sets.placements(&ring);
    let levels = placements.levels(level, &ring);
    placements.of(Token(0)).read_needs(phase, level, &levels).is_met(&ring, answered)
}

/// RF 2, one replica dead for good, a third node joins: the operation ends.
#[test]
fn rf2_join() {
    // C takes the place of A, which is up; or that of the dead one.
    for dead in [A, B] {
        let sets = sets(2, 2, 1);
        let (ring, range_move) = (sets.ring(0), sets.range_move());
        assert_eq!(range_move.counterpart(&ring, C), Some(B));
        let is_alive = |node: NodeIndex| node != dead;
        assert!(range_move.is_one_in_every_quorum(&ring, is_alive), "WriteBoth and ReadNew pass");
        let from = range_move.sources(&ring, C, is_alive).expect("one of two is enough");
        assert_eq!(from, [if dead == A { B } else { A }]);
        assert!(range_move.is_copied(&ring, C, &from), "Copy passes");
    }
}

/// RF 3 → 1, {A, B, C} → {D}; a write with the old plan reaches B; D copies; the write reaches C and is acknowledged. D must have it.
#[test]
fn three_to_one() {
    let sets = sets(3, 1, 0);
    let (ring, range_move) = (sets.ring(0), sets.range_move());
    assert!(is_written(&sets, Phase::Planned, ConsistencyLevel::Quorum, &[B, C]));
    assert!(!range_move.is_copied(&ring, D, &[A]), "A alone may lack it");
    assert!(range_move.is_copied(&ring, D, &[A, B]) && range_move.is_copied(&ring, D, &[B, C]));
    assert_eq!(range_move.sources(&ring, D, |_| true).map(|from| from.len()), Ok(2));
}

/// {A, B, C} → {A, B} → {A, B, D}; a write is acknowledged by A and C, and never reaches B. D copies from B alone: A must not be the only one that has it.
#[test]
fn shrunk_and_grown() {
    let shrinking = sets(3, 2, 2);
    assert!(is_written(&shrinking, Phase::Planned, ConsistencyLevel::Quorum, &[A, C]));
    let (ring, range_move) = (shrinking.ring(0), shrinking.range_move());
    let receivers: Vec<NodeIndex> = range_move.receivers(&ring).collect();
    assert_eq!(receivers.len(), 2, "both stay, and copy all the same");
    for receiver in receivers {
        assert!(!range_move.is_copied(&ring, receiver, &[]), "it may lack the write");
        let from = range_move.sources(&ring, receiver, |_| true).expect("all are up");
        assert_eq!(from.len(), 1, "beside itself");
        assert!(range_move.is_copied(&ring, receiver, &from));
    }
    // From then on each of the two has all, so one of them is enough.
    let growing = sets(2, 3, 2);
    let (ring, range_move) = (growing.ring(0), growing.range_move());
    let from = range_move.sources(&ring, C, |_| true).expect("both are up");
    assert_eq!(from.len(), 1);
}

/// {A, B, C} → {A}; a read with a plan of WriteBoth has A's answer; A copies; the read is planned again in ReadNew: A's old answer does not count.
#[test]
fn carried_over_read() {
    let sets = sets(3, 1, 1);
    let (ring, range_move) = (sets.ring(0), sets.range_move());
    assert_eq!(range_move.receivers(&ring).collect::<Vec<_>>(), [A], "it stays, and copies all the same");
    assert!(!range_move.is_copied(&ring, A, &[]) && range_move.is_copied(&ring, A, &[B]));
    assert!(is_read(&sets, Phase::ReadNew, ConsistencyLevel::Quorum, &[A]));
    assert!(!Phase::WriteBoth.carries_over(Answer::Read, Phase::ReadNew));
    assert!(Phase::WriteBoth.carries_over(Answer::Read, Phase::Copy), "nothing has changed");
    assert!(Phase::WriteBoth.carries_over(Answer::Written, Phase::ReadNew));
}

/// A → B; an unfinished write reaches A; a read with a plan of WriteBoth returns it; a later read in ReadNew must return it too.
#[test]
fn read_goes_back() {
    let sets = sets(1, 1, 0);
    for level in [ConsistencyLevel::Quorum, ConsistencyLevel::LocalQuorum, ConsistencyLevel::All] {
        assert!(!is_read(&sets, Phase::WriteBoth, level, &[A]), "it is not returned before B has it");
        assert!(is_read(&sets, Phase::WriteBoth, level, &[A, B]));
        assert!(is_read(&sets, Phase::ReadNew, level, &[B]));
    }
    assert!(is_read(&sets, Phase::WriteBoth, ConsistencyLevel::One, &[A]), "ONE promises less, and waits less");
}

/// A stale coordinator writes at ALL to the old set while a range moves: what it acknowledges is read at QUORUM.
#[test]
fn stale_all() {
    let sets = sets(3, 3, 2);
    let (ring, range_move) = (sets.ring(0), sets.range_move());
    assert!(is_written(&sets, Phase::Planned, ConsistencyLevel::All, &[A, B, C]));
    assert!(!is_written(&sets, Phase::WriteBoth, ConsistencyLevel::All, &[A, B, C]));
    // C has the last word of that write, and D copies from C alone. So C must refuse the old plan before it serves.
    assert!(range_move.is_copied(&ring, D, &[C]));
    let serving: Vec<Phase> = [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew]
        .into_iter()
        .filter(|phase| phase.serves_copies())
        .collect();
    assert_eq!(serving, [Phase::WriteBoth, Phase::Copy]);
}

/// The nodes of three datacenters with three replicas each: 0 to 2, 3 to 5, 6 to 8; node 9 takes a place.
mod replacement {
    use super::*;
    use topology::operations::{Placements, RingChange};
    use topology::{Epoch, Factor, HostId, Node, Strategy, TokenRange};

    pub struct Three(pub Vec<NodeIndex>);

    impl Strategy for Three {
        fn factor(&self) -> Factor {
            Factor::PerDatacenter((0..3).map(|number| (format!("dc{number}"), 3)).collect())
        }

        fn place(&self, _: TokenRange, _: &Ring) -> Vec<NodeIndex> {
            self.0.clone()
        }
    }

    pub fn ring() -> Ring {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([127, 0, 0, number + 1], 9042).into(),
            internode: ([127, 0, 0, number + 1], 7000).into(),
            datacenter: format!("dc{}", if number < 9 { number / 3 } else { number - 8 }),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number))],
        };
        Ring::new(Epoch::FIRST, (0..11).map(node).collect(), NodeIndex(0))
    }

    pub fn range_move(ring: &Ring, old: &[u16], new: &[u16]) -> RangeMove {
        let three = |set: &[u16]| Three(set.iter().copied().map(NodeIndex).collect());
        let moves = Placements::new(&RingChange::none(ring), &three(old), &three(new)).moves();
        moves.into_iter().next().expect("a range moves")
    }
}

/// RF 3 + 3 + 3; a value acknowledged on a1, a2, a3, b1, c1; b1 and then c1 die and are replaced; QUORUM still sees it. All acknowledged sets, all dead nodes,
/// all sources.
#[test]
fn two_replacements() {
    let ring = replacement::ring();
    let old: Vec<u16> = (0..9).collect();
    // Node 9 stands in dc1 and takes the place of 3, node 10 in dc2 and takes that of 6.
    let first: Vec<u16> = old.iter().map(|&node| if node == 3 { 9 } else { node }).collect();
    let second: Vec<u16> = first.iter().map(|&node| if node == 6 { 10 } else { node }).collect();
    let moves = [replacement::range_move(&ring, &old, &first), replacement::range_move(&ring, &first, &second)];
    let mut tried = 0;
    for holding in (0u32..1 << 9).filter(|set| set.count_ones() >= 5) {
        let mut holding = holding;
        for (range_move, (dead, receiver)) in moves.iter().zip([(3u16, 9u16), (6, 10)]) {
            // Of all sources that may be asked, those that lack it are: if they are enough, the receiver lacks it.
            let lacking: Vec<NodeIndex> = range_move
                .old_replicas()
                .iter()
                .copied()
                .filter(|of| holding >> of.0 & 1 == 0 && of.0 != dead)
                .collect();
            if !range_move.is_copied(&ring, NodeIndex(receiver), &lacking) {
                holding |= 1 << receiver;
            }
            holding &= !(1 << dead);
        }
        let lacking = second.iter().filter(|&&node| holding >> node & 1 == 0).count();
        assert!(lacking < 5, "a quorum lacks it: {holding:b}");
        tried += 1;
    }
    assert_eq!(tried, 256, "quorums and larger sets of nine");
}

/// Sources are counted by the datacenter, too: a majority of dc1 alone has acknowledged, and its replica is replaced.
#[test]
fn a_local_quorum_survives_a_replacement() {
    let ring = replacement::ring();
    let old: Vec<u16> = (0..9).collect();
    let new: Vec<u16> = old.iter().map(|&node| if node == 3 { 9 } else { node }).collect();
    let range_move = replacement::range_move(&ring, &old, &new);
    let others: Vec<NodeIndex> = [0, 1, 2, 6, 7, 8, 5].map(NodeIndex).to_vec();
    assert!(!range_move.is_copied(&ring, NodeIndex(9), &others), "3 and 4 alone may have it");
    assert!(range_move.is_copied(&ring, NodeIndex(9), &[4, 5, 0, 1, 2].map(NodeIndex)));
    let from = range_move.sources(&ring, NodeIndex(9), |node| node.0 != 3).expect("two are left");
    assert_eq!(from, [4, 5, 0, 1, 2].map(NodeIndex), "the nearest first");
    let refused = range_move.sources(&ring, NodeIndex(9), |node| ![3, 4].contains(&node.0)).unwrap_err();
    assert_eq!(refused.to_string(), "1 of 2 replicas to copy from in datacenter dc1");
}

#[test]
fn masks_are_sets_of_nodes() {
    assert_eq!(indices(0b1001 as Mask), [A, D]);
}
