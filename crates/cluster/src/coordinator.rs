//! The coordinator: every read and write goes through a replica plan, is counted and reconciled here.
//!
//! Availability is checked before anything is done; data of another shard of the node is asked for by message over the
//! mesh, data of another node by message over a connection; and a replica on this very shard differs only in that nothing is
//! encoded. See `docs/internals/coordinator.md`.

mod batch;
mod count;
mod message;
mod nodes;
mod outcome;
mod page;
mod read;
mod repair;
mod replica;
mod replicas;
mod replication;
mod scan;
mod serial;
mod serve_peers;
mod tally;
mod unsynced;
mod write;

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use internode::{Incoming, Peer, PeerParts, PeerSocket};
use mutation::CounterId;
use runtime::sync::Semaphore;
use runtime::{Mesh, MeshSeat, Runtime, ShardId, TaskHandle};
use schema::TableId;
use topology::{ConsistencyLevel, NodeIndex, ReplicationStrategy, Ring, Sharder, Token};

use crate::paxos::Queue;
use nodes::Nodes;

pub use message::{PageLimits, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest};
pub use outcome::{Failure, Refusal};
pub use page::{PageWriter, rebuild_row};
pub use replication::{ReplicaPlan, Replication, Unavailable};
pub use serial::Attempt;
pub use storage::reader::{Page, ReadDone, row_position};
pub use unsynced::Unsynced;
pub use write::PlannedMutation;

/// One shard's coordinator. Clones are the same coordinator.
#[derive(Clone)]
pub struct Coordinator {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    ring: Rc<Ring>,
    sharder: Sharder,
    storage: storage::Shard,
    /// What this node's parts of counters are known by: its host id.
    counter: CounterId,
    mesh: Mesh<ReplicaRequest, ReplicaReply>,
    nodes: Nodes,
    /// Where shard 0 sends the connections of other nodes. Set right after the coordinator is made: the seat's handler
    /// needs the coordinator first.
    peer_sockets: OnceCell<Mesh<PeerSocket, ()>>,
    /// On shard 0: lets connections of other nodes in.
    accepting: RefCell<Option<TaskHandle<()>>>,
    /// Connections of other nodes that came to this shard.
    incoming: Incoming,
    scans: Semaphore,
    /// Who is at which partition with a conditional statement.
    attempts: Queue,
}

/// Who serves a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanPlace {
    /// This shard alone.
    Here,
    /// Another shard of this node alone.
    Shard(ShardId),
    /// Other nodes too.
    OtherNodes,
}

/// How the nodes of a ring reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Internode {
    /// The cluster that they all say to be of.
    pub cluster_name: String,
    /// Where each node of the ring listens for the others, in the ring's order.
    pub addresses: Vec<SocketAddr>,
}

/// What a coordinator is made of.
pub struct CoordinatorParts {
    /// The shard's door to the world.
    pub runtime: Runtime,
    /// The cluster's nodes.
    pub ring: Rc<Ring>,
    /// Which shard owns which token.
    pub sharder: Sharder,
    /// The shard's storage.
    pub storage: storage::Shard,
    /// The shard's seat among those that exchange replica requests.
    pub seat: MeshSeat<ReplicaRequest, ReplicaReply>,
    /// The shard's seat for connections of other nodes.
    pub peer_seat: MeshSeat<PeerSocket, ()>,
    /// How other nodes are reached; `None`: they are not.
    pub internode: Option<Internode>,
    /// Range scans under way at once.
    pub scans_max: usize,
}

impl Coordinator {
    /// Takes the seats, begins to serve the other shards, and to dial the other nodes.
    pub fn new(parts: CoordinatorParts) -> Coordinator {
        let CoordinatorParts { runtime, ring, sharder, storage, seat, peer_seat, internode, scans_max } = parts;
        let mesh = replica::serve(&runtime, seat, storage.clone());
        let scans = Semaphore::new(scans_max);
        let nodes = match &internode {
            None => Nodes::alone(&ring),
            Some(internode) => Nodes::with_peers(&ring, |index| {
                let parts = PeerParts {
                    address: internode.addresses[usize::from(index.0)],
                    host_id: ring.node(index).host_id,
                    local: ring.local_node().host_id,
                    cluster_name: internode.cluster_name.clone(),
                };
                Peer::start(&runtime, parts)
            }),
        };
        let counter = CounterId(ring.local_node().host_id.0);
        let inner = Inner {
            runtime,
            ring,
            sharder,
            storage,
            counter,
            mesh,
            nodes,
            peer_sockets: OnceCell::new(),
            accepting: RefCell::default(),
            incoming: Incoming::default(),
            scans,
            attempts: Queue::default(),
        };
        let coordinator = Coordinator { inner: Rc::new(inner) };
        coordinator.open_peers(peer_seat);
        coordinator
    }

    /// A keyspace's replication on the present ring, for [`Coordinator::plan`]. To be made anew when the keyspace or the
    /// ring changes.
    pub fn replication(&self, strategy: &ReplicationStrategy) -> Replication {
        Replication::new(&self.inner.ring, strategy)
    }

    /// Whom a request for `token` goes to, if enough of them are alive.
    #[inline]
    pub fn plan<'a>(
        &self,
        replication: &'a Replication,
        token: Token,
        level: ConsistencyLevel,
    ) -> Result<ReplicaPlan<'a>, Unavailable> {
        let inner = &*self.inner;
        replication::plan(replication, &inner.ring, &inner.nodes, inner.sharder, token, level)
    }

    /// A request about a partition of this shard is to come: see [`storage::Shard::foresee`].
    #[inline]
    pub fn foresee(&self, table: TableId, token: Token) {
        self.inner.storage.foresee(table, token);
    }

    /// The same for a read, nearer to it: see [`storage::Shard::foresee_entry`].
    #[inline]
    pub fn foresee_entry(&self, table: TableId, token: Token) {
        self.inner.storage.foresee_entry(table, token);
    }

    /// Who takes a write of the plan.
    #[inline]
    pub fn place_of_write(&self, plan: &ReplicaPlan<'_>) -> PlanPlace {
        self.place_of_plan(plan, plan.is_local_write(&self.inner.nodes))
    }

    /// Who answers a read of the plan.
    #[inline]
    pub fn place_of_read(&self, plan: &ReplicaPlan<'_>) -> PlanPlace {
        self.place_of_plan(plan, plan.is_local_read(&self.inner.nodes))
    }

    #[inline]
    fn place_of_plan(&self, plan: &ReplicaPlan<'_>, is_this_node_enough: bool) -> PlanPlace {
        match is_this_node_enough {
            true if plan.shard == self.inner.runtime.shard() => PlanPlace::Here,
            true => PlanPlace::Shard(plan.shard),
            false => PlanPlace::OtherNodes,
        }
    }

    /// Whether a node answers, as this shard sees it.
    pub fn is_up(&self, node: NodeIndex) -> bool {
        self.inner.nodes.is_alive(node)
    }

    /// The cluster's nodes.
    pub fn ring(&self) -> &Ring {
        &self.inner.ring
    }

    /// The shard's storage.
    pub fn storage(&self) -> &storage::Shard {
        &self.inner.storage
    }

    /// This shard's number.
    pub fn shard(&self) -> ShardId {
        self.inner.runtime.shard()
    }
}
