//! The operations as this node knows them, and its work for them; it sends nothing. See `operations.rs`.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use metadata::group::Index;
use topology::operations::{Operation, OperationId, Operations, Phase, RangeMove, Target};
use topology::{HostId, Ring};

use super::tries::Tries;

/// This node's part in operations.
#[derive(Default)]
pub(super) struct Driving {
    /// The operations, as all shards have applied them.
    known: RefCell<Operations>,
    /// As the leader: a request is under way.
    pub(super) is_asking: Cell<bool>,
    /// As the leader: the operations that were seen in a phase, and the epoch of the state then. Nodes that have applied that epoch have applied the phase.
    pub(super) seen: RefCell<BTreeMap<OperationId, Seen>>,
    /// As the leader: why an operation does not go on, as it was said last.
    pub(super) waits: RefCell<BTreeMap<OperationId, String>>,
    /// As the leader: queued operations that were refused since all were asked for.
    pub(super) refused: RefCell<BTreeSet<OperationId>>,
    /// As a receiver: a copy is made.
    pub(super) is_receiving: Cell<bool>,
    /// As a receiver: the copies that were begun.
    pub(super) tries: RefCell<Tries>,
    /// Operations in Copy for which this node has nothing to copy, and the version of the schema by which it has not: to find that out takes some time. A table may be the
    /// first one of another replication.
    pub(super) nothing_to_copy: RefCell<BTreeMap<OperationId, [u8; 16]>>,
    /// This node leaves, and hands on its hints and batches.
    pub(super) is_handing_on: Cell<bool>,
    /// Leftovers are dropped.
    pub(super) is_cleaning: Cell<bool>,
    /// The last operation by which each node copies its ranges again.
    copies: RefCell<BTreeMap<HostId, (OperationId, CopyEnd)>>,
}

/// The state of a node's copy of its own ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyEnd {
    /// It is queued or runs.
    Runs,
    /// All is copied.
    Done,
    /// It was aborted before that.
    Aborted,
}

/// The ring of an operation, and the ranges that it moves.
pub(super) type Moves = (Ring, Vec<RangeMove>);

/// An operation in a phase, as the leader has seen it.
pub(super) struct Seen {
    pub(super) phase: Phase,
    pub(super) epoch: Index,
    /// The ring and the moves, with the epoch of the state that they were worked out of.
    pub(super) moves: Option<(Index, Rc<Moves>)>,
}

impl Driving {
    /// The operations, as all shards have applied them.
    pub(super) fn known(&self) -> Ref<'_, Operations> {
        self.known.borrow()
    }

    /// The operations are these from now on.
    pub(super) fn note(&self, next: &Operations) {
        let before = self.known.replace(next.clone());
        self.nothing_to_copy.borrow_mut().retain(|id, _| next.operation(*id).is_some());
        self.tries.borrow_mut().retain(|id| next.operation(id).is_some());
        for operation in next.all() {
            let was = before.operation(operation.id);
            let given_up = given_up(was, operation);
            if !given_up.is_empty() {
                let lost = listed(&given_up);
                tracing::warn!(operation = operation.id.0, %lost, "operation by force: data that only these nodes have may be lost");
            }
            if was.map(|was| was.phase) != Some(operation.phase) {
                tracing::info!(operation = operation.id.0, kind = %operation.kind, phase = %operation.phase, "operation");
            }
        }
        for gone in before.all().filter(|was| next.operation(was.id).is_none()) {
            let (operation, kind) = (gone.id.0, gone.kind);
            match (gone.phase.may_abort(), successor(gone, next)) {
                (true, Some(by)) => tracing::info!(operation, %kind, by = by.0, "operation superseded"),
                (true, None) => tracing::info!(operation, %kind, "operation aborted"),
                (false, _) => tracing::info!(operation, %kind, "operation done"),
            }
        }
        self.note_copies(&before, next);
    }

    fn note_copies(&self, before: &Operations, next: &Operations) {
        let mut copies = self.copies.borrow_mut();
        for operation in before.all().chain(next.all()) {
            let Target::Copy { node, .. } = &operation.target else { continue };
            let end = match next.operation(operation.id) {
                Some(_) => CopyEnd::Runs,
                // Where a state was taken over as a whole, the phases since are not known here; its own confirmation is.
                None if !operation.phase.may_abort() || operation.copied.contains(node) => CopyEnd::Done,
                None => CopyEnd::Aborted,
            };
            copies.insert(*node, (operation.id, end));
        }
    }

    /// The last operation by which a node copies its ranges again, and its state.
    pub(super) fn copy_of(&self, host_id: HostId) -> Option<(OperationId, CopyEnd)> {
        self.copies.borrow().get(&host_id).copied()
    }

    /// True if an operation is in this phase.
    pub(super) fn is_in(&self, id: OperationId, phase: Phase) -> bool {
        self.known().operation(id).is_some_and(|operation| operation.phase == phase)
    }

    /// True if a receiver has confirmed its copy.
    pub(super) fn has_copied(&self, id: OperationId, host: HostId) -> bool {
        self.known().operation(id).is_some_and(|operation| operation.copied.contains(&host))
    }

    /// True if an operation waits, at its end, for a leaving node to hand on its hints and batches.
    pub(super) fn awaits_hints_of(&self, host_id: HostId) -> bool {
        let awaits = |operation: &Operation| {
            let is_its = operation.hands_on().any(|leaving| leaving == host_id);
            is_its && operation.phase == Phase::ReadNew && operation.may_confirm(host_id)
        };
        self.known().running().any(awaits)
    }

    /// True if an operation changes the tokens of a node.
    pub(super) fn moves_tokens_of(&self, host_id: HostId) -> bool {
        let is_of = |target: &Target| matches!(target, Target::Tokens(nodes) if nodes.contains_key(&host_id));
        self.known().all().any(|operation| is_of(&operation.target))
    }
}

/// The nodes that are given up as lost since the operation was so: when it was asked for, or in ReadNew.
fn given_up(was: Option<&Operation>, operation: &Operation) -> BTreeSet<HostId> {
    let is_new = |host: &&HostId| was.is_none_or(|was| !was.lost.contains(*host));
    operation.lost.iter().filter(is_new).copied().collect()
}

fn listed(hosts: &BTreeSet<HostId>) -> String {
    hosts.iter().map(HostId::to_string).collect::<Vec<_>>().join(", ")
}

/// The operation that does the work of one that was aborted: joins that are made one, a replacement that begins again.
fn successor(aborted: &Operation, operations: &Operations) -> Option<OperationId> {
    let Target::Tokens(nodes) = &aborted.target else { return None };
    let has_all = |other: &&Operation| {
        let Target::Tokens(others) = &other.target else { return false };
        other.kind == aborted.kind && nodes.keys().all(|host_id| others.contains_key(host_id))
    };
    operations.all().find(has_all).map(|other| other.id)
}

#[cfg(test)]
mod tests {
    use topology::operations::{Kind, OperationChange};

    use super::*;

    #[test]
    fn joins_that_are_made_one_go_on_as_that_one() {
        let join = |number: u64, hosts: &[u8]| {
            Rc::new(Operation {
                id: OperationId(number),
                kind: Kind::Bootstrap,
                phase: Phase::Queued,
                target: Target::Tokens(hosts.iter().map(|host| (HostId([*host; 16]), Vec::new())).collect()),
                lost: BTreeSet::new(),
                copied: BTreeSet::new(),
                has_given_tokens: false,
                is_without_copy: false,
                is_forced: false,
            })
        };
        let [first, second] = [join(1, &[1]), join(2, &[2])];
        let queued = Operations::default().apply([OperationChange::Queue(Rc::clone(&first))]);
        assert_eq!(successor(&second, &queued), None);
        let of_both = Operations::default().apply([OperationChange::Queue(join(1, &[1, 2]))]);
        assert_eq!(successor(&second, &of_both), Some(OperationId(1)));
    }

    #[test]
    fn what_is_given_up_is_told_once_also_when_that_is_later() {
        let [first, second] = [HostId([1; 16]), HostId([2; 16])];
        let forced = Operation {
            id: OperationId(1),
            kind: Kind::Remove,
            phase: Phase::Queued,
            target: Target::Tokens([(first, Vec::new())].into()),
            lost: [first].into(),
            copied: BTreeSet::new(),
            has_given_tokens: false,
            is_without_copy: false,
            is_forced: true,
        };
        assert_eq!(given_up(None, &forced), [first].into());
        assert!(given_up(Some(&forced), &forced).is_empty());
        let target = forced.target.clone();
        let mut operations = Operations::default().apply([OperationChange::Queue(Rc::new(forced))]);
        operations = operations.apply([OperationChange::Plan(OperationId(1), target)]);
        for phase in [Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            operations = operations.apply([OperationChange::Advance(OperationId(1), phase)]);
        }
        let later = operations.apply([OperationChange::GiveUp(OperationId(1), second)]);
        let [was, now] = [&operations, &later].map(|of| of.operation(OperationId(1)).expect("it runs"));
        assert_eq!(given_up(Some(was), now), [second].into());
    }

    /// A removal of it that was asked for before asks again then.
    #[test]
    fn the_hints_of_a_leaving_node_are_awaited_in_read_new_until_they_are_handed_on() {
        let [leaves, other] = [HostId([1; 16]), HostId([2; 16])];
        let target = Target::Tokens([(leaves, Vec::new())].into());
        for (kind, is_awaited) in [(Kind::Decommission, true), (Kind::Remove, false)] {
            let queued = Operation {
                id: OperationId(1),
                kind,
                phase: Phase::Queued,
                target: target.clone(),
                lost: BTreeSet::new(),
                copied: BTreeSet::new(),
                has_given_tokens: false,
                is_without_copy: false,
                is_forced: false,
            };
            let driving = Driving::default();
            let mut operations = Operations::default();
            let steps = [
                OperationChange::Queue(Rc::new(queued)),
                OperationChange::Plan(OperationId(1), target.clone()),
                OperationChange::Advance(OperationId(1), Phase::WriteBoth),
                OperationChange::Advance(OperationId(1), Phase::Copy),
            ];
            for step in steps {
                operations = operations.apply([step]);
                driving.note(&operations);
                assert!(!driving.awaits_hints_of(leaves), "it may be aborted");
            }
            operations = operations.apply([OperationChange::Advance(OperationId(1), Phase::ReadNew)]);
            driving.note(&operations);
            assert_eq!([leaves, other].map(|of| driving.awaits_hints_of(of)), [is_awaited, false], "{kind}");
            driving.note(&operations.apply([OperationChange::Copied(OperationId(1), leaves)]));
            assert!(!driving.awaits_hints_of(leaves));
        }
    }

    #[test]
    fn the_end_of_a_nodes_copy_is_known() {
        let (driving, node) = (Driving::default(), HostId([1; 16]));
        let queue = |operations: &Operations| {
            let operation = Operation {
                id: operations.next(),
                kind: Kind::Rebuild,
                phase: Phase::Queued,
                target: Target::Copy { node, datacenter: None },
                lost: BTreeSet::new(),
                copied: BTreeSet::new(),
                has_given_tokens: false,
                is_without_copy: false,
                is_forced: false,
            };
            operations.apply([OperationChange::Queue(Rc::new(operation))])
        };
        assert_eq!(driving.copy_of(node), None);
        let mut operations = queue(&Operations::default());
        driving.note(&operations);
        assert_eq!(driving.copy_of(node), Some((OperationId(1), CopyEnd::Runs)));
        operations = operations.apply([OperationChange::Abort(OperationId(1), BTreeSet::new())]);
        driving.note(&operations);
        assert_eq!(driving.copy_of(node), Some((OperationId(1), CopyEnd::Aborted)));
        operations = queue(&operations);
        for step in [
            OperationChange::Plan(OperationId(2), Target::Copy { node, datacenter: None }),
            OperationChange::Advance(OperationId(2), Phase::WriteBoth),
            OperationChange::Advance(OperationId(2), Phase::Copy),
            OperationChange::Copied(OperationId(2), node),
        ] {
            operations = operations.apply([step]);
            driving.note(&operations);
            assert_eq!(driving.copy_of(node), Some((OperationId(2), CopyEnd::Runs)));
        }
        // A state as a whole, some phases later.
        driving.note(&Operations::default());
        assert_eq!(driving.copy_of(node), Some((OperationId(2), CopyEnd::Done)));
    }
}
