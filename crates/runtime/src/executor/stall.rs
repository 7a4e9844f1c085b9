//! Notices polls that held the core for too long: 1 ms is worth counting, 5 ms a defect that is logged.
//!
//! A poll that began and ended far apart need not have held the core: on a shared machine the kernel may have given it to
//! somebody else meanwhile. So a long poll counts with the processor time it used. That costs a call to ask for, so it is
//! sampled at most twice a millisecond and compared only when a poll seems long; a poll may thereby look up to half a
//! millisecond shorter than it was. A poll that waits in the kernel is not noticed: calls that wait are banned from the
//! shards by other means.

use std::panic::Location;
use std::time::Duration;

use crate::group::Group;
use crate::reactor::Clock;
use crate::sys::thread::Usage;
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

/// A poll, as the detector is told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polled {
    pub(crate) group: Group,
    /// Where the task was spawned; none for the messages of other shards.
    pub(crate) place: Option<&'static Location<'static>>,
    /// What it said that it does.
    pub(crate) label: &'static str,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// The detector of one shard.
pub(crate) struct StallDetector {
    shard: u16,
    clock: Clock,
    sampled_at: Instant,
    cpu_nanos: u64,
    usage: Usage,
    pub(crate) stalls: Stalls,
}

impl StallDetector {
    pub(crate) fn new(shard: u16, clock: Clock, now: Instant) -> Self {
        let (cpu_nanos, usage) = (clock.thread_cpu_nanos(), clock.thread_usage());
        StallDetector { shard, clock, sampled_at: now, cpu_nanos, usage, stalls: Stalls::default() }
    }

    /// Takes a sample if the last is old. To be called before polls, with the present time.
    #[inline]
    pub(crate) fn before(&mut self, now: Instant) {
        if now - self.sampled_at > SAMPLE_AGE_MAX {
            self.sample(now);
        }
    }

    fn sample(&mut self, now: Instant) {
        self.sampled_at = now;
        self.cpu_nanos = self.clock.thread_cpu_nanos();
        self.usage = self.clock.thread_usage();
    }

    /// Takes note of a poll.
    #[inline]
    pub(crate) fn after(&mut self, polled: Polled) {
        let time = polled.end - polled.start;
        if time > COUNTED {
            self.judge(polled);
        } else if time > self.stalls.longest {
            self.stalls.longest = time;
        }
    }

    #[cold]
    fn judge(&mut self, polled: Polled) {
        let Polled { group, place, label, start, end } = polled;
        let (sampled_at, cpu_nanos, usage) = (self.sampled_at, self.cpu_nanos, self.usage);
        self.sample(end);
        // Between the sample and the poll's start the thread may have worked all the time, which is not the poll's.
        let used = Duration::from_nanos(self.cpu_nanos.saturating_sub(cpu_nanos));
        let held = used.saturating_sub(start - sampled_at).min(end - start);
        self.stalls.longest = self.stalls.longest.max(held);
        if held > COUNTED {
            self.stalls.over_1ms += 1;
        }
        if held > LOGGED {
            self.stalls.over_5ms += 1;
            let usage = self.usage.since(&usage);
            tracing::warn!(
                shard = self.shard,
                ?group,
                place = place.map(tracing::field::display),
                label,
                microseconds = micros(held),
                clock_microseconds = micros(end - start),
                user_microseconds = usage.user_micros,
                system_microseconds = usage.system_micros,
                page_faults = usage.page_faults,
                switches = usage.switches,
                switches_forced = usage.switches_forced,
                "stall: a poll held the core for over 5 ms"
            );
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::thread_cpu_nanos;

    fn poll(detector: &mut StallDetector, work: impl FnOnce()) {
        let start = Clock::kernel().now();
        detector.before(start);
        work();
        let end = Clock::kernel().now();
        detector.after(Polled { group: Group::Query, place: Some(Location::caller()), label: "", start, end });
    }

    /// Held against the processor time that the thread used meanwhile: being away counts as little as the machine charges for it.
    #[test]
    fn work_counts_and_being_away_does_not() {
        let mut detector = StallDetector::new(0, Clock::kernel(), Clock::kernel().now());
        let before = thread_cpu_nanos();
        poll(&mut detector, || std::thread::park_timeout(Duration::from_millis(20)));
        let used = Duration::from_nanos(thread_cpu_nanos() - before);
        assert!(detector.stalls.longest <= used, "{:?} of {used:?}", detector.stalls);
        let before = detector.stalls;
        poll(&mut detector, || {
            let start = thread_cpu_nanos();
            while thread_cpu_nanos() - start < 7_000_000 {}
        });
        let after = detector.stalls;
        assert_eq!((after.over_1ms, after.over_5ms), (before.over_1ms + 1, before.over_5ms + 1));
        assert!(after.longest >= Duration::from_millis(6));
    }
}
