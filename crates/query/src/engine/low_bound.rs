//! The low bound of attempts, as a node keeps it: what its shards do, and what it asks of the cluster. See `docs/internals/paxos.md`.

use std::rc::Rc;

use cluster::coordinator::{LeftError, PlacedTable};
use cluster::paxos::{Ballot, Bound};
use schema::TableId;
use topology::HostId;

use super::Engine;
use super::ddl::low_bound::LowBoundIntention;
use crate::control::{ControlReply, ControlRequest, LeftRequest};

/// Does what is asked of this shard.
pub(super) async fn left(engine: &Engine, request: LeftRequest) -> Result<u64, LeftError> {
    let (agreements, bound) = (engine.inner.coordinator.agreements(), low_bound(engine));
    // Another shard of the node may have applied it before this one.
    let is_known = match request {
        LeftRequest::Look(_) => true,
        LeftRequest::Finish(below) => bound.refused >= below,
        LeftRequest::Delete(closed) => bound.closed >= closed,
    };
    if !is_known {
        return Err(LeftError::NotApplied);
    }
    match request {
        LeftRequest::Look(below) => agreements.has_left(below).await.map(u64::from),
        LeftRequest::Finish(below) => {
            let placed = |table: TableId| -> Option<PlacedTable> {
                let catalog = engine.catalog();
                let replication = catalog.replication_of(table)?;
                Some((Rc::clone(catalog.schema.table_by_id(table)?), replication))
            };
            let new_ballot = |latest: Option<Ballot>| engine.inner.clock.ballot(latest);
            agreements.finish_below(below, &placed, &new_ballot).await.map(|()| 0)
        }
        LeftRequest::Delete(closed) => agreements.delete_below(closed).await,
    }
}

/// Has all shards do a part; the sum of what they answer.
async fn on_shards(engine: &Engine, request: LeftRequest) -> Result<u64, String> {
    let replies = engine.on_all_shards(|| ControlRequest::Left(request)).await.map_err(|error| error.to_string())?;
    let counts = replies.into_iter().map(|(_, reply)| match reply {
        ControlReply::Left(count) => count,
        reply => panic!("a shard answers with a count, not with {reply:?}"),
    });
    counts.sum()
}

/// The low bound of attempts, as this shard applies it.
pub fn low_bound(engine: &Engine) -> Bound {
    engine.inner.coordinator.fence().low_bound()
}

/// True if a shard of this node has a register of several replicas' attempts up to a time, microseconds since 1970. On shard 0, as all of these.
pub async fn has_left(engine: &Engine, below: i64) -> Result<bool, String> {
    on_shards(engine, LeftRequest::Look(below)).await.map(|count| count > 0)
}

/// Finishes what attempts have left on this node up to a time, once its shards refuse what is not later.
pub async fn finish_left(engine: &Engine, below: i64) -> Result<(), String> {
    on_shards(engine, LeftRequest::Finish(below)).await.map(drop)
}

/// Deletes this node's registers up to a time that its shards ignore. Gives how many.
pub async fn delete_left(engine: &Engine, closed: i64) -> Result<u64, String> {
    on_shards(engine, LeftRequest::Delete(closed)).await
}

/// The intention that ballots up to `below` are refused; `apart` microseconds at least after those that are.
pub fn refuse_left(below: i64, apart: i64) -> Vec<u8> {
    LowBoundIntention::Refuse { below, apart }.to_bytes()
}

/// The intention that a node has finished what it has up to `below`.
pub fn finished_left(node: HostId, below: i64) -> Vec<u8> {
    LowBoundIntention::Finished { node, below }.to_bytes()
}
