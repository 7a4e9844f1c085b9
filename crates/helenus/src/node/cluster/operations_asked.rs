//! Operations as operators ask for them: their state, and an abort.

use admin::{OperationFacts, OperationsFacts};
use membership::OperationRequest;
use metadata::group::Answer;
use query::OPERATION;
use raft::RoleName;
use topology::HostId;
use topology::operations::{Kind, Operation, OperationId, Target};

use super::Cluster;

/// The operations as this node has applied them.
pub(in crate::node) fn operations_facts(cluster: &Cluster) -> OperationsFacts {
    let driving = &cluster.inner.driving;
    let (operations, waits) = (driving.known(), driving.waits.borrow());
    let facts = |operation: &Operation| OperationFacts {
        number: operation.id.0,
        kind: operation.kind.to_string(),
        phase: operation.phase.to_string(),
        nodes: match &operation.target {
            Target::Tokens(nodes) => nodes.keys().map(HostId::to_string).collect(),
            Target::Copy { node, .. } => vec![node.to_string()],
            Target::Replication { .. } => Vec::new(),
        },
        replaced: match &operation.target {
            Target::Tokens(nodes) if operation.kind == Kind::Replace => {
                nodes.iter().find(|(_, tokens)| tokens.is_empty()).map(|(host_id, _)| host_id.to_string())
            }
            _ => None,
        },
        keyspace: match &operation.target {
            Target::Replication { keyspace, .. } => Some(keyspace.clone()),
            Target::Tokens(_) | Target::Copy { .. } => None,
        },
        copied: operation.copied.iter().map(HostId::to_string).collect(),
        lost: operation.lost.iter().map(HostId::to_string).collect(),
        waits_for: waits.get(&operation.id).cloned(),
    };
    let unclean = operations.unclean().map(|host| host.to_string()).collect();
    let driver = cluster.inner.driver.get();
    let leads = driver.is_some_and(|of| of.with_member(|member, _| member.raft().role() == RoleName::Leader));
    OperationsFacts { operations: operations.all().map(facts).collect(), unclean, leads }
}

/// Aborts an operation. The error is a sentence for an operator.
pub(in crate::node) async fn abort_operation(cluster: &Cluster, number: u64) -> Result<(), String> {
    let driver = cluster.inner.driver.get().ok_or("this node is starting")?;
    let request = OperationRequest::Abort(OperationId(number));
    let intention = [&[OPERATION][..], &request.to_bytes()].concat();
    match driver.propose(driver.new_id(), intention).await {
        Answer::Applied { .. } => Ok(()),
        Answer::Refused { reason, .. } => Err(String::from_utf8_lossy(&reason).into_owned()),
        Answer::NoLeader => Err("the cluster's metadata has no leader; nothing was changed".to_owned()),
        Answer::Failed { reason } => Err(format!("the change could not be made durable: {reason}")),
        Answer::Busy | Answer::TooLate => Err("too many changes wait; nothing was changed".to_owned()),
        Answer::Unknown => Err("the outcome is not known; the operation may be aborted, or may be yet".to_owned()),
    }
}
