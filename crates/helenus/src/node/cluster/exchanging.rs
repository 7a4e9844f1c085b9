//! A request of this node's operator for another token: an operation, and the wait for its end.

use membership::OperationRequest;
use metadata::group::Answer;
use query::OPERATION;
use topology::Token;

use super::Cluster;

/// Error of a node that has not exchanged its token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::node) enum MoveFailed {
    /// The cluster refuses it.
    #[error("{0}")]
    Refused(String),
    /// Its operation was aborted.
    #[error("the operation was aborted; the node keeps its token")]
    Aborted,
    /// The group decides nothing now, or its decision is not known.
    #[error("the cluster's metadata group does not answer: {0}")]
    NoAnswer(&'static str),
}

/// Exchanges this node's only token. Done when its ranges have moved.
pub(in crate::node) async fn exchange_token(cluster: &Cluster, token: Token) -> Result<(), MoveFailed> {
    let inner = &cluster.inner;
    let driver = inner.driver.get().ok_or(MoveFailed::NoAnswer("this node is starting"))?;
    let own = inner.local.host_id();
    let intention = [&[OPERATION][..], &OperationRequest::Move(own, token).to_bytes()].concat();
    let epoch = match driver.propose(driver.new_id(), intention).await {
        Answer::Applied { epoch, .. } => epoch,
        // It has the token, or another request for it is under way.
        Answer::Refused { reason, epoch } if reason.is_empty() => epoch,
        Answer::Refused { reason, .. } => {
            return Err(MoveFailed::Refused(String::from_utf8_lossy(&reason).into_owned()));
        }
        Answer::NoLeader => {
            return Err(MoveFailed::NoAnswer("no majority of its voters answers; nothing was changed"));
        }
        Answer::Unknown => return Err(MoveFailed::NoAnswer("the node may move, or may yet")),
        Answer::Busy | Answer::TooLate => {
            return Err(MoveFailed::NoAnswer("too many changes wait; nothing was changed"));
        }
        Answer::Failed { .. } => return Err(MoveFailed::NoAnswer("the change could not be made durable")),
    };
    driver.applied(epoch).await;
    // It takes as long as it takes; an operator can abort it.
    while inner.driving.moves_tokens_of(own) {
        inner.has_news.notified().await;
    }
    let has_it = inner.registry.borrow().node(own).is_some_and(|node| node.tokens == [token]);
    if has_it { Ok(()) } else { Err(MoveFailed::Aborted) }
}
