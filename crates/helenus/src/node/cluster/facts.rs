//! The cluster as operators see it, from what shard 0 keeps of its nodes.

use std::net::SocketAddr;
use std::time::Duration;

use admin::{GroupFacts, LifeFacts};
use membership::Verdict;
use metadata::group::{Vitals, host_id};
use topology::HostId;
use topology::nodes;

use super::{Cluster, Inner};

impl Cluster {
    /// The life of a node of the cluster, this one's too.
    pub(in crate::node) fn life(&self, host_id: HostId) -> Option<LifeFacts> {
        let inner = &self.inner;
        let start = inner.registry.borrow().node(host_id)?.start;
        match host_id == inner.local.host_id() {
            true => Some(own_life(inner, start)),
            false => life_of(inner, host_id, start),
        }
    }

    /// The start of this process by its wall clock, seconds.
    pub(in crate::node) fn generation(&self) -> u64 {
        self.inner.vital.own(&self.inner.runtime).generation
    }

    /// Phi with which a node is convicted.
    pub(in crate::node) fn phi_threshold(&self) -> f64 {
        self.inner.config.phi_convict_threshold.value()
    }

    /// The metadata group, once this node has one.
    pub(in crate::node) fn group_facts(&self) -> Option<GroupFacts> {
        let inner = &self.inner;
        let (group, driver) = (inner.group.get()?, inner.driver.get()?);
        let registry = inner.registry.borrow();
        let address = |id| registry.node(host_id(id)).map(|node| SocketAddr::from(node.start.internode));
        driver.with_member(|member, _| {
            let configuration = member.raft().configuration();
            let epoch = member.state().epoch();
            Some(GroupFacts {
                id: HostId(group.id.to_be_bytes()).to_string(),
                incarnation: group.incarnation,
                epoch: epoch.0,
                pending: epoch.0.saturating_sub(member.applied().0),
                term: member.raft().term().0,
                voters: configuration.voters().filter_map(address).collect(),
                leader: member.raft().leader().and_then(address),
                is_voter: configuration.voters().any(|voter| host_id(voter) == inner.local.host_id()),
                is_changing: configuration.is_joint(),
                lagging: member.lagging(epoch),
            })
        })
    }
}

fn own_life(inner: &Inner, start: nodes::Start) -> LifeFacts {
    let vitals = inner.vital.own(&inner.runtime);
    let said = said(Some(vitals), start);
    LifeFacts { verdict: "up", heartbeats: inner.vital.rounds(), is_ready: inner.is_ready.get(), ..said }
}

fn life_of(inner: &Inner, host_id: HostId, start: nodes::Start) -> Option<LifeFacts> {
    let report = inner.liveness.borrow().report(host_id, inner.runtime.now())?;
    Some(LifeFacts {
        verdict: match report.verdict {
            Verdict::Up => "up",
            Verdict::Down => "down",
            Verdict::Convicted => "convicted",
            Verdict::Greeted(_) => "greeted",
        },
        since_ms: millis(report.since),
        silence_ms: report.silence.map(millis),
        limit_ms: millis(report.limit),
        gap_ms: report.gap_longest.map(millis),
        phi: report.phi,
        heartbeats: report.pongs,
        is_ready: inner.announced.borrow().is_usable(host_id),
        clock_offset_micros: report.offset.map(|offset| (offset.micros, offset.error_micros)),
        ..said(inner.vital.of(host_id), start)
    })
}

/// The node's word about itself, without a judgement yet.
fn said(vitals: Option<Vitals>, start: nodes::Start) -> LifeFacts {
    let schema_version = vitals.map(|vitals| vitals.schema_version).filter(|version| *version != [0; 16]);
    LifeFacts {
        verdict: "down",
        since_ms: 0,
        silence_ms: None,
        limit_ms: 0,
        gap_ms: None,
        phi: 0.0,
        heartbeats: 0,
        is_ready: false,
        generation: vitals.map(|vitals| vitals.generation),
        load_bytes: vitals.map(|vitals| vitals.disk_bytes),
        schema_version: schema_version.map(|version| HostId(version).to_string()),
        clock_offset_micros: None,
        internode: start.internode.into(),
        native: start.native.into(),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
