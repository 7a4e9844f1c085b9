//! The units that a shard has received for operations: confirmed by the record that lists them, and known after a start.

use topology::TokenRanges;
use topology::operations::OperationId;

use crate::manifest::{CopyName, ManifestError, Record};
use crate::shard::Shard;

/// The ranges of a copy that are in the shard's files. They stay confirmed whatever becomes of the files: a table that is emptied is emptied at its sources too.
pub fn confirmed(shard: &Shard, name: CopyName) -> TokenRanges {
    shard.manifest().contents().confirmed.of(name)
}

/// The operations for which the shard has confirmed something, ascending.
pub fn operations_confirmed(shard: &Shard) -> Vec<OperationId> {
    shard.manifest().contents().confirmed.operations()
}

/// Forgets what is confirmed for an operation that is over.
pub async fn forget_confirmed(shard: &Shard, operation: OperationId) -> Result<(), ManifestError> {
    shard.manifest().append(Record::CopiesEnded(operation)).await
}
