//! Nodes whose disks are older than what they have acknowledged: operations do not rest on their data, whatever state they are in.

use topology::operations::TooFewSources;

use super::departures::five;
use super::*;
use crate::Rebuild;

impl Site {
    /// The cluster notes that a node's disk is older than it was.
    pub(super) fn note_older(&mut self, number: u8) {
        let changes = crate::plan(&self.registry, &crate::Request::SetState(host(number), NodeState::Regressed));
        self.registry = self.registry.apply(changes.expect("no other is"));
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
