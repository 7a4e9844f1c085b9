//! The coordinator: every read and write goes through a replica plan, is counted and reconciled.
//!
//! Availability is checked before anything is done; data of another shard of the node is asked for by message over the
//! mesh, data of another node by message over a connection; and a replica on this very shard differs only in that nothing is
//! encoded. This is the door to it; the work is done by its parts: [`crate::plan`], [`crate::write`], [`crate::read`],
//! [`crate::serial`] and [`crate::replica`]. See `docs/internals/coordinator.md`.

mod copying;
mod counters;
mod kept;
mod peers;
mod requests;

use std::cell::{OnceCell, RefCell};
use std::ops::Bound;
use std::rc::Rc;

use internode::{Incoming, LocalNode, PeerSocket, Peers};
use runtime::{Mesh, MeshSeat, Runtime, ShardId, TaskHandle};
use schema::TableId;
use topology::operations::Operation;
use topology::{ConsistencyLevel, HostId, ReplicationStrategy, Ring, Sharder, Strategies, Token};

use crate::fence::Fence;
use crate::hints::Delivery;
use crate::plan::{self, Placement};
use crate::read::Reads;

use crate::replica::Shards;
use crate::serial::Rounds;
use crate::streaming::{Jobs, Receiver};
use crate::write::Writes;

pub use self::copying::{Copies, copies, receiving, repairs, set_stream_throughput, stream_throughput};
pub use self::counters::{RequestCounters, answer_nanos};
pub use self::kept::kept_ranges;
pub use crate::hints::{HintFigures, HintOptions, Hints, PendingHints};
pub use crate::operations::{CopyProgress, KeyspaceToCopy, ReceiveFailed, Receiving};
pub use crate::outcome::{Failure, Refusal};
pub use crate::plan::{PlanPlace, ReplicaPlan, Replication, Unavailable};
pub use crate::read::{PageEnd, ReadCounters, ReadPage, ReadsAhead};
pub use crate::repair::{CommandState, RepairChoice, RepairRefused, RepairStatus, RepairedTable, Repairs};
pub use crate::replica::{
    PageLimits, PageWriter, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest, ReplicaShard, Unsynced,
    rebuild_row,
};
pub use crate::serial::{Agreement, AgreementError, Agreements, Attempt, Found, LeftError, PlacedTable, Proposed};
pub use crate::streaming::CopyFigures;
pub use crate::timeouts::{TimeoutKind, TimeoutOptions, Timeouts};
pub use crate::write::{PlannedMutation, are_local};
pub use storage::reader::{Page, ReadDone, row_position};

/// One shard's coordinator. Clones are the same coordinator.
#[derive(Clone)]
pub struct Coordinator {
    inner: Rc<Inner>,
}

struct Inner {
    shards: Rc<Shards>,
    placement: Rc<Placement>,
    writes: Rc<Writes>,
    reads: Rc<Reads>,
    rounds: Rc<Rounds>,
    agreements: Rc<Agreements>,
    /// Copies from other nodes.
    jobs: Rc<Jobs>,
    repairs: Rc<Repairs>,
    receiving: Rc<Receiving>,
    /// Writes that other nodes missed.
    hints: Option<Rc<Hints>>,
    /// Where shard 0 sends the connections of other nodes. Set right after the coordinator is made: the seat's handler
    /// needs the coordinator first.
    peer_sockets: OnceCell<Mesh<PeerSocket, ()>>,
    /// On shard 0: accepts connections of other nodes.
    accepting: RefCell<Option<TaskHandle<()>>>,
    /// Connections of other nodes that came to this shard.
    incoming: Incoming,
    /// This node, as it greets others.
    internode: Option<LocalNode>,
}

/// What a coordinator is made of.
pub struct CoordinatorParts {
    /// The shard's door to the world.
    pub runtime: Runtime,
    /// The cluster's nodes, at first.
    pub ring: Rc<Ring>,
    /// The operations of the cluster's state.
    pub operations: Vec<Rc<Operation>>,
    /// Which shard owns which token.
    pub sharder: Sharder,
    /// The shard's storage.
    pub storage: storage::Shard,
    /// The shard's seat among those that exchange replica requests.
    pub seat: MeshSeat<ReplicaRequest, ReplicaReply>,
    /// The shard's seat for connections of other nodes.
    pub peer_seat: MeshSeat<PeerSocket, ()>,
    /// This node, as it greets others; `None`: it reaches none.
    pub internode: Option<LocalNode>,
    /// Range scans under way at once.
    pub scans_max: usize,
    /// How hints are kept for other nodes.
    pub hints: HintOptions,
    /// Times that requests wait for other nodes, at first.
    pub timeouts: TimeoutOptions,
    /// The replication strategies that keyspaces may name.
    pub strategies: Strategies,
}

impl Coordinator {
    /// Takes the seats, begins to serve the other shards, and to dial the other nodes.
    pub fn new(parts: CoordinatorParts) -> Coordinator {
        let CoordinatorParts {
            runtime,
            ring,
            operations,
            sharder,
            storage,
            seat,
            peer_seat,
            internode,
            scans_max,
            hints,
            timeouts,
            strategies,
        } = parts;
        let (local, planted) = (ring.local_node().host_id, storage.planted());
        let hints = Hints::open(&runtime, &storage, &hints, internode.is_some());
        let shards =
            Shards::new(runtime.clone(), sharder, storage, (local, Timeouts::new(timeouts, internode.clone())), seat);
        let peers = internode.clone().map(|internode| Peers::new(&runtime, internode));
        let incoming = Incoming::default();
        incoming.plant(planted);
        incoming.follow(ring.others().map(|node| node.host_id));
        let placement = Placement::new((ring, operations), peers, strategies, planted);
        let writes = Writes::new(Rc::clone(&shards), Rc::clone(&placement), hints.clone());
        let reads = Rc::new(Reads::new(Rc::clone(&shards), scans_max));
        let receiver = Receiver { shards: Rc::clone(&shards), placement: Rc::clone(&placement) };
        let jobs = Jobs::new(receiver);
        let weak = Rc::downgrade(&jobs);
        let gone = ReplicaError::Gone { shard: shards.here().into() };
        shards.set_jobs(Box::new(move |order| weak.upgrade().ok_or_else(|| gone.clone())?.obey(order)));
        let inner = Inner {
            repairs: Repairs::new(&shards, &placement),
            receiving: Receiving::new(&shards, &placement),
            jobs,
            agreements: Agreements::new(&shards, &placement, &reads, &writes),
            writes,
            reads,
            rounds: Rounds::new(Rc::clone(&shards)),
            hints,
            shards,
            placement,
            peer_sockets: OnceCell::new(),
            accepting: RefCell::default(),
            incoming,
            internode,
        };
        let coordinator = Coordinator { inner: Rc::new(inner) };
        peers::open_peers(&coordinator, peer_seat);
        coordinator
    }

    /// Plans by another ring from now on, with the operations of the cluster's state, queued ones too: one that gives nodes without tokens their first ones, and one that
    /// moves tokens, which all keep those that they have until it is done, or that changes the replication of a keyspace. What was planned by the ring before is done by
    /// that one. Connections to nodes that stay are kept, new
    /// nodes are dialled, and connections to and from nodes that left end. Replications are to be asked for again.
    ///
    /// # Panics
    /// If the ring's epoch is not later than the present one's, its local node is another, or operations run that touch each other.
    pub fn install_ring(&self, ring: Rc<Ring>, operations: impl IntoIterator<Item = Rc<Operation>>) {
        let epoch = ring.epoch();
        let operations: Vec<Rc<Operation>> = operations.into_iter().collect();
        self.inner.incoming.follow(ring.others().map(|node| node.host_id));
        self.inner.jobs.forget_all_but(&operations.iter().map(|operation| operation.id).collect());
        if self.inner.placement.install(ring, operations) {
            self.fence().ring_changed(epoch);
        }
    }

    /// The epochs of the ring and of the tables, as this shard knows them.
    pub fn fence(&self) -> &Fence {
        &self.inner.shards.fence
    }

    /// The replication on the present ring of keyspaces with this strategy that [no operation of their own](replication_of) moves.
    pub fn replication(&self, strategy: &ReplicationStrategy) -> Rc<Replication> {
        self.inner.placement.replication(strategy)
    }

    /// Whom a read of `token`, or a round at a serial level, goes to, if enough of them are alive.
    #[inline]
    pub fn plan<'a>(
        &self,
        replication: &'a Replication,
        token: Token,
        level: ConsistencyLevel,
    ) -> Result<ReplicaPlan<'a>, Unavailable> {
        plan::plan(replication, self.inner.shards.sharder, token, level)
    }

    /// Whom a write of `token` goes to, if enough of them are alive.
    #[inline]
    pub fn plan_write<'a>(
        &self,
        replication: &'a Replication,
        token: Token,
        level: ConsistencyLevel,
    ) -> Result<ReplicaPlan<'a>, Unavailable> {
        plan::plan_write(replication, self.inner.shards.sharder, token, level)
    }

    /// The place that a write of the plan is served at.
    #[inline]
    pub fn place_of_write(&self, plan: &ReplicaPlan<'_>) -> PlanPlace {
        plan.place(plan.is_local_alone(), self.shard())
    }

    /// The place that a read of the plan is served at.
    #[inline]
    pub fn place_of_read(&self, plan: &ReplicaPlan<'_>) -> PlanPlace {
        plan.place(plan.is_local_read(), self.shard())
    }

    /// The place of the rounds of the plan's partition.
    #[inline]
    pub fn serial_place(&self, plan: &ReplicaPlan<'_>) -> PlanPlace {
        // Another node that is the only replica has rounds of its own, and so have several.
        plan.place(plan.is_local_alone(), self.shard())
    }

    /// True if a scan at `level` of the tokens between two bounds can be answered, for which only these ranges' replicas are asked. Gives how many answers the level
    /// needs for each partition.
    pub fn check_range(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        range: (Bound<Token>, Bound<Token>),
    ) -> Result<u32, Unavailable> {
        plan::check_range(replication, level, range)
    }

    /// A request about a partition of this shard is to come: see [`storage::Shard::prefetch_partition`].
    #[inline]
    pub fn prefetch_partition(&self, table: TableId, token: Token) {
        self.storage().prefetch_partition(table, token);
    }

    /// The same for a read, nearer to it: see [`storage::Shard::prefetch_entry`].
    #[inline]
    pub fn prefetch_entry(&self, table: TableId, token: Token) {
        self.storage().prefetch_entry(table, token);
    }

    /// True if a node answers, as this shard sees it.
    pub fn is_up(&self, host_id: HostId) -> bool {
        self.inner.placement.is_up(host_id)
    }

    /// The present ring.
    pub fn ring(&self) -> Rc<Ring> {
        Rc::clone(self.inner.placement.nodes().ring())
    }

    /// The hints that this shard keeps; `None`: there is no folder for them.
    pub fn hints(&self) -> Option<&Hints> {
        self.inner.hints.as_deref()
    }

    /// Delivers hints from now on. When every shard has its engine; `replication_of` finds the replication of a table's keyspace as it is then.
    pub fn deliver_hints(&self, replication_of: impl Fn(TableId) -> Option<Rc<Replication>> + 'static) {
        let Inner { hints: Some(hints), writes, placement, .. } = &*self.inner else { return };
        if self.inner.internode.is_some() {
            Delivery::start(hints, writes, placement, Rc::new(replication_of));
        }
    }

    /// The times that requests of this shard wait for other nodes.
    pub fn timeouts(&self) -> &Timeouts {
        &self.inner.shards.timeouts
    }

    /// The shard's storage.
    pub fn storage(&self) -> &storage::Shard {
        &self.inner.shards.storage
    }

    /// This shard's number.
    pub fn shard(&self) -> ShardId {
        self.inner.shards.here()
    }
}

/// Counts the nodes for which hints wait on this shard, and its batches that are not delivered. The shard hands both on by itself while this node leaves and its ranges have moved. Where nothing is left then, no write rests on a hint of the shard from here on.
pub fn hand_on(coordinator: &Coordinator) -> usize {
    let Inner { hints, writes, placement, .. } = &*coordinator.inner;
    let is_handed_on = hints.as_ref().is_some_and(|hints| hints.is_handed_on());
    if is_handed_on {
        return 0;
    }
    let waiting = hints.as_ref().map_or(0, |hints| hints.waiting()) + writes.undelivered_batches();
    if waiting == 0 && placement.is_leaving(placement.nodes().ring().local_node().host_id) {
        hints.iter().for_each(|hints| hints.are_handed_on());
    }
    waiting
}

/// The replication of a keyspace with this strategy on the present ring, for [`Coordinator::plan`]. To be asked for again when the keyspace or the
/// ring changes.
pub fn replication_of(coordinator: &Coordinator, keyspace: &str, strategy: &ReplicationStrategy) -> Rc<Replication> {
    coordinator.inner.placement.replication_of(keyspace, strategy)
}
