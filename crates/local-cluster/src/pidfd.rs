//! A process by a descriptor instead of its pid, which may be another process' a moment later. The standard library does not offer it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Signals that a node is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Terminate,
    Kill,
    Stop,
    Continue,
}

impl Signal {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Signal::Terminate => "SIGTERM",
            Signal::Kill => "SIGKILL",
            Signal::Stop => "SIGSTOP",
            Signal::Continue => "SIGCONT",
        }
    }

    fn number(self) -> libc::c_int {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
            Signal::Stop => libc::SIGSTOP,
            Signal::Continue => libc::SIGCONT,
        }
    }
}

/// A process that had the pid when it was opened.
#[derive(Debug)]
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    /// Opens a process; `None` if there is none with the pid.
    pub(crate) fn open(pid: u32) -> io::Result<Option<PidFd>> {
        let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        let flags: libc::c_uint = 0;
        // SAFETY: the call takes two numbers and gives a new descriptor, or -1.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) };
        match i32::try_from(result) {
            // SAFETY: the kernel made the descriptor in the call above, so this is its only owner.
            Ok(descriptor) if descriptor >= 0 => Ok(Some(PidFd(unsafe { OwnedFd::from_raw_fd(descriptor) }))),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Sends a signal. A process that has ended is not an error.
    pub(crate) fn send(&self, signal: Signal) -> io::Result<()> {
        let (info, flags): (*const libc::siginfo_t, libc::c_uint) = (std::ptr::null(), 0);
        let descriptor = self.0.as_raw_fd();
        // SAFETY: the descriptor is open throughout the call; a null pointer lets the kernel fill in the signal's origin.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal.number(), info, flags) };
        match io::Error::last_os_error() {
            _ if result == 0 => Ok(()),
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }

    /// Waits until the process has ended, or for the time. True if it has ended.
    pub(crate) fn wait(&self, time: Duration) -> io::Result<bool> {
        let millis = libc::c_int::try_from(time.as_millis()).unwrap_or(libc::c_int::MAX);
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is one entry, as the count says, and lives throughout the call.
        let result = unsafe { libc::poll(&raw mut poll, 1, millis) };
        match io::Error::last_os_error() {
            _ if result >= 0 => Ok(poll.revents & libc::POLLIN != 0),
            // A signal for this process, such as SIGCONT: the caller asks again.
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// No slow machine takes that long.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_process_is_signalled_and_its_end_is_seen() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is there");
        let process = PidFd::open(child.id()).expect("it may be opened").expect("it runs");
        assert!(!process.wait(Duration::ZERO).expect("it may be waited for"), "it runs");
        process.send(Signal::Stop).expect("it is ours");
        process.send(Signal::Continue).expect("it is ours");
        process.send(Signal::Kill).expect("it is ours");
        assert!(process.wait(PATIENCE).expect("it may be waited for"), "SIGKILL ends it");
        child.wait().expect("it is a child of ours");
        process.send(Signal::Kill).expect("a process that has ended is no error");
    }

    #[test]
    fn there_is_no_process_with_a_pid_beyond_the_kernel_s() {
        assert!(PidFd::open(u32::MAX).is_err());
        assert!(PidFd::open(i32::MAX as u32).expect("the number is valid").is_none());
    }
}
