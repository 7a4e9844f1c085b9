//! Requests are planned as the rules of operations say, for any ring, operation, phase and level.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use topology::operations::{Kind, OperationId};
use topology::{Epoch, HostId, Node, ReplicationStrategy, Strategies};

use super::super::count::{brings_nearer, count_towards, is_enough};
use super::super::nodes::Nodes;
use super::super::replication::Replication;
use super::*;

const PHASES: [Phase; 4] = [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew];

/// Draws numbers: SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn tokens(&mut self) -> Vec<Token> {
        let tokens: BTreeSet<Token> = (0..=self.below(3)).map(|_| Token(self.next() as i64)).collect();
        tokens.into_iter().collect()
    }
}

/// Some nodes with tokens, and what an operation makes of one or two of them: they join, leave, or have other tokens.
fn ring_and_target(draw: &mut Draw) -> (Ring, BTreeMap<HostId, Vec<Token>>) {
    let count = 3 + draw.below(4) as u8;
    let node = |number: u8, tokens: Vec<Token>| Node {
        host_id: HostId([number + 1; 16]),
        address: ([10, 0, 0, number], 9042).into(),
        internode: ([10, 0, 0, number], 7000).into(),
        datacenter: format!("datacenter{}", number % 2),
        rack: format!("rack{}", number / 2 % 2),
        tokens,
    };
    let mut nodes: Vec<Node> = (0..count).map(|number| node(number, draw.tokens())).collect();
    let mut target = BTreeMap::new();
    for changed in nodes.iter_mut().take(1 + draw.below(2) as usize) {
        let after = match draw.below(3) {
            0 => {
                changed.tokens = Vec::new();
                draw.tokens()
            }
            1 => Vec::new(),
            _ => draw.tokens(),
        };
        target.insert(changed.host_id, after);
    }
    (Ring::new(Epoch(7), nodes, NodeIndex(u16::from(count) - 1)), target)
}

fn strategies(draw: &mut Draw) -> ReplicationStrategy {
    let factor = 1 + draw.below(4) as u32;
    match draw.below(3) {
        0 => ReplicationStrategy::Simple { replication_factor: factor },
        _ => {
            let datacenters =
                [("datacenter0".to_owned(), factor), ("datacenter1".to_owned(), 1 + draw.below(3) as u32)];
            ReplicationStrategy::NetworkTopology { datacenters: datacenters.into() }
        }
    }
}

fn sorted(nodes: impl IntoIterator<Item = NodeIndex>) -> Vec<NodeIndex> {
    let mut nodes: Vec<NodeIndex> = nodes.into_iter().collect();
    nodes.sort_unstable();
    nodes
}

#[test]
fn requests_are_planned_by_the_rules_of_operations() {
    let mut has_moved = false;
    for seed in 0..400 {
        let mut draw = Draw(seed);
        let (ring, target) = ring_and_target(&mut draw);
        let strategy = strategies(&mut draw);
        let rules = Strategies::default().rules(&strategy).expect("built in");
        let phase = PHASES[draw.below(4) as usize];
        let placements = Placements::new(&RingChange::new(&ring, &target), &*rules, &*rules);
        let operation = Operation {
            id: OperationId(1),
            kind: Kind::Bootstrap,
            phase,
            target: Target::Tokens(target),
            lost: BTreeSet::new(),
            is_without_copy: false,
            is_forced: false,
        };
        let nodes = Rc::new(Nodes::new(Rc::new(ring.clone()), None));
        let replication = Replication::new(nodes, &strategy, Some(&*rules), Some((&operation, Planted::NONE)));
        let ends: Vec<Option<Token>> = replication.range_ends().collect();
        let mut tokens: Vec<Token> = ends.iter().map(|end| end.unwrap_or(Token::MIN)).collect();
        tokens.extend(tokens.clone().iter().map(|token| Token(token.0.wrapping_add(1))));
        tokens.extend((0..20).map(|_| Token(draw.next() as i64)));
        for token in tokens {
            let placement = placements.of(token);
            has_moved |= placement.is_moving();
            assert_eq!(sorted(replication.replicas(token).iter().copied()), sorted(placement.old.iter().copied()));
            let end = ends.iter().flatten().find(|end| **end >= token).copied().unwrap_or(Token::MIN);
            for level in LEVELS {
                let levels = placements.levels(level, &ring);
                let at = format!("seed {seed}, {phase}, {level}, token {token}");
                let (written, needs) = replication.written(token, level);
                assert_eq!(sorted(written.iter().copied()), sorted(placement.write_set(phase)), "{at}");
                let (read, read_needs) = replication.read(token, level);
                assert_eq!(sorted(read.iter().copied()), sorted(placement.read_set(phase, level)), "{at}");
                assert_eq!(replication.read(end, level).1, read_needs, "{at}: a range has the same readers");
                assert_eq!(
                    sorted(replication.read(end, level).0.iter().copied()),
                    sorted(read.iter().copied()),
                    "{at}"
                );
                for (set, needs, rules) in [
                    (written, needs, placement.write_needs(phase, &levels)),
                    (read, read_needs, placement.read_needs(phase, level, &levels)),
                ] {
                    let mut answers = Vec::new();
                    let drawn = draw.next();
                    for (_, node) in set.iter().enumerate().filter(|(at, _)| drawn >> at & 1 == 1) {
                        let is_nearer = brings_nearer(needs, &ring, &answers, *node) > 0;
                        let before = is_enough(needs, &ring, &answers);
                        answers.push(*node);
                        assert_eq!(
                            is_enough(needs, &ring, &answers),
                            rules.is_met(&ring, &answers),
                            "{at}: {answers:?}"
                        );
                        assert!(is_nearer || before == is_enough(needs, &ring, &answers), "{at}: {answers:?}");
                        let (received, is_met) = count_towards(needs, &ring, &answers);
                        assert!(is_met || received < needs.total(), "{at}: {received} of {}", needs.total());
                    }
                }
            }
        }
    }
    assert!(has_moved);
}
