//! Gaps between a node's pongs: the longest of the last ten minutes, in fixed memory.

use std::time::Duration;

use runtime::Instant;

/// Minutes that count, each a bucket.
const BUCKETS: usize = 10;
const BUCKET: Duration = Duration::from_secs(60);

/// The longest gap of each of the last minutes.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    buckets: [Bucket; BUCKETS],
}

#[derive(Debug, Default, Clone, Copy)]
struct Bucket {
    /// The minute's number, from the clock's origin, plus one; 0: empty.
    minute: u64,
    longest: Duration,
}

fn minute(now: Instant) -> u64 {
    now.as_nanos() / BUCKET.as_nanos() as u64 + 1
}

impl Gaps {
    pub(super) fn note(&mut self, gap: Duration, now: Instant) {
        let minute = minute(now);
        let bucket = &mut self.buckets[minute as usize % BUCKETS];
        if bucket.minute != minute {
            *bucket = Bucket { minute, longest: Duration::ZERO };
        }
        bucket.longest = bucket.longest.max(gap);
    }

    /// The longest of the last ten minutes, of which the first is not whole; `None` without any.
    pub(super) fn longest(&self, now: Instant) -> Option<Duration> {
        let minute = minute(now);
        let counts = |bucket: &&Bucket| bucket.minute > 0 && bucket.minute + BUCKETS as u64 > minute;
        self.buckets.iter().filter(counts).map(|bucket| bucket.longest).max()
    }
}
