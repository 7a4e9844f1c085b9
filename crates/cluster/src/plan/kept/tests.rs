//! The tokens that a node keeps, against the sets of replicas themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use planted::Planted;
use topology::operations::{Kind, OperationId, Phase};
use topology::{Epoch, HostId, Node, NodeIndex, Token, replicas};

use super::*;
use crate::planted_by_test;

/// Tokens of the first node, then of the second, and so on.
type Tokens<'t> = &'t [&'t [i64]];

fn ring(epoch: u64, local: u16, tokens: Tokens<'_>) -> Rc<Ring> {
    let node = |(number, tokens): (u8, &&[i64])| Node {
        host_id: HostId([number; 16]),
        address: ([10, 0, 0, number], 9042).into(),
        internode: ([10, 0, 0, number], 7000).into(),
        datacenter: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: tokens.iter().map(|&token| Token(token)).collect(),
    };
    Rc::new(Ring::new(Epoch(epoch), (1..).zip(tokens).map(node).collect(), NodeIndex(local)))
}

fn operation(phase: Phase, target: Target) -> Rc<Operation> {
    let kind = if matches!(target, Target::Tokens(_)) { Kind::Bootstrap } else { Kind::Replication };
    let (is_without_copy, is_forced) = (false, false);
    Rc::new(Operation {
        id: OperationId(1),
        kind,
        phase,
        target,
        lost: BTreeSet::new(),
        copied: BTreeSet::new(),
        has_given_tokens: false,
        is_without_copy,
        is_forced,
    })
}

fn simple(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

fn network(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::NetworkTopology { datacenters: [("datacenter1".to_owned(), replication_factor)].into() }
}

/// Tokens at, before and after each token of the rings.
fn probes() -> impl Iterator<Item = Token> {
    let near = (-6..=6).flat_map(|at| [at * 100 - 1, at * 100, at * 100 + 1]);
    [i64::MIN, i64::MIN + 1, i64::MAX].into_iter().chain(near).map(Token)
}

/// True if the local node is one of a token's replicas where its nodes have these tokens; nodes without any are none of the ring.
fn is_replica(local: u16, tokens: Tokens<'_>, strategy: &ReplicationStrategy, token: Token) -> bool {
    let all = ring(1, 0, tokens);
    let nodes: Vec<Node> = all.nodes().iter().filter(|node| !node.tokens.is_empty()).cloned().collect();
    let ring = Ring::new(Epoch(1), nodes, NodeIndex(0));
    let rules = Strategies::default().rules(strategy).expect("built in");
    let host = all.node(NodeIndex(local)).host_id;
    replicas(&ring, &*rules, token).iter().any(|&node| ring.node(node).host_id == host)
}

/// Planted: cleanup-of-pending.
#[test]
fn a_node_keeps_what_it_is_a_replica_of_before_or_after() {
    // The tokens of each node before and after.
    let cases: [(Tokens<'_>, Tokens<'_>); 4] = [
        // One joins, one leaves, one exchanges a token, and nothing moves.
        (&[&[0, 300], &[100, 400], &[200, 500], &[]], &[&[0, 300], &[100, 400], &[200, 500], &[-100, 350]]),
        (&[&[0, 300], &[100, 400], &[200, 500]], &[&[0, 300], &[], &[200, 500]]),
        (&[&[0], &[100], &[200], &[300]], &[&[0], &[100], &[-300], &[300]]),
        (&[&[0, 300], &[100], &[200], &[]], &[&[0, 300], &[100], &[200], &[]]),
    ];
    let mut has_gained = false;
    for (before, after) in cases {
        let changed = (0u8..).zip(before.iter().zip(after)).filter(|(_, (before, after))| before != after);
        let tokens = changed.map(|(at, (_, after))| {
            let sorted: BTreeSet<Token> = after.iter().map(|&token| Token(token)).collect();
            (HostId([at + 1; 16]), sorted.into_iter().collect())
        });
        let tokens: BTreeMap<HostId, Vec<Token>> = tokens.collect();
        for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            for strategy in [simple(1), simple(2), network(1), network(3)] {
                for local in 0..before.len() as u16 {
                    let placement = Placement::new(
                        (ring(1, local, before), Vec::new()),
                        None,
                        Strategies::default(),
                        planted_by_test(),
                    );
                    let running = (!tokens.is_empty()).then(|| operation(phase, Target::Tokens(tokens.clone())));
                    placement.install(ring(2, local, before), running);
                    let kept = placement.kept_ranges("ks", &strategy);
                    for token in probes() {
                        let [was, is] = [before, after].map(|tokens| is_replica(local, tokens, &strategy, token));
                        has_gained |= is && !was;
                        let at = format!("node {local} of {before:?} to {after:?}, {phase}, {strategy:?}, {token}");
                        assert_eq!(kept.contains(token), was || is, "{at}");
                    }
                    // When it is done, or was aborted, one of the sets is all that is kept.
                    placement.install(ring(3, local, after), None);
                    let kept = placement.kept_ranges("ks", &strategy);
                    for token in probes() {
                        assert_eq!(kept.contains(token), is_replica(local, after, &strategy, token));
                    }
                }
            }
        }
    }
    assert!(has_gained);
}

#[test]
fn a_keyspace_whose_replication_changes_keeps_both_and_others_one() {
    let tokens: Tokens<'_> = &[&[0], &[100], &[200], &[300]];
    let placement = Placement::new((ring(1, 2, tokens), Vec::new()), None, Strategies::default(), Planted::NONE);
    let target = Target::Replication { keyspace: "grows".to_owned(), before: simple(1), after: simple(3) };
    placement.install(ring(2, 2, tokens), Some(operation(Phase::WriteBoth, target)));
    for token in probes() {
        let of = |factor| is_replica(2, tokens, &simple(factor), token);
        assert_eq!(placement.kept_ranges("grows", &simple(1)).contains(token), of(3), "{token}");
        assert_eq!(placement.kept_ranges("stays", &simple(1)).contains(token), of(1), "{token}");
    }
    let target =
        Target::Replication { keyspace: "grows".to_owned(), before: simple(1), after: ReplicationStrategy::Everywhere };
    placement.install(ring(3, 2, tokens), Some(operation(Phase::WriteBoth, target)));
    assert!(placement.kept_ranges("grows", &simple(1)).is_all());
    // The schema has the replication that it is to get.
    for (epoch, phase) in [(4, Phase::Queued), (5, Phase::Planned), (6, Phase::Copy), (7, Phase::ReadNew)] {
        let target = Target::Replication { keyspace: "shrinks".to_owned(), before: simple(3), after: simple(1) };
        placement.install(ring(epoch, 2, tokens), Some(operation(phase, target)));
        for token in probes() {
            let kept = placement.kept_ranges("shrinks", &simple(1)).contains(token);
            assert_eq!(kept, is_replica(2, tokens, &simple(3), token), "{phase} {token}");
        }
    }
    placement.install(ring(8, 2, tokens), None);
    assert!(!probes().all(|token| placement.kept_ranges("shrinks", &simple(1)).contains(token)));
}

#[test]
fn all_is_kept_where_each_node_has_all_and_where_nothing_is_known() {
    let tokens: Tokens<'_> = &[&[0], &[100], &[]];
    let placement = Placement::new((ring(1, 2, tokens), Vec::new()), None, Strategies::default(), Planted::NONE);
    let kept = |strategy: &ReplicationStrategy| placement.kept_ranges("ks", strategy);
    assert!(kept(&ReplicationStrategy::Local).is_all() && kept(&ReplicationStrategy::Everywhere).is_all());
    assert!(kept(&simple(2)).is_none() && kept(&network(3)).is_none(), "a node without tokens is no replica");
    let unknown =
        ReplicationStrategy::Registered { class: "com.example.Strategy".to_owned(), options: BTreeMap::new() };
    assert!(kept(&unknown).is_all());
    let alone = Placement::new((ring(1, 0, &[&[7, 9]]), Vec::new()), None, Strategies::default(), Planted::NONE);
    assert!(alone.kept_ranges("ks", &simple(1)).is_all() && alone.kept_ranges("ks", &network(3)).is_all());
    let no_tokens = Placement::new((ring(1, 0, &[&[], &[]]), Vec::new()), None, Strategies::default(), Planted::NONE);
    assert!(no_tokens.kept_ranges("ks", &simple(1)).is_all());
}
