//! When operations begin, if it is not when others have ended: `fixed=` and `throttle=`.
//!
//! A thread of its own lets operations go when they are due: it sleeps to some tens of microseconds, where the timers of the driver's
//! executor know milliseconds only. With `fixed=` the times follow from the start and the rate alone, whatever the server does; what is due
//! and cannot begin, since all tasks wait for replies, is the backlog, and waits. With `throttle=` what was not used is lost, but for
//! a hundredth of a second's worth, so that a stall is not made up for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::backlog::Backlog;

/// The shortest sleep between two looks at the clock: what is due meanwhile goes together.
const SLEEP_MIN: Duration = Duration::from_micros(50);
/// The longest, so that an end is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// Lets operations go at a rate.
#[derive(Debug)]
pub(crate) struct Schedule {
    per_second: u64,
    /// Whether the times are fixed; else the rate is only a limit.
    is_fixed: bool,
    start: Instant,
    /// How many there will be, as far as it is known. A limit does not know: it loses what is not used.
    expected: Option<u64>,
    permits: Semaphore,
    /// Held by an operation that stands for several while it waits for their times.
    gathering: tokio::sync::Mutex<()>,
    begun: AtomicU64,
    is_over: AtomicBool,
    backlog: Mutex<Backlog>,
}

impl Schedule {
    /// A schedule that begins now. `expected` is how many operations it will let go, if that is known.
    pub(crate) fn begin(per_second: u64, is_fixed: bool, expected: Option<u64>) -> Schedule {
        Schedule {
            per_second,
            is_fixed,
            start: Instant::now(),
            expected: expected.filter(|_| is_fixed),
            permits: Semaphore::new(0),
            gathering: tokio::sync::Mutex::default(),
            begun: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            backlog: Mutex::default(),
        }
    }

    /// Waits for the time of the next operation, which stands for `count` of them. Gives when the last of these was due, if times are
    /// fixed; none is the end.
    pub(crate) async fn next(&self, count: u64) -> Option<Option<Instant>> {
        // One at a time gathers what it needs: many that gather at once would all go late, and together.
        let _turn = if count > 1 { Some(self.gathering.lock().await) } else { None };
        let mut number = 0;
        for _ in 0..count {
            self.permits.acquire().await.ok()?.forget();
            number = self.begun.fetch_add(1, Ordering::Relaxed);
        }
        Some(self.is_fixed.then(|| self.start + self.after(number)))
    }

    /// Lets no more go.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.permits.close();
    }

    /// What the backlog was, once the schedule's thread has ended.
    pub(crate) fn backlog(&self) -> Backlog {
        *self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When each operation was due that has not begun, once the schedule's thread has ended.
    pub(crate) fn not_begun(&self) -> impl Iterator<Item = Instant> {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun..self.backlog().due).map(|number| self.start + self.after(number))
    }

    /// The schedule's thread: returns when all are let go, or at the end.
    pub(crate) fn run(&self) {
        let mut released = 0;
        let mut seen = Backlog::default();
        while !self.is_over.load(Ordering::Relaxed) && self.expected.is_none_or(|expected| released < expected) {
            if self.is_fixed {
                // Before more are let go: who waited for those has had no time to begin them.
                let waiting = released.saturating_sub(self.begun.load(Ordering::Relaxed));
                seen.note(released, waiting, self.expected);
            }
            released = self.release(released, self.start.elapsed());
            if self.is_fixed {
                seen.due = released;
                *self.backlog.lock().unwrap_or_else(PoisonError::into_inner) = seen;
            }
            std::thread::sleep(self.after(released).saturating_sub(self.start.elapsed()).clamp(SLEEP_MIN, SLEEP_MAX));
        }
    }

    /// Lets go what is due. Gives how many were let go so far, those included that a limit has lost.
    fn release(&self, before: u64, elapsed: Duration) -> u64 {
        let due = (elapsed.as_nanos() * u128::from(self.per_second) / 1_000_000_000) as u64 + 1;
        if self.is_fixed {
            let due = self.expected.map_or(due, |expected| due.min(expected)).max(before);
            self.permits.add_permits((due - before) as usize);
            return due;
        }
        let burst = (self.per_second / 100).max(1);
        let room = burst.saturating_sub(self.permits.available_permits() as u64);
        self.permits.add_permits(due.saturating_sub(before).min(room) as usize);
        due.max(before)
    }

    /// How long after the start an operation is due.
    fn after(&self, number: u64) -> Duration {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.per_second);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn operations_begin_when_they_are_due_and_no_earlier() {
        let schedule = std::sync::Arc::new(Schedule::begin(200, true, Some(20)));
        let clock = tokio::task::spawn_blocking({
            let schedule = schedule.clone();
            move || schedule.run()
        });
        for number in 0..20 {
            let due = schedule.next(1).await.expect("there are twenty").expect("times are fixed");
            assert_eq!(due - schedule.start, Duration::from_millis(5 * number));
            assert!(due <= Instant::now());
        }
        clock.await.unwrap();
        assert_eq!(schedule.backlog().due, 20);
        schedule.end();
        assert!(schedule.next(1).await.is_none());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_due_and_has_not_begun_is_known() {
        let schedule = Schedule::begin(1_000_000, true, Some(50));
        schedule.run();
        for _ in 0..8 {
            schedule.next(1).await.expect("there are fifty");
        }
        schedule.end();
        let after: Vec<u128> = schedule.not_begun().map(|due| (due - schedule.start).as_micros()).collect();
        assert_eq!(after, (8..50).collect::<Vec<u128>>());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_operation_that_stands_for_several_is_due_with_the_last_of_them() {
        let schedule = Schedule::begin(1_000, true, Some(10));
        schedule.release(0, Duration::from_secs(1));
        let mut after = Vec::new();
        for count in [4, 1, 5] {
            let due = schedule.next(count).await.expect("there are ten").expect("times are fixed");
            after.push((due - schedule.start).as_millis());
        }
        assert_eq!(after, [3, 4, 9]);
        assert_eq!(schedule.begun.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn fixed_times_follow_from_the_start_and_limits_lose_what_is_not_used() {
        let fixed = Schedule::begin(1_000, true, Some(50));
        assert_eq!(fixed.release(0, Duration::from_millis(20)), 21);
        assert_eq!(fixed.release(21, Duration::from_millis(10)), 21);
        assert_eq!(fixed.release(21, Duration::from_secs(9)), 50);
        assert_eq!(fixed.permits.available_permits(), 50);
        assert_eq!(fixed.after(5), Duration::from_millis(5));
        let limit = Schedule::begin(1_000, false, Some(50));
        assert_eq!(limit.release(0, Duration::from_secs(9)), 9_001);
        assert_eq!(limit.permits.available_permits(), 10, "a hundredth of a second's worth");
        assert_eq!(limit.expected, None, "it goes on until all are done");
    }
}
