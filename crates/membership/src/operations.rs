//! Requests that begin an operation, take it a step further, or end it, as changes of the registry and of the operations.
//!
//! Pure functions, as [`crate::plan()`] is: of the state that the changes will be applied to, of the replication settings in use, and of which nodes are up. When a
//! phase may pass is its leader's to find out ([`topology::operations::waits_for`]); here a step is refused only if it is none.

mod choice;
mod giving_up;
mod joining;
mod leaving;
mod moving;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use metadata::DecodeError;
use planted::{Bug, Planted};
use stdx::{Reader, varint};
use topology::nodes::{NodeChange, NodeState, Registry, TOKENS_MAX};
use topology::operations::{
    EndNumber, Kind, Operation, OperationChange, OperationId, Operations, Phase, RangeMove, Target,
};
use topology::{Epoch, HostId, ReplicationStrategy, Ring, Strategies, Token};

use self::choice::Tokens;
pub use self::giving_up::give_up;
use self::moving::Moving;
use crate::replace::ReplaceError;

const VERSION: u8 = 1;
const STEP: u8 = 1;
const COPIED: u8 = 2;
const CLEANED: u8 = 3;
const ABORT: u8 = 4;
const MOVE: u8 = 5;
const TOKEN_COUNT: u8 = 6;

/// A request about an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationRequest {
    /// The condition for what follows this phase is met. Asked for by the leader alone.
    Step(OperationId, Phase),
    /// A receiver has copied, durably, all that it is to copy; or a node that leaves has handed on its hints and batches.
    Copied(OperationId, HostId),
    /// A node has no leftovers of operations that ended up to this end any more.
    Cleaned(HostId, EndNumber),
    /// An operator has it aborted.
    Abort(OperationId),
    /// An operator has a node exchange its only token for another.
    Move(HostId, Token),
    /// A node is to have another number of tokens.
    TokenCount(HostId, u32),
}

/// The state that an operation is planned on.
#[derive(Clone, Copy)]
pub struct Planning<'a> {
    /// The nodes.
    pub registry: &'a Registry,
    /// The operations.
    pub operations: &'a Operations,
    /// The replication by which keyspaces that have tables are placed.
    pub settings: &'a BTreeSet<ReplicationStrategy>,
    /// The rules of the settings.
    pub strategies: &'a Strategies,
    /// The bug that was planted on purpose.
    pub planted: Planted,
}

/// The changes of one entry. All may be empty: all is so already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedChanges {
    /// Of the registry.
    pub nodes: Vec<NodeChange>,
    /// Of the operations.
    pub operations: Vec<OperationChange>,
    /// The keyspace that has another replication in the schema from then on: that from before an operation which is aborted.
    pub replication: Option<(String, ReplicationStrategy)>,
}

/// Error of a request that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// It runs so far that its new replicas may have been read.
    #[error("operation {0} cannot be aborted any more: its new replicas are read")]
    TooFar(OperationId),
    /// There is none of the number.
    #[error("there is no operation {0}: it has ended, or never was")]
    Unknown(OperationId),
    /// A node that would gain a range has data of ranges that it lost before.
    #[error(
        "node {0} has data of ranges that it does not own; it gains none before that data is removed (nodetool cleanup)"
    )]
    Unclean(HostId),
    /// A joining node's tokens are taken.
    #[error("Bootstrapping to existing token {token} is not allowed (decommission/removenode the old node first).")]
    TokenTaken {
        /// The token.
        token: Token,
    },
    /// A token is another node's.
    #[error("target token {token} is already owned by another node.")]
    TargetTaken {
        /// The token.
        token: Token,
    },
    /// A node that moves has one token.
    #[error("Invalid request to move(Token); This node has more than one token and cannot be moved thusly.")]
    ManyTokens,
    /// The node is none of the ring, or joins or leaves.
    #[error("node {0} is not in state NORMAL; it keeps its tokens")]
    NotNormal(HostId),
    /// An operation changes its tokens already.
    #[error("operation {operation} changes the tokens of node {node} already")]
    MovesAlready {
        /// The node.
        node: HostId,
        /// The operation.
        operation: OperationId,
    },
    /// A node is removed while an operation changes its tokens or copies its ranges: its ring would lack the node.
    #[error("operation {operation} is of node {node}, which is removed when it has ended")]
    Removed {
        /// The node.
        node: HostId,
        /// The operation.
        operation: OperationId,
    },
    /// Its tokens are not ascending, or two nodes' tokens are the same.
    #[error("an operation of kind {0} cannot have these tokens; nothing is changed")]
    NotWhole(Kind),
    /// A node has a token at least, and not too many.
    #[error("a node has 1 to {TOKENS_MAX} tokens, and not {0}")]
    Count(u32),
    /// The node whose place a joining one takes cannot be replaced by it.
    #[error(transparent)]
    NotReplaced(#[from] ReplaceError),
    /// The leader does not know the rules of a keyspace's replication.
    #[error("the ranges that move are not known: {0}")]
    Rules(String),
}

impl Planning<'_> {
    /// The ring of all nodes, joining ones without tokens. `None`: there is no node.
    fn ring(&self) -> Option<Ring> {
        let (first, _) = self.registry.nodes().next()?;
        let (nodes, local) = self.registry.nodes_of_ring(first)?;
        Some(Ring::new(Epoch::FIRST, nodes, local))
    }

    /// The ranges that an operation moves, of all settings.
    pub fn moves(&self, operation: &Operation) -> Result<Vec<RangeMove>, OperationError> {
        let Some(ring) = self.ring() else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        // One of replication is of its own keyspace, whichever others there are.
        let own = match &operation.target {
            Target::Replication { before, .. } => Some(before),
            Target::Tokens(_) | Target::Copy { .. } => None,
        };
        let settings = self.settings.iter().filter(|_| own.is_none());
        for setting in own.into_iter().chain(settings) {
            let moves = operation.moves(&ring, setting, self.strategies);
            all.extend(moves.map_err(|error| OperationError::Rules(error.to_string()))?);
        }
        Ok(all)
    }

    /// True if some range of a keyspace that is placed by a strategy has replicas, and none after an operation.
    pub fn unplaces(&self, operation: &Operation, (keyspace, strategy): (&str, &ReplicationStrategy)) -> bool {
        let is_other = matches!(operation.target, Target::Replication { .. }) && !operation.is_of_keyspace(keyspace);
        let ring = self.ring().filter(|_| !is_other);
        let moves = ring.and_then(|ring| operation.moves(&ring, strategy, self.strategies).ok()).unwrap_or_default();
        moves.iter().any(|moved| moved.new_replicas().is_empty() && !moved.old_replicas().is_empty())
    }

    /// The operation that changes a node's tokens.
    fn operation_of(&self, host: HostId) -> Option<&Operation> {
        let is_its =
            |operation: &&Operation| matches!(&operation.target, Target::Tokens(nodes) if nodes.contains_key(&host));
        self.operations.all().find(is_its)
    }

    /// The change that queues an operation. Refused are parts that do not fit each other: the operations would not take it, and the rest of the entry would stand without it.
    fn queue(operation: Operation) -> Result<OperationChange, OperationError> {
        match operation.is_whole() {
            true => Ok(OperationChange::Queue(Rc::new(operation))),
            false => Err(OperationError::NotWhole(operation.kind)),
        }
    }

    pub(crate) fn queued(&self, kind: Kind, target: Target) -> Operation {
        let (id, phase) = (self.operations.next(), Phase::Queued);
        let (lost, copied) = (BTreeSet::new(), BTreeSet::new());
        let (has_given_tokens, is_without_copy, is_forced) = (false, false, false);
        Operation { id, kind, phase, target, lost, copied, has_given_tokens, is_without_copy, is_forced }
    }

    /// The changes of a request; none if all is so already, as when it is sent again.
    pub fn plan(&self, request: &OperationRequest) -> Result<PlannedChanges, OperationError> {
        let change = |change| PlannedChanges { operations: vec![change], ..PlannedChanges::default() };
        match *request {
            OperationRequest::Step(id, from) => {
                let is_in = |operation: &&Operation| operation.phase == from || self.planted.is(Bug::LeadForgetsPhase);
                let operation = self.operations.operation(id).filter(is_in);
                operation.map_or_else(|| Ok(PlannedChanges::default()), |operation| self.step(operation))
            }
            OperationRequest::Copied(id, receiver) => {
                let operation = self.operations.operation(id).filter(|operation| operation.may_confirm(receiver));
                Ok(operation.map(|_| change(OperationChange::Copied(id, receiver))).unwrap_or_default())
            }
            OperationRequest::Cleaned(node, up_to) => {
                let last = self.operations.unclean_since(node);
                let is_all = |last: &EndNumber| *last <= up_to || self.planted.is(Bug::CleanedOfLaterLeftovers);
                let cleaned = last.filter(is_all).map(|last| change(OperationChange::Cleaned(node, last)));
                Ok(cleaned.unwrap_or_default())
            }
            OperationRequest::Abort(id) => {
                self.abort(self.operations.operation(id).ok_or(OperationError::Unknown(id))?)
            }
            OperationRequest::Move(host, token) => Moving(self).exchange(host, token),
            OperationRequest::TokenCount(host, count) => Moving(self).change_count(host, count),
        }
    }

    fn step(&self, operation: &Operation) -> Result<PlannedChanges, OperationError> {
        let id = operation.id;
        let advance = |phase| PlannedChanges {
            operations: vec![OperationChange::Advance(id, phase)],
            ..PlannedChanges::default()
        };
        match operation.phase {
            Phase::Queued => self.plan_queued(operation),
            Phase::Planned => Ok(advance(Phase::WriteBoth)),
            Phase::WriteBoth => Ok(advance(Phase::Copy)),
            Phase::Copy => self.read_new(operation),
            Phase::ReadNew => self.finish(operation),
            Phase::Done | Phase::Aborted => unreachable!("an operation that has ended is in no state"),
        }
    }

    /// The new replicas are read from now on. Those that had ranges before count under another id: of ranges that they had once and gain again, others may have a later
    /// part of theirs than they have copied.
    fn read_new(&self, operation: &Operation) -> Result<PlannedChanges, OperationError> {
        let moves = self.moves(operation)?;
        let mut gaining = self.hosts_of(moves.iter().flat_map(RangeMove::pending));
        gaining.retain(|host| self.registry.node(*host).is_some_and(|node| node.state != NodeState::Joining));
        let gained = (!gaining.is_empty()).then_some(OperationChange::Gained(operation.id, gaining));
        let advance = OperationChange::Advance(operation.id, Phase::ReadNew);
        let operations = gained.into_iter().chain([advance]).collect();
        let nodes = self.renewed(operation).into_iter().map(NodeChange::Renewed).collect();
        Ok(PlannedChanges { nodes, operations, ..PlannedChanges::default() })
    }

    /// The nodes in doubt that have copied all that they own: those that copy their ranges again from one in every quorum, and those that join. Each that had copied before
    /// it was in doubt copies again.
    fn renewed(&self, operation: &Operation) -> Vec<HostId> {
        let joins = |host: &HostId| self.registry.node(*host).is_some_and(|node| node.state == NodeState::Joining);
        let mut all: Vec<HostId> = match &operation.target {
            Target::Copy { node, datacenter: None } => vec![*node],
            Target::Tokens(nodes) if !operation.is_without_copy => nodes.keys().copied().filter(joins).collect(),
            Target::Copy { .. } | Target::Tokens(_) | Target::Replication { .. } => Vec::new(),
        };
        all.retain(|host| self.registry.is_doubted(*host));
        all
    }

    /// Fixes the tokens. Refused while a node that gains a range is unclean.
    fn plan_queued(&self, operation: &Operation) -> Result<PlannedChanges, OperationError> {
        if !self.operations.may_plan(operation.id) {
            return Ok(PlannedChanges::default());
        }
        let (together, mut operations) = self.together(operation);
        let planned = self.on_this_ring(operation, &together)?;
        let ring = self.ring();
        let of = |node| ring.as_ref().map(|ring| ring.node(node).host_id);
        let is_unclean = |node: &HostId| self.operations.is_unclean(*node) && !self.planted.is(Bug::LeftoversComeBack);
        for moved in self.moves(&planned)? {
            if let Some(node) = moved.pending().filter_map(of).find(is_unclean) {
                return Err(OperationError::Unclean(node));
            }
        }
        operations.push(OperationChange::Plan(operation.id, planned.target));
        Ok(PlannedChanges { operations, ..PlannedChanges::default() })
    }

    /// A queued operation as it is planned on the ring that is there now, of these nodes if it is of tokens: the tokens that it was queued with may be another node's.
    fn on_this_ring(
        &self,
        operation: &Operation,
        together: &BTreeMap<HostId, Vec<Token>>,
    ) -> Result<Operation, OperationError> {
        let Target::Tokens(_) = &operation.target else { return Ok(operation.clone()) };
        let nodes = Tokens(self).chosen_again(operation, together);
        let mut all = nodes.iter().flat_map(|(host, tokens)| tokens.iter().map(move |token| (*token, *host)));
        let is_taken = |(token, host): &(Token, HostId)| {
            let owner = self.registry.owner(*token);
            owner.is_some_and(|owner| owner != *host && !nodes.contains_key(&owner))
        };
        if let Some((token, _)) = all.find(is_taken).filter(|_| !self.planted.is(Bug::TokenGivenTwice)) {
            return Err(OperationError::TokenTaken { token });
        }
        Ok(Operation { target: Target::Tokens(nodes), ..operation.clone() })
    }

    /// The nodes get their tokens, and those that lose ranges and stay are unclean. One that leaves takes its leftovers along.
    fn finish(&self, operation: &Operation) -> Result<PlannedChanges, OperationError> {
        let moves = self.moves(operation)?;
        let losing = moves.iter().flat_map(RangeMove::losing);
        let mut unclean = self.hosts_of(losing);
        let mut nodes = Vec::new();
        if let Target::Tokens(target) = &operation.target {
            unclean.retain(|node| target.get(node).is_none_or(|tokens| !tokens.is_empty()));
            // Another node may take the tokens that one releases.
            let (leaving, others): (Vec<_>, Vec<_>) = target.iter().partition(|(_, tokens)| tokens.is_empty());
            let set = |(host, tokens): (&HostId, &Vec<Token>)| NodeChange::SetTokens(*host, tokens.clone());
            nodes.extend(leaving.into_iter().chain(others).map(set));
            let is_joining =
                |host: &&HostId| self.registry.node(**host).is_some_and(|of| of.state == NodeState::Joining);
            nodes.extend(target.keys().filter(is_joining).map(|host| NodeChange::SetState(*host, NodeState::Normal)));
        }
        if operation.kind == Kind::Replication {
            stdx::sometimes!("an operation of replication is done");
        }
        let mut operations = vec![OperationChange::Finish(operation.id, unclean)];
        if let Target::Tokens(target) = &operation.target {
            let leaving = target.iter().filter(|(_, tokens)| tokens.is_empty());
            operations.extend(leaving.filter_map(|(host, _)| self.forgotten(*host)));
        }
        Ok(PlannedChanges { nodes, operations, ..PlannedChanges::default() })
    }

    /// The change by which a node that leaves the cluster is not unclean any more; `None` if it is not.
    pub fn forgotten(&self, host: HostId) -> Option<OperationChange> {
        self.operations.unclean_since(host).map(|last| OperationChange::Cleaned(host, last))
    }

    /// Joining nodes are removed, leaving ones stay, and pending replicas that stay are unclean. A keyspace has its replication from before in the schema too, unless
    /// another one is queued for it, which begins there then.
    fn abort(&self, operation: &Operation) -> Result<PlannedChanges, OperationError> {
        if !operation.phase.may_abort() {
            return Err(OperationError::TooFar(operation.id));
        }
        let mut unclean = self.left_by(operation)?;
        let mut nodes = Vec::new();
        if let Target::Tokens(target) = &operation.target {
            for (host, tokens) in target {
                match self.registry.node(*host).map(|node| node.state) {
                    Some(NodeState::Joining) => {
                        unclean.remove(host);
                        nodes.push(NodeChange::Remove(*host));
                    }
                    // It leaves by this operation, not by another one.
                    Some(NodeState::Leaving) if tokens.is_empty() => {
                        nodes.push(NodeChange::SetState(*host, NodeState::Normal));
                    }
                    Some(NodeState::Leaving | NodeState::Normal | NodeState::Regressed) | None => {}
                }
            }
        }
        let mut operations = vec![OperationChange::Abort(operation.id, unclean)];
        let removed = nodes.iter().filter_map(|change| match change {
            NodeChange::Remove(host) => self.forgotten(*host),
            _ => None,
        });
        operations.extend(removed);
        let mut replication = None;
        if let Target::Replication { keyspace, before, .. } = &operation.target {
            let mut later =
                self.operations.all().filter(|other| other.id > operation.id && other.is_of_keyspace(keyspace));
            match later.next().map(|later| (later, &later.target)) {
                Some((later, Target::Replication { after, .. })) => {
                    operations.extend(self.replaced(later, before, after));
                }
                _ => replication = Some((keyspace.clone(), before.clone())),
            }
        }
        Ok(PlannedChanges { nodes, operations, replication })
    }

    /// The nodes that have data of ranges that they do not own if an operation is aborted now.
    pub(crate) fn left_by(&self, operation: &Operation) -> Result<BTreeSet<HostId>, OperationError> {
        let is_written = operation.phase >= Phase::WriteBoth && !self.planted.is(Bug::AbortLeavesPending);
        let moves = if is_written { self.moves(operation)? } else { Vec::new() };
        Ok(self.hosts_of(moves.iter().flat_map(RangeMove::pending)))
    }

    pub(crate) fn hosts_of(&self, nodes: impl Iterator<Item = topology::NodeIndex>) -> BTreeSet<HostId> {
        let indices: BTreeSet<_> = nodes.collect();
        let ring = self.ring();
        ring.map(|ring| indices.into_iter().map(|node| ring.node(node).host_id).collect()).unwrap_or_default()
    }
}

impl OperationRequest {
    /// The bytes of the request on its way to the leader: `u8 version · u8 kind · body`, where numbers are varints, hosts 16 bytes and tokens `i64`.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let mut begin = |kind: u8, id: OperationId| {
            out.push(kind);
            varint::encode(id.0, &mut out);
        };
        match self {
            OperationRequest::Step(id, from) => {
                begin(STEP, id);
                out.push(from.byte());
            }
            OperationRequest::Copied(id, receiver) => {
                begin(COPIED, id);
                out.extend_from_slice(&receiver.0);
            }
            OperationRequest::Cleaned(node, up_to) => {
                out.push(CLEANED);
                varint::encode(up_to.0, &mut out);
                out.extend_from_slice(&node.0);
            }
            OperationRequest::Abort(id) => begin(ABORT, id),
            OperationRequest::Move(node, token) => {
                out.push(MOVE);
                out.extend_from_slice(&node.0);
                out.extend_from_slice(&token.0.to_be_bytes());
            }
            OperationRequest::TokenCount(node, count) => {
                out.push(TOKEN_COUNT);
                out.extend_from_slice(&node.0);
                varint::encode(u64::from(count), &mut out);
            }
        }
        out
    }

    /// The request that [`OperationRequest::to_bytes`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<OperationRequest, DecodeError> {
        let invalid = |problem: String| DecodeError::Invalid { problem };
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let kind = reader.u8()?;
        let id = match kind {
            MOVE | TOKEN_COUNT | CLEANED => OperationId(0),
            _ => OperationId(reader.varint()?),
        };
        let request = match kind {
            MOVE => OperationRequest::Move(HostId(reader.array()?), Token(reader.i64()?)),
            TOKEN_COUNT => {
                let (node, count) = (HostId(reader.array()?), reader.varint()?);
                let count = u32::try_from(count).map_err(|_| invalid(format!("a node has no {count} tokens")))?;
                OperationRequest::TokenCount(node, count)
            }
            STEP => {
                let byte = reader.u8()?;
                let phase = Phase::of_byte(byte).ok_or_else(|| invalid(format!("phase {byte} is unknown")))?;
                OperationRequest::Step(id, phase)
            }
            COPIED => OperationRequest::Copied(id, HostId(reader.array()?)),
            CLEANED => {
                let up_to = EndNumber(reader.varint()?);
                OperationRequest::Cleaned(HostId(reader.array()?), up_to)
            }
            ABORT => OperationRequest::Abort(id),
            kind => return Err(invalid(format!("requests of kind {kind} about operations are unknown"))),
        };
        match reader.is_empty() {
            true => Ok(request),
            false => Err(invalid("bytes follow a request about an operation".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
