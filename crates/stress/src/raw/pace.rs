//! When operations are due that begin at even times, and whether they did begin then.

use std::cell::Cell;
use std::time::Duration;

use runtime::Instant;

use crate::backlog::Backlog;

/// When operations are due that begin at even times.
#[derive(Debug)]
pub(crate) struct Pace {
    begun: Instant,
    /// Operations a second.
    rate: u64,
    /// How many there are.
    count: u64,
    issued: Cell<u64>,
    backlog: Cell<Backlog>,
}

impl Pace {
    /// So many operations, the first of which is due now.
    pub(crate) fn begin(now: Instant, rate: u64, count: u64) -> Pace {
        assert!(rate > 0 && count > 0, "the arguments were checked");
        Pace { begun: now, rate, count, issued: Cell::new(0), backlog: Cell::default() }
    }

    /// When the next operation is due.
    pub(crate) fn due(&self) -> Instant {
        let nanos = u128::from(self.issued.get()) * 1_000_000_000 / u128::from(self.rate);
        self.begun + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The next operation was begun.
    pub(crate) fn issued(&self) {
        self.issued.set(self.issued.get() + 1);
    }

    /// Sees what waits. It is called before operations begin, so that none begins between the time at which the last is due and the first look
    /// after it: what is seen then is what waited at that time.
    pub(crate) fn look(&self, now: Instant) {
        let mut backlog = self.backlog.get();
        if backlog.due == self.count {
            return;
        }
        let before = (now - self.begun).as_nanos() * u128::from(self.rate) / 1_000_000_000;
        let before = u64::try_from(before).unwrap_or(u64::MAX).min(self.count - 1);
        backlog.note(before + 1, before.saturating_sub(self.issued.get()), Some(self.count));
        self.backlog.set(backlog);
    }

    /// Why the rate was not kept, if it was not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.backlog.get().failure(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a run of so many operations at 1,000 a second did not keep that, which each millisecond begins what is due, but leaves so
    /// many waiting.
    fn failure(count: u64, left: impl Fn(u64) -> u64) -> Option<String> {
        let start = Instant::from_nanos(5);
        let pace = Pace::begin(start, 1_000, count);
        for number in 0..count {
            let now = start + Duration::from_millis(number);
            pace.look(now);
            while pace.due() <= now && pace.issued.get() < (number + 1).saturating_sub(left(number)) {
                pace.issued();
            }
        }
        pace.failure()
    }

    #[test]
    fn a_rate_is_kept_up_to_a_hundredth_unless_the_backlog_grows() {
        assert_eq!(failure(1, |_| 0), None);
        assert_eq!(failure(1_000, |_| 0), None);
        assert_eq!(failure(1_000, |_| 90), None, "a short run may end in a hiccup");
        assert_eq!(
            failure(1_000, |number| number / 2).unwrap(),
            "499 of 1000 operations had not started when the last was due"
        );
        assert_eq!(failure(1_000, |number| if number < 900 { number / 2 } else { 0 }), None, "it was made up for");
        let late = |number: u64| if number < 40_000 { 300 } else { 200 };
        assert_eq!(failure(50_000, late), None, "behind, but no more and more so");
        assert!(failure(50_000, |number| number / 200).unwrap().contains("grew"));
    }

    #[test]
    fn what_the_last_waits_behind_is_what_had_not_begun_when_it_was_due() {
        let start = Instant::from_nanos(5);
        let pace = Pace::begin(start, 1_000, 1_000);
        (0..400).for_each(|_| pace.issued());
        // Nothing could begin for two seconds, then all could at once.
        pace.look(start + Duration::from_secs(2));
        (400..1_000).for_each(|_| pace.issued());
        pace.look(start + Duration::from_secs(2));
        assert!(pace.failure().unwrap().starts_with("599 of 1000"), "{:?}", pace.failure());
    }
}
