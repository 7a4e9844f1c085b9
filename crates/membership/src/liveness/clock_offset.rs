//! The offset of a node's wall clock, as NTP estimates it: from the answer with the least round trip of the last minute.
//!
//! An answer's clock was read between sending and arrival. So half of the round trip bounds the error, and answers whose bounds do not meet prove that one of
//! the two clocks has jumped or drifted between them: the later one is right, and all before are dropped.

use std::time::Duration;

use runtime::Instant;

/// A minute in buckets.
const BUCKETS: usize = 12;
const BUCKET: Duration = Duration::from_secs(5);
/// Offset from which on a warning is logged, and below which it is over, microseconds.
const WARN_MICROS: i64 = 500_000;
const CALM_MICROS: i64 = 400_000;

/// An estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The node's wall clock less this one's, microseconds.
    pub micros: i64,
    /// The most by which the estimate is wrong, microseconds: half of the round trip.
    pub error_micros: i64,
}

/// A change of the offset that an operator should hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    /// It is above the bound now.
    Above(Offset),
    /// It is below again.
    Below(Offset),
}

impl Offset {
    /// The estimate from one answer: the clock that it has, and this node's own at its arrival, microseconds.
    pub(super) fn measured(theirs: i64, own: i64, round_trip: Duration) -> Offset {
        let half = i64::try_from(round_trip.as_micros().div_ceil(2)).unwrap_or(i64::MAX);
        Offset { micros: theirs.saturating_sub(own.saturating_sub(half)), error_micros: half }
    }

    /// The least that it can be, in amount.
    fn at_least(self) -> i64 {
        self.micros.saturating_abs().saturating_sub(self.error_micros)
    }

    fn contradicts(self, other: Offset) -> bool {
        let apart = self.micros.saturating_sub(other.micros).saturating_abs();
        apart > self.error_micros.saturating_add(other.error_micros)
    }
}

/// The estimates of one node.
#[derive(Debug, Default)]
pub(super) struct ClockOffset {
    buckets: [Option<(u64, Offset)>; BUCKETS],
    /// The warning was given.
    is_above: bool,
}

fn number(now: Instant) -> u64 {
    now.as_nanos() / BUCKET.as_nanos() as u64
}

impl ClockOffset {
    pub(super) fn note(&mut self, offset: Offset, now: Instant, by_longest: bool) {
        if self.recent(now).any(|before| before.contradicts(offset)) {
            stdx::sometimes!("clocks contradict");
            self.buckets = [None; BUCKETS];
        }
        let number = number(now);
        let bucket = &mut self.buckets[number as usize % BUCKETS];
        let is_worse = |before: &Offset| (before.error_micros <= offset.error_micros) != by_longest;
        match bucket {
            Some((of, before)) if *of == number && is_worse(before) => {}
            _ => *bucket = Some((number, offset)),
        }
    }

    /// The estimate with the least error.
    pub(super) fn best(&self, now: Instant) -> Option<Offset> {
        self.recent(now).min_by_key(|offset| offset.error_micros)
    }

    /// The change since the last call. Between the bounds nothing changes, so that an offset at one of them is reported once.
    pub(super) fn crossing(&mut self, now: Instant) -> Option<Crossing> {
        let best = self.best(now)?;
        if !self.is_above && best.at_least() > WARN_MICROS {
            self.is_above = true;
            return Some(Crossing::Above(best));
        }
        if self.is_above && best.micros.saturating_abs().saturating_add(best.error_micros) < CALM_MICROS {
            self.is_above = false;
            return Some(Crossing::Below(best));
        }
        None
    }

    fn recent(&self, now: Instant) -> impl Iterator<Item = Offset> + '_ {
        let number = number(now);
        let all = self.buckets.iter().flatten().copied();
        all.filter(move |(of, _)| of + BUCKETS as u64 > number).map(|(_, offset)| offset)
    }
}
