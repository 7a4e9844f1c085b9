//! A question to the metadata group, and its answer as a statement needs it.

use cluster::coordinator::TimeoutKind;
use metadata::group::{Answer, Index};
use topology::operations::OperationId;

use crate::engine::Engine;
use crate::own_proposal::OwnProposal;

/// Times that a statement is proposed again because others changed the schema meanwhile.
pub(in crate::engine) const TRIES_MAX: u32 = 16;

const LAGS: &str = "this node does not reach the cluster's metadata group, and lags; the change may have been applied";
const NO_LEADER: &str = "the cluster's metadata has no leader, since no majority of its voters answers; nothing was changed. If they are lost for good: helenus --recover-metadata";
const UNKNOWN: &str =
    "no answer of the cluster's metadata leader in time; the change may have been applied, or may be yet";

/// The group's answer.
pub(in crate::engine) enum Answered {
    /// The change is applied.
    Applied {
        /// The event that clients received; `None` where the change is of no schema, or this node got the state as a whole.
        event: Option<schema::SchemaEvent>,
        /// The operation that it has queued; `None` too where this node got the state as a whole.
        queued: Option<OperationId>,
        /// Its epoch.
        epoch: Index,
        /// False if some node has not applied it: it is down, or was too late.
        is_on_all: bool,
    },
    /// The leader refuses it, or there is nothing to change.
    Refused,
    /// It came too late.
    Again,
    /// For this reason.
    Failed(String),
}

/// Proposes an intention, and waits for the outcome. This node has the time of a kind to apply what the group has.
pub(in crate::engine) async fn ask(engine: &Engine, intention: Vec<u8>, kind: TimeoutKind) -> Answered {
    let own = &engine.inner.own_proposals;
    let group = engine.group();
    let id = group.new_id();
    own.borrow_mut().insert(id, OwnProposal::default());
    let answer = group.propose(id, intention).await;
    if let Answer::Applied { epoch, .. } | Answer::Refused { epoch, .. } = answer {
        // The leader waits for nodes that it sees up, of which this one may be none; its state must be as late as the answer.
        let time = engine.inner.coordinator.timeouts().get(kind);
        let is_late = engine.inner.runtime.timeout(time, group.applied(epoch)).await.is_err();
        if is_late {
            own.borrow_mut().remove(&id);
            return Answered::Failed(LAGS.to_owned());
        }
    }
    let OwnProposal { event, queued } = own.borrow_mut().remove(&id).unwrap_or_default();
    match answer {
        Answer::Applied { epoch, lagging } => Answered::Applied { event, queued, epoch, is_on_all: lagging.is_empty() },
        Answer::Refused { .. } => Answered::Refused,
        Answer::TooLate => Answered::Again,
        Answer::Failed { reason } => Answered::Failed(format!("the change could not be made durable: {reason}")),
        Answer::Busy => Answered::Failed("too many schema changes wait; try again".to_owned()),
        Answer::NoLeader => Answered::Failed(NO_LEADER.to_owned()),
        Answer::Unknown => Answered::Failed(UNKNOWN.to_owned()),
    }
}
