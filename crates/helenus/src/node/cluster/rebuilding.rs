//! A request of this node's operator to copy its ranges again: an operation, and the wait for its end.

use membership::Rebuild;
use metadata::group::Answer;
use query::REBUILD;
use topology::operations::OperationId;

use super::Cluster;
use super::driving::CopyEnd;

/// Error of a node that has not copied its ranges again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::node) enum RebuildFailed {
    /// The cluster refuses it.
    #[error("{0}")]
    Refused(String),
    /// Its operation was aborted.
    #[error("operation {0} was aborted; the node has not copied all of its ranges")]
    Aborted(OperationId),
    /// The group decides nothing now, or its decision is not known.
    #[error("the cluster's metadata group does not answer: {0}")]
    NoAnswer(&'static str),
}

/// Has this node copy its ranges of all keyspaces again, from the replicas of a datacenter if one is named. Done when all is copied.
pub(in crate::node) async fn rebuild(cluster: &Cluster, datacenter: Option<String>) -> Result<(), RebuildFailed> {
    let inner = &cluster.inner;
    let driver = inner.driver.get().ok_or(RebuildFailed::NoAnswer("this node is starting"))?;
    let host_id = inner.local.host_id();
    let from = inner.driving.known().next();
    let intention = [&[REBUILD][..], &Rebuild { host_id, datacenter }.to_bytes()].concat();
    let epoch = match driver.propose(driver.new_id(), intention).await {
        Answer::Applied { epoch, .. } => epoch,
        Answer::Refused { reason, .. } if reason.is_empty() => return Ok(()),
        Answer::Refused { reason, .. } => {
            return Err(RebuildFailed::Refused(String::from_utf8_lossy(&reason).into_owned()));
        }
        Answer::NoLeader => {
            return Err(RebuildFailed::NoAnswer("no majority of its voters answers; nothing was changed"));
        }
        Answer::Unknown => return Err(RebuildFailed::NoAnswer("the node may copy its ranges, or may yet")),
        Answer::Busy | Answer::TooLate => {
            return Err(RebuildFailed::NoAnswer("too many changes wait; nothing was changed"));
        }
        Answer::Failed { .. } => return Err(RebuildFailed::NoAnswer("the change could not be made durable")),
    };
    driver.applied(epoch).await;
    // It takes as long as it takes; an operator can abort it.
    loop {
        match inner.driving.copy_of(host_id).filter(|(id, _)| *id >= from) {
            Some((_, CopyEnd::Done)) => return Ok(()),
            Some((id, CopyEnd::Aborted)) => return Err(RebuildFailed::Aborted(id)),
            Some((_, CopyEnd::Runs)) => inner.has_news.notified().await,
            // This node got a state as a whole, by which the operation has ended.
            None => {
                return Err(RebuildFailed::NoAnswer("the operation has ended; whether it was aborted is not known"));
            }
        }
    }
}
