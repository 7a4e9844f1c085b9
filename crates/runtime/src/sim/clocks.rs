//! A machine's clocks as functions of the world's time, in plain numbers.
//!
//! Both clocks of a machine hang on one oscillator: a rate applies to the monotonic clock and to the wall clock. A jump moves the wall
//! clock alone. The monotonic clock never goes back, also where the rate changes.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const MILLION: i128 = 1_000_000;

/// Nanoseconds of the Unix epoch at the origin of every world: 14 November 2023.
const ORIGIN_NANOS: i64 = 1_700_000_000_000_000_000;

/// Fastest and slowest rate, in parts per million of deviation: a clock of half the speed, and one of half as much again.
pub(super) const RATE_PPM_MAX: i32 = 500_000;

/// A machine's clocks. Shared by the world, which sets them, and the machine's shards, which read them, on one thread.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Deviation of the rate, parts per million.
    rate_ppm: AtomicI64,
    /// World's time of the last change of the rate.
    since: AtomicU64,
    /// Monotonic clock at that time.
    monotonic: AtomicU64,
    /// Wall clock at that time, nanoseconds since the Unix epoch.
    wall: AtomicI64,
}

impl Clocks {
    pub(super) fn new() -> Self {
        Clocks {
            rate_ppm: AtomicI64::new(0),
            since: AtomicU64::new(0),
            monotonic: AtomicU64::new(0),
            wall: AtomicI64::new(ORIGIN_NANOS),
        }
    }

    /// Nanoseconds by the machine's clocks since the last change of the rate.
    fn elapsed(&self, world: u64) -> u64 {
        let elapsed = world - self.since.load(Ordering::Relaxed);
        match self.rate_ppm.load(Ordering::Relaxed) {
            0 => elapsed,
            ppm => (i128::from(elapsed) * (MILLION + i128::from(ppm)) / MILLION) as u64,
        }
    }

    /// The monotonic clock at a time of the world that is not before the last change, nanoseconds.
    pub(super) fn monotonic(&self, world: u64) -> u64 {
        self.monotonic.load(Ordering::Relaxed) + self.elapsed(world)
    }

    /// The first time of the world at which the monotonic clock has reached `monotonic`.
    pub(super) fn world(&self, monotonic: u64) -> u64 {
        let elapsed = monotonic.saturating_sub(self.monotonic.load(Ordering::Relaxed));
        let since = self.since.load(Ordering::Relaxed);
        match self.rate_ppm.load(Ordering::Relaxed) {
            0 => since.saturating_add(elapsed),
            ppm => {
                let rate = MILLION + i128::from(ppm);
                let elapsed = (i128::from(elapsed) * MILLION + rate - 1) / rate;
                u64::try_from(elapsed).map_or(u64::MAX, |elapsed| since.saturating_add(elapsed))
            }
        }
    }

    /// The wall clock, microseconds since the Unix epoch.
    pub(super) fn wall_micros(&self, world: u64) -> i64 {
        (self.wall.load(Ordering::Relaxed) + self.elapsed(world) as i64).div_euclid(1_000)
    }

    /// Sets how far the wall clock is from the world's now, microseconds.
    pub(super) fn set_skew(&self, world: u64, micros: i64) {
        let wall = ORIGIN_NANOS + world as i64 + micros.saturating_mul(1_000);
        self.wall.store(wall - self.elapsed(world) as i64, Ordering::Relaxed);
    }

    /// Moves the wall clock, microseconds.
    pub(super) fn jump(&self, micros: i64) {
        self.wall.fetch_add(micros.saturating_mul(1_000), Ordering::Relaxed);
    }

    /// Sets the rate from `world` on.
    pub(super) fn set_rate(&self, world: u64, ppm: i32) {
        let elapsed = self.elapsed(world);
        self.monotonic.fetch_add(elapsed, Ordering::Relaxed);
        self.wall.fetch_add(elapsed as i64, Ordering::Relaxed);
        self.since.store(world, Ordering::Relaxed);
        self.rate_ppm.store(i64::from(ppm.clamp(-RATE_PPM_MAX, RATE_PPM_MAX)), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn clocks_without_a_rate_are_the_worlds() {
        let clocks = Clocks::new();
        assert_eq!((clocks.monotonic(7), clocks.world(7)), (7, 7));
        assert_eq!(clocks.wall_micros(5_000), 1_700_000_000_000_005);
        assert_eq!(clocks.world(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_jump_moves_the_wall_clock_alone() {
        let clocks = Clocks::new();
        clocks.jump(-600_000_000);
        assert_eq!(clocks.monotonic(SECOND), SECOND);
        assert_eq!(clocks.wall_micros(SECOND), 1_700_000_001_000_000 - 600_000_000);
        clocks.set_skew(SECOND, 3);
        assert_eq!(clocks.wall_micros(SECOND), 1_700_000_001_000_003, "a skew is from the world's time");
    }

    #[test]
    fn a_rate_moves_both_clocks_and_neither_jumps_where_it_changes() {
        let clocks = Clocks::new();
        clocks.set_rate(10 * SECOND, 50_000);
        assert_eq!(clocks.monotonic(10 * SECOND), 10 * SECOND);
        assert_eq!(clocks.monotonic(110 * SECOND), 115 * SECOND);
        assert_eq!(clocks.wall_micros(110 * SECOND), 1_700_000_115_000_000);
        clocks.set_rate(110 * SECOND, -50_000);
        assert_eq!(clocks.monotonic(110 * SECOND), 115 * SECOND);
        assert_eq!(clocks.monotonic(210 * SECOND), 210 * SECOND);
        clocks.set_rate(210 * SECOND, 0);
        assert_eq!(clocks.wall_micros(211 * SECOND), 1_700_000_211_000_000);
    }

    #[test]
    fn a_deadline_is_reached_at_its_time_of_the_world_and_not_before() {
        for ppm in [-50_000, -1, 0, 1, 33_333, 50_000] {
            let clocks = Clocks::new();
            clocks.set_rate(1_234_567, ppm);
            for deadline in [1_234_567, 1_234_568, 2_000_001, 99 * SECOND + 17] {
                let world = clocks.world(deadline);
                assert!(clocks.monotonic(world) >= deadline, "{ppm} {deadline}");
                assert!(world == 1_234_567 || clocks.monotonic(world - 1) < deadline, "{ppm} {deadline}");
            }
        }
    }
}
