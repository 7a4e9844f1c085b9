//! Greetings against the registry, each row of the page's table; and refusals that last.

use proptest::collection::vec;
use proptest::prelude::*;
use topology::nodes::{NodeChange, NodeState};

use super::*;
use crate::examples::{address, host, put, registry, start};

/// The standing of host `id` with this boot at the address of node `at`.
fn standing(id: u8, number: u64, word: u64, at: u8) -> Result<Standing, Refusal> {
    let greeting = Greeting { host_id: host(id), boot: Boot { number, word }, internode: address(at) };
    judge_planted(&registry(), &greeting, crate::planted_by_test())
}

#[test]
fn a_node_is_known_by_its_host_id_at_any_address() {
    for at in [1, 2, 9] {
        assert_eq!(standing(1, 5, 50, at), Ok(Standing::Known), "the registered boot");
        assert_eq!(standing(1, 6, 99, at), Ok(Standing::Known), "a later boot, which is not registered yet");
    }
}

#[test]
fn a_host_id_that_was_never_seen_is_unknown() {
    assert_eq!(standing(7, 1, 1, 7), Ok(Standing::Unknown));
    // The address of a node that has left is free.
    assert_eq!(standing(7, 1, 1, 3), Ok(Standing::Unknown));
}

#[test]
fn a_removed_host_id_is_refused_whatever_else_it_says() {
    for at in [3, 1, 9] {
        let refusal = standing(3, 99, 1, at).expect_err("it has left");
        assert_eq!(refusal, Refusal::Removed { host_id: host(3) });
        assert_eq!(
            refusal.to_string(),
            "host 03030303-0303-0303-0303-030303030303 was removed from the cluster and is never accepted again; \
             to join as a new node, start with an empty data directory"
        );
    }
}

#[test]
fn a_lower_boot_and_the_same_boot_with_another_word_are_an_old_disk() {
    let registered = Boot { number: 5, word: 50 };
    for boot in [Boot { number: 4, word: 50 }, Boot { number: 5, word: 51 }] {
        let refusal = standing(1, boot.number, boot.word, 1).expect_err("its disk is old");
        assert_eq!(refusal, Refusal::OldDisk { host_id: host(1), boot, registered });
    }
    let words = standing(1, 4, 0, 1).expect_err("its disk is old").to_string();
    let says = "this is boot 4 (0000000000000000), and boot 5 (0000000000000032) has been registered";
    assert!(words.contains(says) && words.ends_with("--replace 01010101-0101-0101-0101-010101010101"), "{words}");
}

#[test]
fn an_unknown_node_at_a_member_s_address_is_refused_and_shown_replace() {
    let refusal = standing(7, 1, 1, 2).expect_err("node 2 has the address");
    assert_eq!(refusal, Refusal::AddressTaken { host_id: host(7), address: address(2), member: host(2) });
    assert_eq!(
        refusal.to_string(),
        "host 07070707-0707-0707-0707-070707070707 is not a node of the cluster, and its address 10.0.0.2:7000 belongs to \
         host 02020202-0202-0202-0202-020202020202; to replace that node start with --replace \
         02020202-0202-0202-0202-020202020202, otherwise choose another address"
    );
}

fn any_boot() -> impl Strategy<Value = Boot> {
    (0u64..4, 0u64..2).prop_map(|(number, word)| Boot { number, word })
}

fn any_change() -> impl Strategy<Value = NodeChange> {
    let id = 1u8..4;
    prop_oneof![
        3 => (id.clone(), any_boot()).prop_map(|(id, boot)| put(id, boot)),
        3 => (id.clone(), 1u8..6, any_boot()).prop_map(|(id, at, boot)| NodeChange::Started(host(id), start(at, boot))),
        1 => id.clone().prop_map(|id| NodeChange::SetState(host(id), NodeState::Regressed)),
        1 => id.prop_map(|id| NodeChange::Remove(host(id))),
    ]
}

proptest! {
    #[test]
    fn a_node_is_accepted_no_more_after_it_was_refused_for_its_identity(
        changes in vec(any_change(), 0..16), id in 1u8..4, at in 1u8..6, boot in any_boot(),
    ) {
        let greeting = Greeting { host_id: host(id), boot, internode: address(at) };
        let (mut registry, mut is_refused) = (Registry::default(), false);
        for change in changes {
            registry = registry.apply([change]);
            let is_final = matches!(
                judge(&registry, &greeting),
                Err(Refusal::Removed { .. } | Refusal::OldDisk { .. })
            );
            prop_assert!(is_final || !is_refused, "{greeting:?} is accepted again by {registry:?}");
            is_refused = is_final;
        }
    }
}
