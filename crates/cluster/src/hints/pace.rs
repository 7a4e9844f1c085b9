//! The pace of a delivery: how many messages may be in flight, and how many bytes a second are sent.

use std::time::Duration;

use runtime::{Instant, Runtime};

/// Messages in flight at the beginning, and at most.
const WINDOW_FIRST: f64 = 8.0;
const WINDOW_MAX: f64 = 64.0;
/// Bytes in flight; one message that is longer goes alone.
const BYTES_MAX: usize = 4 << 20;
/// An answer after this and four times the quickest one lately is slow.
const SLOW_MIN: Duration = Duration::from_millis(20);
const SLOW_TIMES: u32 = 4;

/// Messages that may be in flight to one target: more while it answers quickly, half as many after a slow answer.
#[derive(Debug)]
pub(super) struct Window {
    limit: f64,
    quickest: Duration,
}

impl Window {
    pub(super) fn new() -> Window {
        Window { limit: WINDOW_FIRST, quickest: Duration::MAX }
    }

    /// True if one more message of so many bytes may be sent.
    pub(super) fn has_room(&self, in_flight: usize, bytes_in_flight: usize, bytes: usize) -> bool {
        in_flight == 0 || ((in_flight as f64) < self.limit.floor() && bytes_in_flight + bytes <= BYTES_MAX)
    }

    /// An answer took so long.
    pub(super) fn answered(&mut self, time: Duration) {
        // The quickest one is forgotten slowly: the way may have become longer.
        self.quickest = self.quickest.saturating_add(self.quickest / 256).min(time);
        let is_slow = time > SLOW_MIN && time > self.quickest * SLOW_TIMES;
        self.set(if is_slow { self.limit / 2.0 } else { self.limit + 1.0 / self.limit });
    }

    /// The target does not take a message now: it may have too much to do.
    pub(super) fn refused(&mut self) {
        self.set(self.limit / 2.0);
    }

    fn set(&mut self, limit: f64) {
        self.limit = limit.clamp(1.0, WINDOW_MAX);
        assert!(self.limit >= 1.0 && self.limit <= WINDOW_MAX, "one may always be sent, and never too many");
    }
}

/// A bound of bytes a second.
#[derive(Debug)]
pub(super) struct Throttle {
    next: Instant,
}

impl Throttle {
    pub(super) fn new(now: Instant) -> Throttle {
        Throttle { next: now }
    }

    /// Waits until so many bytes may be sent at `rate` bytes a second; 0: at once.
    pub(super) async fn take(&mut self, runtime: &Runtime, bytes: usize, rate: u64) {
        if rate == 0 {
            return;
        }
        let now = runtime.now();
        if self.next > now {
            runtime.sleep_until(self.next).await;
        }
        let time = Duration::from_secs_f64(bytes as f64 / rate as f64);
        self.next = self.next.max(now) + time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_by_quick_answers_and_is_halved_by_a_slow_one() {
        let mut window = Window::new();
        assert!(window.has_room(7, 0, 1) && !window.has_room(8, 0, 1));
        (0..10_000).for_each(|_| window.answered(Duration::from_millis(2)));
        assert!(window.has_room(63, 0, 1) && !window.has_room(64, 0, 1));
        window.answered(Duration::from_millis(30));
        assert!(window.has_room(31, 0, 1) && !window.has_room(32, 0, 1));
        window.refused();
        assert!(window.has_room(15, 0, 1) && !window.has_room(16, 0, 1));
        (0..50).for_each(|_| window.answered(Duration::from_secs(1)));
        assert!(window.has_room(0, 0, 1) && !window.has_room(1, 1, 1), "one at a time is always allowed");
    }

    #[test]
    fn a_way_that_has_become_longer_is_no_slow_target_for_ever() {
        let mut window = Window::new();
        (0..100).for_each(|_| window.answered(Duration::from_millis(1)));
        (0..2_000).for_each(|_| window.answered(Duration::from_millis(60)));
        assert!(window.has_room(8, 0, 1), "{window:?}");
    }

    #[test]
    fn bytes_in_flight_are_bounded_and_a_long_message_goes_alone() {
        let window = Window::new();
        assert!(window.has_room(0, 0, 17 << 20) && window.has_room(1, 1 << 20, 3 << 20));
        assert!(!window.has_room(1, 2 << 20, 3 << 20));
    }
}
