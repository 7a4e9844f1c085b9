//! A node that joins in the place of another, which is down for good: it gets that node's tokens under a host id of its own, and the other one leaves.
//!
//! Which node it is, is named by its host id or by its address between nodes, which the new node may have too. Pure functions of the registry; that the node is
//! down is its caller's to know.

use std::net::SocketAddr;

use metadata::DecodeError;
use stdx::Reader;
use topology::HostId;
use topology::nodes::{Address, NodeState, RegisteredNode, Registry};

use crate::founding::codec;
use crate::request::Registration;

const HOST: u8 = 1;
const ADDRESS: u8 = 2;

/// The name of a node that is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// Its identity.
    Host(HostId),
    /// Its address between nodes.
    At(Address),
}

/// Error of a node that cannot be replaced. Its words are for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// There is none of the name.
    #[error("cannot replace node {replaced}: it is not a node of this cluster")]
    Unknown {
        /// The name.
        replaced: Replaced,
    },
    /// It is up.
    #[error("cannot replace a live node: {replaced} is up; to take it out of the cluster decommission it")]
    Alive {
        /// The name.
        replaced: Replaced,
    },
    /// It has no ranges to take over.
    #[error("cannot replace node {replaced}: it is joining still; end its join with nodetool removenode {host_id}")]
    Joins {
        /// The name.
        replaced: Replaced,
        /// The node.
        host_id: HostId,
    },
    /// Its ranges go to other nodes, or to one that replaces it already.
    #[error(
        "cannot replace node {replaced}: it is leaving the cluster already, or another node is replacing it; nodetool operations shows how far that is"
    )]
    Leaves {
        /// The name.
        replaced: Replaced,
    },
    /// Its ranges would go to other nodes too.
    #[error(
        "cannot replace node {replaced}, which is in datacenter {datacenter} and rack {rack}, with a node in datacenter {new_datacenter} and rack {new_rack}"
    )]
    OtherPlace {
        /// The name.
        replaced: Replaced,
        /// Its datacenter.
        datacenter: String,
        /// Its rack.
        rack: String,
        /// The datacenter of the node that joins.
        new_datacenter: String,
        /// The rack of the node that joins.
        new_rack: String,
    },
}

impl std::fmt::Display for Replaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Replaced::Host(host_id) => host_id.fmt(f),
            Replaced::At(address) => address.fmt(f),
        }
    }
}

impl Replaced {
    /// The node of that name. Of several at one address the one with tokens: another one may join in its place.
    pub(crate) fn find(self, registry: &Registry) -> Option<(HostId, &RegisteredNode)> {
        match self {
            Replaced::Host(host_id) => registry.node(host_id).map(|node| (host_id, node)),
            Replaced::At(address) => {
                let at = || registry.nodes().filter(|(_, node)| node.start.internode == address);
                at().find(|(_, node)| !node.tokens.is_empty()).or_else(|| at().next())
            }
        }
    }

    /// `u8 kind · body`: 1 16 host id; 2 an address.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        match self {
            Replaced::Host(host_id) => {
                out.push(HOST);
                out.extend_from_slice(&host_id.0);
            }
            Replaced::At(address) => {
                out.push(ADDRESS);
                codec::put(SocketAddr::from(address), out);
            }
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Replaced, DecodeError> {
        match reader.u8()? {
            HOST => Ok(Replaced::Host(HostId(reader.array()?))),
            ADDRESS => Ok(Replaced::At(codec::take(reader)?.into())),
            kind => Err(DecodeError::Invalid {
                problem: format!("a node to replace is named in form {kind}, which is unknown"),
            }),
        }
    }
}

/// The node whose place a joining one takes, if it takes one. Fails if it cannot be replaced by this one.
pub(crate) fn replaced<'a>(
    registry: &'a Registry,
    registration: &Registration,
) -> Result<Option<(HostId, &'a RegisteredNode)>, ReplaceError> {
    let Some(replaced) = registration.replaces else { return Ok(None) };
    let Some((host_id, node)) = replaced.find(registry) else { return Err(ReplaceError::Unknown { replaced }) };
    let Registration { datacenter, rack, .. } = registration;
    match node.state {
        NodeState::Joining => Err(ReplaceError::Joins { replaced, host_id }),
        NodeState::Leaving => Err(ReplaceError::Leaves { replaced }),
        NodeState::Normal | NodeState::Regressed if (&node.datacenter, &node.rack) != (datacenter, rack) => {
            Err(ReplaceError::OtherPlace {
                replaced,
                datacenter: node.datacenter.clone(),
                rack: node.rack.clone(),
                new_datacenter: datacenter.clone(),
                new_rack: rack.clone(),
            })
        }
        NodeState::Normal | NodeState::Regressed => Ok(Some((host_id, node))),
    }
}

/// Fails if the node whose place a joining one takes is up.
pub fn is_replaceable(
    registry: &Registry,
    registration: &Registration,
    is_up: &dyn Fn(HostId) -> bool,
) -> Result<(), ReplaceError> {
    match (replaced(registry, registration)?, registration.replaces) {
        (Some((host_id, _)), Some(replaced)) if is_up(host_id) => Err(ReplaceError::Alive { replaced }),
        _ => Ok(()),
    }
}
