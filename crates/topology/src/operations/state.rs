//! The operations of a cluster as a state of its log.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::change::OperationChange;
use super::codec;
use super::operation::{EndNumber, Operation, OperationId, Target};
use super::phase::Phase;
use crate::ring::HostId;

/// The operations that are queued or run, and the nodes with leftovers. The default has none.
///
/// Immutable: changes make another one. Whatever the changes: an operation passes only from phase to phase as [`Phase::may_become`] says, no two that run touch
/// each other, and no number is given twice. Each is asserted after each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operations {
    all: BTreeMap<OperationId, Rc<Operation>>,
    next: OperationId,
    /// The last end of an operation.
    ended: EndNumber,
    /// With the last end that left them something. Operations beside each other do not end in the order of their numbers, so a node that has cleaned up names an end.
    unclean: BTreeMap<HostId, EndNumber>,
    /// The tenures of nodes that gained ranges and had some before: each is the operation's number, or one more than the last if an earlier operation comes after a later one.
    gained: BTreeMap<HostId, u64>,
}

impl Default for Operations {
    fn default() -> Self {
        Operations {
            all: BTreeMap::new(),
            next: OperationId(1),
            ended: EndNumber(0),
            unclean: BTreeMap::new(),
            gained: BTreeMap::new(),
        }
    }
}

impl Operations {
    /// The operations, in the order in which they were asked for.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Operation> {
        self.all.values().map(Rc::as_ref)
    }

    /// The operations that lock ranges.
    pub fn running(&self) -> impl Iterator<Item = &Operation> {
        self.all().filter(|operation| operation.phase.is_running())
    }

    /// The operation that moves tokens, if one runs: one at most does.
    pub fn moving_tokens(&self) -> Option<&Operation> {
        self.running().find(|operation| matches!(operation.target, Target::Tokens(_)))
    }

    /// An operation by its number, while it is neither done nor aborted.
    pub fn operation(&self, id: OperationId) -> Option<&Operation> {
        self.all.get(&id).map(Rc::as_ref)
    }

    /// The number that the next operation has.
    pub fn next(&self) -> OperationId {
        self.next
    }

    /// The nodes that have leftovers, ascending: they gain no range.
    pub fn unclean(&self) -> impl ExactSizeIterator<Item = HostId> {
        self.unclean.keys().copied()
    }

    /// The last end of an operation that left a node something; `None` if it has no leftovers.
    pub fn unclean_since(&self, node: HostId) -> Option<EndNumber> {
        self.unclean.get(&node).copied()
    }

    /// The tenure that a node is in, as operations count: it rises with each by which the node gains ranges while it has some; 0 if none did.
    pub fn tenure(&self, node: HostId) -> u64 {
        self.gained.get(&node).copied().unwrap_or(0)
    }

    /// True if the node has leftovers.
    pub fn is_unclean(&self, node: HostId) -> bool {
        self.unclean.contains_key(&node)
    }

    /// True if a queued operation may be planned: it touches none that runs, and none that was asked for before it and waits.
    pub fn may_plan(&self, id: OperationId) -> bool {
        let Some(operation) = self.operation(id).filter(|operation| operation.phase == Phase::Queued) else {
            return false;
        };
        let is_before = |other: &&Operation| other.phase.is_running() || other.id < id;
        !self.all().filter(is_before).any(|other| operation.touches(other))
    }

    /// The operations after `changes`, in order. A change that does not fit changes nothing: its planner saw this state, so it would have refused it.
    ///
    /// # Panics
    /// If an invariant is broken: no changes break one.
    #[must_use]
    pub fn apply(&self, changes: impl IntoIterator<Item = OperationChange>) -> Operations {
        let mut next = self.clone();
        for change in changes {
            let before = next.clone();
            next.pass(change);
            next.check(&before);
        }
        next
    }

    fn pass(&mut self, change: OperationChange) {
        match change {
            OperationChange::Queue(operation) => {
                if operation.id == self.next && operation.phase == Phase::Queued && operation.is_whole() {
                    self.next = OperationId(self.next.0 + 1);
                    self.all.insert(operation.id, operation);
                }
            }
            OperationChange::Plan(id, target) => self.plan(id, target),
            OperationChange::Advance(id, phase) => {
                let is_step = |from: Phase| from.is_running() && phase.is_running() && from.may_become(phase);
                if let Some(operation) = self.all.get_mut(&id).filter(|operation| is_step(operation.phase)) {
                    Rc::make_mut(operation).phase = phase;
                }
            }
            OperationChange::Finish(id, unclean) => self.end(id, Phase::Done, unclean),
            OperationChange::Abort(id, unclean) => self.end(id, Phase::Aborted, unclean),
            OperationChange::Cleaned(node, up_to) => {
                if self.unclean.get(&node).is_some_and(|last| *last <= up_to) {
                    self.unclean.remove(&node);
                }
            }
            OperationChange::Copied(id, receiver) => {
                if let Some(operation) = self.all.get_mut(&id).filter(|operation| operation.may_confirm(receiver)) {
                    Rc::make_mut(operation).copied.insert(receiver);
                }
            }
            OperationChange::GiveUp(id, host) => {
                if let Some(operation) = self.all.get_mut(&id).filter(|operation| operation.may_give_up(host)) {
                    let operation = Rc::make_mut(operation);
                    operation.is_forced = true;
                    operation.lost.insert(host);
                }
            }
            OperationChange::Restore(operation) => {
                let is_new = operation.id < self.next && !self.all.contains_key(&operation.id);
                let is_free = !operation.phase.is_running() || !self.running().any(|other| operation.touches(other));
                let is_kept = operation.phase == Phase::Queued || operation.phase.is_running();
                if is_new && is_free && is_kept && operation.is_whole() {
                    self.all.insert(operation.id, operation);
                }
            }
            OperationChange::RestoreEnded(end) => self.ended = self.ended.max(end),
            OperationChange::RestoreNext(next) => self.next = self.next.max(next),
            OperationChange::Gained(id, nodes) => {
                for node in nodes {
                    let tenure = self.gained.get(&node).map_or(id.0, |last| id.0.max(last.saturating_add(1)));
                    self.gained.insert(node, tenure);
                }
            }
            OperationChange::Unclean(node, last) => {
                self.ended = self.ended.max(last);
                self.unclean.insert(node, last);
            }
        }
    }

    fn plan(&mut self, id: OperationId, target: Target) {
        if !self.may_plan(id) {
            return;
        }
        let Some(queued) = self.all.get(&id) else { return };
        let planned = Operation { phase: Phase::Planned, target, ..Operation::clone(queued) };
        // What else is queued or runs was judged by the target that it was queued with.
        let is_same = match (&planned.target, &queued.target) {
            (Target::Tokens(_), Target::Tokens(_)) => true,
            (now, then) => now == then,
        };
        if is_same && planned.is_whole() {
            self.all.insert(id, Rc::new(planned));
        }
    }

    fn end(&mut self, id: OperationId, phase: Phase, unclean: BTreeSet<HostId>) {
        if self.operation(id).is_some_and(|operation| operation.phase.may_become(phase)) {
            match phase {
                Phase::Done => stdx::sometimes!("an operation is done"),
                _ => stdx::sometimes!("an operation is aborted"),
            }
            self.all.remove(&id);
            self.ended = EndNumber(self.ended.0.saturating_add(1));
            self.unclean.extend(unclean.into_iter().map(|node| (node, self.ended)));
        }
    }

    /// Asserts the invariants of one change.
    fn check(&self, before: &Operations) {
        assert!(self.next >= before.next, "numbers of operations rise");
        assert!(self.ended >= before.ended, "numbers of ends rise");
        assert!(self.unclean.values().all(|last| *last <= self.ended), "leftovers are of an end that was");
        assert!(before.gained.keys().all(|node| self.tenure(*node) >= before.tenure(*node)), "tenures rise");
        for (id, operation) in &self.all {
            assert!(operation.id == *id && *id < self.next, "operation {id} has a number that was given");
            assert!(operation.is_whole(), "operation {id} is whole");
            let was = before.operation(*id).map(|known| known.phase);
            let is_step = was.is_none_or(|was| was == operation.phase || was.may_become(operation.phase));
            assert!(is_step, "operation {id} passed from {was:?} to {:?}", operation.phase);
        }
        for gone in before.all().filter(|known| !self.all.contains_key(&known.id)) {
            let may_end = gone.phase.may_become(Phase::Done) || gone.phase.may_become(Phase::Aborted);
            assert!(may_end, "operation {} ended in phase {}", gone.id, gone.phase);
        }
        let running: Vec<&Operation> = self.running().collect();
        for (index, one) in running.iter().enumerate() {
            let other = running[index + 1..].iter().find(|other| one.touches(other));
            assert!(other.is_none(), "operations {} and {:?} touch each other", one.id, other.map(|other| other.id));
        }
    }

    /// The changes that make this state of an empty one: the fewest, in one order.
    pub fn as_changes(&self) -> Vec<OperationChange> {
        let next = (self.next > OperationId(1)).then_some(OperationChange::RestoreNext(self.next));
        let operations = self.all.values().cloned().map(OperationChange::Restore);
        let unclean = self.unclean.iter().map(|(node, last)| OperationChange::Unclean(*node, *last));
        let gained = self.gained.iter().map(|(node, last)| OperationChange::Gained(OperationId(*last), [*node].into()));
        let ended = (self.ended > EndNumber(0)).then_some(OperationChange::RestoreEnded(self.ended));
        next.into_iter().chain(ended).chain(operations).chain(unclean).chain(gained).collect()
    }

    /// The bytes of these changes; `None` if there are none.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        let changes = self.as_changes();
        (!changes.is_empty()).then(|| codec::encode(&changes))
    }
}

#[cfg(test)]
mod tests;
