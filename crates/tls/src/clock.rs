//! The time by which certificates are judged: the wall clock as it was when the latest session began.
//!
//! rustls asks for the time from within a session, where no runtime is at hand. A handshake takes no longer than its owner's time-out, so the time of
//! its beginning is as good.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The latest time that was set.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Since the Unix epoch.
    seconds: AtomicU64,
}

impl Clock {
    /// Sets the time to microseconds since the Unix epoch.
    pub(crate) fn set(&self, wall_clock_micros: i64) {
        self.seconds.store(unix_time(wall_clock_micros).as_secs(), Ordering::Relaxed);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.seconds.load(Ordering::Relaxed))))
    }
}

/// A wall clock's time, as rustls has it; a time before the epoch is the epoch.
pub(crate) fn unix_time(wall_clock_micros: i64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_micros(u64::try_from(wall_clock_micros).unwrap_or(0)))
}
