//! Descriptors that stand for events: eventfd, signalfd, and epoll over all of them.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use super::{check, raw, thread};

fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(raw(result as isize))?;
    // SAFETY: the kernel just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A counter that wakes whoever waits for it.
pub(crate) fn event(is_nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::EFD_CLOEXEC | if is_nonblocking { libc::EFD_NONBLOCK } else { 0 };
    // SAFETY: the call has no preconditions.
    owned(unsafe { libc::eventfd(0, flags) })
}

/// Wakes whoever waits for `event`.
pub(crate) fn signal(event: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: the call reads 8 bytes of `one`. It can only fail when the counter is full, and then the event is seen.
    unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// A descriptor that reads one record per SIGTERM or SIGINT; they must be blocked in every thread.
pub(crate) fn termination_signals(is_nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::SFD_CLOEXEC | if is_nonblocking { libc::SFD_NONBLOCK } else { 0 };
    // SAFETY: the set is valid for the call.
    owned(unsafe { libc::signalfd(-1, &thread::termination_set(), flags) })
}

/// The length of a record that a signal descriptor reads, and the signal's number in it.
pub(crate) const SIGNAL_RECORD_BYTES: usize = size_of::<libc::signalfd_siginfo>();

/// The signal's number in a record.
pub(crate) fn signal_number(record: &[u8]) -> Option<i32> {
    let number = record.first_chunk::<4>()?;
    i32::try_from(u32::from_ne_bytes(*number)).ok()
}

/// The signal's number of SIGINT.
pub(crate) const INTERRUPT: i32 = libc::SIGINT;

/// Appends what the descriptor has, as far as the spare capacity goes.
pub(crate) fn read(fd: RawFd, buffer: &mut Vec<u8>) -> i32 {
    let spare = buffer.spare_capacity_mut();
    // SAFETY: the call writes at most as many bytes as the spare capacity holds.
    let count = raw(unsafe { libc::read(fd, spare.as_mut_ptr().cast(), spare.len().min(super::CALL_BYTES_MAX)) });
    if count > 0 {
        // SAFETY: the kernel wrote `count` bytes, at most the spare capacity, after the vector's length.
        unsafe { buffer.set_len(buffer.len() + count as usize) };
    }
    count
}

/// One event of [`Poller::wait`].
pub(crate) type Event = libc::epoll_event;

/// An epoll instance.
pub(crate) struct Poller {
    fd: OwnedFd,
    /// Whether the kernel takes timeouts finer than a millisecond, as far as is known.
    has_nanos: Cell<bool>,
}

/// What a descriptor is ready for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readiness {
    pub(crate) key: u64,
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
    /// The other end has finished, or the descriptor has failed: reads and writes no longer wait.
    pub(crate) is_over: bool,
}

impl From<&Event> for Readiness {
    fn from(event: &Event) -> Self {
        let has = |bits: libc::c_int| event.events & bits as u32 != 0;
        Readiness {
            key: event.u64,
            is_readable: has(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
            is_writable: has(libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR),
            is_over: has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
        }
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the call has no preconditions.
        let fd = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Poller { fd, has_nanos: Cell::new(true) })
    }

    /// Reports from now on, once per change, what `fd` becomes ready for.
    pub(crate) fn add(&self, fd: RawFd, key: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = Event { events: events as u32, u64: key };
        // SAFETY: `event` is valid for the call.
        let result = unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
        check(raw(result as isize)).map(|_| ())
    }

    /// Reports no more of `fd`.
    pub(crate) fn remove(&self, fd: RawFd) {
        let mut event = Event { events: 0, u64: 0 };
        // SAFETY: `event` is valid for the call; that `fd` is unknown to the instance is an error without consequence.
        unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, &mut event) };
    }

    /// Waits for events, `None` for as long as it takes, and replaces what `events` holds by them.
    pub(crate) fn wait(&self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let waited = match timeout {
            None => self.wait_millis(events, -1),
            Some(timeout) if timeout.is_zero() => self.wait_millis(events, 0),
            Some(timeout) if self.has_nanos.get() => match self.wait_nanos(events, timeout) {
                // The kernel is older than 5.11.
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                    self.has_nanos.set(false);
                    self.wait_millis(events, millis(timeout))
                }
                waited => waited,
            },
            Some(timeout) => self.wait_millis(events, millis(timeout)),
        };
        match waited {
            Ok(count) => {
                // SAFETY: the kernel wrote `count` events, at most as many as the capacity.
                unsafe { events.set_len(count as usize) };
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits for at most so many milliseconds, -1 for as long as it takes. Gives the number of events written to the capacity of `events`.
    fn wait_millis(&self, events: &mut Vec<Event>, timeout: libc::c_int) -> io::Result<i32> {
        let room = i32::try_from(events.capacity()).unwrap_or(i32::MAX);
        // SAFETY: the call writes at most `room` events into the vector's capacity.
        let count = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), events.as_mut_ptr(), room, timeout) };
        check(raw(count as isize))
    }

    /// The same with a finer timeout. By number, for the C library has the call only since 2.35.
    fn wait_nanos(&self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<i32> {
        let room = i32::try_from(events.capacity()).unwrap_or(i32::MAX);
        let time = libc::timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the call writes at most `room` events into the vector's capacity and reads `time`; without a mask it has no length.
        let count = unsafe {
            let fd = self.fd.as_raw_fd();
            libc::syscall(libc::SYS_epoll_pwait2, fd, events.as_mut_ptr(), room, &raw const time, no_mask, 0usize)
        };
        check(raw(count as isize))
    }
}

/// A timeout that is no shorter, in whole milliseconds.
fn millis(timeout: Duration) -> libc::c_int {
    libc::c_int::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_timeout_is_no_shorter_where_the_kernel_counts_milliseconds() {
        for has_nanos in [true, false] {
            let poller = Poller::new().unwrap();
            poller.has_nanos.set(has_nanos);
            let began = Instant::now();
            let mut events = Vec::with_capacity(4);
            poller.wait(&mut events, Some(Duration::from_micros(1500))).unwrap();
            assert!(began.elapsed() >= Duration::from_micros(1500) && events.is_empty());
            let event = event(true).unwrap();
            poller.add(event.as_raw_fd(), 7).unwrap();
            signal(&event);
            poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
            assert_eq!(events.iter().map(|event| Readiness::from(event).key).collect::<Vec<_>>(), [7]);
        }
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_millis(3)), 3);
        assert_eq!(millis(Duration::MAX), libc::c_int::MAX);
    }
}
