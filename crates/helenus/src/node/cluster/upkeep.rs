//! Duties of a node of a cluster at intervals: it lets time pass for the group, shows the others that it lives, and keeps the right voters if it leads.

use std::collections::BTreeSet;
use std::rc::{Rc, Weak};
use std::time::Duration;

use membership::{Request, TopologyDomain};
use metadata::group::{Answer, NodeId, host_id, node_id};
use query::Engine;
use raft::RoleName;
use runtime::Group;
use topology::HostId;
use topology::nodes::{NodeState, RegisteredNode};
use topology::voters::{candidates, choose};

use super::low_bound::{Progress, View};
use super::operations::{Operator, clean, drive, hand_on, receive};
use super::{AGAIN, Inner};

/// The unit of time of the group.
const UNIT: Duration = Duration::from_millis(100);
/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Between two writes of what others have reported of their disks.
const KEEP: Duration = Duration::from_secs(10);
/// Between two measurements of the bytes on disk.
const LOAD: Duration = Duration::from_secs(10);
/// Between two looks at the voters.
const VOTERS: Duration = Duration::from_millis(500);
/// Between two looks at the operations.
const OPERATIONS: Duration = Duration::from_millis(100);
/// A node that is down keeps its vote for so long.
const VOTES_DOWN: Duration = Duration::from_secs(60);
/// Entries that a node may lack and get a vote all the same.
const LAG_MAX: u64 = 64;

/// Begins all of it. It ends with the node.
pub(super) fn begin(inner: &Rc<Inner>, engine: &Engine) {
    every(inner, UNIT, |inner| {
        inner.wire.borrow_mut().elapse();
        if let Some(driver) = inner.driver.get() {
            driver.elapse();
        }
    });
    measure_disk(inner, engine);
    let (engine_of_bound, engine_of_operations) = (engine.clone(), engine.clone());
    let (engine, measured) = (engine.clone(), engine.clone());
    every(inner, LOAD, move |inner| measure_disk(inner, &measured));
    every(inner, HEARTBEAT, move |inner| {
        let (inner, engine) = (Rc::clone(inner), engine.clone());
        let runtime = inner.runtime.clone();
        drop(runtime.spawn(Group::Query, async move { inner.show_life(&engine).await }));
    });
    every(inner, membership::ROUND, |inner| inner.judge_silence());
    every(inner, VOTERS, |inner| {
        keep_voters(inner);
        if inner.config.auto_finalize {
            finalize_by_itself(inner);
        }
        remove_next(inner);
        inner.report_older_disk();
    });
    keep_operations(inner, engine_of_operations);
    keep_low_bound(inner, engine_of_bound);
    every(inner, KEEP, |inner| {
        let inner = Rc::clone(inner);
        let runtime = inner.runtime.clone();
        drop(runtime.spawn(Group::Query, async move { inner.keep_reports().await }));
    });
}

fn measure_disk(inner: &Rc<Inner>, engine: &Engine) {
    let (inner, engine) = (Rc::clone(inner), engine.clone());
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, inner.measure_disk(engine)));
}

fn every(inner: &Rc<Inner>, interval: Duration, act: impl Fn(&Rc<Inner>) + 'static) {
    let (runtime, of): (_, Weak<Inner>) = (inner.runtime.clone(), Rc::downgrade(inner));
    let sleeper = runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        loop {
            sleeper.sleep(interval).await;
            let Some(inner) = of.upgrade() else { return };
            act(&inner);
        }
    }));
}

/// Keeps this node's part in operations.
fn keep_operations(inner: &Rc<Inner>, engine: Engine) {
    let Some(driver) = inner.driver.get().cloned() else { return };
    let [of, fresh_of] = [Rc::downgrade(inner), Rc::downgrade(inner)];
    let is_up = move |host| of.upgrade().is_some_and(|inner| inner.is_up(host));
    let is_fresh = move |host| fresh_of.upgrade().is_some_and(|inner| inner.is_fresh(host));
    let node = Rc::new(Operator {
        runtime: inner.runtime.clone(),
        own: inner.local.host_id(),
        driver,
        engine,
        strategies: inner.strategies.clone(),
        driving: Rc::clone(&inner.driving),
        is_up: Box::new(is_up),
        is_fresh: Box::new(is_fresh),
    });
    every(inner, OPERATIONS, move |_| {
        drive(&node);
        receive(&node);
        hand_on(&node);
        clean(&node);
    });
}

/// Keeps this node's part of the low bound of conditional statements.
fn keep_low_bound(inner: &Rc<Inner>, engine: Engine) {
    let (runtime, of): (_, Weak<Inner>) = (inner.runtime.clone(), Rc::downgrade(inner));
    let mut progress = Progress::new(inner.config.low_bound_age);
    drop(inner.runtime.spawn(Group::Maintenance, async move {
        loop {
            runtime.sleep(progress.interval()).await;
            let Some(inner) = of.upgrade() else { return };
            let Some(driver) = inner.driver.get() else { continue };
            let (own, has_others) = (inner.local.host_id(), inner.registry.borrow().nodes().len() > 1);
            let clock = inner.vital.earliest_clock(&runtime);
            let view = View { runtime: &runtime, driver, own, has_others, clock };
            if let Err(reason) = progress.go_on(&view, &engine).await {
                tracing::debug!(%reason, "low bound of conditional statements not kept now; retrying");
            }
        }
    }));
}

/// Changes the voters where others are better, one change at a time, if this node leads.
fn keep_voters(inner: &Rc<Inner>) {
    let Some(driver) = inner.driver.get() else { return };
    let registry = inner.registry.borrow();
    let (liveness, now) = (inner.liveness.borrow(), inner.runtime.now());
    let is_live = |id: &HostId| *id == inner.local.host_id() || liveness.was_up_within(*id, VOTES_DOWN, now);
    let live: BTreeSet<HostId> = registry.nodes().map(|(id, _)| id).filter(is_live).collect();
    driver.with_member(|member, _| {
        let configuration = member.raft().configuration();
        if member.raft().role() != RoleName::Leader || configuration.is_joint() {
            return;
        }
        let present: BTreeSet<HostId> = configuration.voters().map(host_id).collect();
        let mut candidates = candidates(&registry, &live, &present);
        candidates.retain(|candidate| inner.may_vote(candidate.host_id));
        let aim = choose(&candidates, None);
        if aim.is_empty() || aim == present {
            return;
        }
        if let Some(heir) = heir(inner, &present, &aim) {
            // The next leader takes the vote away, and then the node.
            stdx::sometimes!("leader that leaves hands over");
            if let Err(error) = member.transfer(heir) {
                tracing::debug!(%error, "leadership not handed over now");
            }
            return;
        }
        let has_log = |id: &HostId| {
            let epoch = member.epoch_of(node_id(*id));
            *id == inner.local.host_id() || (liveness.is_up(*id) && epoch.0 + LAG_MAX >= member.state().epoch().0)
        };
        if !aim.difference(&present).all(has_log) {
            return;
        }
        match member.change_voters(&aim.iter().copied().map(node_id).collect()) {
            Ok(_) => tracing::info!(voters = ?aim.iter().map(HostId::to_string).collect::<Vec<_>>(), "changing the voters of the metadata group"),
            Err(error) => tracing::debug!(%error, "voters not changed now"),
        }
    });
}

/// Enables the features that all nodes know; the error is a sentence for an operator.
pub(super) async fn finalize(inner: &Inner) -> Result<(), String> {
    match inner.propose(&Request::Finalize).await {
        Answer::Applied { .. } => Ok(()),
        // All is enabled already.
        Answer::Refused { reason, .. } if reason.is_empty() => Ok(()),
        Answer::Refused { reason, .. } => Err(String::from_utf8_lossy(&reason).into_owned()),
        Answer::NoLeader => Err("the cluster's metadata has no leader; nothing was changed".to_owned()),
        Answer::Failed { reason } => Err(format!("the change could not be made durable: {reason}")),
        Answer::Busy => Err("too many changes wait; try again".to_owned()),
        answer => Err(format!("the outcome is not known; ask again with upgrade status ({answer:?})")),
    }
}

/// Finalizes an upgrade as soon as it can be, if this node leads.
fn finalize_by_itself(inner: &Rc<Inner>) {
    let Some(driver) = inner.driver.get() else { return };
    let is_leader = driver.with_member(|member, _| member.raft().role() == RoleName::Leader);
    let registry = inner.registry.borrow();
    let has_more = !registry.enabled().missing(registry.features()).is_empty() && registry.nodes().len() > 0;
    drop(registry);
    if !is_leader || !has_more || inner.is_finalizing.replace(true) {
        return;
    }
    let inner = Rc::clone(inner);
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        match finalize(&inner).await {
            Ok(()) => tracing::info!(enabled = inner.registry.borrow().enabled().names(), "upgrade finalized"),
            Err(reason) => tracing::debug!(%reason, "upgrade not finalized yet"),
        }
        inner.is_finalizing.set(false);
    }));
}

/// The voter that takes leadership over from this node, which is to leave. `stay` are the nodes that are to vote.
fn heir(inner: &Inner, present: &BTreeSet<HostId>, stay: &BTreeSet<HostId>) -> Option<NodeId> {
    let own = inner.local.host_id();
    if inner.registry.borrow().node(own).is_none_or(|node| node.state != NodeState::Leaving) {
        return None;
    }
    present.intersection(stay).find(|id| **id != own && inner.is_up(**id)).map(|id| node_id(*id))
}

/// Has the group remove a node that is to leave and votes no more, one at a time, if this node leads. One that is up ends its clients first.
fn remove_next(inner: &Rc<Inner>) {
    let Some(driver) = inner.driver.get() else { return };
    let next = driver.with_member(|member, _| {
        let (configuration, state) = (member.raft().configuration(), member.state().cluster());
        if member.raft().role() != RoleName::Leader || configuration.is_joint() {
            return None;
        }
        let has_moved = |node: &RegisteredNode| node.state == NodeState::Leaving && node.tokens.is_empty();
        let mut leaving = state.of::<TopologyDomain>().nodes().filter(|(_, node)| has_moved(node));
        let serving = inner.serving.borrow();
        let is_over = |id: &HostId| !configuration.has(node_id(*id)) && !serving.contains(id);
        leaving.find(|(id, _)| is_over(id)).map(|(id, _)| id)
    });
    let Some(host) = next else { return };
    if inner.leaving.is_removing.replace(true) {
        return;
    }
    let inner = Rc::clone(inner);
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        match inner.propose(&Request::Remove(host)).await {
            Answer::Applied { .. } => tracing::info!(%host, "node was removed from the cluster"),
            // Another leader has done it.
            Answer::Refused { reason, .. } if reason.is_empty() => {}
            answer => {
                tracing::warn!(%host, ?answer, "node that leaves is not removed yet; retrying");
                inner.runtime.sleep(AGAIN).await;
            }
        }
        inner.leaving.is_removing.set(false);
    }));
}
