//! Nodes of the ring that get other tokens: another one instead of their only one, or another number of them.

use topology::nodes::{NodeChange, NodeState, RegisteredNode, TOKENS_MAX};
use topology::operations::{Kind, Operation, Target};
use topology::{HostId, Token};

use super::choice::Tokens;
use super::{OperationError, PlannedChanges, Planning};

/// Changes of the tokens of nodes of the ring, on the state that an operation is planned on.
pub(super) struct Moving<'a>(pub(super) &'a Planning<'a>);

impl Moving<'_> {
    /// The changes that give a node another token.
    pub(super) fn exchange(&self, host: HostId, token: Token) -> Result<PlannedChanges, OperationError> {
        let node = self.normal(host)?;
        if node.tokens == [token] {
            return Ok(PlannedChanges::default());
        }
        if node.tokens.len() > 1 {
            return Err(OperationError::ManyTokens);
        }
        let same = |operation: &Operation| matches!(&operation.target, Target::Tokens(nodes) if nodes.get(&host).is_some_and(|to| *to == [token]));
        if let Some(operation) = self.0.operation_of(host) {
            return self.already(operation, host, same(operation));
        }
        if self.0.registry.owner(token).is_some() || Tokens(self.0).planned().contains(&token) {
            return Err(OperationError::TargetTaken { token });
        }
        self.give(Kind::Move, host, vec![token])
    }

    /// The changes that give a node so many tokens.
    pub(super) fn change_count(&self, host: HostId, count: u32) -> Result<PlannedChanges, OperationError> {
        let node = self.normal(host)?;
        let tokens = count as usize;
        if node.tokens.len() == tokens {
            return Ok(PlannedChanges::default());
        }
        if !(1..=TOKENS_MAX).contains(&tokens) {
            return Err(OperationError::Count(count));
        }
        let same = |operation: &Operation| matches!(&operation.target, Target::Tokens(nodes) if nodes.get(&host).is_some_and(|to| to.len() == tokens));
        if let Some(operation) = self.0.operation_of(host) {
            return self.already(operation, host, same(operation));
        }
        let chosen = Tokens(self.0).others_for(host, tokens).expect("the node is of the ring");
        self.give(Kind::TokenCount, host, chosen)
    }

    fn normal(&self, host: HostId) -> Result<&RegisteredNode, OperationError> {
        let node = self.0.registry.node(host).filter(|node| node.state == NodeState::Normal);
        node.ok_or(OperationError::NotNormal(host))
    }

    /// No changes where a request is sent again.
    fn already(&self, operation: &Operation, node: HostId, is_same: bool) -> Result<PlannedChanges, OperationError> {
        match is_same {
            true => Ok(PlannedChanges::default()),
            false => Err(OperationError::MovesAlready { node, operation: operation.id }),
        }
    }

    fn give(&self, kind: Kind, host: HostId, tokens: Vec<Token>) -> Result<PlannedChanges, OperationError> {
        if self.0.settings.is_empty() && self.0.operations.all().len() == 0 {
            let nodes = vec![NodeChange::SetTokens(host, tokens)];
            return Ok(PlannedChanges { nodes, ..PlannedChanges::default() });
        }
        let target = Target::Tokens([(host, tokens)].into());
        let queued = Operation { has_given_tokens: kind == Kind::Move, ..self.0.queued(kind, target) };
        let operations = vec![Planning::queue(queued)?];
        Ok(PlannedChanges { operations, ..PlannedChanges::default() })
    }
}
