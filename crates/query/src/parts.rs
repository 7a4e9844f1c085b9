//! What an engine is made of.
//!
//! A node's start: one call of [`engine_seats`] before the shards run; on shard 0 the metadata log is opened and its
//! records handed to all shards; each shard builds its schema and opens its storage; then each makes its [`crate::Engine`]
//! from [`EngineParts`]. A call to a shard whose engine does not exist yet waits in the mesh.

use std::rc::Rc;

use auth::networks::NetworkRules;
use auth::{Access, Settings};
use cluster::coordinator::{HintOptions, ReplicaReply, ReplicaRequest, TimeoutOptions};
use cluster::paxos::Bound;
use internode::{LocalNode, PeerSocket};
use metadata::MetadataParts;
use metadata::group::{GroupMessage, Index, NodeId};
use runtime::{MeshSeat, Runtime};
use schema::Schema;
use topology::nodes::Registry;
use topology::operations::{Operation, Operations};
use topology::{Epoch, HostId, Ring, Strategies};

use crate::access::PasswordHasher;
use crate::control::{ControlReply, ControlRequest};
use crate::hand_over::{HandedBack, HandedOver};
use crate::{Guardrails, NodeInfo};

/// Bounds and rules of one shard's engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOptions {
    /// Memory for prepared statements, per shard.
    pub prepared_bytes_max: usize,
    /// Range scans under way at once on this shard.
    pub scans_max: usize,
    /// Bytes of long results that are in the making at once on this shard. One that passes it is answered with OVERLOADED.
    pub result_bytes_max: usize,
    /// How hints are kept for other nodes.
    pub hints: HintOptions,
    /// Times that requests wait for other nodes, at first.
    pub timeouts: TimeoutOptions,
    /// True if columns may be given masks, and are read through them.
    pub masks_enabled: bool,
    /// The datacenters and addresses that roles are refused by.
    pub network_rules: NetworkRules,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            prepared_bytes_max: 10 << 20,
            scans_max: 64,
            result_bytes_max: 256 << 20,
            hints: HintOptions::default(),
            timeouts: TimeoutOptions::default(),
            masks_enabled: false,
            network_rules: NetworkRules::default(),
        }
    }
}

/// One shard's places in the engine's meshes, on their way to the shard's thread.
pub struct EngineSeats {
    pub(crate) replica: MeshSeat<ReplicaRequest, ReplicaReply>,
    pub(crate) control: MeshSeat<ControlRequest, ControlReply>,
    pub(crate) handed_over: MeshSeat<HandedOver, HandedBack>,
    pub(crate) peers: MeshSeat<PeerSocket, ()>,
}

/// One set of seats per shard.
pub fn engine_seats(shards: u16) -> Vec<EngineSeats> {
    let replica = runtime::mesh(shards, REPLICA_CREDITS);
    let mut control = runtime::mesh(shards, CONTROL_CREDITS).into_iter();
    let mut handed_over = runtime::mesh(shards, HANDED_OVER_CREDITS).into_iter();
    let mut peers = runtime::mesh(shards, PEER_CREDITS).into_iter();
    let seats = replica.into_iter().map(|replica| {
        Some(EngineSeats { replica, control: control.next()?, handed_over: handed_over.next()?, peers: peers.next()? })
    });
    seats.map(|seats| seats.expect("each mesh has a seat for every shard")).collect()
}

/// Calls that one shard may have under way to another for data.
const REPLICA_CREDITS: usize = 256;
/// Requests that one shard may have handed over to another. More wait as tasks.
const HANDED_OVER_CREDITS: usize = 256;
/// The same for schema changes and prepared statements, which are rare.
const CONTROL_CREDITS: usize = 32;
/// The same for connections of other nodes on their way to their shard.
const PEER_CREDITS: usize = 32;

/// The way from a node's part in the metadata group to the group's other nodes.
pub trait GroupLinks {
    /// Sends a message; it is lost where the node cannot be reached.
    fn send(&self, to: NodeId, message: GroupMessage);

    /// Follows the nodes of the cluster and its operations, as they are from an epoch on, which all shards have applied.
    fn follow(&self, epoch: Index, registry: &Registry, operations: &Operations);

    /// True if the node is up, as this one judges; of this one too.
    fn is_up(&self, host_id: HostId) -> bool;
}

/// All that [`crate::Engine::new`] needs.
pub struct EngineParts {
    /// The shard's door to the world.
    pub runtime: Runtime,
    /// This shard's seats.
    pub seats: EngineSeats,
    /// The shard's storage, opened and replayed.
    pub storage: storage::Shard,
    /// The schema that the storage was opened with.
    pub schema: Schema,
    /// Roles and permissions in the same state.
    pub access: Access,
    /// How clients log in, and if permissions are checked.
    pub access_settings: Settings,
    /// Computes the hashes of passwords; `None` only where the settings have no passwords.
    pub password_hasher: Option<Rc<dyn PasswordHasher>>,
    /// The cluster's ring.
    pub ring: Rc<Ring>,
    /// The operations of the cluster's state.
    pub operations: Vec<Operation>,
    /// This node's tenure, as operations count.
    pub tenure: u64,
    /// The epoch of the cluster's state that the schema is of; `None`: the nodes of the ring have no state in common, and compare no epochs.
    pub epoch: Option<Epoch>,
    /// The low bound of attempts in that state.
    pub low_bound: Bound,
    /// This node, as it greets the ring's others; `None`: it reaches none.
    pub internode: Option<LocalNode>,
    /// The metadata log, and this node's part in the metadata group; on shard 0 only.
    pub metadata: Option<MetadataParts>,
    /// The way to the group's other nodes; on shard 0 of a node that has one.
    pub links: Option<Rc<dyn GroupLinks>>,
    /// Bounds.
    pub options: EngineOptions,
    /// What statements may do.
    pub guardrails: Guardrails,
    /// The replication strategies that keyspaces may name.
    pub strategies: Strategies,
    /// Who this node is.
    pub node: NodeInfo,
}
