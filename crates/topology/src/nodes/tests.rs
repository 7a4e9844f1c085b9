//! The registry: changes there and back, snapshots, hostile bytes, sizes, and what holds whatever is applied.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::ring::{Epoch, HostId, Node, NodeIndex, Ring};
use crate::token::Token;

fn start(number: u64) -> Start {
    Start {
        boot: Boot { number, word: number },
        internode: SocketAddr::from(([10, 0, 0, 1], 7000)).into(),
        native: SocketAddr::from(([10, 0, 0, 1], 9042)).into(),
        shard_count: 2,
        release: Release { major: 1, minor: 2, patch: 3 },
        features: Features(1),
    }
}

fn node(number: u64, tokens: &[i64]) -> RegisteredNode {
    let tokens = tokens.iter().copied().map(Token).collect();
    let (datacenter, rack) = ("datacenter1".to_owned(), "rack1".to_owned());
    RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start: start(number) }
}

fn put(id: u8, node: RegisteredNode) -> NodeChange {
    NodeChange::Put(HostId([id; 16]), Rc::new(node))
}

fn remove(id: u8) -> NodeChange {
    NodeChange::Remove(HostId([id; 16]))
}

fn of(changes: impl IntoIterator<Item = NodeChange>) -> Registry {
    Registry::default().apply(changes)
}

#[test]
fn a_removed_host_id_is_never_put_again() {
    let registry = of([put(1, node(1, &[5])), put(2, node(1, &[6])), remove(1)]);
    assert!(registry.has_left(HostId([1; 16])) && registry.node(HostId([1; 16])).is_none());
    assert_eq!(registry.apply([put(1, node(9, &[7]))]), registry);
    // Its token is free for another node; a host id that never was a node can be barred too.
    let registry = registry.apply([put(3, node(1, &[5])), remove(4)]);
    assert_eq!(registry.owner(Token(5)), Some(HostId([3; 16])));
    assert_eq!(registry.left().collect::<Vec<_>>(), [HostId([1; 16]), HostId([4; 16])]);
}

#[test]
fn a_token_has_one_owner() {
    let registry = of([put(1, node(1, &[5, 8])), put(2, node(1, &[6, 8]))]);
    assert_eq!((registry.nodes().len(), registry.owner(Token(6))), (1, None));
    // A node that is put again gives up what it had.
    let registry = registry.apply([put(1, node(1, &[7])), put(2, node(1, &[5, 8]))]);
    assert_eq!(registry.owner(Token(5)), Some(HostId([2; 16])));
    assert_eq!(registry.owner(Token(7)), Some(HostId([1; 16])));
}

#[test]
fn a_start_changes_addresses_and_program_and_a_registered_boot_does_not_get_older() {
    let id = HostId([1; 16]);
    let registry = of([put(1, node(4, &[5]))]);
    let moved = Start { internode: SocketAddr::from(([10, 0, 0, 9], 7000)).into(), shard_count: 8, ..start(5) };
    let registry = registry.apply([NodeChange::Started(id, moved)]);
    assert_eq!(registry.node(id).map(|node| node.start), Some(moved));
    assert_eq!(registry.at(moved.internode), Some(id));
    let other_word = Start { boot: Boot { number: 5, word: 99 }, ..start(5) };
    for stale in [NodeChange::Started(id, start(4)), NodeChange::Started(id, other_word), put(1, node(4, &[6]))] {
        assert_eq!(registry.apply([stale]), registry);
    }
    assert_eq!(registry.apply([NodeChange::Started(HostId([2; 16]), start(1))]), registry, "no node, no start");
}

#[test]
fn states_pass_only_as_they_may() {
    let id = HostId([1; 16]);
    let registry = of([put(1, node(1, &[]))]);
    let regressed = registry.apply([NodeChange::SetState(id, NodeState::Regressed)]);
    assert_eq!(regressed.node(id).map(|node| node.state), Some(NodeState::Regressed));
    assert_eq!(regressed.apply([NodeChange::SetState(id, NodeState::Regressed)]), regressed);
    let state = |registry: &Registry| registry.node(id).map(|node| node.state);
    let normal = regressed.apply([NodeChange::SetState(id, NodeState::Normal)]);
    assert_eq!(
        (state(&normal), normal.is_doubted(id)),
        (Some(NodeState::Normal), true),
        "its data is as old as before"
    );
    for before in [registry, regressed] {
        let leaving = before.apply([NodeChange::SetState(id, NodeState::Leaving)]);
        assert_eq!(leaving.node(id).map(|node| node.state), Some(NodeState::Leaving));
        assert_eq!(leaving.apply([NodeChange::SetState(id, NodeState::Regressed)]), leaving, "it leaves");
        let called_off = leaving.apply([NodeChange::SetState(id, NodeState::Normal)]);
        assert_eq!(state(&called_off), Some(NodeState::Normal));
        assert_eq!(called_off.is_doubted(id), before.is_doubted(id));
    }
    let known: Vec<u8> = (0..=u8::MAX).filter(|byte| NodeState::of_byte(*byte).is_some()).collect();
    assert_eq!(known, [2, 3, 4, 6], "bytes on disk");
}

#[test]
fn a_node_is_in_doubt_in_whatever_state_until_its_data_is_renewed_or_it_is_gone() {
    let id = HostId([1; 16]);
    for state in [NodeState::Joining, NodeState::Normal, NodeState::Leaving, NodeState::Regressed] {
        let before = of([put(1, RegisteredNode { state, ..node(3, &[5]) })]);
        let noted = before.apply([NodeChange::Doubted(id, 3)]);
        assert_eq!((noted.is_doubted(id), noted.doubted_since(id)), (true, Some(3)), "{state:?}");
        let started = noted.apply([NodeChange::Started(id, start(4)), NodeChange::SetState(id, NodeState::Leaving)]);
        assert!(started.doubted().eq([id]));
        let renewed = started.apply([NodeChange::Renewed(id)]);
        assert_eq!((renewed.is_doubted(id), renewed.doubted_since(id)), (false, Some(3)));
        assert_eq!(renewed.apply([NodeChange::Doubted(id, 3)]), renewed, "what was noted is over");
        assert!(renewed.apply([NodeChange::Doubted(id, 4)]).is_doubted(id), "another disk");
        for registry in [noted, started, renewed] {
            assert_eq!(of(registry.as_changes()), registry);
            assert_eq!(registry.apply([remove(1)]).doubted_since(id), None);
        }
    }
    let unknown = Registry::default().apply([NodeChange::Doubted(id, 3), NodeChange::Renewed(id)]);
    assert_eq!(unknown, Registry::default(), "no node, no doubt");
}

/// Entries and snapshots from before doubts were noted have the state alone.
#[test]
fn a_regressed_node_of_an_older_log_is_in_doubt() {
    let id = HostId([1; 16]);
    let by_entry = of([put(1, node(3, &[5])), NodeChange::SetState(id, NodeState::Regressed)]);
    let by_snapshot = of([put(1, RegisteredNode { state: NodeState::Regressed, ..node(3, &[5]) })]);
    assert_eq!(by_entry, by_snapshot);
    assert_eq!((by_entry.is_doubted(id), by_entry.doubted_since(id)), (true, Some(0)));
    assert_eq!(by_entry.as_changes().len(), 1, "its state says so");
    let leaving = by_entry.apply([NodeChange::SetState(id, NodeState::Leaving)]);
    assert!(leaving.is_doubted(id));
    assert_eq!(of(leaving.as_changes()), leaving);
}

#[test]
fn all_nodes_know_what_each_knows() {
    let with = |features| RegisteredNode { start: Start { features: Features(features), ..start(1) }, ..node(1, &[]) };
    assert_eq!(of([put(1, with(0b0111)), put(2, with(0b1101))]).features(), Features(0b0101));
    assert_eq!(Features(0b0101).missing(Features(0b0110)), Features(0b0010));
}

#[test]
fn features_are_enabled_when_all_nodes_know_them_and_for_good() {
    let with = |boot, features| Start { features: Features(features), ..start(boot) };
    let knowing = |boot, features| RegisteredNode { start: with(boot, features), ..node(1, &[]) };
    let enable = |features| NodeChange::Enable(Features(features));
    let mixed = of([put(1, knowing(1, 0b011)), put(2, knowing(1, 0b001))]);
    assert_eq!(mixed.apply([enable(0b011)]), mixed, "one node does not know it");
    let id = HostId([2; 16]);
    let enabled = mixed.apply([NodeChange::Started(id, with(2, 0b111)), enable(0b001), enable(0b011)]);
    assert_eq!(enabled.enabled(), Features(0b011));
    // A node that goes back, or another one that joins, does not know enough.
    for lacking in [NodeChange::Started(id, with(3, 0b001)), put(3, knowing(1, 0b110))] {
        assert_eq!(enabled.apply([lacking]), enabled);
    }
    assert_eq!(enabled.apply([put(3, knowing(1, 0b011))]).nodes().len(), 3);
    assert_eq!(of(enabled.as_changes()), enabled);
    assert_eq!((Features(0b101).names(), Features::default().names()), ("feature 0, feature 2".into(), String::new()));
}

#[test]
fn an_address_has_one_form() {
    let mapped: SocketAddr = "[::ffff:10.0.0.1]:7000".parse().unwrap();
    let scoped: SocketAddr = "[fe80::1%2]:7000".parse().unwrap();
    assert_eq!(Address::from(mapped), Address::from(SocketAddr::from(([10, 0, 0, 1], 7000))));
    assert_eq!(Address::from(scoped).to_string(), "[fe80::1]:7000");
}

#[test]
fn the_bytes_of_changes_are_as_documented() {
    let changes = [
        put(1, node(4, &[-1, 5])),
        NodeChange::SetState(HostId([1; 16]), NodeState::Regressed),
        remove(2),
        NodeChange::Enable(Features(0x0102)),
        NodeChange::SetTokens(HostId([1; 16]), vec![Token(-1), Token(5)]),
        NodeChange::Doubted(HostId([1; 16]), 0x0102),
        NodeChange::Renewed(HostId([1; 16])),
    ];
    let start = [
        &[0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4][..],
        &[4, 10, 0, 0, 1, 0x1b, 0x58, 4, 10, 0, 0, 1, 0x23, 0x52],
        &[0, 2, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1],
    ]
    .concat();
    let tokens = [&[0xff; 8][..], &[0, 0, 0, 0, 0, 0, 0, 5]].concat();
    let bytes = [
        &[1, 7, 1][..],
        &[1; 16],
        b"\x03\x0bdatacenter1\x05rack1",
        &start,
        &[2],
        &tokens,
        &[3],
        &[1; 16],
        &[6, 4],
        &[2; 16],
        &[5],
        &[0; 16],
        &[0, 0, 0, 0, 0, 0, 1, 2],
        &[6],
        &[1; 16],
        &[2],
        &tokens,
        &[7],
        &[1; 16],
        &[0, 0, 0, 0, 0, 0, 1, 2],
        &[8],
        &[1; 16],
    ]
    .concat();
    assert_eq!(encode(&changes), bytes);
    assert_eq!(decode(&bytes).unwrap(), changes);
}

#[test]
fn bytes_that_cannot_be_are_refused_in_words() {
    let problem = |bytes: &[u8]| decode(bytes).expect_err("it is refused").to_string();
    assert_eq!(decode(&[2, 0]), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    assert_eq!(problem(&[0, 0]), "a change of the nodes is damaged: format version 0");
    assert_eq!(problem(&[1, 0, 7]), "a change of the nodes is damaged: 1 bytes follow the last change");
    let one = |kind: u8, body: &[u8]| [&[1, 1, kind][..], &[1; 16], body].concat();
    assert_eq!(problem(&one(9, &[])), "a change of the nodes is damaged: changes of kind 9 are unknown");
    assert_eq!(problem(&one(3, &[5])), "a change of the nodes is damaged: state 5 of a node is unknown");
    let huge = [&[1, 0xff][..], &[0xff; 8], &[0; 40]].concat();
    assert_eq!(problem(&huge), "a change of the nodes is damaged: 18446744073709551615 changes in 40 bytes");
    let mut falling = encode(&[put(1, node(1, &[1, 2]))]);
    let end = falling.len();
    falling[end - 1] = 1;
    assert_eq!(problem(&falling), "a change of the nodes is damaged: tokens of a node do not ascend");
}

/// The memory of a node in bytes, with its allocations but without the overhead of the allocator.
fn node_bytes(node: &RegisteredNode) -> usize {
    let counts = 2 * size_of::<usize>();
    let names = node.datacenter.capacity() + node.rack.capacity();
    counts + size_of::<RegisteredNode>() + names + node.tokens.capacity() * size_of::<Token>()
}

fn change_bytes(changes: &Vec<NodeChange>) -> usize {
    let nodes = changes.iter().filter_map(|change| match change {
        NodeChange::Put(_, node) => Some(node_bytes(node)),
        _ => None,
    });
    changes.capacity() * size_of::<NodeChange>() + nodes.sum::<usize>()
}

#[test]
fn a_thousand_nodes_are_small() {
    let many = (0..1000u64).map(|number| {
        let tokens: Vec<i64> = (0..16).map(|of| (number * 16 + of) as i64).collect();
        let internode = Address::new(IpAddr::from((0xfd00_u128 << 112 | u128::from(number)).to_be_bytes()), 7000);
        let start = Start { internode, native: internode, ..start(number) };
        let (datacenter, rack) = (format!("datacenter-{}", number % 6), format!("availability-zone-{}", number % 18));
        let node = RegisteredNode { datacenter, rack, start, ..node(number, &tokens) };
        NodeChange::Put(HostId(u128::from(number).to_be_bytes()), Rc::new(node))
    });
    let registry = of(many);
    let encoded = registry.snapshot().expect("it has nodes").len();
    // A node of the map has room for 11 entries and is more than half full.
    let map = 1000 * 2 * (size_of::<HostId>() + size_of::<Rc<RegisteredNode>>());
    let nodes: usize = registry.nodes().map(|(_, node)| node_bytes(node)).sum();
    println!("1,000 nodes of 16 tokens: {encoded} bytes encoded, {} in memory at most", map + nodes);
    assert!(encoded <= 300 << 10, "{encoded} bytes encoded");
    assert!(map + nodes <= 1 << 20, "{} bytes in memory", map + nodes);
    // The nodes that a change does not concern are shared, not copied.
    let id = HostId(5u128.to_be_bytes());
    let next = registry.apply([NodeChange::Started(id, start(5000))]);
    let same = |other: &HostId| std::ptr::eq(registry.node(*other).unwrap(), next.node(*other).unwrap());
    let differing: Vec<HostId> = registry.nodes().map(|(id, _)| id).filter(|id| !same(id)).collect();
    assert_eq!(differing, [id]);
}

#[test]
fn a_joining_node_gets_its_tokens_when_nobody_else_has_them() {
    let joining = RegisteredNode { state: NodeState::Joining, tokens: Vec::new(), ..node(1, &[]) };
    let registry = of([put(1, node(1, &[5, 7])), NodeChange::Put(HostId([2; 16]), Rc::new(joining))]);
    let (first, second) = (HostId([1; 16]), HostId([2; 16]));
    let give = |host, tokens: &[i64]| NodeChange::SetTokens(host, tokens.iter().copied().map(Token).collect());
    assert_eq!(registry.apply([give(second, &[7, 9])]), registry, "another one has 7");
    // One takes the tokens that another has released, in the order of the changes.
    let replaced =
        registry.apply([give(first, &[]), give(second, &[5, 7]), NodeChange::SetState(second, NodeState::Normal)]);
    assert_eq!((replaced.owner(Token(5)), replaced.owner(Token(7))), (Some(second), Some(second)));
    assert_eq!(replaced.node(second).map(|node| node.state), Some(NodeState::Normal));
    assert_eq!(registry.apply([give(HostId([3; 16]), &[1])]), registry, "there is no such node");
}

#[test]
fn there_is_a_bound_on_nodes() {
    let many = (0..NODES_MAX as u128 + 1).map(|number| {
        let node = RegisteredNode { tokens: Vec::new(), ..node(1, &[]) };
        NodeChange::Put(HostId(number.to_be_bytes()), Rc::new(node))
    });
    assert_eq!(of(many).nodes().len(), NODES_MAX);
}

fn ring_node((host_id, node): (HostId, &RegisteredNode)) -> Node {
    let RegisteredNode { datacenter, rack, tokens, start, .. } = node.clone();
    Node { host_id, address: start.native.into(), internode: start.internode.into(), datacenter, rack, tokens }
}

fn any_address() -> impl Strategy<Value = Address> {
    (any::<IpAddr>(), any::<u16>()).prop_map(|(ip, port)| Address::new(ip, port))
}

prop_compose! {
    fn any_start()(
        number in 0u64..4, word in 0u64..2, internode in any_address(), native in any_address(),
        shard_count in 1u16.., release in any::<[u16; 3]>(), features in any::<u64>(),
    ) -> Start {
        let [major, minor, patch] = release;
        let (boot, release) = (Boot { number, word }, Release { major, minor, patch });
        Start { boot, internode, native, shard_count, release, features: Features(features) }
    }
}

fn any_state() -> impl Strategy<Value = NodeState> {
    prop_oneof![Just(NodeState::Joining), Just(NodeState::Normal), Just(NodeState::Leaving), Just(NodeState::Regressed)]
}

prop_compose! {
    /// Few tokens, so that nodes contend for them.
    fn any_node()(
        state in any_state(), datacenter in ".{0,9}", rack in "[a-z]{0,3}", start in any_start(),
        tokens in btree_set(-4i64..4, 0..5),
    ) -> RegisteredNode {
        RegisteredNode { state, datacenter, rack, tokens: tokens.into_iter().map(Token).collect(), start }
    }
}

fn any_change() -> impl Strategy<Value = NodeChange> {
    let id = || (0u8..5).prop_map(|id| HostId([id; 16]));
    prop_oneof![
        4 => (id(), any_node()).prop_map(|(id, node)| NodeChange::Put(id, Rc::new(node))),
        3 => (id(), any_start()).prop_map(|(id, start)| NodeChange::Started(id, start)),
        2 => (id(), any_state()).prop_map(|(id, state)| NodeChange::SetState(id, state)),
        1 => id().prop_map(NodeChange::Remove),
        1 => (0u64..4).prop_map(|features| NodeChange::Enable(Features(features))),
        2 => (id(), btree_set(-4i64..4, 0..5))
            .prop_map(|(id, tokens)| NodeChange::SetTokens(id, tokens.into_iter().map(Token).collect())),
        1 => (id(), 0u64..4).prop_map(|(id, boot)| NodeChange::Doubted(id, boot)),
        1 => id().prop_map(NodeChange::Renewed),
    ]
}

/// The changes' bytes with a few of them replaced, so that more than the version is read.
fn nearly_changes() -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (vec(any_change(), 0..5), edits, any::<prop::sample::Index>()).prop_map(|(changes, edits, end)| {
        let mut bytes = encode(&changes);
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.index(2 * bytes.len()));
        bytes
    })
}

proptest! {
    #[test]
    fn changes_come_back(changes in vec(any_change(), 0..8)) {
        prop_assert_eq!(decode(&encode(&changes)), Ok(changes));
    }

    #[test]
    fn whatever_is_applied_the_registry_is_whole(changes in vec(any_change(), 0..24)) {
        let mut registry = Registry::default();
        for change in &changes {
            let next = registry.apply([change.clone()]);
            let tokens: Vec<Token> = next.nodes().flat_map(|(_, node)| node.tokens.clone()).collect();
            prop_assert_eq!(tokens.iter().collect::<BTreeSet<_>>().len(), tokens.len(), "a token has one owner");
            for (id, node) in next.nodes() {
                prop_assert!(!next.has_left(id));
                let before = registry.node(id).map_or(node.start.boot, |node| node.start.boot);
                prop_assert!(!node.start.boot.is_older_than(before), "{} after {before}", node.start.boot);
            }
            prop_assert!(registry.left().all(|id| next.has_left(id)));
            prop_assert!(next.doubted().all(|id| next.node(id).is_some()), "one that is none is in doubt");
            let regressed = next.nodes().filter(|(_, node)| node.state == NodeState::Regressed);
            prop_assert!(regressed.into_iter().all(|(id, _)| next.doubted_since(id).is_some()));
            prop_assert!(next.features().missing(next.enabled()).is_empty(), "a node does not know what is enabled");
            prop_assert!(next.enabled().missing(registry.enabled()).is_empty(), "a feature was taken back");
            if next.nodes().len() > 0 {
                // It panics if a node or a token is there twice.
                let ring = Ring::new(Epoch::FIRST, next.nodes().map(ring_node).collect(), NodeIndex(0));
                prop_assert_eq!(ring.owners().len(), tokens.len());
            }
            registry = next;
        }
        prop_assert_eq!(of(changes), registry, "one by one is as all at once");
    }

    #[test]
    fn a_snapshot_makes_the_registry(changes in vec(any_change(), 0..24)) {
        let registry = of(changes);
        let again = registry.snapshot().map_or_else(Vec::new, |bytes| decode(&bytes).expect("its own bytes"));
        prop_assert_eq!(of(again.clone()), registry.clone());
        prop_assert_eq!(of(again).snapshot(), registry.snapshot(), "equal registries have equal bytes");
    }

    #[test]
    fn no_bytes_panic_or_take_much_memory(bytes in prop_oneof![vec(any::<u8>(), 0..400), nearly_changes()]) {
        if let Ok(changes) = decode(&bytes) {
            prop_assert!(change_bytes(&changes) <= 8 * bytes.len(), "{} bytes of {}", change_bytes(&changes), bytes.len());
            prop_assert_eq!(decode(&encode(&changes)), Ok(changes.clone()));
            let _ = of(changes);
        }
    }
}
