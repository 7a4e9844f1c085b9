//! Notices polls that held the core for too long: 1 ms is worth counting, 5 ms a defect that is logged.
//!
//! A poll that began and ended far apart need not have held the core: on a shared machine the kernel may have given it to
//! somebody else meanwhile. So a long poll counts with the processor time it used, or with all of its time if it waited
//! in the kernel of its own will, for that is as bad. Processor time costs a call, so it is sampled twice a millisecond
//! and compared only when a poll seems long; a poll may thereby look up to half a millisecond shorter than it was, and
//! its waits are not told from the shard's own sleep if that came between the sample and the poll.

use std::time::Duration;

use crate::group::Group;
use crate::sys::thread::{Usage, usage};
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
#[derive(Debug)]
pub(crate) struct StallDetector {
    sample: Usage,
    sampled_at: Instant,
    has_slept: bool,
    pub(crate) stalls: Stalls,
}

impl StallDetector {
    pub(crate) fn new(now: Instant) -> Self {
        StallDetector { sample: usage(), sampled_at: now, has_slept: false, stalls: Stalls::default() }
    }

    /// Takes note that the shard has slept.
    #[inline]
    pub(crate) fn slept(&mut self) {
        self.has_slept = true;
    }

    /// Takes a sample if the last is old. To be called before polls, with the present time.
    #[inline]
    pub(crate) fn before(&mut self, now: Instant) {
        if now - self.sampled_at > SAMPLE_AGE_MAX {
            self.sample = usage();
            self.sampled_at = now;
            self.has_slept = false;
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
        let now = usage();
        let elapsed = end - start;
        let held = if !self.has_slept && now.waits > self.sample.waits {
            elapsed
        } else {
            let before = start - self.sampled_at;
            let used = Duration::from_nanos(now.cpu_nanos.saturating_sub(self.sample.cpu_nanos));
            used.saturating_sub(before).min(elapsed)
        };
        self.sample = now;
        self.sampled_at = end;
        self.has_slept = false;
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
