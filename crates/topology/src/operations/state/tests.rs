//! The operations of a cluster: each transition, and what holds whatever changes are applied.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::codec::decode;
use super::super::tests_of_changes::{any_change, any_operation, joining, replication};
use super::*;

fn id(number: u64) -> OperationId {
    OperationId(number)
}

fn host(number: u8) -> HostId {
    HostId([number; 16])
}

fn queue(operation: Operation) -> OperationChange {
    OperationChange::Queue(Rc::new(operation))
}

fn plan(operation: &Operation) -> OperationChange {
    OperationChange::Plan(operation.id, operation.target.clone())
}

/// The phases that an operation passes after it is planned, and its end.
fn to_the_end(number: u64) -> [OperationChange; 4] {
    [
        OperationChange::Advance(id(number), Phase::WriteBoth),
        OperationChange::Advance(id(number), Phase::Copy),
        OperationChange::Advance(id(number), Phase::ReadNew),
        OperationChange::Finish(id(number), [host(9)].into()),
    ]
}

#[test]
fn an_operation_passes_all_phases_and_is_gone() {
    let join = joining(1, &[(1, &[5])]);
    let mut state = Operations::default().apply([queue(join.clone()), plan(&join)]);
    for (change, phase) in
        to_the_end(1).into_iter().zip([Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew])
    {
        assert_eq!(state.operation(id(1)).map(|operation| operation.phase), Some(phase));
        // No phase is passed over, and none comes again.
        let others = to_the_end(1).into_iter().filter(|other| *other != change);
        assert!(others.clone().all(|other| state.apply([other]) == state), "in phase {phase}");
        state = state.apply([change]);
    }
    assert_eq!((state.all().len(), state.next(), state.is_unclean(host(9))), (0, id(2), true));
    assert_eq!(state.unclean_since(host(9)), Some(EndNumber(1)));
    assert!(!state.apply([OperationChange::Cleaned(host(9), EndNumber(1))]).is_unclean(host(9)));
    assert_eq!(state.apply([queue(join)]), state, "its number is not given again");
}

#[test]
fn a_receiver_confirms_its_copy_while_the_operation_is_in_copy() {
    let join = joining(1, &[(1, &[5])]);
    let confirm = || OperationChange::Copied(id(1), host(1));
    let mut state = Operations::default().apply([queue(join.clone()), plan(&join)]);
    for change in to_the_end(1).into_iter().take(3) {
        let copied = state.apply([confirm()]).operation(id(1)).expect("it runs").copied.clone();
        let is_in_copy = state.operation(id(1)).is_some_and(|operation| operation.phase == Phase::Copy);
        assert_eq!(copied.contains(&host(1)), is_in_copy);
        state = state.apply([change]);
    }
}

/// Before, it is aborted, and begins again without the node.
#[test]
fn a_node_is_given_up_while_the_new_replicas_are_read() {
    let join = joining(1, &[(1, &[5])]);
    let mut state = Operations::default().apply([queue(join.clone()), plan(&join)]);
    for change in to_the_end(1) {
        let given_up = state.apply([OperationChange::GiveUp(id(1), host(1))]);
        let operation = given_up.operation(id(1)).expect("it runs");
        let is_read = operation.phase == Phase::ReadNew;
        assert_eq!((operation.lost.contains(&host(1)), operation.is_forced), (is_read, is_read));
        assert!(is_read || given_up == state);
        state = given_up.apply([change]);
    }
    assert_eq!(state.all().len(), 0);
}

/// Leftovers of an operation are not forgotten with those of one before.
#[test]
fn a_node_is_clean_of_what_it_has_cleaned_up() {
    let (first, second) = (joining(1, &[(1, &[5])]), joining(2, &[(2, &[6])]));
    let both = [queue(first.clone()), plan(&first)].into_iter().chain(to_the_end(1)).chain([queue(second.clone())]);
    let state = Operations::default().apply(both.chain([plan(&second)]).chain(to_the_end(2)));
    assert!(state.apply([OperationChange::Cleaned(host(9), EndNumber(1))]).is_unclean(host(9)));
    assert!(!state.apply([OperationChange::Cleaned(host(9), EndNumber(2))]).is_unclean(host(9)));
}

/// An operation may end after one that was asked for later. A node that has cleaned up between the two has leftovers still.
#[test]
fn a_node_is_unclean_by_the_last_end_and_not_by_the_highest_number() {
    let (first, second) = (replication(1, "k"), replication(2, "other"));
    let begun = [queue(first.clone()), queue(second.clone()), plan(&first), plan(&second)];
    let state = Operations::default().apply(begun.into_iter().chain(to_the_end(2)));
    let cleaned = state.unclean_since(host(9)).expect("it lost ranges");
    for end in [to_the_end(1).to_vec(), vec![OperationChange::Abort(id(1), [host(9)].into())]] {
        let ended = state.apply(end);
        let last = ended.unclean_since(host(9)).expect("it lost more");
        assert!(last > cleaned);
        assert!(ended.apply([OperationChange::Cleaned(host(9), cleaned)]).is_unclean(host(9)));
        let changes = decode(&ended.snapshot().expect("it has some")).expect("its own bytes");
        let restored = Operations::default().apply(changes);
        assert!(restored.apply([OperationChange::Cleaned(host(9), cleaned)]).is_unclean(host(9)));
        let clean = ended.apply([OperationChange::Cleaned(host(9), last)]);
        assert!(!clean.is_unclean(host(9)));
        // The number does not fall where no node is unclean any more.
        let changes = decode(&clean.snapshot().expect("it has some")).expect("its own bytes");
        let third = replication(3, "k");
        let again = [queue(third.clone()), plan(&third)].into_iter().chain(to_the_end(3));
        let again = Operations::default().apply(changes.into_iter().chain(again));
        assert!(again.unclean_since(host(9)).is_some_and(|next| next > last));
    }
}

/// A part of a counter that a node has written between the two is of another tenure than those after the second one.
#[test]
fn a_tenure_begins_with_each_gain_whatever_the_numbers_of_the_operations() {
    let (first, second) = (replication(1, "k"), replication(2, "other"));
    let begun = [queue(first.clone()), queue(second.clone()), plan(&first), plan(&second)];
    let gained = |number| OperationChange::Gained(id(number), [host(9)].into());
    let mut state = Operations::default().apply(begun);
    let mut tenures = vec![state.tenure(host(9))];
    for number in [2, 1] {
        state = state.apply([gained(number)]);
        tenures.push(state.tenure(host(9)));
        let changes = decode(&state.snapshot().expect("it has some")).expect("its own bytes");
        assert_eq!(Operations::default().apply(changes), state);
    }
    assert!(tenures.windows(2).all(|pair| pair[0] < pair[1]), "{tenures:?}");
    assert_eq!(state.tenure(host(8)), 0);
}

#[test]
fn an_operation_is_aborted_until_the_new_replicas_are_read() {
    let join = joining(1, &[(1, &[5])]);
    let abort = || OperationChange::Abort(id(1), [host(1)].into());
    let mut state = Operations::default().apply([queue(join.clone())]);
    let changes = [plan(&join)].into_iter().chain(to_the_end(1)).take(4);
    for change in changes {
        let aborted = state.apply([abort()]);
        assert!(aborted.all().len() == 0 && aborted.is_unclean(host(1)));
        assert_eq!(aborted.apply(to_the_end(1)), aborted);
        state = state.apply([change]);
    }
    assert_eq!(state.operation(id(1)).map(|operation| operation.phase), Some(Phase::ReadNew));
    assert_eq!(state.apply([abort()]), state, "forward only");
}

#[test]
fn what_touches_an_operation_that_runs_waits_for_its_turn() {
    let (first, second) = (joining(1, &[(1, &[5])]), joining(2, &[(2, &[6])]));
    let third = replication(3, "k");
    let state = Operations::default().apply([queue(first.clone()), queue(second.clone()), queue(third.clone())]);
    assert_eq!(state.apply([plan(&second)]), state, "the first one was there before");
    let running = state.apply([plan(&first)]);
    assert_eq!(running.apply([plan(&second), plan(&third)]), running);
    let done = running.apply(to_the_end(1));
    assert!(done.may_plan(id(2)) && !done.may_plan(id(3)), "in their order");
    let aborted = done.apply([OperationChange::Abort(id(2), BTreeSet::new())]);
    assert!(aborted.may_plan(id(3)));
    // Keyspaces do not wait for each other.
    let (fourth, fifth) = (replication(4, "other"), replication(5, "k"));
    let both = aborted.apply([queue(fourth.clone()), queue(fifth.clone()), plan(&third), plan(&fourth), plan(&fifth)]);
    assert_eq!(both.running().map(|operation| operation.id).collect::<Vec<_>>(), [id(3), id(4)]);
}

#[test]
fn a_queued_operation_gets_its_tokens_when_it_is_planned() {
    let queued = joining(1, &[(1, &[5])]);
    let later = joining(1, &[(1, &[7, 9])]);
    let state = Operations::default().apply([queue(queued), plan(&later)]);
    assert_eq!(state.operation(id(1)).map(|operation| operation.target.clone()), Some(later.target));
    let (one, other) = (replication(1, "k"), replication(1, "other"));
    let state = Operations::default().apply([queue(one)]);
    assert_eq!(state.apply([plan(&other)]), state, "another keyspace is another operation");
}

#[test]
fn what_is_not_whole_is_not_queued() {
    let empty = Operations::default();
    let whole = joining(1, &[(1, &[5]), (2, &[6])]);
    let refused = [
        joining(2, &[(1, &[5])]),
        joining(1, &[(1, &[5]), (2, &[5])]),
        joining(1, &[]),
        Operation { phase: Phase::Planned, ..whole.clone() },
        Operation { kind: super::super::operation::Kind::Replication, ..whole.clone() },
        Operation { lost: [host(3)].into(), ..whole.clone() },
    ];
    for operation in refused {
        assert_eq!(empty.apply([queue(operation.clone())]), empty, "{operation:?}");
    }
    assert_eq!(empty.apply([queue(joining(1, &[(1, &[i64::MIN])]))]).all().len(), 1, "a node may own the ring's start");
    assert_eq!(empty.apply([queue(Operation { lost: [host(3)].into(), is_forced: true, ..whole })]).all().len(), 1);
}

proptest! {
    /// `apply` asserts its invariants: no changes make it panic.
    #[test]
    fn whatever_is_applied_the_operations_are_whole(changes in vec(any_change(), 0..40)) {
        let mut state = Operations::default();
        for change in &changes {
            state = state.apply([change.clone()]);
        }
        prop_assert_eq!(Operations::default().apply(changes), state, "one by one is as all at once");
    }

    #[test]
    fn a_snapshot_makes_the_operations(changes in vec(any_change(), 0..40)) {
        let state = Operations::default().apply(changes);
        let again = state.snapshot().map_or_else(Vec::new, |bytes| decode(&bytes).expect("its own bytes"));
        prop_assert_eq!(Operations::default().apply(again), state);
    }

    #[test]
    fn touching_goes_both_ways(one in any_operation(), other in any_operation()) {
        prop_assert_eq!(one.touches(&other), other.touches(&one));
    }
}
