//! A change of the registry.

use std::rc::Rc;

use super::facts::{Features, NodeState, RegisteredNode, Start};
use crate::ring::HostId;
use crate::token::Token;

/// One change of the registry. Each that does not fit the state it is applied to changes nothing ([`super::Registry::apply`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeChange {
    /// The node is of the cluster, with these facts in place of those that it had.
    Put(HostId, Rc<RegisteredNode>),
    /// The node has started: its place, tokens and state stay.
    Started(HostId, Start),
    /// The node passes to another state.
    SetState(HostId, NodeState),
    /// The node is of the cluster no more, and its host id is never accepted again.
    Remove(HostId),
    /// The node owns these tokens in place of those that it had, ascending.
    SetTokens(HostId, Vec<Token>),
    /// The disk of the node was older than what others had heard from it, when the start of this number began: its data is in doubt.
    Doubted(HostId, u64),
    /// The node has copied all that it owns again: its data is not in doubt any more.
    Renewed(HostId),
    /// These features may be used from now on, beside those before.
    Enable(Features),
}

impl NodeChange {
    /// The node that it concerns; none of a change of the cluster.
    pub fn host_id(&self) -> Option<HostId> {
        match self {
            NodeChange::Put(id, _)
            | NodeChange::Started(id, _)
            | NodeChange::SetState(id, _)
            | NodeChange::SetTokens(id, _)
            | NodeChange::Doubted(id, _)
            | NodeChange::Renewed(id)
            | NodeChange::Remove(id) => Some(*id),
            NodeChange::Enable(_) => None,
        }
    }
}
