//! The calling thread: its identity, its processor and its blocked signals.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

/// The calling thread's identity while it lives.
#[inline]
pub(crate) fn current() -> usize {
    // SAFETY: the call has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    if cpu >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: all zeros is a valid, empty set; `cpu` is inside it; the call reads as many bytes as it is told.
    let result = unsafe {
        libc::CPU_SET(cpu, &mut *set.as_mut_ptr());
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set.as_ptr())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the calling thread, and no other, nicer by so much: of two threads on a core, one that is nicer by 10 gets a tenth.
pub(crate) fn step_back(by: libc::c_int) -> io::Result<()> {
    const NICENESS_MAX: libc::c_int = 19;
    // SAFETY: the calls take plain values; 0 is the calling thread, as Linux counts processes here.
    let result = unsafe {
        let niceness = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, (niceness + by).min(NICENESS_MAX))
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// SIGTERM and SIGINT are blocked in the thread that made this, and in those it starts, until it is dropped.
pub(crate) struct SignalsBlocked {
    before: libc::sigset_t,
}

pub(super) fn termination_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigemptyset` initializes the set, and both signals are valid.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        set.assume_init()
    }
}

impl SignalsBlocked {
    pub(crate) fn new() -> Self {
        let set = termination_set();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets are valid for the call, which fills `before`; it cannot fail for SIG_BLOCK.
        let before = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr());
            before.assume_init()
        };
        SignalsBlocked { before }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: `before` came from the same call; a null old set is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// What the kernel counts of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processor time outside and inside the kernel. How it is divided is known only from which of the two the clock's interrupts met,
    /// some milliseconds apart.
    pub(crate) user_micros: u64,
    pub(crate) system_micros: u64,
    pub(crate) page_faults: u64,
    /// Times it waited, and times it was made to give way.
    pub(crate) switches: u64,
    pub(crate) switches_forced: u64,
}

impl Usage {
    /// What was added since `before`.
    pub(crate) fn since(&self, before: &Usage) -> Usage {
        Usage {
            user_micros: self.user_micros.saturating_sub(before.user_micros),
            system_micros: self.system_micros.saturating_sub(before.system_micros),
            page_faults: self.page_faults.saturating_sub(before.page_faults),
            switches: self.switches.saturating_sub(before.switches),
            switches_forced: self.switches_forced.saturating_sub(before.switches_forced),
        }
    }
}

/// The calling thread's usage since it began.
pub(crate) fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: all zeros is a valid value, and the call writes no more than one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| (time.tv_sec as u64).wrapping_mul(1_000_000).wrapping_add(time.tv_usec as u64);
    Usage {
        user_micros: micros(usage.ru_utime),
        system_micros: micros(usage.ru_stime),
        page_faults: usage.ru_minflt as u64 + usage.ru_majflt as u64,
        switches: usage.ru_nvcsw as u64,
        switches_forced: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The niceness of the calling thread.
    fn niceness() -> libc::c_int {
        // SAFETY: the call takes plain values.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }

    #[test]
    fn a_thread_steps_back_alone() {
        let before = niceness();
        let of_thread = std::thread::spawn(|| step_back(10).map(|()| niceness())).join().expect("it does not panic");
        assert_eq!(of_thread.expect("a thread may always be nicer"), (before + 10).min(19));
        assert_eq!(niceness(), before, "other threads stay as they are");
    }

    #[test]
    fn an_impossible_processor_is_an_error() {
        assert!(pin(100_000).is_err());
    }
}
