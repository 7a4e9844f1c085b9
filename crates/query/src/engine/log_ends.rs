//! The ends of the commit logs of all shards, for what this node reports to others.

use storage::ReplayPosition;

use super::Engine;
use crate::control::{ControlReply, ControlRequest};

/// Where what this boot and earlier ones wrote to the commit logs of all shards ends on the disk. `None` while the node ends.
pub async fn log_ends(engine: &Engine) -> Option<Vec<ReplayPosition>> {
    let replies = engine.on_all_shards(|| ControlRequest::LogEnds).await.ok()?;
    let ends = |reply| if let ControlReply::LogEnds(ends) = reply { ends } else { Vec::new() };
    Some(replies.into_iter().flat_map(|(_, reply)| ends(reply)).collect())
}
