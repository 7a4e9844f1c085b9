//! Nodes that leave: the operation that takes a node's ranges from it, and those that it ends, or that begin again after it, because they wait for a node that is down.
//!
//! | an operation that may be aborted | a departure of a node that is down | changes |
//! |---|---|---|
//! | removes nodes that are down | a removal by force | one operation removes all of them |
//! | removes nodes that are down, and waits for the node | a removal without force; neither is forced | the same |
//! | waits for the node | any, a replacement too | begins again, after the departure |
//!
//! An operation waits for a node that is to copy for it, and has not, or that is unclean and gains a range; and for one of the replicas that are down, where too few are up to
//! copy from, as of a range with a regressed replica, or to pass a phase. Where the node is dead it waits for good, and its departure would wait for the operation.

use std::collections::BTreeSet;
use std::rc::Rc;

use topology::operations::{Kind, Operation, OperationChange, OperationId, Phase, RangeMove, Target};
use topology::{HostId, NodeIndex};

use super::{OperationError, PlannedChanges, Planning};
use crate::leave::{Departure, Leave};

/// The end of operations, and the operations that are queued instead, in their order.
struct Exchange<'a> {
    planning: &'a Planning<'a>,
    ends: Vec<OperationChange>,
    begins: Vec<OperationChange>,
    next: OperationId,
}

impl<'a> Exchange<'a> {
    fn of(planning: &'a Planning<'a>) -> Exchange<'a> {
        Exchange { planning, ends: Vec::new(), begins: Vec::new(), next: planning.operations.next() }
    }

    fn end(&mut self, operation: &Operation) -> Result<(), OperationError> {
        self.ends.push(OperationChange::Abort(operation.id, self.planning.left_by(operation)?));
        Ok(())
    }

    /// Queues an operation from its beginning.
    fn begin(&mut self, operation: Operation) -> Result<(), OperationError> {
        let queued = Operation { id: self.next, phase: Phase::Queued, copied: BTreeSet::new(), ..operation };
        self.begins.push(Planning::queue(queued)?);
        self.next = OperationId(self.next.0 + 1);
        Ok(())
    }

    fn changes(self) -> Vec<OperationChange> {
        self.ends.into_iter().chain(self.begins).collect()
    }
}

impl Planning<'_> {
    /// The operation that takes a node's ranges from it. `down`: the nodes that are given up as lost, by force.
    pub fn leave(&self, leave: &Leave, down: BTreeSet<HostId>) -> OperationChange {
        OperationChange::Queue(Rc::new(self.departure(leave, down)))
    }

    fn departure(&self, leave: &Leave, down: BTreeSet<HostId>) -> Operation {
        let kind = match leave.departure {
            Departure::Decommission => Kind::Decommission,
            Departure::Removal => Kind::Remove,
        };
        let target = Target::Tokens([(leave.host_id, Vec::new())].into());
        let lost = if leave.is_forced { down } else { BTreeSet::new() };
        Operation { lost, is_forced: leave.is_forced, ..self.queued(kind, target) }
    }

    /// The changes of operations by which a node leaves.
    pub fn leave_together(
        &self,
        leave: &Leave,
        down: BTreeSet<HostId>,
    ) -> Result<Vec<OperationChange>, OperationError> {
        match leave.departure {
            Departure::Decommission => Ok(vec![self.leave(leave, down)]),
            Departure::Removal => {
                let own = self.departure(leave, down.clone());
                self.depart(leave.host_id, own, None, leave.is_forced, &down)
            }
        }
    }

    /// The changes by which the departure of a leaving node, which is down, begins again. By force: without the data of nodes that are down, and together with other
    /// removals. Without: before an operation that waits for the node. `None`: there is no reason to.
    pub fn leave_again(&self, leave: &Leave, down: BTreeSet<HostId>) -> Option<Result<PlannedChanges, OperationError>> {
        let host = leave.host_id;
        let own = self.departure_of(host).filter(|operation| operation.phase.may_abort())?;
        let gives_up = leave.is_forced && !down.is_subset(&own.lost);
        let is_other = |other: &Operation| other.id != own.id && is_removal(other, &down);
        let joins = leave.is_forced && own.kind != Kind::Replace && self.operations.all().any(is_other);
        let is_behind = self.waiting_for(host, &down).iter().any(|other| other.id < own.id);
        if !(gives_up || joins || is_behind) {
            return None;
        }
        let again = Operation {
            kind: if own.kind == Kind::Decommission { Kind::Remove } else { own.kind },
            lost: if leave.is_forced { down.clone() } else { own.lost.clone() },
            is_forced: own.is_forced || leave.is_forced,
            ..own.clone()
        };
        let operations = self.depart(host, again, Some(own), leave.is_forced, &down);
        Some(operations.map(|operations| PlannedChanges { operations, ..PlannedChanges::default() }))
    }

    /// Queues the departure of a node that is down, together with other removals, and before what waits for the node. `instead_of`: its departure so far.
    pub(super) fn depart(
        &self,
        host: HostId,
        mut own: Operation,
        instead_of: Option<&Operation>,
        is_forced: bool,
        down: &BTreeSet<HostId>,
    ) -> Result<Vec<OperationChange>, OperationError> {
        let (mut waiting, is_replacement) = (self.waiting_for(host, down), own.kind == Kind::Replace);
        let waits = |other: &Operation| waiting.iter().any(|operation| operation.id == other.id);
        let goes_together = |other: &&Operation| {
            let is_other = instead_of.is_none_or(|known| known.id != other.id);
            let may = is_forced || (waits(other) && !other.is_forced && !own.is_forced);
            is_other && may && !is_replacement && is_removal(other, down)
        };
        let together: Vec<&Operation> = self.operations.all().filter(goes_together).collect();
        waiting.retain(|operation| together.iter().all(|other| other.id != operation.id));

        let mut exchange = Exchange::of(self);
        if let Some(known) = instead_of {
            exchange.end(known)?;
        }
        for other in together {
            if let (Target::Tokens(nodes), Target::Tokens(others)) = (&mut own.target, &other.target) {
                nodes.extend(others.clone());
            }
            exchange.end(other)?;
        }
        exchange.begin(own)?;
        for operation in &waiting {
            self.begin_behind(operation, &waiting, &mut exchange)?;
        }
        Ok(exchange.changes())
    }

    /// The changes by which operations do not rest on what a node has lost, when it is noted that its disk is older than it was: those in Copy begin again that copy from it
    /// or to it. What it had copied and confirmed may be gone, with writes that it has acknowledged since; and others may have copied what is left. With other numbers
    /// nothing counts that was confirmed before, on the disks too.
    pub fn without_copies_of(&self, host: HostId) -> Result<Vec<OperationChange>, OperationError> {
        let Some(ring) = self.ring() else { return Ok(Vec::new()) };
        let is_host = |node: &NodeIndex| ring.node(*node).host_id == host;
        let rests = |operation: &&Operation| {
            // Where the rules of a strategy are unknown here, nothing was copied by them.
            let moves = self.moves(operation).unwrap_or_default();
            let copies = |moved: &RangeMove| {
                let mut receivers = moved.receivers(&ring).peekable();
                let is_copied = receivers.peek().is_some();
                is_copied && moved.old_replicas().iter().any(is_host)
                    || receivers.any(|node| is_host(&node))
            };
            operation.phase == Phase::Copy && !operation.is_without_copy && moves.iter().any(copies)
        };
        let resting: Vec<&Operation> = self.operations.all().filter(rests).collect();
        let mut exchange = Exchange::of(self);
        for operation in &resting {
            self.begin_behind(operation, &resting, &mut exchange)?;
        }
        Ok(exchange.changes())
    }

    /// Has an operation begin again after the others. Later ones of a keyspace's replication are made one with the first that waits.
    fn begin_behind(
        &self,
        operation: &Operation,
        waiting: &[&Operation],
        exchange: &mut Exchange<'_>,
    ) -> Result<(), OperationError> {
        let Target::Replication { keyspace, before, .. } = &operation.target else {
            exchange.end(operation)?;
            return exchange.begin(operation.clone());
        };
        if waiting.iter().any(|other| other.id < operation.id && other.is_of_keyspace(keyspace)) {
            return Ok(());
        }
        let is_of_it = |other: &&Operation| other.id >= operation.id && other.is_of_keyspace(keyspace);
        let mut last = operation;
        for own in self.operations.all().filter(is_of_it) {
            exchange.end(own)?;
            last = own;
        }
        match &last.target {
            Target::Replication { after, .. } if before != after => {
                exchange.begin(self.replicated(keyspace, before, after))
            }
            _ => Ok(()),
        }
    }

    /// The operations that may be aborted and wait for a node, or are to wait for it: one that they neither give tokens to nor take tokens from.
    fn waiting_for(&self, host: HostId, down: &BTreeSet<HostId>) -> Vec<&Operation> {
        let Some(ring) = self.ring() else { return Vec::new() };
        let is_host = |node: NodeIndex| ring.node(node).host_id == host;
        let is_up = |node: NodeIndex| !down.contains(&ring.node(node).host_id);
        let is_doubted = |node: NodeIndex| self.registry.is_doubted(ring.node(node).host_id);
        let waits = |operation: &&Operation| {
            let lacks = |moved: &RangeMove| {
                let has_sources = |receiver| moved.sources_beside(&ring, receiver, is_up, is_doubted).is_ok();
                !moved.is_one_in_every_quorum(&ring, is_up)
                    || !operation.is_without_copy && !moved.receivers(&ring).all(has_sources)
            };
            let waits = |moved: &RangeMove| {
                let mut replicas = moved.old_replicas().iter().chain(moved.new_replicas()).copied();
                let is_awaited = moved.receivers(&ring).any(is_host) && !operation.copied.contains(&host);
                is_awaited || replicas.any(is_host) && lacks(moved)
            };
            let now = match (&operation.target, operation.phase) {
                (Target::Tokens(nodes), Phase::Queued) => self.on_this_ring(operation, nodes),
                _ => Ok((*operation).clone()),
            };
            // What cannot be planned, or by rules that are unknown here, waits for something else.
            now.and_then(|now| self.moves(&now)).unwrap_or_default().iter().any(waits)
        };
        let may_wait = |operation: &&Operation| operation.phase.may_abort() && !operation.names(host);
        self.operations.all().filter(may_wait).filter(waits).collect()
    }

    /// The change by which the operation of a leaving node, which is down, does not wait for its hints and batches: they are given up. `None`: it waits for none, or not yet.
    pub fn give_up_hints(&self, host: HostId) -> Option<PlannedChanges> {
        let operation = self.departure_of(host)?;
        let waits = operation.phase == Phase::ReadNew && operation.may_confirm(host);
        let given_up = OperationChange::Copied(operation.id, host);
        waits.then(|| PlannedChanges { operations: vec![given_up], ..PlannedChanges::default() })
    }

    /// The operation by which a node leaves.
    fn departure_of(&self, host: HostId) -> Option<&Operation> {
        let is_its = |operation: &&Operation| matches!(&operation.target, Target::Tokens(nodes) if nodes.get(&host).is_some_and(Vec::is_empty));
        self.operations.all().find(is_its)
    }
}

/// True if an operation that may be aborted does no more than remove nodes that are down.
fn is_removal(operation: &Operation, down: &BTreeSet<HostId>) -> bool {
    // One that was asked to leave while it was up may come back, with hints that no other has.
    let is_departure = matches!(operation.kind, Kind::Remove | Kind::Assassinate);
    let Target::Tokens(nodes) = &operation.target else { return false };
    is_departure && operation.phase.may_abort() && nodes.keys().all(|host| down.contains(host))
}
