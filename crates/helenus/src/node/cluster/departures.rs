//! Requests of operators that a node leaves: this one, or another one that is down.
//!
//! States, conditions and invariants: `docs/internals/membership.md`, "Leaving"; this node's own part in them: `leaving.rs`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use membership::{Departure, Leave};
use metadata::group::{Answer, node_id};
use query::LEAVE;
use topology::HostId;
use topology::nodes::{NodeState, Registry};

use super::leaving::{LeavingError, Stage};
use super::{Cluster, Inner};

/// For the cluster to remove a node whose ranges have moved, before its operator is answered all the same.
const REMOVAL_TIME: Duration = Duration::from_secs(120);
/// For this node, and then for all that are up, to apply what the cluster has decided.
const APPLY_TIME: Duration = Duration::from_secs(10);
/// Between two requests to give up what a dead node has.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Requests of operators of this node.
pub(in crate::node) struct Departures {
    inner: Rc<Inner>,
}

impl Departures {
    /// Those of a node of a cluster.
    pub(in crate::node) fn of(cluster: &Cluster) -> Departures {
        Departures { inner: Rc::clone(&cluster.inner) }
    }

    /// Takes this node out of the cluster. Done when no node that is up accepts it any more; the node ends after that.
    pub(in crate::node) async fn decommission(&self, is_forced: bool) -> Result<(), LeavingError> {
        let inner = &self.inner;
        if inner.leaving.stage() != Stage::Member {
            return Err(LeavingError::UnderWay);
        }
        inner.leaving.pass(Stage::Asked);
        let host_id = inner.local.host_id();
        let left = self.leave(Leave { host_id, departure: Departure::Decommission, is_forced }).await;
        if let Err(error) = left {
            if inner.leaving.stage() == Stage::Asked {
                inner.leaving.pass(Stage::Member);
                return Err(error);
            }
            tracing::debug!(%error, "removed all the same");
        }
        let awaited: BTreeSet<HostId> = {
            let registry = inner.registry.borrow();
            registry.nodes().map(|(id, _)| id).filter(|id| *id != host_id && inner.is_up(*id)).collect()
        };
        self.until(APPLY_TIME, |inner| inner.leaving.is_refused_by(&awaited)).await;
        tracing::info!("this node has left the cluster and ends; its data directory is never accepted again");
        inner.leaving.end();
        inner.is_fatal.notify_all();
        Ok(())
    }

    /// Takes another node out of the cluster, which is down. Done when all nodes that are up have applied that.
    pub(in crate::node) async fn remove(&self, host_id: HostId, is_forced: bool) -> Result<(), LeavingError> {
        let inner = &self.inner;
        if host_id == inner.local.host_id() {
            return Err(LeavingError::Own);
        }
        self.leave(Leave { host_id, departure: Departure::Removal, is_forced }).await?;
        let epoch = inner.driver.get().map(|driver| driver.with_member(|member, _| member.applied()));
        let epoch_of = |inner: &Inner, id| {
            inner.driver.get().map(|driver| driver.with_member(|member, _| member.epoch_of(node_id(id))))
        };
        let has_applied = |inner: &Inner| {
            let registry = inner.registry.borrow();
            let mut others = registry.nodes().map(|(id, _)| id).filter(|id| *id != inner.local.host_id());
            others.all(|id| !inner.is_up(id) || epoch_of(inner, id) >= epoch)
        };
        self.until(APPLY_TIME, has_applied).await;
        Ok(())
    }

    /// The state of a node of the cluster.
    pub(in crate::node) fn state_of(&self, host_id: HostId) -> Option<NodeState> {
        state_of(&self.inner.registry.borrow(), host_id)
    }

    /// Has the cluster remove a node, and waits until this node knows that it has.
    async fn leave(&self, leave: Leave) -> Result<(), LeavingError> {
        self.request(leave).await?;
        let joins = |inner: &Inner| state_of(&inner.registry.borrow(), leave.host_id) == Some(NodeState::Joining);
        // Its new replicas are read, so it is a member when its operation has ended without it.
        if leave.is_forced && joins(&self.inner) {
            while joins(&self.inner) && self.inner.driving.moves_tokens_of(leave.host_id) {
                self.inner.has_news.notified().await;
            }
            self.until(APPLY_TIME, |inner| !joins(inner)).await;
            self.request(leave).await?;
        }
        let stays = |inner: &Inner| state_of(&inner.registry.borrow(), leave.host_id) != Some(NodeState::Leaving);
        let is_over = |inner: &Inner| has_left(inner, leave.host_id) || stays(inner);
        // An operation takes as long as it takes; an operator can abort it.
        while !is_over(&self.inner) && self.inner.driving.moves_tokens_of(leave.host_id) {
            if self.waits_for_the_dead(leave)
                && let Err(error) = self.request(leave).await
            {
                tracing::debug!(%error, "hints and batches of a dead node not given up yet; retrying");
            }
            // The node may come back, hand on a part and go down again.
            let news = self.inner.has_news.notified();
            _ = self.inner.runtime.timeout(AGAIN, news).await;
        }
        self.until(REMOVAL_TIME, is_over).await;
        match (has_left(&self.inner, leave.host_id), stays(&self.inner)) {
            (true, _) => Ok(()),
            (false, true) => Err(LeavingError::CalledOff),
            (false, false) => Err(LeavingError::Late { seconds: REMOVAL_TIME.as_secs() }),
        }
    }

    /// True if the removal of a node that is down waits for the hints and batches of that node: it was asked for while the node's own decommission could be aborted, so they
    /// were not given up then.
    fn waits_for_the_dead(&self, leave: Leave) -> bool {
        let Leave { host_id, departure, .. } = leave;
        departure == Departure::Removal && !self.inner.is_up(host_id) && self.inner.driving.awaits_hints_of(host_id)
    }

    /// Asks for a departure. Done when this node has applied it.
    async fn request(&self, leave: Leave) -> Result<(), LeavingError> {
        let driver = self.inner.driver.get().ok_or(LeavingError::NoAnswer { problem: "this node is starting" })?;
        let intention = [&[LEAVE][..], &leave.to_bytes()].concat();
        let no_answer = |problem| Err(LeavingError::NoAnswer { problem });
        let epoch = match driver.propose(driver.new_id(), intention).await {
            Answer::Applied { epoch, .. } => epoch,
            Answer::Refused { epoch, reason } if reason.is_empty() => epoch,
            Answer::Refused { reason, .. } => {
                return Err(LeavingError::Refused { sentence: String::from_utf8_lossy(&reason).into_owned() });
            }
            Answer::NoLeader => {
                return no_answer(
                    "no majority of its voters answers; nothing was changed. If they are lost for good: helenus --recover-metadata",
                );
            }
            Answer::Unknown => return no_answer("the node may be leaving, or may be yet"),
            Answer::Busy | Answer::TooLate => return no_answer("too many changes wait; nothing was changed"),
            Answer::Failed { .. } => return no_answer("the change could not be made durable"),
        };
        if self.inner.runtime.timeout(APPLY_TIME, driver.applied(epoch)).await.is_err()
            && !has_left(&self.inner, leave.host_id)
        {
            return no_answer("this node lags; the node may be leaving");
        }
        Ok(())
    }

    /// Waits for a condition, for so long at most.
    async fn until(&self, at_most: Duration, holds: impl Fn(&Inner) -> bool) {
        let until = self.inner.runtime.now() + at_most;
        while !holds(&self.inner) && self.inner.runtime.now() < until {
            self.inner.runtime.sleep(LOOK).await;
        }
    }
}

fn state_of(registry: &Registry, host_id: HostId) -> Option<NodeState> {
    registry.node(host_id).map(|node| node.state)
}

/// True if a node has left, as far as this one knows. One that has left itself may hear so from others first.
fn has_left(inner: &Inner, host_id: HostId) -> bool {
    let is_own = host_id == inner.local.host_id() && inner.leaving.stage() == Stage::Left;
    is_own || inner.registry.borrow().has_left(host_id)
}
