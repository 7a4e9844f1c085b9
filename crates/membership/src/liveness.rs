//! Liveness of the other nodes, as this node judges it: a state machine of handshakes, pongs, rounds and ends of connections.
//!
//! It reads no clock: each call has the time of this node's monotonic clock, and an answer's wall clock where it has one. States, transitions and invariants:
//! `docs/internals/membership.md`, "Liveness". It neither sends nor closes anything: its caller sends heartbeats, and closes the connections of nodes that a
//! round has convicted.

mod clock_offset;
mod gaps;

use std::collections::BTreeMap;
use std::time::Duration;

use planted::{Bug, Planted};
use runtime::Instant;
use topology::HostId;

use self::clock_offset::ClockOffset;
pub use self::clock_offset::{Crossing, Offset};
use self::gaps::Gaps;

/// Time between two rounds.
pub const ROUND: Duration = Duration::from_millis(100);
/// Lateness of a round, or of a pong, after which this process has not listened.
const LATE: Duration = Duration::from_secs(1);
/// Bounds of the limit, at the default threshold.
const SILENCE_MIN: Duration = Duration::from_secs(2);
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The limit by the longest gap.
const GAPS_PER_LIMIT: u32 = 4;
/// Pongs on a connection until its node is up.
const PONGS_TO_BE_UP: u8 = 2;

/// Cassandra's `phi_convict_threshold`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhiThreshold(f64);

impl PhiThreshold {
    /// The least and the greatest, as Cassandra has them.
    pub const RANGE: std::ops::RangeInclusive<f64> = 5.0..=16.0;

    /// The threshold of that value, if it is within the range.
    pub fn new(value: f64) -> Option<PhiThreshold> {
        PhiThreshold::RANGE.contains(&value).then_some(PhiThreshold(value))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

// Within the range: never NaN.
impl Eq for PhiThreshold {}

impl Default for PhiThreshold {
    fn default() -> PhiThreshold {
        PhiThreshold(8.0)
    }
}

/// The judgement of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is no connection.
    Down,
    /// No connection, since the last one was silent for too long.
    Convicted,
    /// A connection, with this many pongs on it.
    Greeted(u8),
    /// A connection that works.
    Up,
}

/// The effect of a pong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pong {
    /// The node is up from now on.
    Up,
    /// One more is needed: a heartbeat is to be sent at once.
    Again,
    /// Nothing changed.
    Same,
}

/// A node as operators see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// The judgement.
    pub verdict: Verdict,
    /// Time since it changed from up to not up, or the reverse, or since the node is known.
    pub since: Duration,
    /// Time since the last sign of life on the connection; `None` without one.
    pub silence: Option<Duration>,
    /// The silence after which it is convicted.
    pub limit: Duration,
    /// The longest gap of the last ten minutes.
    pub gap_longest: Option<Duration>,
    /// The silence in terms of the limit: the node is convicted when it reaches the threshold.
    pub phi: f64,
    /// Pongs since the node is known.
    pub pongs: u64,
    /// Its wall clock against this node's.
    pub offset: Option<Offset>,
}

#[derive(Debug)]
struct Node {
    verdict: Verdict,
    /// When it became up, or ceased to be.
    since: Instant,
    /// The handshake, or the last pong.
    heard: Instant,
    gaps: Gaps,
    offset: ClockOffset,
    pongs: u64,
}

/// The other nodes of the cluster.
#[derive(Debug)]
pub struct Liveness {
    threshold: PhiThreshold,
    planted: Planted,
    nodes: BTreeMap<HostId, Node>,
    /// When this process was last known to listen.
    listened: Instant,
}

impl Liveness {
    /// Knows no node yet.
    pub fn new(threshold: PhiThreshold, planted: Planted, now: Instant) -> Liveness {
        Liveness { threshold, planted, nodes: BTreeMap::new(), listened: now }
    }

    /// Follows the registry: these are the other nodes.
    pub fn follow(&mut self, others: impl IntoIterator<Item = HostId>, now: Instant) {
        let mut before = std::mem::take(&mut self.nodes);
        for host_id in others {
            let node = before.remove(&host_id).unwrap_or_else(|| Node::new(now));
            self.nodes.insert(host_id, node);
        }
    }

    /// A connection to the node is greeted. False if the node is none of the cluster.
    pub fn greeted(&mut self, host_id: HostId, now: Instant) -> bool {
        let Some(node) = self.nodes.get_mut(&host_id) else { return false };
        assert!(!node.is_connected(), "a connection begins after the one before has ended");
        (node.verdict, node.heard) = (Verdict::Greeted(0), now);
        true
    }

    /// An answer to a heartbeat has come; `is_known` if it says how far its sender's disk is, that is, if its sender has started.
    pub fn pong(&mut self, host_id: HostId, is_known: bool, now: Instant) -> Pong {
        self.rest_if_late(now);
        let needed = if self.planted.is(Bug::UpByOnePong) { 1 } else { PONGS_TO_BE_UP };
        let Some(node) = self.nodes.get_mut(&host_id) else { return Pong::Same };
        if !node.is_connected() {
            // It was on its way when the connection ended.
            return Pong::Same;
        }
        let gap = now - node.heard;
        node.heard = now;
        node.pongs += 1;
        match node.verdict {
            Verdict::Greeted(_) if !is_known => Pong::Same,
            Verdict::Greeted(pongs) if pongs + 1 < needed => {
                node.verdict = Verdict::Greeted(pongs + 1);
                Pong::Again
            }
            Verdict::Greeted(_) => {
                node.gaps.note(gap, now);
                (node.verdict, node.since) = (Verdict::Up, now);
                Pong::Up
            }
            Verdict::Up => {
                node.gaps.note(gap, now);
                Pong::Same
            }
            Verdict::Down | Verdict::Convicted => unreachable!("it is connected"),
        }
    }

    /// The wall clock of an answer whose heartbeat was sent `round_trip` ago, and this node's own at its arrival, microseconds. Says when the offset crosses
    /// the bound of the warning.
    pub fn clocks(
        &mut self,
        host_id: HostId,
        (theirs, own): (i64, i64),
        round_trip: Duration,
        now: Instant,
    ) -> Option<Crossing> {
        let by_longest = self.planted.is(Bug::OffsetByTheLongestWay);
        let node = self.nodes.get_mut(&host_id)?;
        node.offset.note(Offset::measured(theirs, own, round_trip), now, by_longest);
        node.offset.crossing(now)
    }

    /// The connection to the node has ended. True if it was up.
    pub fn ended(&mut self, host_id: HostId, now: Instant) -> bool {
        let Some(node) = self.nodes.get_mut(&host_id) else { return false };
        if !node.is_connected() {
            return false;
        }
        let was_up = node.verdict == Verdict::Up;
        if was_up {
            node.since = now;
        }
        node.verdict = Verdict::Down;
        was_up
    }

    /// Looks for silence. Gives the nodes that it convicts: with true those that were up. Their connections are to be closed.
    pub fn round(&mut self, now: Instant) -> Vec<(HostId, bool)> {
        let is_late = self.rest_if_late(now);
        self.listened = now;
        if is_late {
            return Vec::new();
        }
        let threshold = self.threshold;
        let silent = |node: &&mut Node| node.is_connected() && now - node.heard >= node.limit(threshold, now);
        let mut convicted = Vec::new();
        for (host_id, node) in &mut self.nodes {
            let Some(node) = Some(node).filter(silent) else { continue };
            let was_up = node.verdict == Verdict::Up;
            if was_up {
                node.since = now;
            }
            node.verdict = Verdict::Convicted;
            convicted.push((*host_id, was_up));
        }
        convicted
    }

    /// If this process has not listened for a while: no silence until now is another node's.
    fn rest_if_late(&mut self, now: Instant) -> bool {
        let is_late = now - self.listened > ROUND + LATE && !self.planted.is(Bug::PauseConvictsOthers);
        if is_late {
            stdx::sometimes!("liveness judged late");
            self.listened = now;
            self.nodes.values_mut().for_each(|node| node.heard = now);
        }
        is_late
    }

    /// True if the node is up.
    pub fn is_up(&self, host_id: HostId) -> bool {
        self.nodes.get(&host_id).is_some_and(|node| node.verdict == Verdict::Up)
    }

    /// The nodes that are up.
    pub fn up(&self) -> impl Iterator<Item = HostId> + '_ {
        self.nodes.iter().filter(|(_, node)| node.verdict == Verdict::Up).map(|(host_id, _)| *host_id)
    }

    /// The nodes to which there is a connection: heartbeats go to them.
    pub fn connected(&self) -> impl Iterator<Item = HostId> + '_ {
        self.nodes.iter().filter(|(_, node)| node.is_connected()).map(|(host_id, _)| *host_id)
    }

    /// True if the node is up, or was so less than `time` ago.
    pub fn was_up_within(&self, host_id: HostId, time: Duration, now: Instant) -> bool {
        let is_recent = |node: &Node| node.verdict == Verdict::Up || now - node.since < time;
        self.nodes.get(&host_id).is_some_and(is_recent)
    }

    /// True if the node is up since less than `time`.
    pub fn is_up_since(&self, host_id: HostId, time: Duration, now: Instant) -> bool {
        self.nodes.get(&host_id).is_some_and(|node| node.verdict == Verdict::Up && now - node.since < time)
    }

    /// The node as operators see it.
    pub fn report(&self, host_id: HostId, now: Instant) -> Option<Report> {
        let node = self.nodes.get(&host_id)?;
        let limit = node.limit(self.threshold, now);
        let silence = node.is_connected().then(|| now - node.heard);
        let phi = silence.map_or(0.0, |silence| self.threshold.0 * silence.as_secs_f64() / limit.as_secs_f64());
        Some(Report {
            verdict: node.verdict,
            since: now - node.since,
            silence,
            limit,
            gap_longest: node.gaps.longest(now),
            phi,
            pongs: node.pongs,
            offset: node.offset.best(now),
        })
    }
}

impl Node {
    fn new(now: Instant) -> Node {
        Node {
            verdict: Verdict::Down,
            since: now,
            heard: now,
            gaps: Gaps::default(),
            offset: ClockOffset::default(),
            pongs: 0,
        }
    }

    fn is_connected(&self) -> bool {
        matches!(self.verdict, Verdict::Greeted(_) | Verdict::Up)
    }

    fn limit(&self, threshold: PhiThreshold, now: Instant) -> Duration {
        let by_gaps = self.gaps.longest(now).unwrap_or_default() * GAPS_PER_LIMIT;
        let limit = by_gaps.clamp(SILENCE_MIN, SILENCE_MAX).mul_f64(threshold.0 / PhiThreshold::default().0);
        assert!(limit >= SILENCE_MIN / 2 && limit <= SILENCE_MAX * 2, "the threshold is within its range");
        limit
    }
}

#[cfg(test)]
mod tests;
