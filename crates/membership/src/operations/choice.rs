//! The choice of tokens for nodes that join, and for one that is to have another number of them.

use std::collections::{BTreeMap, BTreeSet};

use planted::Bug;
use topology::allocate::Allocator;
use topology::operations::{Kind, Operation, Target};
use topology::{Epoch, Factor, HostId, Ring, Token};

use super::{OperationError, Planning};
use crate::request::Registration;

/// Ownership is to be even at this replication factor, where no keyspace has another.
const FACTOR: u32 = 3;

/// The tokens of nodes, on the state that an operation is planned on.
pub(super) struct Tokens<'a>(pub(super) &'a Planning<'a>);

/// The tokens that are chosen for one operation, one node after the other.
struct Choice<'a> {
    tokens: &'a Tokens<'a>,
    /// Nodes whose tokens are chosen have none here.
    ring: Ring,
    /// By datacenter.
    allocators: BTreeMap<String, Allocator>,
    /// Those that operators have given to other nodes, by operations that wait, are among them.
    chosen: BTreeSet<Token>,
}

impl Choice<'_> {
    /// So many tokens, ascending.
    fn choose(&mut self, datacenter: &str, rack: &str, count: usize) -> Vec<Token> {
        let factor = self.tokens.factor(datacenter);
        let known = self.allocators.remove(datacenter);
        let mut allocator = known.unwrap_or_else(|| Allocator::new(&self.ring, datacenter, factor));
        // Those of other datacenters.
        allocator.take(&self.chosen);
        let mut tokens: Vec<Token> = allocator.join(rack, count).collect();
        self.allocators.insert(datacenter.to_owned(), allocator);
        tokens.sort_unstable();
        self.chosen.extend(&tokens);
        tokens
    }
}

impl Tokens<'_> {
    /// A choice on the ring as it is, without the tokens of some nodes. `None`: there is no node.
    fn choice(&self, without: impl Fn(HostId) -> bool) -> Option<Choice<'_>> {
        let (first, _) = self.0.registry.nodes().next()?;
        let (mut nodes, local) = self.0.registry.nodes_of_ring(first)?;
        nodes.iter_mut().filter(|node| without(node.host_id)).for_each(|node| node.tokens.clear());
        let ring = Ring::new(Epoch::FIRST, nodes, local);
        Some(Choice { tokens: self, ring, allocators: BTreeMap::new(), chosen: self.given() })
    }

    /// The most replicas that a keyspace has in a datacenter.
    fn factor(&self, datacenter: &str) -> u32 {
        let factors = self.0.settings.iter().filter_map(|setting| self.0.strategies.rules(setting).ok());
        let factors = factors.filter_map(|rules| match rules.factor() {
            Factor::Total(factor) => Some(factor),
            Factor::PerDatacenter(factors) => factors.get(datacenter).copied(),
            Factor::AllNodes | Factor::OwnNode => None,
        });
        factors.max().unwrap_or(FACTOR)
    }

    /// The tokens that queued and running operations give to nodes.
    pub(super) fn planned(&self) -> BTreeSet<Token> {
        self.tokens_of(|_| true)
    }

    /// Those among them that an operator has given: no others are chosen instead.
    fn given(&self) -> BTreeSet<Token> {
        self.tokens_of(|operation| operation.has_given_tokens)
    }

    fn tokens_of(&self, is_meant: impl Fn(&Operation) -> bool) -> BTreeSet<Token> {
        let of = |operation: &Operation| match &operation.target {
            Target::Tokens(nodes) => nodes.values().flatten().copied().collect(),
            Target::Replication { .. } | Target::Copy { .. } => Vec::new(),
        };
        self.0.operations.all().filter(|operation| is_meant(operation)).flat_map(of).collect()
    }

    /// The tokens of a node that joins: those that its operator has given, else as many as it asks for, chosen here.
    pub(super) fn of_joining(&self, registration: &Registration) -> Result<Vec<Token>, OperationError> {
        let mut given = registration.tokens.clone();
        given.sort_unstable();
        if registration.has_given_tokens {
            let planned = self.planned();
            let is_taken = |token: &Token| self.0.registry.owner(*token).is_some() || planned.contains(token);
            return match given.iter().copied().find(is_taken) {
                Some(token) => Err(OperationError::TokenTaken { token }),
                None => Ok(given),
            };
        }
        let Registration { datacenter, rack, .. } = registration;
        let chosen = self.choice(|_| false).map(|mut choice| choice.choose(datacenter, rack, given.len()));
        Ok(chosen.unwrap_or(given))
    }

    /// So many tokens for a node of the ring, instead of those that it has.
    pub(super) fn others_for(&self, host: HostId, count: usize) -> Option<Vec<Token>> {
        let node = self.0.registry.node(host)?;
        self.choice(|id| id == host).map(|mut choice| choice.choose(&node.datacenter, &node.rack, count))
    }

    /// As many tokens for each node of an operation as it was to have, on the ring as it is now. Those of nodes that leave, and those that an operator has given, stay.
    pub(super) fn chosen_again(
        &self,
        operation: &Operation,
        nodes: &BTreeMap<HostId, Vec<Token>>,
    ) -> BTreeMap<HostId, Vec<Token>> {
        let is_chosen = matches!(operation.kind, Kind::Bootstrap | Kind::TokenCount)
            && !operation.has_given_tokens
            && !self.0.planted.is(Bug::TokenGivenTwice);
        let Some(mut choice) = self.choice(|id| nodes.contains_key(&id)).filter(|_| is_chosen) else {
            return nodes.clone();
        };
        let again = |(host, tokens): (&HostId, &Vec<Token>)| {
            let chosen = match self.0.registry.node(*host) {
                Some(node) => choice.choose(&node.datacenter, &node.rack, tokens.len()),
                None => tokens.clone(),
            };
            (*host, chosen)
        };
        nodes.iter().map(again).collect()
    }
}
