//! Duties of a node of a cluster at intervals: it lets time pass for the group, shows the others that it lives, and keeps the right voters if it leads.

use std::collections::BTreeSet;
use std::rc::{Rc, Weak};
use std::time::Duration;

use internode::Malformed;
use metadata::group::{Heartbeat, host_id, node_id};
use raft::RoleName;
use runtime::Group;
use topology::HostId;
use topology::voters::{candidates, choose};

use super::Inner;

/// The unit of time of the group.
const UNIT: Duration = Duration::from_millis(100);
/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Between two writes of what others have reported of their disks.
const KEEP: Duration = Duration::from_secs(10);
/// Between two looks at the voters.
const VOTERS: Duration = Duration::from_millis(500);
/// A node that is down keeps its vote for so long.
const VOTES_DOWN: Duration = Duration::from_secs(60);
/// Entries that a node may lack and get a vote all the same.
const LAG_MAX: u64 = 64;

/// Begins all of it. It ends with the node.
pub(super) fn begin(inner: &Rc<Inner>) {
    every(inner, UNIT, |inner| {
        inner.wire.borrow_mut().elapse();
        if let Some(driver) = inner.driver.get() {
            driver.elapse();
        }
    });
    every(inner, HEARTBEAT, |inner| {
        let inner = Rc::clone(inner);
        let runtime = inner.runtime.clone();
        drop(runtime.spawn(Group::Query, async move { show_life(&inner).await }));
    });
    every(inner, VOTERS, |inner| {
        keep_voters(inner);
        inner.report_older_disk();
    });
    every(inner, KEEP, |inner| {
        let inner = Rc::clone(inner);
        let runtime = inner.runtime.clone();
        drop(runtime.spawn(Group::Query, async move { inner.keep_reports().await }));
    });
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

/// Sends a sign of life to each node to which there is a connection.
async fn show_life(inner: &Rc<Inner>) {
    inner.look_at_own_disk().await;
    let greeted: Vec<HostId> = inner.greeted.borrow().iter().copied().collect();
    greeted.into_iter().for_each(|to| show_life_to(inner, to));
}

/// Sends a node a sign of life, and takes its own from the answer. The first one on a connection is whole, and nothing else goes before it.
pub(super) fn show_life_to(inner: &Rc<Inner>, to: HostId) {
    let is_whole = !inner.up.borrow().contains(&to);
    let (inner, body) = (Rc::clone(inner), inner.heartbeat(to, is_whole).to_bytes());
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        let Ok(answer) = inner.control.heartbeat(to, &body).await else { return };
        let heard = Heartbeat::decode(&answer).map_err(Malformed::new);
        let ready = heard.as_ref().ok().filter(|heartbeat| heartbeat.is_ready).map(|heartbeat| heartbeat.boot);
        match heard.and_then(|heartbeat| inner.hear_heartbeat(to, &heartbeat)) {
            Ok(is_known) => {
                if is_known {
                    inner.is_introduced(to);
                }
                inner.hear_ready(to, ready);
            }
            Err(error) => tracing::warn!(host = %to, %error, "heartbeat not understood"),
        }
    }));
}

/// Changes the voters where others are better, one change at a time, if this node leads.
fn keep_voters(inner: &Rc<Inner>) {
    let Some(driver) = inner.driver.get() else { return };
    let registry = inner.registry.borrow();
    let (up, now) = (inner.up.borrow(), inner.runtime.now());
    let down_since = inner.down_since.borrow();
    let is_live = |id: &HostId| {
        let is_up = up.contains(id) || down_since.get(id).is_some_and(|at| now - *at < VOTES_DOWN);
        *id == inner.local.host_id() || (is_up && !inner.disks.is_older(*id))
    };
    let live: BTreeSet<HostId> = registry.nodes().map(|(id, _)| id).filter(is_live).collect();
    driver.with_member(|member, _| {
        let configuration = member.raft().configuration();
        if member.raft().role() != RoleName::Leader || configuration.is_joint() {
            return;
        }
        let present: BTreeSet<HostId> = configuration.voters().map(host_id).collect();
        let aim = choose(&candidates(&registry, &live, &present), None);
        if aim.is_empty() || aim == present {
            return;
        }
        let has_log = |id: &HostId| {
            let epoch = member.epoch_of(node_id(*id));
            *id == inner.local.host_id() || (up.contains(id) && epoch.0 + LAG_MAX >= member.state().epoch().0)
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
