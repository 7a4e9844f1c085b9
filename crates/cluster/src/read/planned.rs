//! The epoch that a read rests on, and the judgement of its end by what has changed meanwhile. See `docs/internals/fence.md`.

use std::rc::Rc;
use std::time::Duration;

use runtime::Elapsed;
use schema::TableId;
use storage::reader::ReadDone;
use topology::Epoch;

use crate::counts::count;
use crate::fence::Plan;
use crate::outcome::Failure;
use crate::plan::{Nodes, Replication};
use crate::replica::{ReplicaError, Shards};
use crate::timeouts::TimeoutKind;

/// The longest that a read waits for this node to apply a change, if its own time is not shorter.
const CATCH_UP_TIME: Duration = Duration::from_secs(2);

/// The epoch that a read's plan by a replication rests on, once this node has applied it.
pub(crate) async fn planned_at(
    shards: &Shards,
    kind: TimeoutKind,
    table: TableId,
    replication: &Replication,
) -> Result<Epoch, Failure> {
    let fence = &shards.fence;
    let planned = match fence.judge(table, fence.moment(), replication.placed(), false) {
        Plan::Stands(epoch) => epoch,
        Plan::Outdated(_) | Plan::Truncated | Plan::Gone => return Err(Failure::Outdated),
    };
    if fence.has_applied(planned) {
        return Ok(planned);
    }
    let time = CATCH_UP_TIME.min(shards.timeouts.get(kind));
    match shards.runtime.timeout(time, fence.catch_up(None, planned)).await {
        Ok(true) => Ok(planned),
        Ok(false) | Err(Elapsed) => Err(Failure::Timeout { received: 0 }),
    }
}

/// The end of a read whose plan rests on an epoch. Where a replica was Stale, or the ring has changed meanwhile, no answer to it counts.
pub(crate) async fn judge_read(
    shards: &Shards,
    (kind, planned): (TimeoutKind, Epoch),
    nodes: &Rc<Nodes>,
    read: Result<ReadDone, Failure>,
) -> Result<ReadDone, Failure> {
    let fence = &shards.fence;
    let (node, epoch) = match &read {
        Ok(_) if fence.is_placed_otherwise(planned) => {
            count(&shards.counts.planned_again);
            return Err(Failure::Outdated);
        }
        Err(Failure::Refused(ReplicaError::Stale { epoch, shard })) => (nodes.host_at(*shard), *epoch),
        Err(Failure::Failed { refusals, .. }) => {
            let stale = refusals.iter().find_map(|refusal| match refusal.error {
                ReplicaError::Stale { epoch, shard } => Some((nodes.host_at(shard), epoch)),
                _ => None,
            });
            match stale {
                Some(stale) => stale,
                None => return read,
            }
        }
        _ => return read,
    };
    let time = CATCH_UP_TIME.min(shards.timeouts.get(kind));
    let caught_up = shards.runtime.timeout(time, fence.catch_up_after(node, epoch)).await;
    match caught_up {
        Ok(true) => {
            count(&shards.counts.planned_again);
            Err(Failure::Outdated)
        }
        Ok(false) | Err(Elapsed) => Err(Failure::Timeout { received: 0 }),
    }
}
