//! A proposal of this node, until its asker is answered.

use topology::operations::OperationId;

/// A proposal of this node: what was applied of it.
#[derive(Debug, Default)]
pub(in crate::engine) struct OwnProposal {
    /// The event that clients received of its change of the schema.
    pub(super) event: Option<schema::SchemaEvent>,
    /// The operation of replication that it has queued.
    pub(super) queued: Option<OperationId>,
}
