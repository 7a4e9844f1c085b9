//! Required answers per level, from Cassandra's documentation of consistency levels.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::*;
use crate::ring::{Epoch, HostId, Node, NodeIndex};
use crate::token::Token;

fn ring() -> Ring {
    let node = Node {
        host_id: HostId([1; 16]),
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9042),
        internode: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7000),
        datacenter: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        tokens: vec![Token(0)],
    };
    Ring::new(Epoch::FIRST, vec![node], NodeIndex(0))
}

fn network_topology() -> Factor {
    Factor::PerDatacenter([("datacenter1".to_owned(), 3), ("datacenter2".to_owned(), 2)].into())
}

#[test]
fn simple_strategy() {
    let strategy = Factor::Total(3);
    for (level, expected) in [
        (ConsistencyLevel::Any, Required::Total(1)),
        (ConsistencyLevel::One, Required::Total(1)),
        (ConsistencyLevel::Two, Required::Total(2)),
        (ConsistencyLevel::Three, Required::Total(3)),
        (ConsistencyLevel::Quorum, Required::Total(2)),
        (ConsistencyLevel::All, Required::Total(3)),
        (ConsistencyLevel::LocalOne, Required::Local(1)),
        (ConsistencyLevel::LocalQuorum, Required::Local(2)),
        (ConsistencyLevel::EachQuorum, Required::Total(2)),
        (ConsistencyLevel::Serial, Required::Total(2)),
        (ConsistencyLevel::LocalSerial, Required::Local(2)),
    ] {
        assert_eq!(required(level, &strategy, &ring()), expected, "{level}");
    }
}

#[test]
fn network_topology_strategy() {
    for (level, expected) in [
        (ConsistencyLevel::Quorum, Required::Total(3)),
        (ConsistencyLevel::All, Required::Total(5)),
        (ConsistencyLevel::LocalQuorum, Required::Local(2)),
        (
            ConsistencyLevel::EachQuorum,
            Required::PerDatacenter(vec![("datacenter1".to_owned(), 2), ("datacenter2".to_owned(), 2)]),
        ),
    ] {
        assert_eq!(required(level, &network_topology(), &ring()), expected, "{level}");
    }
    assert_eq!(required(ConsistencyLevel::EachQuorum, &network_topology(), &ring()).total(), 4);
}

#[test]
fn a_datacenter_without_replicas_still_asks_for_one() {
    let strategy = Factor::PerDatacenter([("elsewhere".to_owned(), 3)].into());
    assert_eq!(required(ConsistencyLevel::LocalQuorum, &strategy, &ring()), Required::Local(1));
}
