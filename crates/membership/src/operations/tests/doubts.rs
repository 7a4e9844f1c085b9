//! Nodes whose disks are older than what they have acknowledged: operations do not rest on their data, whatever state they are in.

use topology::operations::TooFewSources;

use super::departures::five;
use super::*;
use crate::Rebuild;

impl Site {
    /// The cluster notes that a node's disk is older than it was.
    pub(super) fn note_older(&mut self, number: u8) {
        let nodes = crate::plan(&self.registry, &crate::Request::SetState(host(number), NodeState::Regressed));
        let nodes = nodes.expect("no other is");
        let operations = self.planning().without_copies_of(host(number)).expect("the rules are known");
        self.apply(PlannedChanges { nodes, operations, ..PlannedChanges::default() });
    }

    /// The nodes that each receiver of an operation copies from, by their numbers.
    fn sources(&self, operation: &Operation) -> Vec<Result<Vec<u8>, TooFewSources>> {
        let ring = self.planning().ring().expect("there are nodes");
        let is_doubted = |node: topology::NodeIndex| self.registry.is_doubted(ring.node(node).host_id);
        let moves = self.planning().moves(operation).expect("the rules are known");
        let of = |moved: &RangeMove| {
            let receivers: Vec<_> = moved.receivers(&ring).collect();
            let sources = |receiver| moved.sources_beside(&ring, receiver, |_| true, is_doubted);
            let numbers = |nodes: Vec<_>| nodes.into_iter().map(|node| ring.node(node).host_id.0[0]).collect();
            receivers.into_iter().map(|receiver| sources(receiver).map(numbers)).collect::<Vec<_>>()
        };
        moves.iter().flat_map(of).collect()
    }
}

/// W is acknowledged by two nodes, of which one has it no more, and leaves: its counterpart is the one source otherwise.
#[test]
fn a_regressed_node_that_leaves_is_no_source() {
    for is_noted_first in [true, false] {
        let mut site = five(3);
        if is_noted_first {
            site.note_older(3);
        }
        site.decommission(3);
        if !is_noted_first {
            let leaving = site.operations.operation(OperationId(1)).expect("it is queued");
            assert!(site.sources(leaving).contains(&Ok(vec![3])), "its data is whole");
            site.note_older(3);
        }
        assert_eq!(site.state(3), Some(NodeState::Leaving));
        let leaving = site.operations.operation(OperationId(1)).expect("it is queued").clone();
        let all = site.sources(&leaving);
        assert!(!all.is_empty());
        for sources in all {
            let sources = sources.expect("all are up");
            assert!(!sources.contains(&3) && sources.len() == 2, "{sources:?}");
        }
        // It stays after all, and is Normal until it asks again.
        site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
        assert_eq!((site.state(3), site.registry.is_doubted(host(3))), (Some(NodeState::Normal), true));
    }
}

#[test]
fn a_node_that_has_copied_its_ranges_again_is_a_source_again() {
    for (datacenter, is_renewed) in [(None, true), (Some("datacenter1"), false)] {
        let mut site = five(3);
        site.note_older(3);
        let rebuild = Rebuild { host_id: host(3), datacenter: datacenter.map(str::to_owned) };
        let changes = site.planning().rebuild(&rebuild).expect("it may");
        site.apply(changes);
        (0..3).for_each(|_| site.step(1).expect("it goes on"));
        assert!(site.registry.is_doubted(host(3)), "it copies");
        site.run(1);
        assert_eq!(site.registry.is_doubted(host(3)), !is_renewed, "one datacenter's part may lack a write");
        assert_eq!(site.state(3), Some(NodeState::Regressed), "its vote does not come back");
    }
}

#[test]
fn a_node_that_is_in_doubt_while_it_joins_copies_all_that_it_gets() {
    for (steps, is_renewed) in [(0, true), (2, true), (4, false)] {
        let mut site = five(3);
        site.apply(site.planning().join(&of_many(6, 4)).expect("it may"));
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        site.note_older(6);
        assert_eq!((site.state(6), site.registry.is_doubted(host(6))), (Some(NodeState::Joining), true));
        site.run(1);
        assert_eq!(site.state(6), Some(NodeState::Normal));
        assert_eq!(site.registry.is_doubted(host(6)), !is_renewed, "after {steps} steps");
    }
}

/// Its copy is gone with its disk, and a confirmation that comes late is of that disk.
#[test]
fn a_receiver_that_has_confirmed_and_is_on_an_older_disk_copies_again() {
    let mut site = Site::new(1);
    site.decommission(1);
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    let moves = site.planning().moves(site.operations.operation(OperationId(1)).expect("it runs")).expect("known");
    let gains = site.planning().hosts_of(moves.iter().flat_map(RangeMove::pending));
    let receiver = *gains.first().expect("one gains its ranges");
    site.request(OperationRequest::Copied(OperationId(1), receiver)).expect("it may");
    site.note_older(receiver.0[0]);
    assert_eq!((site.phase(1), site.phase(2)), (None, Some(Phase::Queued)));
    assert_eq!(site.state(1), Some(NodeState::Leaving), "it goes on leaving");
    let again = site.operations.operation(OperationId(2)).expect("it is queued");
    assert!(again.kind == Kind::Decommission && again.copied.is_empty());
    let before = site.operations.clone();
    site.apply(
        site.planning().plan(&OperationRequest::Copied(OperationId(1), receiver)).expect("nothing is to be done"),
    );
    site.apply(site.planning().plan(&OperationRequest::Step(OperationId(1), Phase::Copy)).expect("as little"));
    assert_eq!(site.operations, before, "it was of the other disk");
    assert!(site.operations.is_unclean(receiver), "what it has of the ranges goes first");
    assert_eq!(site.settle(&BTreeSet::new()), Ok(()));
    assert_eq!(site.owned(1..=3), [0, 2, 2]);
}

/// Others may have copied from it before it was noted.
#[test]
fn what_copies_from_a_node_that_is_on_an_older_disk_begins_again_with_all_that_was_confirmed() {
    for steps in 0..=4 {
        let mut site = five(3);
        site.decommission(3);
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let others = [1, 2, 4, 5].map(host);
        let confirm = |site: &mut Site, host| site.request(OperationRequest::Copied(OperationId(1), host));
        others.into_iter().for_each(|host| confirm(&mut site, host).expect("it may"));
        site.note_older(3);
        let phases = [1, 2].map(|id| site.phase(id));
        let now = site.operations.all().next().expect("one is there").phase;
        // Before Copy nothing was copied, and from ReadNew on nothing is aborted.
        assert_eq!(phases, if steps == 3 { [None, Some(Phase::Queued)] } else { [Some(now), None] }, "{steps} steps");
        assert_eq!(site.settle(&BTreeSet::new()), Ok(()));
        assert_eq!(site.owned(1..=5), [2, 2, 0, 2, 2]);
    }
}

#[test]
fn a_joining_node_on_an_older_disk_goes_on_joining_and_others_do_not_begin_again() {
    let mut site = five(1);
    let joins = Registration { tokens: vec![Token(25)], has_given_tokens: true, ..registration(6, BOOT) };
    site.apply(site.planning().join(&joins).expect("it may"));
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    let mut elsewhere = site.clone();
    elsewhere.note_older(5);
    assert_eq!(elsewhere.phase(1), Some(Phase::Copy), "no range of it moves");
    site.note_older(6);
    assert_eq!((site.phase(1), site.phase(2), site.state(6)), (None, Some(Phase::Queued), Some(NodeState::Joining)));
    assert_eq!(site.settle(&BTreeSet::new()), Ok(()));
    assert_eq!(
        (site.state(6), site.owned([6]), site.registry.is_doubted(host(6))),
        (Some(NodeState::Normal), vec![1], false)
    );
}

#[test]
fn a_replication_whose_copies_are_gone_begins_again_as_what_was_asked_for_last() {
    let mut site = five(2);
    site.alter_factor(2, 3);
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    site.alter_factor(3, 4);
    site.note_older(3);
    let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
    let all: Vec<&Target> = site.operations.all().map(|operation| &operation.target).collect();
    let (keyspace, before, after) = ("ks".to_owned(), simple(2), simple(4));
    assert_eq!(all, [&Target::Replication { keyspace, before, after }]);
    assert_eq!(site.settle(&BTreeSet::new()), Ok(()));
}
