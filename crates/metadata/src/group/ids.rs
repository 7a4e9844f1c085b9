//! Identities of a group: the group itself, its nodes, and what is proposed to it.

use std::fmt;

use raft::NodeId;
use topology::HostId;

/// A group of nodes. Groups with different ids, or of another incarnation, never exchange entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupId {
    /// Drawn by the founder.
    pub id: u128,
    /// Drawn again by a recovery: of two recoveries of one group neither is the other's. 0: never recovered.
    pub incarnation: u64,
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.id)?;
        if self.incarnation > 0 {
            write!(f, ".{:016x}", self.incarnation)?;
        }
        Ok(())
    }
}

/// A proposal, named by the node that asks. The same id twice has the effect of once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(pub u128);

/// The consensus core's name of a node.
pub fn node_id(HostId(bytes): HostId) -> NodeId {
    NodeId(u128::from_be_bytes(bytes))
}

/// The node of that name.
pub fn host_id(NodeId(number): NodeId) -> HostId {
    HostId(number.to_be_bytes())
}
