//! Requests to leave: which conditions refuse them, in which words.

use std::collections::BTreeMap;

use topology::nodes::Boot;

use super::*;
use crate::examples::{host, put, registry};

const REMOVAL: Leave = Leave { host_id: HostId([2; 16]), departure: Departure::Removal, is_forced: false };
const DECOMMISSION: Leave = Leave { departure: Departure::Decommission, ..REMOVAL };

/// Node 1 is up and node 2 is down, in one datacenter; there is no keyspace.
fn planned(
    registry: &Registry,
    leave: Leave,
    change: impl FnOnce(&mut Conditions<'_>),
) -> Result<Vec<NodeChange>, String> {
    let is_up = |id| id == host(1);
    let mut conditions = Conditions { is_up: &is_up, keyspaces: Vec::new() };
    change(&mut conditions);
    plan_leave(registry, &leave, &conditions).map_err(|error| error.to_string())
}

#[test]
fn a_node_that_is_down_leaves_and_the_same_request_changes_nothing() {
    let changes = planned(&registry(), REMOVAL, |_| {}).expect("it is down");
    assert_eq!(changes, [NodeChange::SetState(host(2), NodeState::Leaving)]);
    let leaving = registry().apply(changes);
    assert_eq!(planned(&leaving, REMOVAL, |_| {}), Ok(Vec::new()));
    let left = leaving.apply([NodeChange::Remove(host(2))]);
    assert_eq!(planned(&left, REMOVAL, |_| {}), Ok(Vec::new()));
    // Of two nodes the second one stays.
    let last = planned(&left, Leave { host_id: host(1), ..DECOMMISSION }, |_| {});
    assert_eq!(last, Err("no other normal nodes in the ring; decommission would be pointless".to_owned()));
}

#[test]
fn a_node_that_is_up_is_decommissioned_and_not_removed() {
    let of_first = Leave { host_id: host(1), ..REMOVAL };
    let words = "Node /10.0.0.1:7000 is alive and owns this ID. Use decommission command to remove it from the ring";
    assert_eq!(planned(&registry(), of_first, |_| {}), Err(words.to_owned()));
    let changes = planned(&registry(), DECOMMISSION, |conditions| conditions.is_up = &|_| true).expect("both are up");
    assert_eq!(changes, [NodeChange::SetState(host(2), NodeState::Leaving)]);
}

#[test]
fn another_normal_node_must_be_up() {
    let of_first = Leave { host_id: host(1), ..DECOMMISSION };
    let none = Err("no other normal nodes in the ring; decommission would be pointless".to_owned());
    assert_eq!(planned(&registry(), of_first, |_| {}), none, "node 2 is down");
    for state in [NodeState::Regressed, NodeState::Leaving] {
        let registry = registry().apply([NodeChange::SetState(host(2), state)]);
        assert_eq!(planned(&registry, of_first, |conditions| conditions.is_up = &|_| true), none, "{state:?}");
    }
    let unknown = planned(&registry(), Leave { host_id: host(9), ..REMOVAL }, |_| {});
    assert_eq!(unknown, Err("Host ID not found.".to_owned()));
}

#[test]
fn replicas_need_as_many_nodes_unless_it_is_forced() {
    let simple = Factor::Total;
    let network = |name: &str, factor| Factor::PerDatacenter(BTreeMap::from([(name.to_owned(), factor)]));
    // Node 4 leaves already.
    let three =
        registry().apply([put(4, Boot { number: 1, word: 1 }), NodeChange::SetState(host(4), NodeState::Leaving)]);
    for (factor, is_refused) in [
        (simple(1), false),
        (simple(2), true),
        (network("datacenter1", 1), false),
        (network("datacenter1", 2), true),
        (network("datacenter2", 2), false),
        (Factor::AllNodes, false),
        (Factor::OwnNode, false),
    ] {
        let with = |leave| planned(&three, leave, |conditions| conditions.keyspaces = vec![("shop", factor.clone())]);
        let words =
            "Not enough live nodes to maintain replication factor in keyspace shop (RF = 2, N = 2). Perform a forceful";
        for (leave, name) in [(REMOVAL, "removal"), (DECOMMISSION, "decommission")] {
            let refused = Err(format!("{words} {name} to ignore."));
            assert_eq!(with(leave) == refused, is_refused, "{factor:?}");
            assert_eq!(with(leave).is_err(), is_refused, "{factor:?}");
            assert!(with(Leave { is_forced: true, ..leave }).is_ok(), "{factor:?}");
        }
    }
}

#[test]
fn a_request_comes_back_from_its_bytes() {
    for departure in [Departure::Decommission, Departure::Removal] {
        for is_forced in [false, true] {
            let leave = Leave { host_id: host(7), departure, is_forced };
            let bytes = leave.to_bytes();
            assert_eq!(Leave::decode(&bytes), Ok(leave));
            (0..bytes.len()).for_each(|length| assert!(Leave::decode(&bytes[..length]).is_err()));
            assert!(Leave::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }
    let newer = [&[2][..], &[7; 16], &[0]].concat();
    assert_eq!(Leave::decode(&newer), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    let unknown = [&[1][..], &[7; 16], &[4]].concat();
    assert!(matches!(Leave::decode(&unknown), Err(DecodeError::Invalid { .. })));
}
