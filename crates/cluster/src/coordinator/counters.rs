//! Counts of what requests over several nodes did, since the start.

use topology::{HostId, NodeIndex};

use super::Coordinator;
use crate::read::ReadCounters;

/// Counts of one shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounters {
    /// Reads that this shard coordinates.
    pub reads: ReadCounters,
    /// Requests, or parts of them, that this shard refused since their plans did not know a change that it has applied.
    pub stale_refusals: u64,
    /// Requests that this shard coordinates and that were planned again, for a change of the ring or of a table.
    pub planned_again: u64,
    /// Copies of logged batches that other nodes keep for this shard, or have kept.
    pub batch_copies: u64,
    /// Copies that other nodes refused, or did not keep in time.
    pub batch_copies_failed: u64,
    /// Copies of other nodes' batches that this shard delivered, since their coordinators did not.
    pub batch_copies_delivered: u64,
    /// Copies of other nodes' batches that this shard keeps now.
    pub batch_copies_kept: u64,
}

impl Coordinator {
    /// Counts of what requests over several nodes did, since the start.
    pub fn counters(&self) -> RequestCounters {
        let shards = &self.inner.shards;
        RequestCounters {
            reads: self.inner.reads.counters(),
            stale_refusals: shards.fence.refused(),
            planned_again: shards.counts.planned_again.get(),
            batch_copies: shards.counts.batch_copies.get(),
            batch_copies_failed: shards.counts.batch_copies_failed.get(),
            batch_copies_delivered: shards.counts.batch_copies_delivered.get(),
            batch_copies_kept: shards.copies.count(),
        }
    }
}

/// The smoothed times in which other nodes answer this shard's reads, nanoseconds: what the choice of readers goes by. Nodes that have not answered any are left out.
pub fn answer_nanos(coordinator: &Coordinator) -> Vec<(HostId, u64)> {
    let nodes = coordinator.inner.placement.nodes();
    let of = |(index, host_id)| Some((host_id, nodes.peer(index)?.answer_nanos()?));
    (0u16..).map(NodeIndex).zip(nodes.ring().nodes().iter().map(|node| node.host_id)).filter_map(of).collect()
}
