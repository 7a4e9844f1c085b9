//! Nodes that are down for good leave, whatever waits for them: no node that is down is waited for at the end.

use topology::NodeIndex;
use topology::operations::{Confirmed, waits_for};

use super::*;
use crate::replication::Alteration;

struct Up<'a> {
    ring: &'a Ring,
    down: &'a BTreeSet<HostId>,
    registry: &'a Registry,
}

impl Confirmed for Up<'_> {
    fn is_up(&self, node: NodeIndex) -> bool {
        !self.down.contains(&self.ring.node(node).host_id)
    }

    fn is_regressed(&self, node: NodeIndex) -> bool {
        self.registry.is_doubted(self.ring.node(node).host_id)
    }

    fn has_applied(&self, node: NodeIndex) -> bool {
        self.is_up(node)
    }
}

/// The nodes 1 to 5, and a keyspace of so many replicas with a table.
pub(super) fn five(replication_factor: u32) -> Site {
    let mut site = Site::new(replication_factor);
    site.registry = site.registry.apply([put(4, BOOT), put(5, BOOT)]);
    site
}

fn hosts<const N: usize>(numbers: [u8; N]) -> BTreeSet<HostId> {
    numbers.map(host).into()
}

impl Site {
    /// `removenode` of a node that is down, as the leader plans it.
    fn removenode(&mut self, number: u8, is_forced: bool, down: &BTreeSet<HostId>) {
        let leave = Leave { host_id: host(number), departure: Departure::Removal, is_forced };
        let planning = self.planning();
        let changes = match self.state(number) {
            Some(NodeState::Leaving) => {
                let given_up = planning.give_up_hints(leave.host_id).map(Ok);
                given_up
                    .or_else(|| planning.leave_again(&leave, down.clone()))
                    .unwrap_or_else(|| Ok(PlannedChanges::default()))
            }
            _ => planning.leave_together(&leave, down.clone()).map(|departure| PlannedChanges {
                nodes: vec![NodeChange::SetState(host(number), NodeState::Leaving)],
                operations: planning.without_own_of(leave.host_id).into_iter().chain(departure).collect(),
                ..PlannedChanges::default()
            }),
        };
        self.apply(changes.expect("it may"));
    }

    pub(super) fn decommission(&mut self, number: u8) {
        self.apply(PlannedChanges {
            nodes: vec![NodeChange::SetState(host(number), NodeState::Leaving)],
            operations: vec![self.planning().leave(&decommission(number), BTreeSet::new())],
            ..PlannedChanges::default()
        });
    }

    pub(super) fn alter_factor(&mut self, now: u32, after: u32) {
        let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
        let altered = Alteration { keyspace: "ks", now: &simple(now), after: &simple(after), has_tables: true };
        let operations = self.planning().alter(&altered).expect("the rules are known");
        self.apply(PlannedChanges { operations, ..PlannedChanges::default() });
    }

    /// The nodes that are up clean up, copy and confirm, and the leader steps. The error is what an operation waits for; else all have ended.
    pub(super) fn settle(&mut self, down: &BTreeSet<HostId>) -> Result<(), String> {
        let mut reason = String::new();
        while self.operations.all().len() > 0 {
            let up: Vec<HostId> = self.registry.nodes().map(|(id, _)| id).filter(|id| !down.contains(id)).collect();
            let before = self.operations.clone();
            for node in up {
                if let Some(last) = self.operations.unclean_since(node) {
                    self.request(OperationRequest::Cleaned(node, last)).expect("it may");
                }
                let ids: Vec<OperationId> = self.operations.all().map(|operation| operation.id).collect();
                ids.into_iter().for_each(|id| self.request(OperationRequest::Copied(id, node)).expect("it may"));
            }
            let all: Vec<Operation> = self.operations.all().cloned().collect();
            for operation in all {
                if operation.phase.is_running() {
                    let ring = self.planning().ring().expect("there are nodes");
                    let moves = self.planning().moves(&operation).expect("the rules are known");
                    let judge = Up { ring: &ring, down, registry: &self.registry };
                    if let Some(waiting) = waits_for(&operation, &moves, &ring, &judge) {
                        reason = waiting.to_string();
                        continue;
                    }
                }
                reason = self.step(operation.id.0).err().unwrap_or(reason);
            }
            if self.operations == before {
                return Err(reason);
            }
        }
        Ok(())
    }

    pub(super) fn owned(&self, numbers: impl IntoIterator<Item = u8>) -> Vec<usize> {
        numbers.into_iter().map(|number| self.tokens(number)).collect()
    }
}

/// Ranges of node 2 go to node 3.
#[test]
fn two_dead_nodes_leave_in_whatever_order_force_is_given() {
    let down = hosts([2, 3]);
    let orders: [&[(u8, bool)]; 5] = [
        &[(2, false), (3, false), (2, true), (3, true)],
        &[(2, false), (3, true), (2, true)],
        &[(2, true), (3, false), (3, true)],
        &[(2, true), (3, true)],
        &[(3, false), (2, true)],
    ];
    for order in orders {
        for steps in 0..=3 {
            let mut site = five(3);
            for (at, (number, is_forced)) in order.iter().enumerate() {
                site.removenode(*number, *is_forced, &down);
                let steps = if at == 0 { steps } else { 0 };
                (0..steps).for_each(|_| site.step(1).expect("it goes on"));
            }
            assert_eq!(site.operations.all().len(), 1, "{order:?}");
            let before = site.operations.clone();
            order.iter().for_each(|(number, is_forced)| site.removenode(*number, *is_forced, &down));
            assert_eq!(site.operations, before, "once");
            assert_eq!(site.settle(&down), Ok(()), "{order:?} after {steps} steps");
            assert_eq!(site.owned(1..=5), [2, 0, 0, 2, 2]);
        }
    }
}

/// Neither is forced: each range has a replica that is up. Of four nodes each of the two would gain ranges of the other.
#[test]
fn a_removal_that_waits_for_another_dead_node_takes_it_along() {
    for steps in 0..=3 {
        let mut site = Site::new(2);
        site.registry = site.registry.apply([put(4, BOOT)]);
        let down = hosts([1, 3]);
        site.removenode(1, false, &down);
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        assert!(steps < 3 || site.clone().settle(&down).is_err(), "a range goes to the other one");
        site.removenode(3, false, &down);
        assert_eq!(site.settle(&down), Ok(()), "after {steps} steps");
        assert_eq!(site.owned(1..=4), [0, 2, 0, 2]);
    }
}

#[test]
fn a_replacement_goes_before_a_removal_that_waits_for_the_replaced_node() {
    for steps in 0..=3 {
        let mut site = five(3);
        let down = hosts([2, 3]);
        site.removenode(2, true, &down);
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let replaces = Some(Replaced::Host(host(3)));
        site.apply(site.planning().join(&Registration { replaces, ..of_many(6, 2) }).expect("it may"));
        let kinds: Vec<Kind> = site.operations.all().map(|operation| operation.kind).collect();
        assert_eq!(kinds, [Kind::Replace, Kind::Remove]);
        assert!(site.clone().settle(&down).is_err(), "too few replicas are left");
        site.removenode(3, true, &down);
        assert_eq!(site.settle(&down), Ok(()), "after {steps} steps");
        assert_eq!(site.owned(1..=6), [2, 0, 0, 2, 2, 2]);
    }
}

/// Node 3 is to copy ranges of node 1, which is up and leaves.
#[test]
fn the_departure_of_a_dead_node_goes_before_what_waits_for_its_copy() {
    for (steps, way) in
        (0..=3).flat_map(|steps| ["removenode", "force", "replace", "was leaving"].map(|way| (steps, way)))
    {
        let mut site = five(2);
        let down = hosts([3]);
        site.decommission(1);
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let mut last = 5;
        match way {
            "replace" => {
                let replaces = Some(Replaced::Host(host(3)));
                site.apply(site.planning().join(&Registration { replaces, ..of_many(6, 2) }).expect("it may"));
                last = 6;
            }
            "was leaving" => {
                site.decommission(3);
                let waits = site.clone().settle(&down).expect_err("it is not asked to be removed");
                assert!(waits.contains("has not copied"), "{waits}");
                site.removenode(3, false, &down);
            }
            way => site.removenode(3, way == "force", &down),
        }
        assert_eq!(site.settle(&down), Ok(()), "{way} after {steps} steps");
        assert_eq!(site.owned(1..=last), [0, 2, 0, 2, 2, 2][..usize::from(last)]);
        assert_eq!([1, 3].map(|number| site.state(number)), [Some(NodeState::Leaving); 2]);
    }
}

/// With one replica the joining node has no other source; with three a range has one replica that is up, which leaves.
#[test]
fn the_departure_of_a_dead_node_goes_before_what_lacks_its_data() {
    for is_replaced in [false, true] {
        let mut site = five(1);
        let down = hosts([3]);
        let joins = Registration { tokens: vec![Token(25)], has_given_tokens: true, ..registration(6, BOOT) };
        site.apply(site.planning().join(&joins).expect("it may"));
        assert!(site.settle(&down).expect_err("there is no source").contains("too few replicas"));
        if is_replaced {
            let replaces = Some(Replaced::Host(host(3)));
            site.apply(site.planning().join(&Registration { replaces, ..of_many(7, 2) }).expect("it may"));
        }
        site.removenode(3, true, &down);
        assert_eq!(site.settle(&down), Ok(()));
        assert_eq!(site.owned([3, 6, 7]), [0, 1, if is_replaced { 2 } else { 0 }]);
    }
    let mut site = five(3);
    let down = hosts([2, 3]);
    site.decommission(1);
    assert!(site.settle(&down).expect_err("too few are up").contains("too few replicas"));
    [2, 3].into_iter().for_each(|number| site.removenode(number, true, &down));
    assert_eq!(site.settle(&down), Ok(()));
    assert_eq!(site.owned(1..=5), [0, 0, 0, 2, 2]);
}

/// Both were chosen on the same ring.
#[test]
fn a_departure_is_planned_beside_a_queued_join_whose_tokens_another_node_has_by_now() {
    let mut site = five(3);
    site.apply(site.planning().join(&of_many(6, 16)).expect("it may"));
    site.step(1).expect("it is planned");
    site.apply(site.planning().join(&of_many(7, 16)).expect("it may"));
    site.run(1);
    let has = |token: &Token| site.registry.owner(*token).is_some();
    let queued = site.operations.all().next().expect("it waits");
    assert!(matches!(&queued.target, Target::Tokens(nodes) if nodes[&host(7)].iter().any(has)));
    let down = hosts([3]);
    site.removenode(3, false, &down);
    assert_eq!(site.settle(&down), Ok(()));
    assert_eq!(site.owned([3, 6, 7]), [0, 16, 16]);
}

/// It may come back, and hands on its hints then.
#[test]
fn a_removal_by_force_does_not_take_along_a_decommission() {
    let mut site = five(3);
    site.decommission(4);
    site.removenode(2, true, &hosts([2, 4]));
    let mut kinds: Vec<Kind> = site.operations.all().map(|operation| operation.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [Kind::Decommission, Kind::Remove]);
    assert_eq!(site.settle(&hosts([2])), Ok(()));
    assert_eq!(site.owned(1..=5), [2, 0, 2, 0, 2]);
}

/// It died before its cleanup, and what waits first would have it gain a range.
#[test]
fn the_departure_of_an_unclean_node_goes_before_what_it_would_gain_by() {
    let mut site = five(2);
    site.apply(site.planning().join(&of_many(6, 16)).expect("it may"));
    site.run(1);
    let unclean = site.operations.unclean().next().expect("some have lost ranges");
    let down = BTreeSet::from([unclean]);
    site.decommission(6);
    let waits = site.settle(&down).expect_err("it would gain its ranges back");
    assert!(waits.contains("has data of ranges that it does not own"), "{waits}");
    let number = unclean.0[0];
    site.removenode(number, false, &down);
    assert_eq!(site.settle(&down), Ok(()));
    assert_eq!(site.owned([6, number]), [0, 0]);
    assert_eq!(site.operations.unclean().len(), 0);
}

#[test]
fn a_replication_that_waits_for_a_dead_node_begins_again_as_what_was_asked_for_last() {
    for (second, after) in [(None, Some(3)), (Some(4), Some(4)), (Some(2), None)] {
        let mut site = five(2);
        let down = hosts([3]);
        site.alter_factor(2, 3);
        (0..3).for_each(|_| site.step(1).expect("it goes on"));
        second.into_iter().for_each(|second| site.alter_factor(3, second));
        site.removenode(3, false, &down);
        let queued: Vec<(u64, Target)> =
            site.operations.all().map(|operation| (operation.id.0, operation.target.clone())).collect();
        let altered = queued.iter().find_map(|(_, target)| match target {
            Target::Replication { before, after, .. } => Some((before.clone(), after.clone())),
            Target::Tokens(_) | Target::Copy { .. } => None,
        });
        let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
        assert_eq!(altered, after.map(|after| (simple(2), simple(after))));
        assert!(matches!(&queued[0].1, Target::Tokens(nodes) if nodes.contains_key(&host(3))), "{queued:?}");
        assert_eq!(queued.len(), 1 + usize::from(after.is_some()));
        assert_eq!(site.settle(&down), Ok(()));
        assert_eq!(site.owned(1..=5), [2, 2, 0, 2, 2]);
    }
}

/// With two replicas the regressed one is all that is left; with three, one other.
#[test]
fn a_dead_node_leaves_by_force_while_another_is_regressed() {
    let down = hosts([2]);
    for (factor, is_replaced) in [2, 3].into_iter().flat_map(|factor| [false, true].map(|replaced| (factor, replaced)))
    {
        let mut site = five(factor);
        site.note_older(3);
        if is_replaced {
            let replaces = Some(Replaced::Host(host(2)));
            site.apply(site.planning().join(&Registration { replaces, ..of_many(6, 2) }).expect("it may"));
        } else {
            site.removenode(2, false, &down);
        }
        let waits = site.settle(&down).expect_err("the others would be enough if all were up");
        assert!(waits.contains("to copy from"), "{waits}");
        site.removenode(2, true, &down);
        assert_eq!(site.settle(&down), Ok(()), "of {factor} replicas");
        assert_eq!(site.owned([2, 6]), [0, if is_replaced { 2 } else { 0 }]);
    }
}

/// A range's only new replica has confirmed: without it the operation does not pass to ReadNew.
#[test]
fn the_departure_of_a_dead_node_goes_before_what_has_its_copy_and_waits_for_it() {
    for (is_forced, is_replaced) in [(false, false), (true, false), (false, true)] {
        let mut site = Site::new(1);
        site.decommission(1);
        (0..3).for_each(|_| site.step(1).expect("it goes on"));
        let moves = site.planning().moves(site.operations.operation(OperationId(1)).expect("it runs")).expect("known");
        let gains = site.planning().hosts_of(moves.iter().flat_map(RangeMove::pending));
        let dead = gains.first().expect("one gains its ranges").0[0];
        site.request(OperationRequest::Copied(OperationId(1), host(dead))).expect("it may");
        let down = hosts([dead]);
        let waits = site.clone().settle(&down).expect_err("its copy is the only one");
        assert!(waits.contains("too few replicas"), "{waits}");
        if is_replaced {
            let replaces = Some(Replaced::Host(host(dead)));
            site.apply(site.planning().join(&Registration { replaces, ..of_many(4, 2) }).expect("it may"));
        } else {
            site.removenode(dead, is_forced, &down);
        }
        // Its own ranges have no other replica.
        site.removenode(dead, true, &down);
        assert_eq!(site.settle(&down), Ok(()), "by force: {is_forced}");
        assert_eq!(site.owned([1, dead]), [0, 0]);
    }
}

/// Where what has all copies needs no node that is dead it goes on: it is near its end.
#[test]
fn what_has_the_copy_of_a_dead_node_and_needs_no_more_of_it_is_not_begun_again() {
    let mut site = five(3);
    site.decommission(1);
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    (2..=5).for_each(|number| site.request(OperationRequest::Copied(OperationId(1), host(number))).expect("it may"));
    let down = hosts([3]);
    site.removenode(3, false, &down);
    assert_eq!(site.phase(1), Some(Phase::Copy));
    assert_eq!(site.settle(&down), Ok(()));
    assert_eq!(site.owned(1..=5), [0, 2, 0, 2, 2]);
}

/// The join copies from the dead node and another one, since its counterpart is regressed.
#[test]
fn the_departure_of_a_dead_node_goes_before_what_lacks_its_data_beside_a_regressed_node() {
    for is_forced in [false, true] {
        let mut site = five(3);
        let down = hosts([2]);
        site.note_older(3);
        let joins =
            Registration { tokens: vec![Token(25), Token(26)], has_given_tokens: true, ..registration(6, BOOT) };
        site.apply(site.planning().join(&joins).expect("it may"));
        assert!(site.clone().settle(&down).expect_err("two are needed").contains("to copy from"));
        site.removenode(2, is_forced, &down);
        let kinds: Vec<Kind> = site.operations.all().map(|operation| operation.kind).collect();
        assert_eq!(kinds, [Kind::Remove, Kind::Bootstrap], "by force: {is_forced}");
        site.removenode(2, true, &down);
        assert_eq!(site.settle(&down), Ok(()));
        assert_eq!(site.owned([2, 6]), [0, 2]);
    }
}
