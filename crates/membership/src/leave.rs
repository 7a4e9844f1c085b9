//! A request that a node leaves the cluster, and the conditions under which it may. The states on its way: `docs/internals/membership.md`, "Leaving".
//!
//! A pure function, as [`crate::plan()`] is: its caller says which nodes are up, and how keyspaces are replicated. The operation that moves the node's ranges is
//! [`crate::Planning::leave`].

use metadata::DecodeError;
use stdx::Reader;
use topology::nodes::{Address, NodeChange, NodeState, RegisteredNode, Registry};
use topology::{Factor, HostId};

use crate::plan::PlanError;

const VERSION: u8 = 1;
const DECOMMISSION: u8 = 1;
const FORCED: u8 = 2;

/// The way in which a node leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// It runs, and its own operator asks for it.
    Decommission,
    /// It is down, and another node is asked.
    Removal,
}

/// A request that a node leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leave {
    /// The node.
    pub host_id: HostId,
    /// The way.
    pub departure: Departure,
    /// It may leave fewer nodes than keyspaces have replicas.
    pub is_forced: bool,
}

/// Facts that the registry does not have, at the node that plans.
pub struct Conditions<'a> {
    /// True for nodes that are up.
    pub is_up: &'a dyn Fn(HostId) -> bool,
    /// Users' keyspaces by name, with the replicas that they ask for.
    pub keyspaces: Vec<(&'a str, Factor)>,
}

/// Error of a node that may not leave. Its words are for the operator, in Cassandra's own where it has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaveError {
    /// The request names no node of the cluster.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The node to be removed is up.
    #[error("Node /{address} is alive and owns this ID. Use decommission command to remove it from the ring")]
    Alive {
        /// Its address between nodes.
        address: Address,
    },
    /// The node to be removed joins still, and is up.
    #[error("Node /{address} is joining and alive. End its process first; its join is ended then")]
    JoinsAlive {
        /// Its address between nodes.
        address: Address,
    },
    /// It joins still, and has no range to give to others.
    #[error("local node is not a member of the token ring yet")]
    Joins,
    /// No other node could go on.
    #[error("no other normal nodes in the ring; decommission would be pointless")]
    NoOther,
    /// Fewer nodes would be left than a keyspace has replicas.
    #[error(
        "Not enough live nodes to maintain replication factor in keyspace {keyspace} (RF = {factor}, N = {nodes}). Perform a forceful {departure} to ignore."
    )]
    TooFew {
        /// The keyspace.
        keyspace: String,
        /// Its replicas in the node's datacenter, or of SimpleStrategy in all.
        factor: u32,
        /// Nodes there now, this one too.
        nodes: usize,
        /// The way, as operators call it.
        departure: &'static str,
    },
}

/// The changes that let a node leave; none if it leaves or has left already.
pub fn plan_leave(
    registry: &Registry,
    leave: &Leave,
    conditions: &Conditions<'_>,
) -> Result<Vec<NodeChange>, LeaveError> {
    let Leave { host_id, departure, is_forced } = *leave;
    if registry.has_left(host_id) {
        return Ok(Vec::new());
    }
    let node = registry.node(host_id).ok_or(PlanError::UnknownHost { host_id })?;
    if node.state == NodeState::Leaving {
        return Ok(Vec::new());
    }
    if node.state == NodeState::Joining && departure == Departure::Removal && (conditions.is_up)(host_id) {
        return Err(LeaveError::JoinsAlive { address: node.start.internode });
    }
    if departure == Departure::Removal && (conditions.is_up)(host_id) {
        return Err(LeaveError::Alive { address: node.start.internode });
    }
    if node.state == NodeState::Joining {
        return Err(LeaveError::Joins);
    }
    let mut others = registry.nodes().filter(|(id, other)| *id != host_id && other.state == NodeState::Normal);
    if !others.any(|(id, _)| (conditions.is_up)(id)) {
        return Err(LeaveError::NoOther);
    }
    if !is_forced {
        enough_nodes(registry, node, departure, &conditions.keyspaces)?;
    }
    assert!(node.state.may_become(NodeState::Leaving), "a node that has not left may leave");
    Ok(vec![NodeChange::SetState(host_id, NodeState::Leaving)])
}

/// Fails if a keyspace has more replicas than nodes would be left for it. Nodes that leave do not count.
fn enough_nodes(
    registry: &Registry,
    node: &RegisteredNode,
    departure: Departure,
    keyspaces: &[(&str, Factor)],
) -> Result<(), LeaveError> {
    let departure = match departure {
        Departure::Decommission => "decommission",
        Departure::Removal => "removal",
    };
    let stays = || registry.nodes().map(|(_, other)| other).filter(|other| other.state != NodeState::Leaving);
    for (keyspace, factor) in keyspaces {
        let (factor, nodes) = match factor {
            Factor::Total(factor) => (*factor, stays().count()),
            Factor::PerDatacenter(factors) => {
                let factor = factors.get(&node.datacenter).copied().unwrap_or(0);
                (factor, stays().filter(|other| other.datacenter == node.datacenter).count())
            }
            Factor::OwnNode | Factor::AllNodes => continue,
        };
        if usize::try_from(factor).is_ok_and(|factor| nodes <= factor) {
            return Err(LeaveError::TooFew { keyspace: (*keyspace).to_owned(), factor, nodes, departure });
        }
    }
    Ok(())
}

impl Leave {
    /// The bytes of the request on its way to the leader.
    pub fn to_bytes(self) -> Vec<u8> {
        let is_decommission = self.departure == Departure::Decommission;
        let flags = (u8::from(is_decommission) * DECOMMISSION) | (u8::from(self.is_forced) * FORCED);
        [&[VERSION][..], &self.host_id.0, &[flags]].concat()
    }

    /// The request that [`Leave::to_bytes`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Leave, DecodeError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let (host_id, flags) = (HostId(reader.array()?), reader.u8()?);
        if !reader.is_empty() || flags & !(DECOMMISSION | FORCED) != 0 {
            return Err(DecodeError::Invalid { problem: "a request to leave has other bytes or flags".to_owned() });
        }
        let departure = if flags & DECOMMISSION != 0 { Departure::Decommission } else { Departure::Removal };
        Ok(Leave { host_id, departure, is_forced: flags & FORCED != 0 })
    }
}

#[cfg(test)]
mod tests;
