//! The fences: may a node that says hello be talked to?
//!
//! A refusal of [`Refusal::Removed`] or [`Refusal::OldDisk`] is for good: a removed host id stays removed, and a registered boot does not get older. So a
//! node whose registry is older may accept what the others refuse, never the reverse.

use planted::{Bug, Planted};
use topology::HostId;
use topology::nodes::{Address, Boot, Registry};

/// The words of a node about itself, at the beginning of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Its identity.
    pub host_id: HostId,
    /// Its running start.
    pub boot: Boot,
    /// Where it listens for other nodes.
    pub internode: Address,
}

/// The standing of a node that is not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A node of the cluster, with the last registered start or a later one.
    Known,
    /// No node of the cluster, nor was it one: it may ask to join, and for nothing else.
    Unknown,
}

/// Error of a node that must not be talked to. Its words are for the operator who started it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The host id has left the cluster.
    #[error(
        "host {host_id} was removed from the cluster and is never accepted again; to join as a new node, start with an empty data directory"
    )]
    Removed {
        /// Its identity.
        host_id: HostId,
    },
    /// The node's disk is older than its last registered start: it was restored from a copy.
    #[error(
        "the data of host {host_id} is older than the cluster knows it: this is boot {boot}, and boot {registered} has been registered; a node's disk must not be restored from a copy: start with an empty data directory and --replace {host_id}"
    )]
    OldDisk {
        /// Its identity.
        host_id: HostId,
        /// Its start.
        boot: Boot,
        /// The last registered start of this host id.
        registered: Boot,
    },
    /// An unknown node has the address of a node of the cluster, live or dead: a wiped one, most likely.
    #[error(
        "host {host_id} is not a node of the cluster, and its address {address} belongs to host {member}; to replace that node start with --replace {member}, otherwise choose another address"
    )]
    AddressTaken {
        /// Its identity.
        host_id: HostId,
        /// Its address.
        address: Address,
        /// The node of the cluster that has registered the address.
        member: HostId,
    },
}

/// Judges a greeting by the registry. Identity is the host id: a node of the cluster is known at whatever address.
pub fn judge(registry: &Registry, greeting: &Greeting) -> Result<Standing, Refusal> {
    judge_planted(registry, greeting, Planted::NONE)
}

/// [`judge`], with a bug that was planted on purpose.
pub fn judge_planted(registry: &Registry, greeting: &Greeting, planted: Planted) -> Result<Standing, Refusal> {
    let Greeting { host_id, boot, internode } = *greeting;
    if registry.has_left(host_id) && !planted.is(Bug::RemovedLetIn) {
        return Err(Refusal::Removed { host_id });
    }
    if let Some(node) = registry.node(host_id) {
        let registered = node.start.boot;
        return match boot.is_older_than(registered) && !planted.is(Bug::OldDiskLetIn) {
            true => Err(Refusal::OldDisk { host_id, boot, registered }),
            false => Ok(Standing::Known),
        };
    }
    match registry.at(internode) {
        Some(member) => Err(Refusal::AddressTaken { host_id, address: internode, member }),
        None => Ok(Standing::Unknown),
    }
}

#[cfg(test)]
mod tests;
