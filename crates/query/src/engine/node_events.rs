//! Node events on their way from shard 0 to the clients of all shards.

use super::Engine;
use crate::control::ControlRequest;
use crate::event::{Event, NodeEvent};

/// Gives an event to all shards, for their clients. The caller awaits one before the next: all shards have them in the same order then. An error of a
/// shard that is gone is logged, since the node ends.
pub async fn announce_node(engine: &Engine, event: NodeEvent) {
    if let Err(error) = engine.on_all_shards(|| ControlRequest::Announce { event: Event::Node(event) }).await {
        tracing::debug!(?event, %error, "node event not announced");
    }
}
