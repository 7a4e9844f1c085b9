//! The shortest records that say what a log's records say: what a long log is written anew as.

use std::collections::{BTreeMap, BTreeSet};

use schema::{Schema, TableId};
use storage::ReplayPosition;

use super::record::MetadataRecord;

/// Records with the same outcome as `records`: the identity, the last start, the schema as it is, and per table that still exists the last
/// truncation of each shard. A table whose id is used again is truncated first, and the record that makes it may come yet: truncations
/// behind the last change of the schema stay.
pub(super) fn condense(records: &[MetadataRecord]) -> Vec<MetadataRecord> {
    let mut host_id = None;
    let mut boot = None;
    let mut changes = Vec::new();
    let mut truncations: BTreeMap<TableId, BTreeMap<u16, ReplayPosition>> = BTreeMap::new();
    let mut truncated_last = BTreeSet::new();
    for record in records {
        match record {
            MetadataRecord::HostId(id) => host_id = Some(MetadataRecord::HostId(*id)),
            MetadataRecord::Boot(number) => boot = Some(MetadataRecord::Boot(*number)),
            MetadataRecord::Schema(more) => {
                changes.extend_from_slice(more);
                truncated_last.clear();
            }
            MetadataRecord::Truncated { table, positions } => {
                let of_table = truncations.entry(*table).or_default();
                truncated_last.insert(*table);
                of_table.extend(positions.iter().map(|position| (position.shard, *position)));
            }
        }
    }
    let schema = Schema::empty().with_all(&changes);
    let changes = schema.as_changes();
    let mut condensed: Vec<MetadataRecord> = host_id.into_iter().chain(boot).collect();
    if !changes.is_empty() {
        condensed.push(MetadataRecord::Schema(changes));
    }
    for (table, positions) in truncations {
        // Of a table that is gone no record counts anyway.
        if schema.table_by_id(table).is_some() || truncated_last.contains(&table) {
            condensed.push(MetadataRecord::Truncated { table, positions: positions.into_values().collect() });
        }
    }
    condensed
}
