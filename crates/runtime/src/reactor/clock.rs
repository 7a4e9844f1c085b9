//! The clocks and the random numbers of a shard. They are the kernel's; a simulated reactor will bring its own.

use std::cell::Cell;
use std::io;

use crate::sys;
use crate::time::Instant;

/// The clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock;

impl Clock {
    /// The monotonic clock.
    #[inline]
    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(sys::clock::monotonic_nanos())
    }

    /// Microseconds since the Unix epoch.
    #[inline]
    pub(crate) fn wall_clock_micros(self) -> i64 {
        sys::clock::realtime_micros()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), seeded by the kernel: fast and well spread, and not for secrets.
#[derive(Debug)]
pub(crate) struct Random {
    state: Cell<u64>,
}

impl Random {
    pub(crate) fn from_kernel() -> io::Result<Self> {
        Ok(Random { state: Cell::new(sys::clock::random_seed()?) })
    }

    pub(crate) fn next(&self) -> u64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
