//! Tokens of clusters that grow node by node: how even ownership is at each size, and that no token is given twice.

use proptest::prelude::*;

use super::*;
use crate::replicas::replicas;
use crate::ring::{Epoch, HostId, Node, NodeIndex};
use crate::strategy::NetworkTopologyStrategy;

/// The published bound: no node holds more than this many times the mean of its rack.
const SPREAD_MAX: f64 = 1.15;

fn node(number: usize, datacenter: &str, rack: &str, tokens: Vec<Token>) -> Node {
    Node {
        host_id: HostId((number as u128).to_be_bytes()),
        address: ([127, 0, 0, 1], 9042).into(),
        internode: ([127, 0, 0, 1], 7000).into(),
        datacenter: datacenter.into(),
        rack: rack.into(),
        tokens,
    }
}

/// One node without tokens elsewhere, so that there is a ring before there is a datacenter.
fn empty() -> Ring {
    Ring::new(Epoch::FIRST, vec![node(0, "elsewhere", "r", Vec::new())], NodeIndex(0))
}

/// The greatest ownership of a node, by the mean of its rack; and of the datacenter.
fn spread(allocator: &Allocator) -> (f64, f64) {
    let ownership = allocator.ownership();
    let mean = |of: &dyn Fn(u16) -> bool| {
        let held = ownership.iter().zip(&allocator.rack_of).filter(|(_, rack)| of(**rack)).map(|(held, _)| *held);
        let (count, sum) = held.fold((0, 0.0), |(count, sum), held| (count + 1, sum + held));
        sum / f64::from(count)
    };
    let greatest = |mean: &dyn Fn(u16) -> f64| {
        ownership.iter().zip(&allocator.rack_of).map(|(held, rack)| held / mean(*rack)).fold(0.0, f64::max)
    };
    (greatest(&|rack| mean(&|other| other == rack)), greatest(&|_| mean(&|_| true)))
}

/// Grows a datacenter to so many nodes, with racks in turn. The worst spread at any size, within racks, and overall where racks have equal counts.
fn grow(nodes: usize, racks: usize, replication_factor: u32, tokens: usize) -> (f64, f64) {
    let mut allocator = Allocator::new(&empty(), "dc", replication_factor);
    let mut worst = (0.0f64, 0.0f64);
    for number in 0..nodes {
        let given: BTreeSet<Token> = allocator.join(&format!("rack{}", number % racks), tokens).collect();
        assert_eq!(given.len(), tokens);
        let (of_rack, of_all) = spread(&allocator);
        worst.0 = worst.0.max(of_rack);
        if (number + 1) % racks == 0 {
            worst.1 = worst.1.max(of_all);
        }
    }
    println!("{nodes} nodes, {racks} racks, RF {replication_factor}, {tokens} tokens: {worst:.3?}");
    worst
}

#[test]
fn ownership_is_even_at_each_size() {
    for racks in [1, 3] {
        let (of_rack, of_all) = grow(30, racks, 3, 16);
        assert!(of_rack.max(of_all) <= SPREAD_MAX, "{racks} racks: {of_rack} in a rack, {of_all} in all");
    }
}

#[test]
fn ownership_is_even_up_to_300_nodes() {
    if std::env::var_os("HELENUS_SOAK").is_none() {
        println!("only in a soak");
        return;
    }
    for racks in [1, 3, 4] {
        let (of_rack, of_all) = grow(300, racks, 3, 16);
        assert!(of_rack.max(of_all) <= SPREAD_MAX, "{racks} racks: {of_rack} in a rack, {of_all} in all");
    }
}

#[test]
fn racks_of_different_sizes_are_even_within() {
    let mut allocator = Allocator::new(&empty(), "dc", 3);
    for number in 0..24usize {
        // Racks of 12, 6, 4 and 2 nodes.
        let rack = [0, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 2][number % 12];
        assert_eq!(allocator.join(&format!("rack{rack}"), 16).count(), 16);
    }
    let (of_rack, _) = spread(&allocator);
    assert!(of_rack <= SPREAD_MAX, "{of_rack}");
}

#[test]
fn a_rack_with_one_node_takes_tokens_though_it_holds_everything() {
    let mut allocator = Allocator::new(&empty(), "dc", 2);
    for rack in ["a", "a", "a", "b"] {
        assert_eq!(allocator.join(rack, 4).count(), 4);
    }
    let held = allocator.ownership();
    assert!((held[3] - 1.0).abs() < 1e-9 && (held.iter().sum::<f64>() - 2.0).abs() < 1e-9, "{held:?}");
}

#[test]
fn no_token_is_given_twice_in_any_datacenter() {
    let mut nodes = vec![node(0, "first", "r", Vec::new())];
    for number in 1..9 {
        let ring = Ring::new(Epoch::FIRST, nodes.clone(), NodeIndex(0));
        let datacenter = ["first", "second"][number % 2];
        let mut tokens: Vec<Token> = Allocator::new(&ring, datacenter, 3).join("r", 16).collect();
        tokens.sort_unstable();
        nodes.push(node(number, datacenter, "r", tokens));
    }
    // It panics where a token is owned twice.
    let ring = Ring::new(Epoch::FIRST, nodes, NodeIndex(0));
    assert_eq!(ring.owners().len(), 8 * 16);
    assert!(ring.owners().iter().all(|&(token, _)| token != Token::MIN));
}

#[test]
fn the_same_ring_gives_the_same_tokens() {
    let tokens = || {
        let mut allocator = Allocator::new(&empty(), "dc", 3);
        (0..6).flat_map(|_| allocator.join("r", 8).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(tokens(), tokens());
}

prop_compose! {
    fn any_ring()(
        nodes in proptest::collection::vec((0..4u8, proptest::collection::btree_set(any::<i64>(), 0..4)), 1..8),
    ) -> Ring {
        let mut taken = BTreeSet::new();
        let nodes = nodes.into_iter().enumerate().map(|(number, (rack, tokens))| {
            let tokens = tokens.into_iter().map(Token).filter(|token| *token != Token::MIN && taken.insert(*token));
            node(number, "dc", &format!("rack{rack}"), tokens.collect())
        });
        Ring::new(Epoch::FIRST, nodes.collect(), NodeIndex(0))
    }
}

proptest! {
    /// Ownership is counted by the replicas that the strategy gives.
    #[test]
    fn replicas_are_those_of_the_strategy(ring in any_ring(), factor in 1..5u32) {
        let allocator = Allocator::new(&ring, "dc", factor);
        let rules = NetworkTopologyStrategy { datacenters: [("dc".to_owned(), factor)].into() };
        let members: Vec<NodeIndex> = (0..).map(NodeIndex).zip(ring.nodes())
            .filter(|(_, node)| !node.tokens.is_empty()).map(|(index, _)| index).collect();
        let mut held = vec![0.0; members.len()];
        for (index, &(token, _)) in ring.owners().iter().enumerate() {
            for replica in replicas(&ring, &rules, token) {
                let member = members.iter().position(|member| *member == replica).expect("it has tokens");
                held[member] += allocator.length(index);
            }
        }
        for (one, other) in allocator.ownership().into_iter().zip(held) {
            prop_assert!((one - other).abs() < 1e-9, "{one} {other}");
        }
    }

    /// A token's consequences are worked out as they are when it is there.
    #[test]
    fn what_is_held_is_kept_up_to_date(ring in any_ring(), factor in 1..5u32, rack in 0..4u8) {
        let mut allocator = Allocator::new(&ring, "dc", factor);
        let mut joining = allocator.join(&format!("rack{rack}"), 5);
        while joining.next().is_some() {
            let held = joining.allocator.held(joining.rules);
            for (one, other) in joining.held.iter().zip(&held) {
                prop_assert!((one - other).abs() < 1e-6, "{:?}, not {held:?}", joining.held);
            }
        }
    }
}
