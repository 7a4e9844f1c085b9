//! The replicas that are asked, those that replace others, and when the answers suffice.

use std::rc::Rc;

use topology::{Epoch, HostId, Node, Ring, Token};

use super::*;

/// Nodes 0 to 2 in the first datacenter, 3 to 5 in the second; 0 is the local one.
fn nodes() -> Nodes {
    let node = |number: u8| Node {
        host_id: HostId([number + 1; 16]),
        address: ([127, 0, 0, number + 1], 9042).into(),
        internode: ([127, 0, 0, number + 1], 7000).into(),
        datacenter: if number < 3 { "one" } else { "two" }.to_owned(),
        rack: "rack1".to_owned(),
        tokens: vec![Token(i64::from(number))],
    };
    Nodes::new(Rc::new(Ring::new(Epoch::FIRST, (0..6).map(node).collect(), NodeIndex(0))), None)
}

fn of(numbers: &[u16]) -> Vec<NodeIndex> {
    numbers.iter().copied().map(NodeIndex).collect()
}

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
fn planted() -> Planted {
    crate::planted_by_test()
}

fn refused() -> ReplicaError {
    ReplicaError::Unreadable { shard: 0.into() }
}

fn gone() -> ReplicaError {
    ReplicaError::Gone { shard: 0.into() }
}

#[test]
fn as_few_are_asked_as_the_level_needs_and_each_that_fails_is_replaced() {
    let (nodes, needs) = (nodes(), Required::Total(2));
    let mut contacts = Contacts::new(&needs, &nodes, &of(&[0, 1, 2]), planted());
    assert_eq!(contacts.ask(), of(&[0, 1]));
    assert_eq!(contacts.ask(), [], "they are expected to answer");
    contacts.failed(NodeIndex(1), refused());
    assert_eq!(contacts.verdict(), Verdict::Open, "another can replace it");
    assert_eq!(contacts.ask(), of(&[2]));
    contacts.answered(NodeIndex(2));
    assert_eq!(contacts.verdict(), Verdict::Open);
    contacts.answered(NodeIndex(0));
    assert_eq!((contacts.verdict(), contacts.answers()), (Verdict::Done, of(&[0, 2])));
}

#[test]
fn a_replica_that_is_asked_in_addition_counts_once() {
    let (nodes, needs) = (nodes(), Required::Total(2));
    let mut contacts = Contacts::new(&needs, &nodes, &of(&[0, 1, 2]), planted());
    assert_eq!(contacts.ask(), of(&[0, 1]));
    assert!(contacts.overdue(NodeIndex(1)) && !contacts.overdue(NodeIndex(1)));
    assert_eq!(contacts.ask(), of(&[2]), "in addition to the silent one");
    assert_eq!(contacts.expected(), of(&[0, 2]));
    contacts.answered(NodeIndex(2));
    assert_eq!((contacts.verdict(), contacts.received()), (Verdict::Open, 1));
    contacts.answered(NodeIndex(1));
    assert_eq!((contacts.verdict(), contacts.answers()), (Verdict::Done, of(&[1, 2])), "a late answer counts too");
}

#[test]
fn only_a_replica_whose_answer_counts_replaces_another() {
    let (nodes, needs) = (nodes(), Required::PerDatacenter(vec![("one".into(), 2), ("two".into(), 2)]));
    let mut contacts = Contacts::new(&needs, &nodes, &of(&[0, 1, 2, 3, 4, 5]), planted());
    assert_eq!(contacts.ask(), of(&[0, 1, 3, 4]));
    contacts.failed(NodeIndex(4), gone());
    assert_eq!(contacts.ask(), of(&[5]));
    contacts.overdue(NodeIndex(0));
    assert_eq!(contacts.ask(), of(&[2]));
    contacts.failed(NodeIndex(3), refused());
    assert_eq!((contacts.ask(), contacts.verdict()), (vec![], Verdict::Failed(Failure::Timeout { received: 0 })));

    let needs = Required::Local(1);
    let mut contacts = Contacts::new(&needs, &nodes, &of(&[3, 4, 1]), planted());
    assert_eq!(contacts.ask(), of(&[1]), "of another datacenter none counts");
}

#[test]
fn refusals_alone_are_a_failure_and_silence_is_a_time_out() {
    let (nodes, needs) = (nodes(), Required::Total(2));
    let after = |errors: [ReplicaError; 2]| {
        let mut contacts = Contacts::new(&needs, &nodes, &of(&[0, 1, 2]), planted());
        contacts.ask();
        contacts.answered(NodeIndex(0));
        let [first, second] = errors;
        contacts.failed(NodeIndex(1), first);
        contacts.ask();
        contacts.failed(NodeIndex(2), second);
        contacts.verdict()
    };
    let failed = |error| match error {
        Verdict::Failed(Failure::Failed { received, refusals }) => (received, refusals.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(after([refused(), refused()])), (1, 2));
    assert_eq!(after([gone(), refused()]), Verdict::Failed(Failure::Timeout { received: 1 }));
    let none = Contacts::new(&needs, &nodes, &[], planted());
    assert_eq!(none.verdict(), Verdict::Failed(Failure::Timeout { received: 0 }));
}

#[test]
fn a_replica_that_sent_a_digest_is_asked_for_data() {
    let (nodes, needs) = (nodes(), Required::Total(2));
    let mut contacts = Contacts::new(&needs, &nodes, &of(&[0, 1, 2]), planted());
    contacts.ask();
    contacts.answered(NodeIndex(0));
    contacts.answered(NodeIndex(1));
    contacts.reopen(NodeIndex(1));
    assert_eq!((contacts.verdict(), contacts.ask()), (Verdict::Open, vec![]));
    contacts.failed(NodeIndex(1), gone());
    assert_eq!(contacts.ask(), of(&[2]));
    contacts.discard(NodeIndex(2));
    assert_eq!(contacts.ask(), of(&[2]), "it may be asked something else");
}

#[test]
#[should_panic(expected = "a replica ends what it was asked")]
fn who_was_not_asked_does_not_answer() {
    let (nodes, needs) = (nodes(), Required::Total(1));
    Contacts::new(&needs, &nodes, &of(&[0, 1]), planted()).answered(NodeIndex(1));
}
