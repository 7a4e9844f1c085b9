//! Liveness: drives the state machine of [`membership::Liveness`] by the control connections.
//!
//! States and invariants: `docs/internals/membership.md`, "Liveness".

use std::rc::Rc;
use std::time::Duration;

use internode::Malformed;
use membership::{Crossing, Offset, Pong};
use metadata::group::{Heartbeat, node_id};
use query::{Engine, disk_bytes};
use runtime::Group;
use topology::HostId;

use super::{Inner, contact};

/// Ten times the least rest of a node that dials.
const FRESH: Duration = Duration::from_millis(500);

impl Inner {
    pub(super) fn is_up(&self, host_id: HostId) -> bool {
        self.liveness.borrow().is_up(host_id)
    }

    /// True if the node has been up for so short a time that others may have no connection to it yet: their first tries were refused until it knew them.
    pub(super) fn is_fresh(&self, host_id: HostId) -> bool {
        self.liveness.borrow().is_up_since(host_id, FRESH, self.runtime.now())
    }

    /// A connection to a node is greeted.
    pub(super) fn greeted(&self, host_id: HostId) {
        let is_member = self.liveness.borrow_mut().greeted(host_id, self.runtime.now());
        if let Some(inner) = self.own.upgrade().filter(|_| is_member) {
            inner.show_life_to(host_id);
        }
    }

    /// The connection to a node has ended.
    pub(super) fn disconnected(&self, host_id: HostId) {
        let was_up = self.liveness.borrow_mut().ended(host_id, self.runtime.now());
        if was_up {
            stdx::sometimes!("node down by its connection");
            tracing::warn!(host = %host_id, reason = "its connection ended", "node is down");
        }
        self.went_down(host_id);
    }

    fn went_down(&self, host_id: HostId) {
        assert!(!self.is_up(host_id), "a node that went down is not up");
        self.wire.borrow_mut().disconnected(node_id(host_id));
        self.hear_ready(host_id, None);
        self.set_peers();
    }

    /// Looks for silence. What it takes for dead is disconnected.
    pub(super) fn judge_silence(&self) {
        let now = self.runtime.now();
        let convicted = self.liveness.borrow_mut().round(now);
        for (host_id, was_up) in convicted {
            if was_up {
                let report = self.liveness.borrow().report(host_id, now);
                let limit = report.map(|report| report.limit).unwrap_or_default();
                stdx::sometimes!("node convicted");
                tracing::warn!(host = %host_id, reason = "it does not answer heartbeats", ?limit, "node is down");
            }
            if self.announced.borrow_mut().silenced(host_id) {
                self.has_events.notify();
            }
            self.went_down(host_id);
            self.control.convict(host_id);
        }
    }

    /// An answer to a heartbeat that was sent `round_trip` ago.
    fn answered(self: &Rc<Self>, from: HostId, answer: &[u8], round_trip: Duration) -> Result<(), Malformed> {
        let heartbeat = Heartbeat::decode(answer).map_err(Malformed::new)?;
        let is_known = self.hear_heartbeat(from, &heartbeat)?;
        let now = self.runtime.now();
        let pong = self.liveness.borrow_mut().pong(from, is_known, now);
        if let Some(vitals) = heartbeat.vitals {
            self.vital.hear(from, vitals, self.runtime.now());
            let theirs = i64::try_from(vitals.wall_micros).unwrap_or(i64::MAX);
            let clocks = (theirs, self.runtime.wall_clock_micros());
            let crossing = self.liveness.borrow_mut().clocks(from, clocks, round_trip, now);
            crossing.into_iter().for_each(|crossing| report_clock(from, crossing));
        }
        match pong {
            Pong::Again => self.show_life_to(from),
            Pong::Up => {
                tracing::info!(host = %from, "node is up");
                contact::tell_address(self, from);
                self.set_peers();
            }
            Pong::Same => {}
        }
        self.hear_ready(from, heartbeat.is_ready.then_some(heartbeat.boot));
        Ok(())
    }

    /// Sends a sign of life to each node to which there is a connection.
    pub(super) async fn show_life(self: &Rc<Self>, engine: &Engine) {
        self.look_at_own_disk(engine).await;
        self.vital.note_round();
        let connected: Vec<HostId> = self.liveness.borrow().connected().collect();
        connected.into_iter().for_each(|to| self.show_life_to(to));
    }

    /// Sends a node a sign of life, and takes its own from the answer. The first one on a connection is whole, and nothing else goes before it.
    fn show_life_to(self: &Rc<Self>, to: HostId) {
        let is_whole = !self.is_up(to);
        let (inner, body) = (Rc::clone(self), self.heartbeat(to, is_whole).to_bytes());
        let sent = self.runtime.now();
        drop(self.runtime.spawn(Group::Query, async move {
            let Ok(answer) = inner.control.heartbeat(to, &body).await else { return };
            let round_trip = inner.runtime.now() - sent;
            if let Err(error) = inner.answered(to, &answer, round_trip) {
                tracing::warn!(host = %to, %error, "heartbeat not understood");
            }
        }));
    }

    /// Takes note of the bytes on this node's disk.
    pub(super) async fn measure_disk(self: Rc<Self>, engine: Engine) {
        if let Some(bytes) = disk_bytes(&engine).await {
            self.vital.note_disk(bytes);
        }
    }
}

fn report_clock(host: HostId, crossing: Crossing) {
    let shown = |offset: Offset| (offset.micros as f64 / 1e3, offset.error_micros as f64 / 1e3);
    match crossing {
        Crossing::Above(offset) => {
            let (offset_ms, error_ms) = shown(offset);
            tracing::warn!(
                %host, offset_ms, error_ms,
                "wall clocks of this node and another differ by more than 0.5 s; the latest write may lose: check NTP on both"
            );
        }
        Crossing::Below(offset) => {
            let (offset_ms, error_ms) = shown(offset);
            tracing::info!(%host, offset_ms, error_ms, "wall clocks of this node and another agree again");
        }
    }
}
