//! ALTER KEYSPACE and `rebuild` as operations, and the end of those of a keyspace that is dropped.
//!
//! | the keyspace's operations | ALTER | changes |
//! |---|---|---|
//! | none | it has no tables, or no range moves and no other operation is there | none: the schema's change is all |
//! | none | else | one is queued |
//! | the last runs | | one is queued, from what that one brings |
//! | the last is queued | | that is aborted, and one is queued from where it began; none where that is what is asked for |
//!
//! The schema has the new replication at once, and requests use the one from before the first operation ([`topology::operations::placed_by`]).

use std::collections::BTreeSet;
use std::rc::Rc;

use metadata::DecodeError;
use stdx::Reader;
use topology::nodes::NodeState;
use topology::operations::{Kind, Operation, OperationChange, Phase, RangeMove, Target};
use topology::{HostId, ReplicationStrategy};

use crate::operations::{OperationError, PlannedChanges, Planning};

const VERSION: u8 = 1;

/// A request that a node copies its ranges of all keyspaces again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// The node.
    pub host_id: HostId,
    /// The datacenter to copy from; none if any will do.
    pub datacenter: Option<String>,
}

/// Error of a node that does not copy its ranges again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// It does so already.
    #[error("Node is still rebuilding (operation {0}). Check nodetool operations.")]
    UnderWay(u64),
    /// It is no node of the cluster, joins or leaves.
    #[error("only a node that is in normal state can be rebuilt")]
    NotNormal,
    /// No node is of the datacenter.
    #[error("Provided datacenter '{name}' is not a valid datacenter, available datacenters are: {known}")]
    UnknownDatacenter {
        /// The name that was given.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The ranges are not known.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

/// The replication of a keyspace that is altered.
#[derive(Debug, Clone, Copy)]
pub struct Alteration<'a> {
    /// The keyspace.
    pub keyspace: &'a str,
    /// The replication that the schema has.
    pub now: &'a ReplicationStrategy,
    /// The replication that it is to have.
    pub after: &'a ReplicationStrategy,
    /// True if the keyspace has tables.
    pub has_tables: bool,
}

impl Planning<'_> {
    /// The changes of operations by which a keyspace gets another replication. None: it has it as soon as the schema does.
    pub fn alter(&self, altered: &Alteration<'_>) -> Result<Vec<OperationChange>, OperationError> {
        let Alteration { keyspace, now, after, has_tables } = *altered;
        let last = self.operations.all().filter(|operation| operation.is_of_keyspace(keyspace)).last();
        let Some(last) = last else {
            let queued = self.replicated(keyspace, now, after);
            let is_alone = self.operations.all().len() == 0;
            if !has_tables || now == after || (is_alone && self.moves(&queued)?.is_empty()) {
                return Ok(Vec::new());
            }
            return Ok(vec![OperationChange::Queue(Rc::new(queued))]);
        };
        let Target::Replication { before, after: brought, .. } = &last.target else {
            unreachable!("an operation of a keyspace is one of replication")
        };
        if last.phase != Phase::Queued {
            let is_other = brought != after;
            let queued = is_other.then(|| OperationChange::Queue(Rc::new(self.replicated(keyspace, brought, after))));
            return Ok(queued.into_iter().collect());
        }
        Ok(self.replaced(last, before, after))
    }

    /// An operation that is not to be done, and in its place one from `before` to `after`, if these differ.
    pub(crate) fn replaced(
        &self,
        queued: &Operation,
        before: &ReplicationStrategy,
        after: &ReplicationStrategy,
    ) -> Vec<OperationChange> {
        let Target::Replication { keyspace, .. } = &queued.target else {
            unreachable!("an operation of replication is replaced by another one")
        };
        assert_eq!(queued.phase, Phase::Queued, "what runs is not replaced");
        let next = (before != after).then(|| OperationChange::Queue(Rc::new(self.replicated(keyspace, before, after))));
        std::iter::once(OperationChange::Abort(queued.id, BTreeSet::new())).chain(next).collect()
    }

    pub(crate) fn replicated(
        &self,
        keyspace: &str,
        before: &ReplicationStrategy,
        after: &ReplicationStrategy,
    ) -> Operation {
        let (keyspace, before, after) = (keyspace.to_owned(), before.clone(), after.clone());
        self.queued(Kind::Replication, Target::Replication { keyspace, before, after })
    }

    /// The end of all operations of a keyspace that is dropped. Those whose new replicas are read already are done.
    pub fn drop_keyspace(&self, keyspace: &str) -> Vec<OperationChange> {
        let own = self.operations.all().filter(|operation| operation.is_of_keyspace(keyspace));
        let end = |operation: &Operation| {
            // Where the rules of a strategy are unknown here, nothing was copied by them.
            let moves = self.moves(operation).unwrap_or_default();
            match operation.phase.may_abort() {
                true if operation.phase < Phase::WriteBoth => OperationChange::Abort(operation.id, BTreeSet::new()),
                true => OperationChange::Abort(operation.id, self.hosts_of(moves.iter().flat_map(RangeMove::pending))),
                false => OperationChange::Finish(operation.id, self.hosts_of(moves.iter().flat_map(RangeMove::losing))),
            }
        };
        own.map(end).collect()
    }

    /// The changes by which a node copies its ranges again; none if there is nothing to copy.
    pub fn rebuild(&self, rebuild: &Rebuild) -> Result<PlannedChanges, RebuildError> {
        let Rebuild { host_id, datacenter } = rebuild;
        let state = self.registry.node(*host_id).map(|node| node.state);
        if !matches!(state, Some(NodeState::Normal | NodeState::Regressed)) {
            return Err(RebuildError::NotNormal);
        }
        if let Some(under_way) = self.copy_of(*host_id) {
            return Err(RebuildError::UnderWay(under_way.id.0));
        }
        if let Some(name) = datacenter {
            let known: BTreeSet<&str> = self.registry.nodes().map(|(_, node)| node.datacenter.as_str()).collect();
            if !known.contains(name.as_str()) {
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                return Err(RebuildError::UnknownDatacenter { name: name.clone(), known });
            }
        }
        let target = Target::Copy { node: *host_id, datacenter: datacenter.clone() };
        let queued = self.queued(Kind::Rebuild, target);
        if self.operations.all().len() == 0 && self.moves(&queued)?.is_empty() {
            return Ok(PlannedChanges::default());
        }
        let operations = vec![OperationChange::Queue(Rc::new(queued))];
        Ok(PlannedChanges { operations, ..PlannedChanges::default() })
    }

    /// The operation by which a node copies its ranges again.
    fn copy_of(&self, host_id: HostId) -> Option<&Operation> {
        let is_its = |target: &Target| matches!(target, Target::Copy { node, .. } if *node == host_id);
        self.operations.all().find(|operation| is_its(&operation.target))
    }

    /// The end of what a leaving node's own operator has asked for, a copy of its ranges or other tokens, as far as that may be aborted: it might wait for that node for
    /// good.
    pub fn without_own_of(&self, host_id: HostId) -> Vec<OperationChange> {
        let is_own = |operation: &&Operation| match (&operation.target, operation.kind) {
            (Target::Copy { node, .. }, _) => *node == host_id,
            (Target::Tokens(nodes), Kind::Move | Kind::TokenCount) => nodes.contains_key(&host_id),
            (Target::Tokens(_) | Target::Replication { .. }, _) => false,
        };
        let own = self.operations.all().filter(is_own).filter(|operation| operation.phase.may_abort());
        // Where the rules of a strategy are unknown here, nothing was copied by them.
        let end =
            |operation: &Operation| OperationChange::Abort(operation.id, self.left_by(operation).unwrap_or_default());
        own.map(end).collect()
    }
}

impl Rebuild {
    /// The bytes of the request on its way to the leader: `u8 version · 16 host id · datacenter`, which may be empty.
    pub fn to_bytes(&self) -> Vec<u8> {
        let datacenter = self.datacenter.as_deref().unwrap_or_default();
        [&[VERSION][..], &self.host_id.0, datacenter.as_bytes()].concat()
    }

    /// The request that [`Rebuild::to_bytes`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Rebuild, DecodeError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let host_id = HostId(reader.array()?);
        let datacenter = std::str::from_utf8(reader.rest());
        let invalid = |_| DecodeError::Invalid { problem: "the name of a datacenter is not UTF-8".to_owned() };
        let datacenter = datacenter.map_err(invalid)?;
        let datacenter = (!datacenter.is_empty()).then(|| datacenter.to_owned());
        Ok(Rebuild { host_id, datacenter })
    }
}

#[cfg(test)]
mod tests;
