//! Copies from other nodes, the repairs that a node leads, and its part in operations, as the node around it reaches them.

use std::rc::Rc;

use super::Coordinator;
use crate::operations::Receiving;
use crate::repair::Repairs;
use crate::streaming::CopyFigures;

/// The repairs that this node leads: those of shard 0.
pub fn repairs(coordinator: &Coordinator) -> &Rc<Repairs> {
    &coordinator.inner.repairs
}

/// The copies that this node makes for operations: those of shard 0.
pub fn receiving(coordinator: &Coordinator) -> &Rc<Receiving> {
    &coordinator.inner.receiving
}

/// Copies to and from a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    /// The figures of each job by which this shard copies from other nodes, or has copied in the last minute.
    pub jobs: Vec<CopyFigures>,
    /// Copies that other nodes have open at this shard.
    pub open: usize,
}

/// The copies to and from this shard.
pub fn copies(coordinator: &Coordinator) -> Copies {
    Copies { jobs: coordinator.inner.jobs.figures(), open: coordinator.inner.shards.sources.count() }
}

/// Bytes a second that copies of this shard's data to other nodes have together; 0: no limit.
pub fn stream_throughput(coordinator: &Coordinator) -> u64 {
    coordinator.inner.shards.sources.rate()
}

/// Sets that limit.
pub fn set_stream_throughput(coordinator: &Coordinator, bytes: u64) {
    coordinator.inner.shards.sources.set_rate(bytes);
}
