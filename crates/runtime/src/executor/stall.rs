//! Notices polls that held the core for too long: 1 ms is worth counting, 5 ms a defect that is logged.
//!
//! A poll that began and ended far apart need not have held the core: on a shared machine the kernel may have given it to
//! somebody else meanwhile. So a long poll counts with the processor time it used. That costs a call to ask for, so it is
//! sampled at most twice a millisecond and compared only when a poll seems long; a poll may thereby look up to half a
//! millisecond shorter than it was. A poll that waits in the kernel is not noticed: calls that wait are banned from the
//! shards by other means.

use std::time::Duration;

use crate::group::Group;
use crate::reactor::Clock;
use crate::time::Instant;

const COUNTED: Duration = Duration::from_millis(1);
const LOGGED: Duration = Duration::from_millis(5);
const SAMPLE_AGE_MAX: Duration = Duration::from_micros(500);

/// Counts of one shard.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stalls {
    pub(crate) over_1ms: u64,
    pub(crate) over_5ms: u64,
    pub(crate) longest: Duration,
}

/// The detector of one shard.
pub(crate) struct StallDetector {
    clock: Clock,
    cpu_nanos: u64,
    sampled_at: Instant,
    pub(crate) stalls: Stalls,
}

impl StallDetector {
    pub(crate) fn new(clock: Clock, now: Instant) -> Self {
        StallDetector { cpu_nanos: clock.thread_cpu_nanos(), clock, sampled_at: now, stalls: Stalls::default() }
    }

    /// Takes a sample if the last is old. To be called before polls, with the present time.
    #[inline]
    pub(crate) fn before(&mut self, now: Instant) {
        if now - self.sampled_at > SAMPLE_AGE_MAX {
            self.cpu_nanos = self.clock.thread_cpu_nanos();
            self.sampled_at = now;
        }
    }

    /// Takes note of a poll.
    #[inline]
    pub(crate) fn after(&mut self, shard: u16, group: Group, start: Instant, end: Instant) {
        let time = end - start;
        if time > COUNTED {
            self.judge(shard, group, start, end);
        } else if time > self.stalls.longest {
            self.stalls.longest = time;
        }
    }

    #[cold]
    fn judge(&mut self, shard: u16, group: Group, start: Instant, end: Instant) {
        let cpu_nanos = self.clock.thread_cpu_nanos();
        // Between the sample and the poll's start the thread may have worked all the time, which is not the poll's.
        let used = Duration::from_nanos(cpu_nanos.saturating_sub(self.cpu_nanos));
        let held = used.saturating_sub(start - self.sampled_at).min(end - start);
        self.cpu_nanos = cpu_nanos;
        self.sampled_at = end;
        self.stalls.longest = self.stalls.longest.max(held);
        if held > COUNTED {
            self.stalls.over_1ms += 1;
        }
        if held > LOGGED {
            self.stalls.over_5ms += 1;
            let microseconds = u64::try_from(held.as_micros()).unwrap_or(u64::MAX);
            tracing::warn!(shard, ?group, microseconds, "stall: a poll held the core for over 5 ms");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::thread_cpu_nanos;

    fn poll(detector: &mut StallDetector, work: impl FnOnce()) {
        let start = Clock::kernel().now();
        detector.before(start);
        work();
        detector.after(0, Group::Query, start, Clock::kernel().now());
    }

    #[test]
    fn work_counts_and_being_away_does_not() {
        let mut detector = StallDetector::new(Clock::kernel(), Clock::kernel().now());
        poll(&mut detector, || std::thread::park_timeout(Duration::from_millis(20)));
        assert_eq!(detector.stalls.over_1ms, 0);
        poll(&mut detector, || {
            let start = thread_cpu_nanos();
            while thread_cpu_nanos() - start < 7_000_000 {}
        });
        assert_eq!((detector.stalls.over_1ms, detector.stalls.over_5ms), (1, 1));
        assert!(detector.stalls.longest >= Duration::from_millis(6));
    }
}
