//! Hints as the engine sees them: their tables' replicas, and which of them wait on all shards.

use std::rc::Rc;

use super::Engine;
use crate::control::{ControlReply, ControlRequest};
use crate::error::QueryError;
use crate::system::NodeHints;

/// Delivers the shard's hints from now on. When every shard has its engine.
pub fn deliver_hints(engine: &Engine) {
    let inner = Rc::downgrade(&engine.inner);
    engine.inner.coordinator.deliver_hints(move |table| {
        let inner = inner.upgrade()?;
        let catalog = Rc::clone(&inner.catalog.borrow());
        catalog.replication_of(table)
    });
}

/// Counts the nodes for which hints wait on all shards, and batches that are not delivered: see [`cluster::coordinator::hand_on`]. The error is a sentence: a shard has not answered.
pub async fn hand_on(engine: &Engine) -> Result<usize, String> {
    let replies = engine.on_all_shards(|| ControlRequest::HandOn).await.map_err(|error| error.to_string())?;
    let of_shards = replies.into_iter().map(|(_, reply)| match reply {
        ControlReply::NotHandedOn(count) => count,
        reply => panic!("a shard says what it has not handed on, not {reply:?}"),
    });
    Ok(of_shards.sum())
}

/// The hints that wait on all shards, one sum for each node.
pub(super) async fn pending_hints(engine: &Engine) -> Result<Vec<NodeHints>, QueryError> {
    let replies = engine.on_all_shards(|| ControlRequest::PendingHints).await?;
    let of_shards = replies.into_iter().filter_map(|(_, reply)| match reply {
        ControlReply::PendingHints(pending) => Some(pending),
        _ => None,
    });
    let mut sums: Vec<NodeHints> = Vec::new();
    for pending in of_shards.flatten() {
        match sums.iter_mut().find(|sum| sum.pending.host_id == pending.host_id) {
            Some(sum) => sum.pending.merge(&pending),
            None => {
                let is_up = engine.inner.coordinator.is_up(pending.host_id);
                sums.push(NodeHints { pending, is_up });
            }
        }
    }
    Ok(sums)
}
