//! Facts of all shards that this node reports to others: the ends of the commit logs, the bytes on disk.

use storage::ReplayPosition;

use super::Engine;
use crate::control::{ControlReply, ControlRequest};

/// Where what this boot and earlier ones wrote to the commit logs of all shards ends on the disk. `None` while the node ends.
pub async fn log_ends(engine: &Engine) -> Option<Vec<ReplayPosition>> {
    let replies = engine.on_all_shards(|| ControlRequest::LogEnds).await.ok()?;
    let ends = |reply| if let ControlReply::LogEnds(ends) = reply { ends } else { Vec::new() };
    Some(replies.into_iter().flat_map(|(_, reply)| ends(reply)).collect())
}

/// Bytes of the SSTables of all shards. `None` while the node ends.
pub async fn disk_bytes(engine: &Engine) -> Option<u64> {
    let replies = engine.on_all_shards(|| ControlRequest::DiskBytes).await.ok()?;
    let bytes = |reply| if let ControlReply::DiskBytes(bytes) = reply { bytes } else { 0 };
    Some(replies.into_iter().map(|(_, reply)| bytes(reply)).sum())
}
