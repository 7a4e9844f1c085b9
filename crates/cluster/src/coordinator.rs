//! The coordinator: every read and write goes through a replica plan, is counted and reconciled here.
//!
//! There is one node for now, so a plan has one contact, this node, and one answer decides. What remains of the general way is
//! the way itself: availability is checked before anything is done, data of another shard of the node is asked for by
//! message, and a replica on this very shard differs only in that nothing is encoded. See `docs/internals/coordinator.md`.

mod message;
mod page;
mod place;
mod read;
mod replica;
mod replication;
mod scan;
mod write;

use std::rc::Rc;

use runtime::sync::Semaphore;
use runtime::{Mesh, MeshSeat, Runtime, ShardId};
use schema::ReplicationStrategy;
use topology::{ConsistencyLevel, Ring, Sharder, Token};

pub use message::{Page, PageLimits, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest};
pub use page::{PageWriter, rebuild_row};
pub use place::row_position;
pub use read::ReadDone;
pub use replication::{ReplicaPlan, Replication, Unavailable};
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
    mesh: Mesh<ReplicaRequest, ReplicaReply>,
    scans: Semaphore,
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
    /// Range scans under way at once.
    pub scans_max: usize,
}

impl Coordinator {
    /// Takes the seat and begins to serve the other shards.
    pub fn new(parts: CoordinatorParts) -> Coordinator {
        let CoordinatorParts { runtime, ring, sharder, storage, seat, scans_max } = parts;
        let mesh = replica::serve(&runtime, seat, storage.clone());
        let scans = Semaphore::new(scans_max);
        Coordinator { inner: Rc::new(Inner { runtime, ring, sharder, storage, mesh, scans }) }
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
        replication::plan(replication, &self.inner.ring, self.inner.sharder, token, level)
    }

    /// Whether this shard alone serves the plan, so that it can be served without waiting for others.
    #[inline]
    pub fn is_here(&self, plan: &ReplicaPlan<'_>) -> bool {
        plan.shard == self.inner.runtime.shard() && plan.is_local_only()
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
