//! Plans of requests: what changes, what is refused in which words, and that a plan is carried out once.

use proptest::collection::vec;
use proptest::prelude::*;
use topology::nodes::{Boot, Start};

use super::*;
use crate::Replaced;
use crate::examples::{address, host, registration, registry, start};

const BOOT: Boot = Boot { number: 6, word: 60 };

fn refusal(request: Registration) -> String {
    plan(&registry(), &Request::Register(request)).expect_err("it is refused").to_string()
}

#[test]
fn a_node_joins_with_its_tokens_in_order() {
    let request = registration(7, BOOT);
    let changes = plan(&registry(), &Request::Register(request.clone())).expect("it may join");
    let [NodeChange::Put(id, node)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((*id, node.state, &node.tokens[..]), (host(7), NodeState::Normal, &[Token(70), Token(71)][..]));
    let after = registry().apply(changes);
    assert_eq!(plan(&after, &Request::Register(request)), Ok(Vec::new()), "sent again it changes nothing");
}

#[test]
fn a_start_is_registered_with_the_facts_that_it_may_change() {
    let moved = Start { internode: address(9), shard_count: 8, ..start(1, BOOT) };
    // Its tokens are those that it has, whatever it says.
    let request = Registration { start: moved, tokens: Vec::new(), ..registration(1, BOOT) };
    let changes = plan(&registry(), &Request::Register(request.clone())).expect("it is a node");
    assert_eq!(changes, [NodeChange::Started(host(1), moved)]);
    assert_eq!(plan(&registry().apply(changes), &Request::Register(request)), Ok(Vec::new()));
}

#[test]
fn the_fences_stand_before_a_registration() {
    let old = plan(&registry(), &Request::Register(registration(1, Boot { number: 4, word: 0 })));
    assert!(matches!(old, Err(PlanError::Refused(Refusal::OldDisk { .. }))), "{old:?}");
    let removed = plan(&registry(), &Request::Register(registration(3, BOOT)));
    assert_eq!(removed, Err(PlanError::Refused(Refusal::Removed { host_id: host(3) })));
    let wiped = Registration { start: start(2, BOOT), ..registration(7, BOOT) };
    let words = refusal(wiped);
    assert!(words.contains("--replace 02020202"), "{words}");
    let replacing = |number: u8| {
        let replaces = Some(Replaced::Host(host(number)));
        let request = Registration { start: start(2, BOOT), replaces, ..registration(7, BOOT) };
        plan(&registry(), &Request::Register(request))
    };
    assert!(
        replacing(2).is_ok_and(|changes| changes.len() == 1),
        "it may have the address of the node that it replaces"
    );
    assert!(matches!(replacing(1), Err(PlanError::Refused(Refusal::AddressTaken { .. }))), "and that of no other");
    assert!(matches!(replacing(3), Err(PlanError::NotReplaced(ReplaceError::Unknown { .. }))), "it has left");
}

#[test]
fn a_node_keeps_its_datacenter_and_rack() {
    let elsewhere = Registration { datacenter: "dc2".to_owned(), ..registration(1, BOOT) };
    let words = refusal(elsewhere);
    assert!(words.starts_with(
        "Cannot start node if snitch's data center (dc2) differs from previous data center (datacenter1)."
    ));
    let elsewhere = Registration { rack: "r9".to_owned(), ..registration(1, BOOT) };
    assert!(
        refusal(elsewhere).starts_with("Cannot start node if snitch's rack (r9) differs from previous rack (rack1).")
    );
}

#[test]
fn tokens_are_given_once() {
    let with = |tokens: Vec<Token>| Registration { tokens, ..registration(7, BOOT) };
    let taken = plan(&registry(), &Request::Register(with(vec![Token(5), Token(20)])));
    assert_eq!(taken, Err(PlanError::TokenTaken { token: Token(20), owner: host(2) }));
    assert_eq!(
        refusal(with(vec![Token(20)])),
        "Bootstrapping to existing token 20 is not allowed (decommission/removenode the old node first)."
    );
    assert_eq!(refusal(with(vec![Token(5), Token(6), Token(5)])), "token 5 occurs twice");
    assert_eq!(refusal(with(Vec::new())), "a node joins with a token at least");
    let many = (0..=TOKENS_MAX as i64).map(|token| Token(1000 + token)).collect();
    assert_eq!(refusal(with(many)), "a node has 1536 tokens at most, and this one has 1537");
    // The tokens of a node that has left are free.
    assert!(plan(&registry(), &Request::Register(with(vec![Token(30)]))).is_ok());
}

#[test]
fn facts_that_have_no_bytes_are_refused() {
    let long = Registration { rack: "r".repeat(256), ..registration(7, BOOT) };
    assert_eq!(refusal(long), "the name of a rack has 1 to 255 bytes, and this one has 256");
    let nameless = Registration { datacenter: String::new(), ..registration(7, BOOT) };
    assert_eq!(refusal(nameless), "the name of a datacenter has 1 to 255 bytes, and this one has 0");
    let without = Registration { start: Start { shard_count: 0, ..start(7, BOOT) }, ..registration(7, BOOT) };
    assert_eq!(refusal(without), "a node has a shard at least");
}

#[test]
fn a_full_cluster_takes_no_node() {
    let many = (0..NODES_MAX as u128).map(|number| {
        let node = Registration { tokens: vec![Token(number as i64)], ..registration(9, BOOT) }.into_node();
        NodeChange::Put(HostId((number << 64).to_be_bytes()), node.into())
    });
    let full = Registry::default().apply(many);
    assert_eq!(plan(&full, &Request::Register(registration(7, BOOT))), Err(PlanError::TooManyNodes));
}

#[test]
fn a_removal_is_of_a_node_that_leaves_and_for_good() {
    let remove = |id| Request::Remove(host(id));
    let owning = registry().apply([NodeChange::SetState(host(2), NodeState::Leaving)]);
    assert_eq!(plan(&owning, &remove(2)), Err(PlanError::OwnsTokens { host_id: host(2) }));
    let leaving = owning.apply([NodeChange::SetTokens(host(2), Vec::new())]);
    let changes = plan(&leaving, &remove(2)).expect("it leaves");
    assert_eq!(changes, [NodeChange::Remove(host(2))]);
    let after = leaving.apply(changes);
    assert_eq!(plan(&after, &remove(2)), Ok(Vec::new()), "sent again it changes nothing");
    let regressed = registry().apply([NodeChange::SetState(host(1), NodeState::Regressed)]);
    for registry in [&leaving, &regressed] {
        assert_eq!(plan(registry, &remove(1)), Err(PlanError::NotLeaving { host_id: host(1) }));
    }
    assert_eq!(plan(&after, &remove(9)).expect_err("there is none").to_string(), "Host ID not found.");
}

#[test]
fn a_node_that_leaves_or_joins_is_noted_as_in_doubt_and_keeps_its_state() {
    let joining = RegisteredNode { state: NodeState::Joining, ..registration(2, BOOT).into_node() };
    let joining = registry().apply([NodeChange::Put(host(2), joining.into())]);
    let leaving = registry().apply([NodeChange::SetState(host(2), NodeState::Leaving)]);
    let note = Request::SetState(host(2), NodeState::Regressed);
    for before in [joining, leaving.clone()] {
        let boot = before.node(host(2)).expect("it is there").start.boot.number;
        let noted = Ok(vec![NodeChange::Doubted(host(2), boot)]);
        assert_eq!(plan(&before, &note), noted);
        let after = before.apply(plan(&before, &note).expect("it may"));
        assert_eq!(after.node(host(2)), before.node(host(2)));
        assert_eq!(plan(&after, &note), Ok(Vec::new()), "once for each start");
        let renewed = after.apply([NodeChange::Renewed(host(2))]);
        assert_eq!(plan(&renewed, &note), Ok(Vec::new()));
        // Of all nodes one is regressed, and any number leaves.
        let other = before.apply([NodeChange::SetState(host(1), NodeState::Regressed)]);
        assert_eq!(plan(&other, &note), noted);
    }
    let to = |state| plan(&leaving, &Request::SetState(host(2), state));
    assert_eq!(to(NodeState::Leaving), Ok(Vec::new()));
    assert_eq!(to(NodeState::Normal), Ok(vec![NodeChange::SetState(host(2), NodeState::Normal)]));
    // A start changes nothing about that.
    let started = plan(&leaving, &Request::Register(registration(2, BOOT))).expect("it is a node");
    assert_eq!(leaving.apply(started).node(host(2)).map(|node| node.state), Some(NodeState::Leaving));
}

#[test]
fn a_node_regresses_and_is_normal_again() {
    let to = |state| Request::SetState(host(1), state);
    let changes = plan(&registry(), &to(NodeState::Regressed)).expect("it is Normal");
    let regressed = NodeChange::SetState(host(1), NodeState::Regressed);
    assert_eq!(changes, [regressed.clone(), NodeChange::Doubted(host(1), 5)]);
    let after = registry().apply(changes);
    let normal = after.apply([NodeChange::Renewed(host(1)), NodeChange::SetState(host(1), NodeState::Normal)]);
    assert_eq!(
        plan(&normal, &to(NodeState::Regressed)),
        Ok(vec![regressed]),
        "the same start, whose data was copied again"
    );
    assert_eq!(after.node(host(1)).map(|node| node.state), Some(NodeState::Regressed));
    assert_eq!(plan(&after, &to(NodeState::Regressed)), Ok(Vec::new()));
    let second = plan(&after, &Request::SetState(host(2), NodeState::Regressed));
    assert_eq!(second, Err(PlanError::AnotherRegressed { other: host(1) }));
    // A start changes nothing about that.
    let started = plan(&after, &Request::Register(registration(1, BOOT))).expect("it is a node");
    let after = after.apply(started);
    assert_eq!(after.node(host(1)).map(|node| node.state), Some(NodeState::Regressed));
    assert_eq!(
        after.apply(plan(&after, &to(NodeState::Normal)).expect("it may")).node(host(1)).map(|node| node.state),
        Some(NodeState::Normal)
    );
    let unknown = Request::SetState(host(9), NodeState::Normal);
    assert_eq!(plan(&after, &unknown), Err(PlanError::UnknownHost { host_id: host(9) }));
}

#[test]
fn an_upgrade_is_finalized_when_all_nodes_know_the_same() {
    let with = |number, boot, features| {
        let start = Start { features: Features(features), ..start(number, BOOT) };
        Registration { start: Start { boot: Boot { number: boot, word: 1 }, ..start }, ..registration(number, BOOT) }
    };
    let register = |registry: &Registry, registration| {
        registry.apply(plan(registry, &Request::Register(registration)).expect("it may"))
    };
    let mixed = register(&register(&Registry::default(), with(1, 1, 0b11)), with(2, 1, 0b01));
    let refused = plan(&mixed, &Request::Finalize).expect_err("a node is older").to_string();
    let second = "host 02020202-0202-0202-0202-020202020202";
    assert_eq!(
        refused,
        format!("{second} does not know feature 1, which other nodes know; upgrade and start it first")
    );
    // It starts again as a newer one.
    let newer = register(&mixed, with(2, 2, 0b11));
    let changes = plan(&newer, &Request::Finalize).expect("all know the same");
    assert_eq!(changes, [NodeChange::Enable(Features(0b11))]);
    let finalized = newer.apply(changes);
    assert_eq!(plan(&finalized, &Request::Finalize), Ok(Vec::new()), "once");
    for older in [with(2, 3, 0b01), with(3, 1, 0b10)] {
        let refused = plan(&finalized, &Request::Register(older)).expect_err("it does not know enough").to_string();
        assert!(refused.contains("which the cluster uses since its upgrade was finalized"), "{refused}");
    }
    assert!(plan(&finalized, &Request::Register(with(3, 1, 0b111))).is_ok());
}

#[test]
fn requests_come_back_from_their_bytes() {
    let in_order = Registration { tokens: vec![Token(70), Token(71)], ..registration(7, BOOT) };
    let requests = [
        Request::Register(in_order.clone()),
        Request::Register(Registration { has_given_tokens: true, is_without_copy: true, ..in_order.clone() }),
        Request::Register(Registration { replaces: Some(Replaced::Host(host(2))), ..in_order.clone() }),
        Request::Register(Registration { replaces: Some(Replaced::At(in_order.start.internode)), ..in_order }),
        Request::SetState(host(1), NodeState::Regressed),
        Request::Remove(host(2)),
        Request::Finalize,
    ];
    for request in requests {
        assert_eq!(Request::decode(&request.to_bytes()), Ok(request));
    }
    let problem = |changes: &[NodeChange]| {
        Request::decode(&[&[0][..], &topology::nodes::encode(changes)].concat())
            .expect_err("it is no request")
            .to_string()
    };
    assert_eq!(problem(&[]), "a request is one change of the nodes");
    assert!(Request::decode(&[]).is_err() && Request::decode(&[4, 1, 0]).is_err());
    assert_eq!(problem(&[NodeChange::Enable(Features(1))]), "a request to finalize names no feature");
    for change in [NodeChange::Doubted(host(1), 1), NodeChange::Renewed(host(1))] {
        assert!(problem(&[change]).contains("asks for the state Regressed"));
    }
    assert_eq!(problem(&[NodeChange::Started(host(1), start(1, BOOT))]), "a node registers with all of its facts");
    let regressed = RegisteredNode { state: NodeState::Regressed, ..registration(7, BOOT).into_node() };
    let regressed = NodeChange::Put(host(7), regressed.into());
    assert_eq!(problem(&[regressed]), "a node registers in another state than Normal");
}

fn any_request() -> impl Strategy<Value = Request> {
    let (id, boot) = (0u8..5, (0u64..4, 0u64..2).prop_map(|(number, word)| Boot { number, word }));
    let register = (id.clone(), 1u8..6, vec(0i64..8, 0..3), boot).prop_map(|(id, at, tokens, boot)| {
        let tokens = tokens.into_iter().map(Token).collect();
        Request::Register(Registration { tokens, start: start(at, boot), ..registration(id, boot) })
    });
    let state = prop_oneof![Just(NodeState::Normal), Just(NodeState::Leaving), Just(NodeState::Regressed)];
    prop_oneof![
        4 => register,
        1 => (id.clone(), state).prop_map(|(id, state)| Request::SetState(host(id), state)),
        1 => id.prop_map(|id| Request::Remove(host(id))),
        1 => Just(Request::Finalize),
    ]
}

proptest! {
    #[test]
    fn a_plan_changes_what_it_says_and_once(requests in vec(any_request(), 0..24)) {
        let mut registry = Registry::default();
        for request in requests {
            let Ok(changes) = plan(&registry, &request) else { continue };
            let next = registry.apply(changes.clone());
            prop_assert_eq!(changes.is_empty(), next == registry, "{:?} of {:?}", request, registry);
            prop_assert_eq!(plan(&next, &request), Ok(Vec::new()), "{:?} again", request);
            if let Request::Register(Registration { host_id, start, .. }) = request {
                prop_assert_eq!(next.node(host_id).map(|node| node.start), Some(start));
            }
            registry = next;
        }
    }
}
