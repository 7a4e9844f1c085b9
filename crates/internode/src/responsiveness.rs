//! How well a node answers this shard's measured requests: what the choice among replicas goes by.
//!
//! Only requests that ask for it are measured ([`Request::measured`](crate::Request::measured)): a write waits for a disk's sync and says nothing of how long a
//! read takes. A call that its caller gives up counts with the time that it has waited, where that is longer than usual: else a node that
//! is always overtaken by another would look as good as before.

use std::time::Duration;

use runtime::Instant;

use crate::identity::Boot;
use crate::recent_times::RecentTimes;

/// A node of which nothing was measured for so long may have recovered: it counts as one that is not known, or it would be read last, and not be measured, for ever.
const HOLDS: Duration = Duration::from_secs(10);
/// The part of a new time in the smoothed one.
const SMOOTHING: u64 = 8;
/// The time in which a node that has started takes its whole share: its caches are cold.
const WARM_UP: Duration = Duration::from_secs(60);
/// A node's whole share.
const WHOLE: u32 = 1_000;

/// A node's answers, as one shard knows them.
#[derive(Debug)]
pub(crate) struct Responsiveness {
    /// Nanoseconds; `None`: no answer yet.
    smoothed: Option<u64>,
    /// When the last time was added to it.
    smoothed_at: Instant,
    times: RecentTimes,
    /// The node's start that is known.
    boot: Option<Boot>,
    /// When that start was first seen.
    since: Instant,
    /// The part of a turn that the node has saved up.
    turn: u32,
}

impl Responsiveness {
    /// Nothing is known.
    pub(crate) fn new(now: Instant) -> Responsiveness {
        Responsiveness {
            smoothed: None,
            smoothed_at: now,
            times: RecentTimes::new(now),
            boot: None,
            since: now,
            turn: 0,
        }
    }

    /// An answer has come after `time`.
    pub(crate) fn note(&mut self, time: Duration, now: Instant) {
        self.smooth(time, now);
        self.times.note(time, now);
    }

    /// A caller has given up after `time`: the answer would have taken longer.
    pub(crate) fn note_given_up(&mut self, time: Duration, now: Instant) {
        if self.smoothed(now).is_none_or(|smoothed| nanos(time) > smoothed) {
            self.smooth(time, now);
        }
    }

    fn smooth(&mut self, time: Duration, now: Instant) {
        let time = nanos(time);
        self.smoothed = Some(match self.smoothed(now) {
            None => time,
            Some(before) => before - before / SMOOTHING + time / SMOOTHING,
        });
        self.smoothed_at = now;
    }

    /// The smoothed time of its answers, nanoseconds; `None` if there was none lately.
    pub(crate) fn smoothed(&self, now: Instant) -> Option<u64> {
        self.smoothed.filter(|_| now - self.smoothed_at < HOLDS)
    }

    /// A percentile of its answers' times.
    pub(crate) fn percentile(&self, percentile: f64, now: Instant) -> Option<Duration> {
        self.times.percentile(percentile, now)
    }

    /// The node has greeted: a start that was not known begins with a small share.
    pub(crate) fn greeted(&mut self, boot: Boot, now: Instant) {
        if self.boot != Some(boot) {
            (self.boot, self.since, self.turn) = (Some(boot), now, 0);
        }
    }

    /// True if it is the node's turn: always, but in the first minute of a start, in which its share grows from nothing to the whole.
    pub(crate) fn takes_turn(&mut self, now: Instant) -> bool {
        let age = now - self.since;
        if age >= WARM_UP {
            return true;
        }
        let share = u32::try_from(age.as_millis() * u128::from(WHOLE) / WARM_UP.as_millis()).unwrap_or(WHOLE);
        self.turn += share;
        let is_turn = self.turn >= WHOLE;
        self.turn -= if is_turn { WHOLE } else { 0 };
        is_turn
    }
}

fn nanos(time: Duration) -> u64 {
    // Far above any request's time.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2).min(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_call_that_was_given_up_makes_a_node_slower_and_never_faster() {
        let mut node = Responsiveness::new(at(0));
        node.note(Duration::from_millis(8), at(1));
        node.note_given_up(Duration::from_millis(1), at(2));
        assert_eq!(node.smoothed(at(2)), Some(8_000_000));
        node.note_given_up(Duration::from_millis(16), at(3));
        assert_eq!(node.smoothed(at(3)), Some(9_000_000));
        assert_eq!(node.smoothed(at(30)), None, "it may be as quick as any by now");
        let mut unknown = Responsiveness::new(at(0));
        unknown.note_given_up(Duration::from_millis(1), at(1));
        assert_eq!((unknown.smoothed(at(1)), unknown.percentile(99.0, at(1))), (Some(1_000_000), None));
        assert!(node.percentile(99.0, at(3)) < Some(Duration::from_millis(16)), "percentiles are of answers");
    }

    #[test]
    fn a_start_takes_a_growing_share() {
        let mut node = Responsiveness::new(at(0));
        let boot = |number| Boot { number, word: 0 };
        node.greeted(boot(1), at(100));
        let turns = |node: &mut Responsiveness, second| (0..1_000).filter(|_| node.takes_turn(at(second))).count();
        assert_eq!(turns(&mut node, 100), 0);
        assert_eq!(turns(&mut node, 115), 250);
        assert_eq!(turns(&mut node, 145), 750);
        assert_eq!(turns(&mut node, 160), 1_000);
        node.greeted(boot(1), at(200));
        assert_eq!(turns(&mut node, 200), 1_000, "it has only dialled again");
        node.greeted(boot(2), at(300));
        assert_eq!(turns(&mut node, 330), 500);
    }
}
