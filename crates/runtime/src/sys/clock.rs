//! Clocks and the kernel's randomness.
#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

fn read(clock: libc::clockid_t) -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the call to write to. It cannot fail for the clocks that this module names.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec, time.tv_nsec)
}

/// Nanoseconds of the monotonic clock.
#[inline]
pub(crate) fn monotonic_nanos() -> u64 {
    let (seconds, nanos) = read(libc::CLOCK_MONOTONIC);
    (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(nanos as u64)
}

/// Processor time of the calling thread, in nanoseconds.
pub(crate) fn thread_cpu_nanos() -> u64 {
    let (seconds, nanos) = read(libc::CLOCK_THREAD_CPUTIME_ID);
    (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(nanos as u64)
}

/// Processor time that all threads of a process have used, those that have ended too; of this process if no number is given. An error if there
/// is no such process.
pub fn process_cpu_time(process: Option<u32>) -> io::Result<Duration> {
    let mut clock = libc::CLOCK_PROCESS_CPUTIME_ID;
    if let Some(process) = process {
        let process = libc::pid_t::try_from(process).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        // SAFETY: `clock` is a valid place for the call to write to, which it does if it returns 0.
        let code = unsafe { libc::clock_getcpuclockid(process, &mut clock) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the call to write to.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32))
}

/// Microseconds since the Unix epoch.
#[inline]
pub(crate) fn realtime_micros() -> i64 {
    let (seconds, nanos) = read(libc::CLOCK_REALTIME);
    seconds.wrapping_mul(1_000_000).wrapping_add(nanos / 1_000)
}

/// A number from the kernel's random generator.
pub(crate) fn random_seed() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    random_bytes(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Fills a short buffer with random bytes of the kernel.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    /// As many bytes the kernel gives in one call, whatever signals come.
    const BYTES_MAX: usize = 256;
    assert!(bytes.len() <= BYTES_MAX, "secrets are short");
    // SAFETY: the call writes at most as many bytes as the buffer has.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match usize::try_from(count) {
        Ok(count) if count == bytes.len() => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run() {
        let first = monotonic_nanos();
        assert!(monotonic_nanos() >= first && first > 0);
        assert!(realtime_micros() > 1_700_000_000_000_000);
        assert_ne!(random_seed().expect("randomness"), random_seed().expect("randomness"));
    }

    /// A thread that has ended has still used what it used.
    #[test]
    fn the_time_of_ended_threads_is_counted() {
        let own = std::process::id();
        let before = process_cpu_time(Some(own)).expect("is there");
        let worker = std::thread::spawn(|| {
            let began = thread_cpu_nanos();
            while thread_cpu_nanos() - began < 30_000_000 {}
        });
        worker.join().expect("does not panic");
        let used = process_cpu_time(Some(own)).expect("is there") - before;
        assert!(used >= Duration::from_millis(30), "{used:?}");
        assert!(process_cpu_time(None).expect("is there") >= before + used);
        assert!(process_cpu_time(Some(u32::MAX)).is_err());
    }
}
