//! Moments of the shard's clock, and the futures that wait for one.

use std::future::Future;
use std::ops::{Add, AddAssign, Sub};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::core::Core;
use crate::timers::TimerKey;

/// A moment of the monotonic clock, in nanoseconds since an origin that differs between starts of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The moment `nanos` after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_since(earlier)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

/// The time given to [`crate::Runtime::timeout`] is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl std::fmt::Display for Elapsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the time is over")
    }
}

impl std::error::Error for Elapsed {}

/// Waits for a moment; see [`crate::Runtime::sleep`]. Takes part in the shard's timers from its first poll on.
#[must_use = "a future does nothing unless awaited"]
pub struct Sleep {
    core: Rc<Core>,
    deadline: Instant,
    key: Option<TimerKey>,
}

impl Sleep {
    pub(crate) fn new(core: Rc<Core>, deadline: Instant) -> Self {
        Sleep { core, deadline, key: None }
    }

    /// The moment that it waits for.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.core.timers.borrow_mut();
        let Some(key) = self.key else {
            if self.deadline <= self.core.poll_start.get() {
                return Poll::Ready(());
            }
            let key = timers.insert(self.deadline, cx.waker());
            drop(timers);
            self.key = Some(key);
            return Poll::Pending;
        };
        if timers.is_over(key, cx.waker()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.core.timers.borrow_mut().remove(key);
        }
    }
}

/// Lets other tasks run once; see [`crate::Runtime::yield_now`].
#[must_use = "a future does nothing unless awaited"]
#[derive(Debug)]
pub struct Yield {
    is_due: bool,
}

impl Yield {
    pub(crate) fn new(is_due: bool) -> Self {
        Yield { is_due }
    }
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !std::mem::replace(&mut self.is_due, false) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
