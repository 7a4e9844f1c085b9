//! Why a repair is refused before it begins. The words are Cassandra's where it has them.

use std::net::{IpAddr, SocketAddr};

use topology::TokenRange;

use crate::streaming::Shown;

/// A repair that does not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairRefused {
    /// The range given overlaps one that this node replicates, and is not within it.
    #[error(
        "Requested range {} intersects a local range ({}) but is not fully contained in one; this would lead to imprecise repair. keyspace: {keyspace}",
        Shown(*.asked), Shown(*.local)
    )]
    Imprecise {
        /// The range given.
        asked: TokenRange,
        /// The one that it overlaps.
        local: TokenRange,
        /// The keyspace.
        keyspace: String,
    },
    /// The range given has no token.
    #[error("Range {} holds no token", Shown(*.asked))]
    Empty {
        /// The range given.
        asked: TokenRange,
    },
    /// This node replicates none of the range, or no other node of the datacenters given does.
    #[error("Nothing to repair for {} in {keyspace} - aborting", Shown(*.range))]
    Nothing {
        /// The range.
        range: TokenRange,
        /// The keyspace.
        keyspace: String,
    },
    /// The datacenters given are without this node's.
    #[error("the local data center must be part of the repair; requested {asked:?}, but DC is {local}")]
    OtherDatacenter {
        /// Those given.
        asked: Vec<String>,
        /// This node's.
        local: String,
    },
    /// A datacenter given has no node.
    #[error("data center(s) {unknown:?} not found")]
    UnknownDatacenter {
        /// Those.
        unknown: Vec<String>,
    },
    /// The hosts given are without this node.
    #[error("The current host must be part of the repair")]
    NotThisHost,
    /// A host given is no node.
    #[error("Unknown host specified {host}")]
    UnknownHost {
        /// It.
        host: IpAddr,
    },
    /// No other host given replicates a range.
    #[error(
        "Specified hosts {hosts:?} do not share range {} needed for repair. Either restrict repair ranges with -st/-et options, or specify one of the neighbors that share this range with this node: {neighbors:?}.",
        Shown(*.range)
    )]
    NoneShared {
        /// Those given.
        hosts: Vec<IpAddr>,
        /// The range.
        range: TokenRange,
        /// The range's other replicas.
        neighbors: Vec<SocketAddr>,
    },
    /// Primary ranges of some nodes alone would leave others unrepaired.
    #[error("You need to run primary range repair on all nodes in the cluster.")]
    PrimaryOfSome,
    /// Both ways to choose nodes were used.
    #[error("Cannot combine -dc and -hosts options.")]
    HostsAndDatacenters,
    /// Too many repairs run.
    #[error("{running} repairs are running on this node; wait for one to end")]
    TooMany {
        /// How many.
        running: usize,
    },
}
