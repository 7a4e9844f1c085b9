//! The topology in the cluster's state: entries, errors, snapshots, room.

use metadata::group::{Effect, GroupState, Proposal, ProposalId};
use metadata::{Domains, Entry};
use raft::{Entry as PlacedEntry, Index, Payload, Term};
use topology::nodes::{Boot, NodeState};

use super::*;
use crate::examples::{host, put, registry};

const BOOT: Boot = Boot { number: 1, word: 10 };

fn domains() -> Domains {
    Domains::none().with::<TopologyDomain>()
}

#[test]
fn entries_make_the_registry_of_a_cluster() {
    let mut state = GroupState::new(&domains());
    let all = [vec![put(1, BOOT), put(2, BOOT)], vec![NodeChange::Remove(host(1))]];
    for (index, changes) in (1..).map(Index).zip(&all) {
        let entry = Entry::of(TopologyDomain::part(changes));
        let proposal = Proposal { id: ProposalId(u128::from(index.0)), first: index, entry: Some(entry) };
        let payload = Payload::Change(proposal.to_bytes().into());
        let effects = state.apply(&[PlacedEntry { term: Term(1), index, payload }]).expect("it is readable");
        assert!(matches!(effects[..], [Effect::Applied(..)]), "{effects:?}");
    }
    let expected = Registry::default().apply(all.concat());
    assert_eq!(*state.cluster().of::<TopologyDomain>(), expected);
    assert!(expected.has_left(host(1)));
}

#[test]
fn a_snapshot_is_one_change_that_makes_the_state() {
    let bytes = TopologyDomain::snapshot(&registry()).expect("it has nodes");
    let change = TopologyDomain::decode(1, &bytes).expect("its own bytes");
    assert_eq!(TopologyDomain::apply(&Registry::default(), vec![change]), registry());
    assert_eq!(TopologyDomain::snapshot(&Registry::default()), None);
}

#[test]
fn a_newer_version_is_no_damage() {
    let newer = TopologyDomain::decode(1, &[2, 0]);
    assert_eq!(newer, Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    let problem = "a change of the nodes is damaged: 9 changes in 0 bytes".to_owned();
    assert_eq!(TopologyDomain::decode(1, &[1, 9]), Err(DecodeError::Invalid { problem }));
}

#[test]
fn only_removals_give_room_back() {
    let remove = NodeChange::Remove(host(1));
    assert!(TopologyDomain::gives_room_back(&vec![remove.clone()]));
    assert!(!TopologyDomain::gives_room_back(&vec![remove, NodeChange::SetState(host(1), NodeState::Regressed)]));
}
