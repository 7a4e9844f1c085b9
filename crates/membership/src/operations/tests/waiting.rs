//! Conditions of phases, of operations as they are asked for.

use topology::NodeIndex;
use topology::operations::{Confirmed, Waiting, placed_by, waits_for};

use super::*;

/// All nodes but these are up, and have applied each phase.
struct Down<'a>(&'a Ring, &'a [u8]);

impl Confirmed for Down<'_> {
    fn is_up(&self, node: NodeIndex) -> bool {
        let Down(ring, down) = self;
        !down.iter().any(|number| host(*number) == ring.node(node).host_id)
    }

    fn has_applied(&self, node: NodeIndex) -> bool {
        self.is_up(node)
    }
}

impl Site {
    fn waits(&self, id: u64, down: &[u8]) -> Option<Waiting> {
        let operation = self.operations.operation(OperationId(id)).expect("it is there");
        let ring = self.planning().ring().expect("there are nodes");
        let moves = self.planning().moves(operation).expect("the rules are known");
        waits_for(operation, &moves, &ring, &Down(&ring, down))
    }

    /// All nodes have dropped their leftovers.
    fn clean(&mut self) {
        for node in self.operations.unclean().collect::<Vec<_>>() {
            let last = self.operations.unclean_since(node).expect("it is unclean");
            self.request(OperationRequest::Cleaned(node, last)).expect("it may");
        }
    }

    /// The operation is in Planned, and waits there for good: ranges of its old replicas would be on no node.
    fn assert_unplaced(&mut self, id: u64, holder: u8) {
        self.step(id).expect("its turn has come");
        let waiting = self.waits(id, &[]).expect("it would lose data");
        assert!(matches!(&waiting, Waiting::Unplaced { holders, .. } if holders.contains(&host(holder))), "{waiting}");
        let operation = self.operations.operation(OperationId(id)).expect("it is there");
        for setting in &self.settings {
            assert!(self.planning().unplaces(operation, ("ks", setting)));
            let is_of_all = matches!(operation.target, Target::Tokens(_));
            assert_eq!(self.planning().unplaces(operation, ("other", setting)), is_of_all);
        }
    }

    /// A keyspace with a table is altered. The schema has the first replication.
    fn alter(&mut self, now: &ReplicationStrategy, after: &ReplicationStrategy) {
        let altered = Alteration { keyspace: "ks", now, after, has_tables: true };
        let operations = self.planning().alter(&altered).expect("its rules are known");
        self.apply(PlannedChanges { operations, ..PlannedChanges::default() });
        self.settings = [placed_by(self.operations.all(), "ks", after).clone()].into();
    }

    /// Node 4 is to join as the first of another datacenter.
    fn join_elsewhere(&mut self) {
        let joining = Registration { datacenter: "dc2".to_owned(), ..of_many(4, 4) };
        self.apply(self.planning().join(&joining).expect("it may"));
    }
}

/// Replicas in one datacenter: that of nodes 1 to 3, or the other one.
fn of_datacenter(site: &Site, is_elsewhere: bool) -> ReplicationStrategy {
    let here = site.registry.node(host(1)).expect("it is there").datacenter.clone();
    let name = if is_elsewhere { "dc2".to_owned() } else { here };
    ReplicationStrategy::NetworkTopology { datacenters: [(name, 1)].into() }
}

/// The keyspace was to move away from its datacenter when the last node there was asked to leave.
#[test]
fn the_last_node_of_a_datacenter_keeps_what_an_aborted_operation_was_to_take() {
    let mut site = Site::new(2);
    site.join_elsewhere();
    site.run(1);
    site.clean();
    let [here, elsewhere] = [false, true].map(|is_elsewhere| of_datacenter(&site, is_elsewhere));
    site.alter(&elsewhere, &here);
    (0..3).for_each(|_| site.step(2).expect("it goes on"));
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(4), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(4), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    site.request(OperationRequest::Abort(OperationId(2))).expect("it may");
    site.clean();
    site.settings = [elsewhere].into();
    site.assert_unplaced(3, 4);
    site.request(OperationRequest::Abort(OperationId(3))).expect("it may");
    assert_eq!((site.state(4), site.tokens(4)), (Some(NodeState::Normal), 4));
}

/// The keyspace was to move to a datacenter whose first node does not join.
#[test]
fn a_keyspace_stays_where_it_is_if_no_node_of_its_new_datacenter_joins() {
    let mut site = Site::new(2);
    site.join_elsewhere();
    let [here, elsewhere] = [false, true].map(|is_elsewhere| of_datacenter(&site, is_elsewhere));
    site.alter(&here, &elsewhere);
    site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
    site.assert_unplaced(2, 1);
    site.request(OperationRequest::Abort(OperationId(2))).expect("it may");
}

/// A keyspace of one replica gets its first table while the others have been copied: the dead node's ranges are its own alone.
#[test]
fn a_removal_waits_in_copy_for_the_replicas_of_a_later_table() {
    let mut site = Site::new(3);
    let removal = |is_forced| Leave { host_id: host(1), departure: Departure::Removal, is_forced };
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
        operations: vec![site.planning().leave(&removal(false), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    for receiver in [2, 3] {
        site.request(OperationRequest::Copied(OperationId(1), host(receiver))).expect("it may");
    }
    assert_eq!(site.waits(1, &[1]), None);
    site.settings.insert(ReplicationStrategy::Simple { replication_factor: 1 });
    let waiting = site.waits(1, &[1]).expect("the only replica is down");
    assert!(matches!(&waiting, Waiting::Up { down, .. } if *down == [host(1)]), "{waiting}");
    let again = site.planning().leave_again(&removal(true), [host(1)].into());
    site.apply(again.expect("it may be aborted").expect("it begins again"));
    site.clean();
    for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy] {
        site.step(2).expect("it goes on");
        assert_eq!(site.phase(2), Some(phase));
    }
    for receiver in [2, 3] {
        site.request(OperationRequest::Copied(OperationId(2), host(receiver))).expect("it may");
    }
    assert_eq!(site.waits(2, &[1]), None, "what is on the dead node alone is given up");
    site.step(2).expect("it goes on");
    assert_eq!(site.waits(2, &[1]), None);
}

/// An only new replica dies when it is read already.
#[test]
fn an_operation_ends_without_the_node_that_is_given_up_when_its_new_replicas_are_read() {
    let mut site = Site::new(1);
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    for _ in 0..4 {
        assert_eq!(give_up(&site.planning(), host(2)), [], "it may be aborted");
        site.step(1).expect("it goes on");
    }
    site.request(OperationRequest::Copied(OperationId(1), host(1))).expect("it may");
    let receiver = {
        let moves = site.planning().moves(site.operations.operation(OperationId(1)).expect("it runs"));
        let pending = site.planning().hosts_of(moves.expect("its rules are known").iter().flat_map(RangeMove::pending));
        *pending.first().expect("it gains ranges")
    };
    let number = receiver.0[0];
    let waiting = site.waits(1, &[number]).expect("no other has the range");
    assert!(waiting.to_string().contains("is given up by: nodetool removenode --force"), "{waiting}");
    assert_eq!(give_up(&site.planning(), host(4)), [], "it has no part in it");
    let given_up = give_up(&site.planning(), receiver);
    assert_eq!(given_up, [OperationChange::GiveUp(OperationId(1), receiver)]);
    site.operations = site.operations.apply(given_up);
    assert_eq!((give_up(&site.planning(), receiver), site.waits(1, &[number])), (Vec::new(), None));
    site.run(1);
    assert_eq!(site.tokens(1), 0);
}

/// Cassandra takes that factor.
#[test]
fn a_keyspace_of_no_replicas_keeps_its_data() {
    let mut site = Site::new(3);
    let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
    site.alter(&simple(3), &simple(0));
    site.assert_unplaced(1, 1);
    site.alter(&simple(0), &simple(2));
    assert_eq!(site.phase(2), Some(Phase::Queued));
    site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
    let begins_again = site.operations.all().next().map(|operation| operation.target.clone());
    let target = Target::Replication { keyspace: "ks".to_owned(), before: simple(3), after: simple(2) };
    assert_eq!(begins_again, Some(target));
}

/// An operator has given its data up.
#[test]
fn what_only_a_removed_node_had_holds_nothing_back() {
    let mut site = Site::new(2);
    site.join_elsewhere();
    site.run(1);
    site.clean();
    site.settings = [of_datacenter(&site, true)].into();
    let removal = Leave { host_id: host(4), departure: Departure::Removal, is_forced: true };
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(4), NodeState::Leaving)],
        operations: vec![site.planning().leave(&removal, [host(4)].into())],
        ..PlannedChanges::default()
    });
    while site.phase(2).is_some() {
        site.step(2).expect("it goes on");
        assert!(site.phase(2).is_none() || site.waits(2, &[4]).is_none(), "{:?}", site.waits(2, &[4]));
    }
}
