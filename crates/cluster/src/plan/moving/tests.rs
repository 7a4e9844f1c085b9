//! Requests are planned as the rules of operations say, for any ring, operation, phase and level.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use topology::operations::{Kind, Operation, OperationId, Target};
use topology::{Epoch, HostId, Node, ReplicationStrategy, Strategies};

use super::super::count::{brings_nearer, count_towards, is_enough};
use super::super::nodes::Nodes;
use super::super::replication::Replication;
use super::*;

const PHASES: [Phase; 5] = [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew];

const KEYSPACE: &str = "ks";

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
    match draw.below(5) {
        0 => ReplicationStrategy::Everywhere,
        1 => ReplicationStrategy::Simple { replication_factor: factor },
        _ => {
            let datacenters =
                [("datacenter0".to_owned(), factor), ("datacenter1".to_owned(), 1 + draw.below(3) as u32)];
            ReplicationStrategy::NetworkTopology { datacenters: datacenters.into() }
        }
    }
}

fn operation(phase: Phase, target: Target) -> Rc<Operation> {
    let kind = if matches!(target, Target::Tokens(_)) { Kind::Bootstrap } else { Kind::Replication };
    let (id, lost, is_without_copy, is_forced) = (OperationId(1), BTreeSet::new(), false, false);
    Rc::new(Operation {
        id,
        kind,
        phase,
        target,
        lost,
        copied: BTreeSet::new(),
        has_given_tokens: false,
        is_without_copy,
        is_forced,
    })
}

fn sorted(nodes: impl IntoIterator<Item = NodeIndex>) -> Vec<NodeIndex> {
    let mut nodes: Vec<NodeIndex> = nodes.into_iter().collect();
    nodes.sort_unstable();
    nodes
}

/// Operations of tokens, which are of all keyspaces.
#[test]
fn requests_are_planned_by_the_rules_of_operations() {
    let mut has_moved = false;
    for seed in 0..500 {
        let mut draw = Draw(seed);
        let (ring, target) = ring_and_target(&mut draw);
        let strategy = strategies(&mut draw);
        let rules = Strategies::default().rules(&strategy).expect("built in");
        let phase = PHASES[draw.below(5) as usize];
        let placements = Placements::new(&RingChange::new(&ring, &target), &*rules, &*rules);
        let operation = operation(phase, Target::Tokens(target));
        has_moved |= is_planned_by_the_rules(&mut draw, (&ring, &strategy), (&placements, phase), operation);
    }
    assert!(has_moved);
}

/// Operations of one keyspace's replication.
#[test]
fn requests_of_a_keyspace_are_planned_by_the_rules_of_its_operation() {
    let mut has_moved = false;
    for seed in 0..500 {
        let mut draw = Draw(seed);
        let (ring, _) = ring_and_target(&mut draw);
        let [before, after] = [strategies(&mut draw), strategies(&mut draw)];
        if before == after {
            continue;
        }
        let rules = [&before, &after].map(|strategy| Strategies::default().rules(strategy).expect("built in"));
        let phase = PHASES[draw.below(5) as usize];
        let placements = Placements::new(&RingChange::none(&ring), &*rules[0], &*rules[1]);
        let target = |keyspace: &str| {
            let (before, after) = (before.clone(), after.clone());
            Target::Replication { keyspace: keyspace.to_owned(), before, after }
        };
        let of_other = Placements::new(&RingChange::none(&ring), &*rules[0], &*rules[0]);
        let other = operation(phase, target("another"));
        assert!(!is_planned_by_the_rules(&mut draw, (&ring, &before), (&of_other, phase), other));
        let of_this = operation(phase, target(KEYSPACE));
        has_moved |= is_planned_by_the_rules(&mut draw, (&ring, &before), (&placements, phase), of_this);
    }
    assert!(has_moved);
}

/// Compares the plans of a keyspace with the rules. True if some token moves.
fn is_planned_by_the_rules(
    draw: &mut Draw,
    (ring, strategy): (&Ring, &ReplicationStrategy),
    (placements, phase): (&Placements, Phase),
    operation: Rc<Operation>,
) -> bool {
    let seed = draw.0;
    let mut has_moved = false;
    let replication = {
        let nodes = Rc::new(Nodes::new(Rc::new(ring.clone()), None));
        let transition = Transition::new(ring, [operation]);
        let by = (&Strategies::default(), &transition);
        Replication::new(nodes, (Some(KEYSPACE), strategy), by, Planted::NONE)
    };
    for level in LEVELS {
        assert_eq!(*replication.required(level), placements.levels(level, ring).old, "seed {seed}, {level}");
    }
    if phase.places_as(Phase::Planned) || placements.moves().is_empty() {
        assert_eq!(replication.replicas_of_all(), placements.before().of_all(), "seed {seed}, {phase}: nothing moves");
    }
    let ends: Vec<Option<Token>> = replication.range_ends().collect();
    let mut tokens: Vec<Token> = ends.iter().map(|end| end.unwrap_or(Token::MIN)).collect();
    tokens.extend(tokens.clone().iter().map(|token| Token(token.0.wrapping_add(1))));
    tokens.extend((0..20).map(|_| Token(draw.next() as i64)));
    for token in tokens {
        let placement = placements.of(token);
        has_moved |= placement.is_moving();
        // Where the replicas stay the setting before counts until the operation is done: any two majorities of them meet.
        let phase = if placement.is_moving() { phase } else { Phase::Planned };
        assert_eq!(sorted(replication.replicas(token).iter().copied()), sorted(placement.old.iter().copied()));
        if let Some(all) = replication.replicas_of_all() {
            assert_eq!(sorted(all.iter().copied()), sorted(placement.write_set(phase)), "seed {seed}, {phase}");
        }
        let end = ends.iter().flatten().find(|end| **end >= token).copied().unwrap_or(Token::MIN);
        for level in LEVELS {
            let levels = placements.levels(level, ring);
            let at = format!("seed {seed}, {phase}, {level}, token {token}");
            let (written, needs) = replication.written(token, level);
            assert_eq!(replication.write_needs(token, level), needs, "{at}");
            if let Required::Halves(halves) = needs
                && needs.is_local()
            {
                let near = |node: &NodeIndex| ring.node(*node).datacenter == ring.local_node().datacenter;
                assert!(halves.iter().flat_map(|half| &half.replicas).all(near), "{at}: others count in no number");
            }
            assert_eq!(sorted(written.iter().copied()), sorted(placement.write_set(phase)), "{at}");
            let (read, read_needs) = replication.read(token, level);
            assert_eq!(sorted(read.iter().copied()), sorted(placement.read_set(phase, level)), "{at}");
            assert_eq!(replication.read(end, level).1, read_needs, "{at}: a range has the same readers");
            assert_eq!(sorted(replication.read(end, level).0.iter().copied()), sorted(read.iter().copied()), "{at}");
            for (set, needs, rules) in [
                (written, needs, placement.write_needs(phase, &levels)),
                (read, read_needs, placement.read_needs(phase, level, &levels)),
            ] {
                let mut answers = Vec::new();
                let drawn = draw.next();
                for (_, node) in set.iter().enumerate().filter(|(at, _)| drawn >> at & 1 == 1) {
                    let is_nearer = brings_nearer(needs, ring, &answers, *node) > 0;
                    let before = is_enough(needs, ring, &answers);
                    answers.push(*node);
                    assert_eq!(is_enough(needs, ring, &answers), rules.is_met(ring, &answers), "{at}: {answers:?}");
                    assert_eq!(is_enough(needs, ring, &answers), needs.is_met(ring, answers.iter().copied()), "{at}");
                    assert!(is_nearer || before == is_enough(needs, ring, &answers), "{at}: {answers:?}");
                    let (received, is_met) = count_towards(needs, ring, &answers);
                    assert!(is_met || received < needs.total(), "{at}: {received} of {}", needs.total());
                }
            }
        }
    }
    has_moved
}
