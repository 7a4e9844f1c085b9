//! Nodes that are lost for good while an operation waits for them whose new replicas are read: it can only go on without them.

use topology::HostId;
use topology::operations::{Operation, OperationChange, Phase, RangeMove};

use super::Planning;

impl Planning<'_> {
    /// The changes by which operations in ReadNew do not wait for a node any more that an operator has given up as lost. Others may be aborted.
    pub fn give_up(&self, host: HostId) -> Vec<OperationChange> {
        let waits = |operation: &&Operation| operation.may_give_up(host) && self.is_replica_of_moves(operation, host);
        self.operations.all().filter(waits).map(|operation| OperationChange::GiveUp(operation.id, host)).collect()
    }

    /// True if a moving range has the node as a replica, before or afterwards.
    fn is_replica_of_moves(&self, operation: &Operation, host: HostId) -> bool {
        assert_eq!(operation.phase, Phase::ReadNew, "others do not pass to the end");
        // Where the rules of a strategy are unknown here, the leader waits for that.
        let moves = self.moves(operation).unwrap_or_default();
        let replicas = |moved: &RangeMove| [moved.old_replicas(), moved.new_replicas()].concat();
        self.hosts_of(moves.iter().flat_map(replicas)).contains(&host)
    }
}
