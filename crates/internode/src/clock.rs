//! The clock of a connection: milliseconds since its greeting, as its listener counts them, modulo 2³². Deadlines are of this clock.
//!
//! Each pong carries the listener's reading. The dialler adds the time since that pong, and takes the greatest sum of the last minute: a pong that the link
//! delayed says less than the clock shows. So the dialler's estimate is late by the shortest delay of the link, a frame that the link delays is late when it
//! arrives, and two clocks that run at different rates do no harm.

use std::time::Duration;

use runtime::Instant;

/// The estimate is of the pongs of the last one to two of these.
const WINDOW: Duration = Duration::from_secs(30);
/// The longest time that a request may name, less than half of the clock's range.
const TIME_MAX: Duration = Duration::from_secs(3600);

/// The clock at the listener's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
}

impl Clock {
    /// It shows zero at this moment.
    pub(crate) fn begin(now: Instant) -> Clock {
        Clock { began: now }
    }

    /// Its reading.
    pub(crate) fn reading(self, now: Instant) -> u32 {
        milliseconds(now - self.began)
    }

    /// The time left before a deadline; `None`: it has passed.
    pub(crate) fn left(self, deadline: u32, now: Instant) -> Option<Duration> {
        let left = deadline.wrapping_sub(self.reading(now)) as i32;
        u64::try_from(left).ok().map(Duration::from_millis)
    }
}

/// The dialler's estimate of the listener's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    began: Instant,
    /// When this window began.
    window: Instant,
    /// The greatest reading less the time of `began`, of this window and of the one before.
    greatest: u32,
    greatest_before: u32,
}

impl Estimate {
    /// The greeting has ended. The listener's clock begins when its shard has the connection, a little later: until the first reading deadlines are late by that.
    pub(crate) fn begin(now: Instant) -> Estimate {
        Estimate { began: now, window: now, greatest: 0, greatest_before: 0 }
    }

    /// A pong has arrived.
    pub(crate) fn observe(&mut self, reading: u32, now: Instant) {
        let offset = reading.wrapping_sub(milliseconds(now - self.began));
        if now - self.window >= WINDOW {
            (self.window, self.greatest_before, self.greatest) = (now, self.greatest, offset);
        } else {
            self.greatest = greater(self.greatest, offset);
        }
    }

    /// The deadline of a request that may take `time` from now.
    pub(crate) fn deadline(&self, time: Duration, now: Instant) -> u32 {
        let shown = greater(self.greatest, self.greatest_before).wrapping_add(milliseconds(now - self.began));
        shown.wrapping_add(milliseconds(time.min(TIME_MAX)))
    }
}

/// The greater of two numbers that are less than half of their range apart.
fn greater(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) as i32 > 0 { a } else { b }
}

fn milliseconds(time: Duration) -> u32 {
    time.as_millis() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn a_deadline_passes_at_its_millisecond_also_when_the_clock_begins_again() {
        let clock = Clock::begin(at(0));
        // The clock shows all ones then.
        let near_the_end = u64::from(u32::MAX);
        assert_eq!(clock.left(u32::MAX, at(near_the_end)), Some(Duration::ZERO));
        assert_eq!(clock.left(u32::MAX, at(near_the_end + 1)), None);
        assert_eq!(clock.left(5, at(near_the_end)), Some(Duration::from_millis(6)));
    }

    #[test]
    fn the_estimate_is_late_by_the_shortest_delay() {
        let mut estimate = Estimate::begin(at(1_000));
        let shown = |estimate: &Estimate, now| estimate.deadline(Duration::ZERO, at(now));
        assert_eq!(shown(&estimate, 1_500), 500, "the greeting is all that is known");
        // The clock began 40 ms earlier; the pongs take 30, 5 and 200 ms.
        for (sent, delay) in [(2_000, 30), (3_000, 5), (4_000, 200)] {
            estimate.observe(sent - 960, at(u64::from(sent) + delay));
        }
        assert_eq!(shown(&estimate, 5_000), 5_000 - 960 - 5);
        assert_eq!(estimate.deadline(Duration::from_secs(2), at(5_000)), 7_000 - 960 - 5);
    }

    #[test]
    fn a_clock_that_runs_slower_is_followed_after_a_minute() {
        let mut estimate = Estimate::begin(at(0));
        for second in 1..=300u64 {
            estimate.observe((second * 950) as u32, at(second * 1_000));
        }
        let ahead = i64::from(estimate.deadline(Duration::ZERO, at(300_000))) - 285_000;
        assert!((0..=3_000).contains(&ahead), "{ahead} ms");
    }

    #[test]
    fn an_hour_is_the_most() {
        let estimate = Estimate::begin(at(0));
        assert_eq!(estimate.deadline(Duration::MAX, at(0)), 3_600_000);
    }
}
