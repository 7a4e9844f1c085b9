//! The clocks and the random numbers of a shard: the kernel's, or those of a simulated world.

use std::cell::Cell;
use std::io;

use crate::sys;
use crate::time::Instant;

/// The clocks. Without the feature `sim` this is nothing at all; with it, a branch that always goes the same way.
#[derive(Clone)]
pub(crate) struct Clock {
    #[cfg(feature = "sim")]
    simulated: Option<crate::sim::SimClock>,
}

impl Clock {
    /// The kernel's clocks.
    pub(crate) fn kernel() -> Self {
        Clock {
            #[cfg(feature = "sim")]
            simulated: None,
        }
    }

    /// The clocks of a simulated machine.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(clock: crate::sim::SimClock) -> Self {
        Clock { simulated: Some(clock) }
    }

    /// The monotonic clock.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        #[cfg(feature = "sim")]
        if let Some(clock) = &self.simulated {
            return clock.now();
        }
        Instant::from_nanos(sys::clock::monotonic_nanos())
    }

    /// The monotonic clock at the end of a poll: a simulated poll takes time by itself.
    #[inline]
    pub(crate) fn after_poll(&self) -> Instant {
        #[cfg(feature = "sim")]
        if let Some(clock) = &self.simulated {
            return clock.after_poll();
        }
        self.now()
    }

    /// Microseconds since the Unix epoch.
    #[inline]
    pub(crate) fn wall_clock_micros(&self) -> i64 {
        #[cfg(feature = "sim")]
        if let Some(clock) = &self.simulated {
            return clock.wall_clock_micros();
        }
        sys::clock::realtime_micros()
    }

    /// Processor time of the calling thread, in nanoseconds. A simulated shard has its core to itself.
    pub(crate) fn thread_cpu_nanos(&self) -> u64 {
        #[cfg(feature = "sim")]
        if let Some(clock) = &self.simulated {
            return clock.now().as_nanos();
        }
        sys::clock::thread_cpu_nanos()
    }

    /// What the kernel counts of the calling thread. Of a simulated shard there is nothing to be known.
    pub(crate) fn thread_usage(&self) -> sys::thread::Usage {
        #[cfg(feature = "sim")]
        if self.simulated.is_some() {
            return sys::thread::Usage::default();
        }
        sys::thread::usage()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), seeded by the kernel or a world: fast and well spread, and not for secrets.
#[derive(Debug)]
pub(crate) struct Random {
    state: Cell<u64>,
    #[cfg(feature = "sim")]
    is_simulated: bool,
}

impl Random {
    pub(crate) fn from_kernel() -> io::Result<Self> {
        let state = Cell::new(sys::clock::random_seed()?);
        Ok(Random {
            state,
            #[cfg(feature = "sim")]
            is_simulated: false,
        })
    }

    /// The numbers that follow from the seed.
    #[cfg(feature = "sim")]
    pub(crate) fn from_seed(seed: u64) -> Self {
        Random { state: Cell::new(seed), is_simulated: true }
    }

    /// Fills a short buffer with the kernel's own random bytes. Those of a simulated world follow from its seed.
    pub(crate) fn fill_secret(&self, bytes: &mut [u8]) -> io::Result<()> {
        #[cfg(feature = "sim")]
        if self.is_simulated {
            for chunk in bytes.chunks_mut(size_of::<u64>()) {
                let random = self.next().to_ne_bytes();
                chunk.copy_from_slice(&random[..chunk.len()]);
            }
            return Ok(());
        }
        sys::clock::random_bytes(bytes)
    }

    pub(crate) fn next(&self) -> u64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
