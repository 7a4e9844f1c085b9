//! The operations of a cluster as the placement of one keyspace sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use topology::operations::{Operation, OperationId, Phase, Target, placed_by};
use topology::{HostId, ReplicationStrategy, Ring, Token};

/// The operations that a ring is installed with, and the nodes that join by them.
#[derive(Debug, Default)]
pub(crate) struct Transition {
    /// Neither done nor aborted, queued ones too.
    operations: Vec<Rc<Operation>>,
    /// Nodes without tokens that an operation gives some: no strategy counts them before.
    joining: BTreeSet<HostId>,
    /// Those of them whose operations move nothing yet: no strategy counts them at all.
    waiting: BTreeSet<HostId>,
}

/// The change of one keyspace's replicas by an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Course<'t> {
    /// The phase of the operation that moves its ranges; `None`: none does.
    pub(super) phase: Option<Phase>,
    /// The tokens that nodes have afterwards.
    pub(super) tokens: Option<&'t BTreeMap<HostId, Vec<Token>>>,
    /// The strategy by which the keyspace is placed before: that of the schema, unless an operation is to bring it.
    pub(super) before: &'t ReplicationStrategy,
    /// The strategy that the keyspace has afterwards, if it is another.
    pub(super) after: Option<&'t ReplicationStrategy>,
}

impl Transition {
    /// The operations of the cluster's state on its ring. Those that are over place nothing.
    ///
    /// # Panics
    /// If two of them run that touch each other: the cluster's log has no such state.
    pub(crate) fn new(ring: &Ring, operations: impl IntoIterator<Item = Rc<Operation>>) -> Transition {
        let is_over = |operation: &Operation| matches!(operation.phase, Phase::Done | Phase::Aborted);
        let operations = operations.into_iter().filter(|operation| !is_over(operation));
        let operations: Vec<Rc<Operation>> = operations.collect();
        let running: Vec<&Rc<Operation>> = operations.iter().filter(|operation| operation.phase.is_running()).collect();
        for (at, one) in running.iter().enumerate() {
            let touches = |other: &&Rc<Operation>| one.touches(other);
            assert!(!running[at + 1..].iter().any(touches), "operations that touch do not run together");
        }
        let named_by = |is_of_it: fn(&&Rc<Operation>) -> bool| -> BTreeSet<HostId> {
            operations.iter().filter(is_of_it).flat_map(|operation| hosts(&operation.target)).collect()
        };
        let (named, moving) = (named_by(|_| true), named_by(moves));
        let joins = |node: &&topology::Node| node.tokens.is_empty() && named.contains(&node.host_id);
        let joining: BTreeSet<HostId> = ring.nodes().iter().filter(joins).map(|node| node.host_id).collect();
        let waiting = joining.difference(&moving).copied().collect();
        Transition { operations, joining, waiting }
    }

    /// True if the new replicas are read of an operation after which a node has no tokens: it hands on what it keeps for others.
    pub(crate) fn is_leaving(&self, host: HostId) -> bool {
        let leaves = |operation: &&Rc<Operation>| {
            let is_left =
                matches!(&operation.target, Target::Tokens(nodes) if nodes.get(&host).is_some_and(Vec::is_empty));
            operation.phase == Phase::ReadNew && is_left
        };
        self.operations.iter().any(|operation| leaves(&operation))
    }

    /// The nodes that join.
    pub(crate) fn joining(&self) -> &BTreeSet<HostId> {
        &self.joining
    }

    /// The operation that runs and moves replicas of a keyspace.
    pub(super) fn running_of(&self, keyspace: &str) -> Option<Rc<Operation>> {
        let is_of = |operation: &&Rc<Operation>| match &operation.target {
            Target::Tokens(_) => true,
            Target::Replication { keyspace: of, .. } => of == keyspace,
            Target::Copy { .. } => false,
        };
        self.operations.iter().filter(|operation| operation.phase.is_running()).find(is_of).cloned()
    }

    /// The phase of an operation.
    pub(crate) fn phase_of(&self, id: OperationId) -> Option<Phase> {
        self.operations.iter().find(|operation| operation.id == id).map(|operation| operation.phase)
    }

    /// True if an operation of this keyspace alone is queued or runs.
    pub(crate) fn is_of(&self, keyspace: &str) -> bool {
        self.operations.iter().any(|operation| operation.is_of_keyspace(keyspace))
    }

    /// The strategy by which a keyspace is placed that has this one in the schema.
    pub(super) fn placed_by<'t>(
        &'t self,
        keyspace: &str,
        strategy: &'t ReplicationStrategy,
    ) -> &'t ReplicationStrategy {
        placed_by(self.operations.iter().map(Rc::as_ref), keyspace, strategy)
    }

    /// The change of the replicas of a keyspace that has a strategy in the schema; of one without a name, what changes those of all.
    pub(super) fn course<'t>(&'t self, keyspace: Option<&str>, strategy: &'t ReplicationStrategy) -> Course<'t> {
        let before = keyspace.map_or(strategy, |keyspace| self.placed_by(keyspace, strategy));
        for operation in self.operations.iter().filter(|operation| operation.phase.is_running()) {
            let phase = Some(operation.phase);
            match &operation.target {
                Target::Tokens(tokens) => return Course { phase, tokens: Some(tokens), before, after: None },
                Target::Replication { keyspace: of, after, .. } if keyspace == Some(of) => {
                    return Course { phase, tokens: None, before, after: Some(after) };
                }
                Target::Replication { .. } | Target::Copy { .. } => {}
            }
        }
        Course { phase: None, tokens: None, before, after: None }
    }

    /// True if each keyspace has the same replicas by both, each on its ring. A node that waits to join makes no difference.
    pub(crate) fn places_as(&self, ring: &Ring, (other, others): (&Transition, &Ring)) -> bool {
        let (own, at) = (self.moving(), other.moving());
        let is_same = |((id, phase), (other, at)): (&(OperationId, Phase), &(OperationId, Phase))| {
            id == other && phase.places_as(*at)
        };
        let moves_as = own.len() == at.len() && own.iter().zip(&at).all(is_same);
        moves_as && ring.places_as(others, [&self.waiting, &other.waiting])
    }

    /// The operations in whose phase requests go elsewhere than before, by their numbers.
    fn moving(&self) -> Vec<(OperationId, Phase)> {
        let is_copy = |operation: &Operation| matches!(operation.target, Target::Copy { .. });
        let moves = |operation: &&Rc<Operation>| !operation.phase.places_as(Phase::Planned) && !is_copy(operation);
        let moving = self.operations.iter().filter(moves).map(|operation| (operation.id, operation.phase));
        let mut moving: Vec<(OperationId, Phase)> = moving.collect();
        moving.sort_unstable();
        moving
    }
}

/// True if requests go elsewhere in the operation's phase than before it.
fn moves(operation: &&Rc<Operation>) -> bool {
    !operation.phase.places_as(Phase::Planned)
}

/// The nodes whose tokens an operation changes.
fn hosts(target: &Target) -> Vec<HostId> {
    match target {
        Target::Tokens(tokens) => tokens.keys().copied().collect(),
        Target::Replication { .. } | Target::Copy { .. } => Vec::new(),
    }
}
