//! Nodes that are lost for good while an operation waits for them whose new replicas are read: it can only go on without them.

use topology::HostId;
use topology::operations::{Operation, OperationChange, RangeMove};

use super::Planning;

/// The changes by which operations in ReadNew do not wait for a node any more that an operator has given up as lost. Others may be aborted.
pub fn give_up(planning: &Planning<'_>, host: HostId) -> Vec<OperationChange> {
    let waits = |operation: &&Operation| operation.may_give_up(host) && is_replica_of_moves(planning, operation, host);
    planning.operations.all().filter(waits).map(|operation| OperationChange::GiveUp(operation.id, host)).collect()
}

/// True if a moving range has the node as a replica, before or afterwards.
fn is_replica_of_moves(planning: &Planning<'_>, operation: &Operation, host: HostId) -> bool {
    // Where the rules of a strategy are unknown here, the leader waits for that.
    let moves = planning.moves(operation).unwrap_or_default();
    let replicas = |moved: &RangeMove| [moved.old_replicas(), moved.new_replicas()].concat();
    planning.hosts_of(moves.iter().flat_map(replicas)).contains(&host)
}
