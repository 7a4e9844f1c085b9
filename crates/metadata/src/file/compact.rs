//! Compaction: the shortest records that state what all records of a log state.

use super::history::LogState;
use super::record::Record;

/// Records with this outcome: the identity, the last start, this node's part in a group or a snapshot of each domain's state, and the truncations
/// that count still.
pub(crate) fn compact(state: &LogState) -> Vec<Record> {
    let (who, truncations) = state.local.compacted(&state.cluster.live_tables());
    let who = who.into_iter().map(Record::Local);
    let cluster: Vec<Record> = match &state.group_state {
        Some(group_state) => state.group.compacted(group_state).into_iter().map(Record::Group).collect(),
        None => state.cluster.snapshot().into_iter().map(Record::Entry).collect(),
    };
    who.chain(cluster).chain(truncations.into_iter().map(Record::Local)).collect()
}
