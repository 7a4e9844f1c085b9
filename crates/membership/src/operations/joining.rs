//! Nodes that join: each alone or together with others, or in the place of one that is down; and joins that end before their time.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use topology::nodes::{NodeChange, NodeState, RegisteredNode};
use topology::operations::{Kind, Operation, OperationChange, Phase, Target};
use topology::{HostId, Token};

use super::choice::Tokens;
use super::{OperationError, PlannedChanges, Planning};
use crate::replace::replaced;
use crate::request::Registration;

impl Planning<'_> {
    /// The changes that let a node join: at once where no table exists and nothing moves, else by an operation. The node whose place it takes leaves.
    pub fn join(&self, registration: &Registration) -> Result<PlannedChanges, OperationError> {
        let host = registration.host_id;
        let node = |state, tokens| {
            let Registration { datacenter, rack, start, .. } = registration.clone();
            NodeChange::Put(host, Rc::new(RegisteredNode { state, datacenter, rack, tokens, start }))
        };
        let gone = replaced(self.registry, registration)?;
        let tokens = match gone {
            Some((_, replaced)) => replaced.tokens.clone(),
            None => Tokens(self).of_joining(registration)?,
        };
        let leaves = gone.map(|(gone, _)| NodeChange::SetState(gone, NodeState::Leaving));
        if self.settings.is_empty() && self.operations.all().len() == 0 {
            let releases = gone.map(|(gone, _)| NodeChange::SetTokens(gone, Vec::new()));
            let joins = node(NodeState::Normal, tokens);
            let nodes = leaves.into_iter().chain(releases).chain([joins]).collect();
            return Ok(PlannedChanges { nodes, ..PlannedChanges::default() });
        }
        let queued = match gone {
            Some((gone, _)) => {
                let target = Target::Tokens([(gone, Vec::new()), (host, tokens)].into());
                Operation { has_given_tokens: true, ..self.queued(Kind::Replace, target) }
            }
            None => Operation {
                has_given_tokens: registration.has_given_tokens,
                is_without_copy: registration.is_without_copy,
                ..self.queued(Kind::Bootstrap, Target::Tokens([(host, tokens)].into()))
            },
        };
        let nodes = leaves.into_iter().chain([node(NodeState::Joining, Vec::new())]).collect();
        let operations = match gone {
            Some((gone, _)) => {
                let mut operations = self.without_own_of(gone);
                operations.extend(self.depart(gone, queued, None, false, &[gone].into())?);
                operations
            }
            None => vec![Planning::queue(queued)?],
        };
        Ok(PlannedChanges { nodes, operations, ..PlannedChanges::default() })
    }

    /// The nodes that join together with those of a queued bootstrap when it is planned: those of the bootstraps that wait next. The changes end the latter.
    pub(super) fn together(&self, operation: &Operation) -> (BTreeMap<HostId, Vec<Token>>, Vec<OperationChange>) {
        let Target::Tokens(nodes) = &operation.target else { return Default::default() };
        let mut all = nodes.clone();
        let mut ends = Vec::new();
        let is_alike = |other: &&Operation| {
            let flags = |of: &Operation| (of.kind, of.has_given_tokens, of.is_without_copy, of.is_forced);
            other.phase == Phase::Queued && flags(other) == flags(operation)
        };
        if operation.kind == Kind::Bootstrap {
            let later = self.operations.all().skip_while(|other| other.id <= operation.id);
            for other in later.take_while(is_alike) {
                let Target::Tokens(nodes) = &other.target else { break };
                all.extend(nodes.clone());
                ends.push(OperationChange::Abort(other.id, Default::default()));
            }
        }
        (all, ends)
    }

    /// The changes that remove a joining node, which is down: its operation is aborted. Nodes that join together with it begin again. `None`: the node does not join.
    pub fn remove_joining(&self, host: HostId) -> Option<Result<PlannedChanges, OperationError>> {
        self.registry.node(host).filter(|node| node.state == NodeState::Joining)?;
        let Some(operation) = self.operation_of(host) else {
            let nodes = vec![NodeChange::Remove(host)];
            let operations = self.forgotten(host).into_iter().collect();
            return Some(Ok(PlannedChanges { nodes, operations, ..PlannedChanges::default() }));
        };
        let Target::Tokens(nodes) = &operation.target else { unreachable!("the operation gives it tokens") };
        let mut others = nodes.clone();
        others.remove(&host);
        if others.is_empty() || operation.kind != Kind::Bootstrap || !operation.phase.may_abort() {
            return Some(self.abort(operation));
        }
        let again = Operation {
            has_given_tokens: operation.has_given_tokens,
            is_without_copy: operation.is_without_copy,
            is_forced: operation.is_forced,
            lost: operation.lost.clone(),
            ..self.queued(operation.kind, Target::Tokens(others))
        };
        let begin_again = |mut unclean: BTreeSet<HostId>| {
            unclean.remove(&host);
            let aborted = OperationChange::Abort(operation.id, unclean);
            let operations = [aborted, OperationChange::Queue(Rc::new(again))].into_iter().chain(self.forgotten(host));
            let operations = operations.collect();
            PlannedChanges { nodes: vec![NodeChange::Remove(host)], operations, ..PlannedChanges::default() }
        };
        Some(self.left_by(operation).map(begin_again))
    }
}
