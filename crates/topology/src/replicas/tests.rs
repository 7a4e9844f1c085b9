//! Replica lists on small rings, worked out by hand with Cassandra's rules.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::ring::{Epoch, HostId, Node};
use crate::strategy::{EverywhereStrategy, LocalStrategy, NetworkTopologyStrategy, SimpleStrategy};

/// A ring of nodes given as (datacenter, rack, tokens).
fn ring(nodes: &[(&str, &str, &[i64])]) -> Ring {
    let nodes = (0u8..)
        .zip(nodes)
        .map(|(index, &(datacenter, rack, tokens))| Node {
            host_id: HostId([index; 16]),
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, index + 1)), 9042),
            internode: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, index + 1)), 7000),
            datacenter: datacenter.to_owned(),
            rack: rack.to_owned(),
            tokens: tokens.iter().copied().map(Token).collect(),
        })
        .collect();
    Ring::new(Epoch::FIRST, nodes, NodeIndex(0))
}

fn indexes(nodes: &[u16]) -> Vec<NodeIndex> {
    nodes.iter().copied().map(NodeIndex).collect()
}

fn simple(replication_factor: u32) -> SimpleStrategy {
    SimpleStrategy { replication_factor }
}

fn per_datacenter(factors: &[(&str, u32)]) -> NetworkTopologyStrategy {
    let datacenters = factors.iter().map(|&(name, factor)| (name.to_owned(), factor)).collect();
    NetworkTopologyStrategy { datacenters }
}

#[test]
fn simple_takes_the_next_nodes_of_the_ring() {
    let ring = ring(&[("dc", "r", &[0, 300]), ("dc", "r", &[100]), ("dc", "r", &[200])]);
    let strategy = simple(2);
    let map = ReplicaMap::new(&ring, &strategy);
    for (token, expected) in [
        (-5, [0, 1]),
        (0, [0, 1]),
        (1, [1, 2]),
        (100, [1, 2]),
        (101, [2, 0]),
        // The node at 300 and at 0 is one node: the next one is taken.
        (201, [0, 1]),
        (301, [0, 1]),
    ] {
        assert_eq!(map.replicas(Token(token)), indexes(&expected), "token {token}");
        assert_eq!(replicas(&ring, &strategy, Token(token)), indexes(&expected), "token {token}");
    }
}

#[test]
fn more_replicas_than_nodes_are_all_nodes() {
    let ring = ring(&[("dc", "r", &[0]), ("dc", "r", &[100])]);
    let strategy = simple(5);
    assert_eq!(replicas(&ring, &strategy, Token(1)), indexes(&[1, 0]));
}

#[test]
fn network_topology_prefers_racks_without_a_replica() {
    let ring = ring(&[
        ("dc1", "r1", &[0]),
        ("dc1", "r1", &[100]),
        ("dc1", "r2", &[200]),
        ("dc2", "r1", &[50]),
        ("dc2", "r1", &[150]),
    ]);
    // Of dc1's first rack one node, then its second rack; of dc2 the next node.
    assert_eq!(replicas(&ring, &per_datacenter(&[("dc1", 2), ("dc2", 1)]), Token(0)), indexes(&[0, 3, 2]));
    // Three replicas on two racks: one rack may be used twice.
    assert_eq!(replicas(&ring, &per_datacenter(&[("dc1", 3)]), Token(0)), indexes(&[0, 1, 2]));
    assert_eq!(replicas(&ring, &per_datacenter(&[("dc2", 2)]), Token(60)), indexes(&[4, 3]));
    assert_eq!(replicas(&ring, &per_datacenter(&[("elsewhere", 2)]), Token(0)), indexes(&[]));
}

#[test]
fn local_and_everywhere_ignore_the_token() {
    let ring = ring(&[("dc", "r", &[0]), ("dc", "r", &[100])]);
    assert_eq!(ReplicaMap::new(&ring, &LocalStrategy).replicas(Token(77)), indexes(&[0]));
    assert_eq!(ReplicaMap::new(&ring, &EverywhereStrategy).replicas(Token(77)), indexes(&[0, 1]));
}

#[test]
fn equal_lists_are_stored_once_and_neighbours_with_the_same_are_one_range() {
    // Two nodes in turn, four tokens each: with one replica each range differs from the one before, and there are two lists.
    let in_turn = ring(&[("dc", "r", &[0, 20, 40, 60]), ("dc", "r", &[10, 30, 50, 70])]);
    assert_eq!(ReplicaMap::new(&in_turn, &simple(1)).size(), (8, 2));
    assert_eq!(ReplicaMap::new(&in_turn, &simple(2)).size(), (8, 4));
    // All tokens of one node, then all of the other.
    let halves = ring(&[("dc", "r", &[0, 10, 20, 30]), ("dc", "r", &[40, 50, 60, 70])]);
    assert_eq!(ReplicaMap::new(&halves, &simple(1)).size(), (2, 2));
    // One node: all tokens have the same.
    let alone = ring(&[("dc", "r", &[0, 10, 20, 30])]);
    let map = ReplicaMap::new(&alone, &simple(3));
    assert_eq!((map.size(), map.of_all()), ((1, 1), Some(&indexes(&[0])[..])));
    assert_eq!(ReplicaMap::new(&in_turn, &EverywhereStrategy).size(), (1, 2));
}

proptest! {
    #[test]
    fn the_map_says_what_the_walk_says(
        tokens in prop::collection::btree_map(any::<i64>(), 0usize..6, 1..40),
        factors in (0u32..5, 0u32..5),
        probes in prop::collection::vec(any::<i64>(), 20),
    ) {
        let places = [("a", "1"), ("a", "2"), ("a", "2"), ("b", "1"), ("b", "1"), ("b", "3")];
        let owned: Vec<Vec<i64>> = (0..places.len())
            .map(|node| tokens.iter().filter(|(_, owner)| **owner == node).map(|(token, _)| *token).collect())
            .collect();
        let nodes: Vec<(&str, &str, &[i64])> =
            places.iter().zip(&owned).map(|(&(datacenter, rack), owned)| (datacenter, rack, owned.as_slice())).collect();
        let ring = ring(&nodes);
        let strategies: [Box<dyn crate::strategy::Strategy>; 2] =
            [Box::new(simple(factors.0)), Box::new(per_datacenter(&[("a", factors.0), ("b", factors.1)]))];
        for strategy in strategies {
            let strategy = &*strategy;
            let map = ReplicaMap::new(&ring, strategy);
            for &probe in probes.iter().chain(tokens.keys()) {
                let found = replicas(&ring, strategy, Token(probe));
                prop_assert_eq!(map.replicas(Token(probe)), found.as_slice());
                let mut unique = found.clone();
                unique.sort_unstable();
                unique.dedup();
                prop_assert_eq!(unique.len(), found.len(), "a node is a replica once");
            }
        }
    }
}
