//! A shard's fence and the cluster's state: shard 0 has the node follow another one, for a request that rests on an epoch which this node lacks.

use std::rc::Rc;
use std::time::Duration;

use cluster::fence::{CatchUp, NO_EPOCH};
use metadata::group::{Index, node_id};
use runtime::ShardId;
use topology::{Epoch, HostId};

use super::Engine;
use crate::control::{ControlReply, ControlRequest};

/// The shard that holds the metadata log.
const LEADER: ShardId = ShardId(0);
/// Between two questions to the node that named the epoch: the group's unit of time.
const AGAIN: Duration = Duration::from_millis(100);
/// Questions before it is given up. Whoever waits has a shorter time of its own.
const TRIES: u32 = 50;

/// Has the requests of an engine's shard compare epochs, from the state of `epoch` on.
pub(super) fn begin_fence(engine: &Engine, epoch: Epoch) {
    let of = Rc::downgrade(&engine.inner);
    let catch_up: CatchUp = Box::new(move |node, epoch| {
        let engine = of.upgrade().map(|inner| Engine { inner });
        Box::pin(async move {
            match engine {
                Some(engine) => follow(&engine, node, epoch).await,
                None => NO_EPOCH,
            }
        })
    });
    engine.inner.coordinator.begin_fence(epoch, &engine.catalog().schema, catch_up);
}

/// Has shard 0 follow a node up to an epoch. Gives the epoch that this node has applied then.
async fn follow(engine: &Engine, node: Option<HostId>, epoch: Epoch) -> Epoch {
    match engine.control().call(LEADER, ControlRequest::CatchUp { node, epoch }).await {
        Ok(ControlReply::Applied(epoch)) => epoch,
        Ok(reply) => panic!("shard 0 answers with the epoch that is applied, not with {reply:?}"),
        Err(_) => NO_EPOCH,
    }
}

/// Follows a node up to an epoch, on shard 0.
pub(super) async fn lead_catch_up(engine: &Engine, node: Option<HostId>, epoch: Epoch) -> Epoch {
    let (group, wanted) = (engine.group(), Index(epoch.0));
    for _ in 0..TRIES {
        if let Some(node) = node {
            group.with_member(|member, _| member.hear_of_epoch(node_id(node), wanted));
        }
        if engine.inner.runtime.timeout(AGAIN, group.applied(wanted)).await.is_ok() {
            break;
        }
    }
    group.with_member(|member, _| Epoch(member.applied().0))
}
