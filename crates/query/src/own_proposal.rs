//! A proposal of this node to the metadata group, with the facts that its asker is answered by.

use schema::SchemaEvent;
use topology::operations::OperationId;

/// The outcome of a proposal, as far as it is applied.
#[derive(Debug, Default)]
pub(crate) struct OwnProposal {
    /// The event that clients received of its change of the schema.
    pub(crate) event: Option<SchemaEvent>,
    /// The operation of replication that it has queued.
    pub(crate) queued: Option<OperationId>,
}
