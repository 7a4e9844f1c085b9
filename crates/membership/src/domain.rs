//! The topology as a domain of the cluster's state: between the metadata log's words and the registry's. Neither knows the other.

use metadata::{DecodeError, Domain, DomainId, Part};
use topology::nodes::{self, NodeChange, Registry};

/// The topology's changes and state: the registry of nodes. A node's start registers it.
#[derive(Debug)]
pub struct TopologyDomain;

impl TopologyDomain {
    /// The part of an entry that makes these changes, which take effect together.
    pub fn part(changes: &[NodeChange]) -> Part {
        Part { domain: TopologyDomain::ID, version: TopologyDomain::VERSION, bytes: nodes::encode(changes) }
    }
}

/// The registry's error in the words of the cluster's state.
pub(crate) fn decode_error(error: nodes::DecodeError) -> DecodeError {
    match error {
        nodes::DecodeError::NewerVersion { version, supported } => DecodeError::NewerVersion { version, supported },
        error => DecodeError::Invalid { problem: error.to_string() },
    }
}

impl Domain for TopologyDomain {
    const ID: DomainId = DomainId::TOPOLOGY;
    const NAME: &'static str = "topology";
    const VERSION: u8 = nodes::VERSION;
    type State = Registry;
    type Change = Vec<NodeChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<NodeChange>, DecodeError> {
        nodes::decode(bytes).map_err(decode_error)
    }

    fn apply(state: &Registry, changes: Vec<Vec<NodeChange>>) -> Registry {
        state.apply(changes.into_iter().flatten())
    }

    fn snapshot(state: &Registry) -> Option<Vec<u8>> {
        state.snapshot()
    }

    /// A removal keeps the host id of all that the node was.
    fn gives_room_back(changes: &Vec<NodeChange>) -> bool {
        changes.iter().all(|change| matches!(change, NodeChange::Remove(_)))
    }
}

#[cfg(test)]
mod tests;
