//! Copies of data between nodes, as operators ask about them.

use admin::{CopyingFacts, StreamFacts};
use cluster::coordinator::{Coordinator, CopyProgress, copies, receiving};

/// The copies to and from this shard.
pub(super) fn stream_facts(coordinator: &Coordinator) -> StreamFacts {
    let facts = |progress: CopyProgress| CopyingFacts {
        operation: progress.operation.0,
        part: progress.part,
        rows: progress.figures.rows,
        bytes: progress.figures.bytes,
        files: progress.figures.files,
        elapsed_ms: u64::try_from(progress.elapsed.as_millis()).unwrap_or(u64::MAX),
    };
    StreamFacts { open: copies(coordinator).open as u64, copying: receiving(coordinator).progress().map(facts) }
}
