//! Compaction: the shortest records that state what all records of a log state.

use super::record::Record;
use crate::cluster::ClusterState;
use crate::local::LocalState;

/// Records with this outcome: the identity, the last start, a snapshot of each domain's state, and the truncations that count still.
pub(crate) fn compact(local: &LocalState, cluster: &ClusterState) -> Vec<Record> {
    let (who, truncations) = local.compacted(&cluster.live_tables());
    let who = who.into_iter().map(Record::Local);
    let entries = cluster.snapshot().into_iter().map(Record::Entry);
    who.chain(entries).chain(truncations.into_iter().map(Record::Local)).collect()
}
