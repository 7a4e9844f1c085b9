//! Calls of the system that the standard library does not offer: the user that this process is, and signals that wait.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals with which a terminal or a user ends a command.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The effective user of this process.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: the call takes nothing, cannot fail, and gives a number.
    unsafe { libc::geteuid() }
}

/// Signals that would end this process wait on its thread until this is dropped.
pub(crate) struct SignalsWait {
    before: libc::sigset_t,
    /// The mask is the thread's.
    _of_thread: PhantomData<*const ()>,
}

impl SignalsWait {
    /// Has them wait from now on.
    pub(crate) fn begin() -> io::Result<SignalsWait> {
        let (mut ending, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets live throughout the calls; `sigemptyset` makes a set of the first, which the others change and read, and the last writes the second.
        let result = unsafe {
            libc::sigemptyset(ending.as_mut_ptr());
            for signal in ENDING {
                libc::sigaddset(ending.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, ending.as_ptr(), before.as_mut_ptr())
        };
        match result {
            // SAFETY: the call succeeded, so it wrote the set.
            0 => Ok(SignalsWait { before: unsafe { before.assume_init() }, _of_thread: PhantomData }),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// The command's process, which would inherit that, gets signals as they come.
    pub(crate) fn do_not_wait_in(&self, command: &mut Command) {
        let before = self.before;
        let restore = move || {
            // SAFETY: the set is a value of the closure, which lives throughout the call.
            match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) } {
                0 => Ok(()),
                number => Err(io::Error::from_raw_os_error(number)),
            }
        };
        // SAFETY: between fork and exec the closure makes one call, which takes neither memory nor locks.
        unsafe { command.pre_exec(restore) };
    }
}

impl Drop for SignalsWait {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the call before wrote, and lives throughout this one.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals that a status file of the kernel names as blocked, one bit each.
    fn blocked(status: &str) -> u64 {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("each status has it");
        u64::from_str_radix(mask.trim(), 16).expect("a mask in hexadecimal")
    }

    #[test]
    fn signals_wait_on_this_thread_and_not_in_what_it_starts() {
        let own = || blocked(&std::fs::read_to_string("/proc/thread-self/status").expect("/proc is there"));
        let mask: u64 = ENDING.iter().map(|signal| 1 << (signal - 1)).sum();
        assert_eq!(own() & mask, 0);
        let wait = SignalsWait::begin().expect("the signals exist");
        assert_eq!(own() & mask, mask);
        let mut command = Command::new("cat");
        wait.do_not_wait_in(&mut command);
        let child = command.arg("/proc/self/status").output().expect("cat is there");
        assert_eq!(blocked(&String::from_utf8_lossy(&child.stdout)) & mask, 0, "a node ends by them");
        drop(wait);
        assert_eq!(own() & mask, 0);
    }
}
