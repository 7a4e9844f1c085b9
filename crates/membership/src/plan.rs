//! The plan of a request: the changes that carry it out, on the state that they will be applied to, or why it cannot be.
//!
//! A plan knows the registry alone. Conditions on tables, on data to be copied and on liveness are its caller's; those of a node that is to leave are
//! in [`crate::leave`].

use topology::nodes::{
    Features, NAME_BYTES_MAX, NODES_MAX, NodeChange, NodeState, RegisteredNode, Registry, TOKENS_MAX,
};
use topology::{HostId, Token};

use crate::fence::{Greeting, Refusal, Standing, judge};
use crate::replace::{ReplaceError, replaced};
use crate::request::{Registration, Request};

/// Error of a request that is refused. Its words are for the operator, in Cassandra's own where it has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The node must not be talked to.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The node whose place it is to take cannot be replaced by it.
    #[error(transparent)]
    NotReplaced(#[from] ReplaceError),
    /// The facts exceed their bounds.
    #[error("{problem}")]
    Invalid {
        /// The problem.
        problem: String,
    },
    /// A node starts in another datacenter.
    #[error(
        "Cannot start node if snitch's data center ({datacenter}) differs from previous data center ({previous}). Please fix the snitch configuration, or decommission and rebootstrap this node"
    )]
    OtherDatacenter {
        /// The datacenter of this start.
        datacenter: String,
        /// The datacenter that the node is of.
        previous: String,
    },
    /// A node starts in another rack.
    #[error(
        "Cannot start node if snitch's rack ({rack}) differs from previous rack ({previous}). Please fix the snitch configuration, or decommission and rebootstrap this node"
    )]
    OtherRack {
        /// The rack of this start.
        rack: String,
        /// The rack that the node is on.
        previous: String,
    },
    /// A joining node asks for a token that is owned.
    #[error("Bootstrapping to existing token {token} is not allowed (decommission/removenode the old node first).")]
    TokenTaken {
        /// The token.
        token: Token,
        /// Its owner.
        owner: HostId,
    },
    /// There is no room for a node more.
    #[error("the cluster has {NODES_MAX} nodes, and no more can join")]
    TooManyNodes,
    /// The request names no node of the cluster.
    #[error("Host ID not found.")]
    UnknownHost {
        /// The host id.
        host_id: HostId,
    },
    /// One node at a time passes to state Regressed by itself: after a power cut all disks may have lost something.
    #[error("host {other} is regressed already; a second node is not noted as regressed by itself")]
    AnotherRegressed {
        /// The regressed node.
        other: HostId,
    },
    /// The cluster uses features that the node's program does not know.
    #[error(
        "this node's program does not know {names}, which the cluster uses since its upgrade was finalized; start a newer release"
    )]
    LacksFeatures {
        /// The features.
        names: String,
    },
    /// An upgrade is not over.
    #[error("host {host_id} does not know {names}, which other nodes know; upgrade and start it first")]
    NotUpgraded {
        /// The node.
        host_id: HostId,
        /// The features that it does not know.
        names: String,
    },
    /// An operation moves the ranges of a node that leaves before it is gone.
    #[error("host {host_id} owns tokens, and is removed when its ranges have moved")]
    OwnsTokens {
        /// The host id.
        host_id: HostId,
    },
    /// A node is removed when it is in state Leaving, which is when its vote is gone.
    #[error("host {host_id} is not leaving the cluster and cannot be removed yet")]
    NotLeaving {
        /// The host id.
        host_id: HostId,
    },
}

/// The changes of the registry that a request asks for; none if all is so already, as when it is sent again.
pub fn plan(registry: &Registry, request: &Request) -> Result<Vec<NodeChange>, PlanError> {
    match request {
        Request::Register(registration) => register(registry, registration),
        Request::SetState(host_id, state) => set_state(registry, *host_id, *state),
        Request::Remove(host_id) => remove(registry, *host_id),
        Request::Finalize => finalize(registry),
    }
}

fn register(registry: &Registry, registration: &Registration) -> Result<Vec<NodeChange>, PlanError> {
    registration.check()?;
    let Registration { host_id, start, .. } = registration;
    let greeting = Greeting { host_id: *host_id, boot: start.boot, internode: start.internode };
    let standing = match judge(registry, &greeting) {
        // It may have the address of the node whose place it takes.
        Err(Refusal::AddressTaken { member, .. })
            if replaced(registry, registration)?.is_some_and(|(host_id, _)| host_id == member) =>
        {
            Standing::Unknown
        }
        judged => judged?,
    };
    let lacking = start.features.missing(registry.enabled());
    if !lacking.is_empty() {
        return Err(PlanError::LacksFeatures { names: lacking.names() });
    }
    match (standing, registry.node(*host_id)) {
        (Standing::Known, Some(node)) => started(node, registration),
        _ => join(registry, registration),
    }
}

/// A start of a node of the cluster. Its tokens are those that it has; another count of them is an operation.
fn started(node: &RegisteredNode, registration: &Registration) -> Result<Vec<NodeChange>, PlanError> {
    let Registration { host_id, datacenter, rack, start, .. } = registration;
    if *datacenter != node.datacenter {
        let (datacenter, previous) = (datacenter.clone(), node.datacenter.clone());
        return Err(PlanError::OtherDatacenter { datacenter, previous });
    }
    if *rack != node.rack {
        return Err(PlanError::OtherRack { rack: rack.clone(), previous: node.rack.clone() });
    }
    let is_new = *start != node.start;
    Ok(is_new.then_some(NodeChange::Started(*host_id, *start)).into_iter().collect())
}

fn join(registry: &Registry, registration: &Registration) -> Result<Vec<NodeChange>, PlanError> {
    if registry.nodes().len() >= NODES_MAX {
        return Err(PlanError::TooManyNodes);
    }
    if let Some((_, node)) = replaced(registry, registration)? {
        let joins = Registration { tokens: node.tokens.clone(), ..registration.clone() };
        return Ok(vec![NodeChange::Put(registration.host_id, joins.into_node().into())]);
    }
    if registration.tokens.is_empty() {
        return Err(invalid("a node joins with a token at least"));
    }
    for token in &registration.tokens {
        if let Some(owner) = registry.owner(*token) {
            return Err(PlanError::TokenTaken { token: *token, owner });
        }
    }
    let node = registration.clone().into_node();
    Ok(vec![NodeChange::Put(registration.host_id, node.into())])
}

fn set_state(registry: &Registry, host_id: HostId, to: NodeState) -> Result<Vec<NodeChange>, PlanError> {
    let node = registry.node(host_id).ok_or(PlanError::UnknownHost { host_id })?;
    if to == NodeState::Regressed && node.state != NodeState::Normal {
        return Ok(doubted(registry, host_id, node).into_iter().collect());
    }
    if node.state == to {
        return Ok(Vec::new());
    }
    let mut regressed = registry.nodes().filter(|(_, node)| node.state == NodeState::Regressed);
    match (to, regressed.next()) {
        (NodeState::Regressed, Some((other, _))) => Err(PlanError::AnotherRegressed { other }),
        (NodeState::Regressed, None) => {
            let doubted = doubted(registry, host_id, node);
            Ok([NodeChange::SetState(host_id, to)].into_iter().chain(doubted).collect())
        }
        _ if node.state.may_become(to) => Ok(vec![NodeChange::SetState(host_id, to)]),
        _ => Err(invalid(format!("host {host_id} is {:?} and does not become {to:?}", node.state))),
    }
}

/// The change that notes that a node's present start began on an older disk; `None` if that is noted. A node that joins or leaves keeps its state, which says whether it
/// has tokens; it does not vote anyway.
fn doubted(registry: &Registry, host_id: HostId, node: &RegisteredNode) -> Option<NodeChange> {
    let boot = node.start.boot.number;
    let is_noted = registry.doubted_since(host_id).is_some_and(|noted| noted >= boot);
    (!is_noted).then_some(NodeChange::Doubted(host_id, boot))
}

fn remove(registry: &Registry, host_id: HostId) -> Result<Vec<NodeChange>, PlanError> {
    if registry.has_left(host_id) {
        return Ok(Vec::new());
    }
    let node = registry.node(host_id).ok_or(PlanError::UnknownHost { host_id })?;
    match node.state {
        NodeState::Leaving if node.tokens.is_empty() => Ok(vec![NodeChange::Remove(host_id)]),
        NodeState::Leaving => Err(PlanError::OwnsTokens { host_id }),
        NodeState::Joining | NodeState::Normal | NodeState::Regressed => Err(PlanError::NotLeaving { host_id }),
    }
}

/// Enables what all nodes know, if they all know the same.
fn finalize(registry: &Registry) -> Result<Vec<NodeChange>, PlanError> {
    let of_some = Features(registry.nodes().fold(0, |some, (_, node)| some | node.start.features.0));
    for (host_id, node) in registry.nodes() {
        let lacking = node.start.features.missing(of_some);
        if !lacking.is_empty() {
            return Err(PlanError::NotUpgraded { host_id, names: lacking.names() });
        }
    }
    let more = registry.enabled().missing(of_some);
    Ok(if more.is_empty() { Vec::new() } else { vec![NodeChange::Enable(more)] })
}

impl Registration {
    /// Fails if the facts exceed the bounds of the registry: then they have no bytes ([`Request::to_bytes`]).
    pub fn check(&self) -> Result<(), PlanError> {
        for (what, name) in [("datacenter", &self.datacenter), ("rack", &self.rack)] {
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                let length = name.len();
                return Err(invalid(format!(
                    "the name of a {what} has 1 to {NAME_BYTES_MAX} bytes, and this one has {length}"
                )));
            }
        }
        if self.tokens.len() > TOKENS_MAX {
            let count = self.tokens.len();
            return Err(invalid(format!("a node has {TOKENS_MAX} tokens at most, and this one has {count}")));
        }
        let mut tokens = self.tokens.clone();
        tokens.sort_unstable();
        if let Some(pair) = tokens.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid(format!("token {} occurs twice", pair[0])));
        }
        if self.start.shard_count == 0 {
            return Err(invalid("a node has a shard at least"));
        }
        Ok(())
    }
}

fn invalid(problem: impl Into<String>) -> PlanError {
    PlanError::Invalid { problem: problem.into() }
}

#[cfg(test)]
mod tests;
