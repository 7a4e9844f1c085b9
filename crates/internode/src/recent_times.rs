//! Times of the last one to two minutes, as a histogram in two windows: percentiles forget what is older.

use std::time::Duration;

use runtime::Instant;
use stdx::{LogHistogram, upper_bounds};

/// Times of this window and the one before count.
const WINDOW: Duration = Duration::from_secs(60);

/// The times that something took lately.
#[derive(Debug)]
pub struct RecentTimes {
    present: LogHistogram,
    before: LogHistogram,
    since: Instant,
}

impl RecentTimes {
    /// None yet.
    pub fn new(now: Instant) -> RecentTimes {
        RecentTimes { present: LogHistogram::default(), before: LogHistogram::default(), since: now }
    }

    /// Counts a time that ended now.
    pub fn note(&mut self, time: Duration, now: Instant) {
        let age = now - self.since;
        if age >= WINDOW {
            let before = std::mem::take(&mut self.present);
            self.before = if age < 2 * WINDOW { before } else { LogHistogram::default() };
            self.since = now;
        }
        self.present.add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), 1);
    }

    /// A percentile (above 0, below 100) of the windows that are not over, rounded up to a bucket's bound; `None` without a time. Above all bounds it is
    /// [`Duration::MAX`].
    pub fn percentile(&self, percentile: f64, now: Instant) -> Option<Duration> {
        let windows_over = (now - self.since).as_nanos() / WINDOW.as_nanos();
        let present = Some(&self.present).filter(|_| windows_over < 2);
        let before = Some(&self.before).filter(|_| windows_over < 1);
        let windows = || present.into_iter().chain(before);
        let total: u64 = windows().map(LogHistogram::count).sum();
        if total == 0 {
            return None;
        }
        // So many may be longer.
        let above = (total as f64 * (100.0 - percentile) / 100.0) as u64;
        let mut passed = 0;
        for (bucket, bound) in upper_bounds().enumerate() {
            passed += windows().map(|window| window.counts()[bucket]).sum::<u64>();
            if passed + above >= total {
                return Some(Duration::from_micros(bound));
            }
        }
        Some(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_that_of_two_windows() {
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let mut times = RecentTimes::new(at(0));
        assert_eq!(times.percentile(99.0, at(0)), None);
        (0..99).for_each(|_| times.note(Duration::from_millis(1), at(1)));
        times.note(Duration::from_secs(5), at(1));
        let (half, most) = (times.percentile(50.0, at(1)).expect("some"), times.percentile(99.9, at(1)).expect("some"));
        assert!(half >= Duration::from_millis(1) && half < Duration::from_millis(2), "{half:?}");
        assert_eq!(times.percentile(99.0, at(1)), Some(half), "one of a hundred may be longer");
        assert!(most >= Duration::from_secs(5), "{most:?}");
        times.note(Duration::from_millis(100), at(61));
        assert_eq!(times.percentile(50.0, at(61)), Some(half), "the window before counts");
        assert!(times.percentile(50.0, at(130)) >= Some(Duration::from_millis(100)), "it is over");
        assert_eq!(times.percentile(50.0, at(200)), None, "both are, though nothing was noted since");
        times.note(Duration::from_millis(100), at(200));
        assert!(times.percentile(1.0, at(200)) >= Some(Duration::from_millis(100)), "it is forgotten");
    }
}
