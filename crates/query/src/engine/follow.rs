//! A shard's fence and the cluster's state: shard 0 has the node follow another one, for a request that rests on an epoch which this node lacks.

use std::time::Duration;

use cluster::fence::{CatchUp, NO_EPOCH};
use metadata::group::{Driver, Index, hear_of_epoch, node_id};
use runtime::{Mesh, Runtime, ShardId};
use topology::{Epoch, HostId};

use crate::control::{ControlReply, ControlRequest};

/// The shard that holds the metadata log.
const LEADER: ShardId = ShardId(0);
/// Between two questions to the node that named the epoch: the group's unit of time.
const AGAIN: Duration = Duration::from_millis(100);
/// Questions before it is given up. Whoever waits has a shorter time of its own.
const TRIES: u32 = 50;

/// A shard's way to catch up: shard 0 is asked.
pub(super) fn catch_up(control: Mesh<ControlRequest, ControlReply>) -> CatchUp {
    Box::new(move |node, epoch| {
        let control = control.clone();
        Box::pin(async move {
            match control.call(LEADER, ControlRequest::CatchUp { node, epoch }).await {
                Ok(ControlReply::Applied(epoch)) => epoch,
                Ok(reply) => panic!("shard 0 answers with the epoch that is applied, not with {reply:?}"),
                Err(_) => NO_EPOCH,
            }
        })
    })
}

/// Follows a node up to an epoch, on shard 0. Gives the epoch that this node has applied then.
pub(super) async fn lead_catch_up(runtime: &Runtime, group: &Driver, node: Option<HostId>, epoch: Epoch) -> Epoch {
    let wanted = Index(epoch.0);
    for _ in 0..TRIES {
        if let Some(node) = node {
            group.with_member(|member, _| hear_of_epoch(member, node_id(node), wanted));
        }
        if runtime.timeout(AGAIN, group.applied(wanted)).await.is_ok() {
            break;
        }
    }
    group.with_member(|member, _| Epoch(member.applied().0))
}
