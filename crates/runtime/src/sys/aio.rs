//! linux-aio: direct reads and writes of files that the kernel carries on with while the thread goes on. (Source: the
//! kernel's `include/uapi/linux/aio_abi.h`.)
//!
//! By system call number, as the C library has no wrappers.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

use super::{check, raw};

const READ: u16 = 0;
const WRITE: u16 = 1;
/// The kernel signals an event descriptor at the request's end.
const SIGNALS_EVENT: u32 = 1;

/// One request as the kernel reads it, which it does while it is submitted and not after.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Request {
    user_data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    #[cfg(target_endian = "little")]
    call_flags: u32,
    #[cfg(target_endian = "big")]
    call_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    operation: u16,
    priority: i16,
    fd: u32,
    address: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event: u32,
}

/// One end of a request.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Completion {
    /// What the request was named by.
    pub(crate) user_data: u64,
    request: u64,
    result: i64,
    second_result: i64,
}

const _: () = assert!(size_of::<Request>() == 64 && size_of::<Completion>() == 32);

impl Completion {
    /// A count of bytes, or a negative error number.
    pub(crate) fn result(&self) -> i32 {
        // Counts are limited to i32::MAX by every caller.
        i32::try_from(self.result).unwrap_or(i32::MAX)
    }
}

impl Request {
    fn new(user_data: u64, event: RawFd, fd: RawFd, at: u64) -> Request {
        Request {
            user_data,
            key: 0,
            call_flags: libc::RWF_NOWAIT as u32,
            operation: 0,
            priority: 0,
            fd: fd as u32,
            address: 0,
            length: 0,
            // Beyond what files can have; the kernel answers EINVAL to -1.
            offset: i64::try_from(at).unwrap_or(-1),
            reserved: 0,
            flags: SIGNALS_EVENT,
            event: event as u32,
        }
    }

    /// Reads at `at` to `to`. Ends with EAGAIN where it would have to wait while it is submitted.
    pub(crate) fn read(user_data: u64, event: RawFd, fd: RawFd, (to, length): (*mut u8, usize), at: u64) -> Request {
        let request = Request::new(user_data, event, fd, at);
        Request { operation: READ, address: to as u64, length: length as u64, ..request }
    }

    /// Writes `from` at `at`. Ends with EAGAIN where it would have to wait while it is submitted.
    pub(crate) fn write(
        user_data: u64,
        event: RawFd,
        fd: RawFd,
        (from, length): (*const u8, usize),
        at: u64,
    ) -> Request {
        let request = Request::new(user_data, event, fd, at);
        Request { operation: WRITE, address: from as u64, length: length as u64, ..request }
    }
}

/// The kernel's side of up to so many requests in flight. Dropped, it waits for all of them, and for some tens of
/// milliseconds in any case: the kernel counts its users per processor, and waits until all have seen that it goes.
#[derive(Debug)]
pub(crate) struct Context {
    id: libc::c_ulong,
}

/// Whether contexts are to be had at all; seccomp profiles refuse them, and kernels may be built without. Makes none, since
/// getting rid of it would wait for as long as [`Context`]'s end does: asks for one without room, which is refused in other
/// words.
pub(crate) fn probe() -> io::Result<()> {
    let mut id: libc::c_ulong = 0;
    // SAFETY: the call would write the context's id.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, 0 as libc::c_ulong, &raw mut id) };
    match raw(result as isize) {
        error if error == -libc::EINVAL => Ok(()),
        result => check(result).map(|_| ()),
    }
}

impl Context {
    /// Room for `depth` requests.
    pub(crate) fn new(depth: u32) -> io::Result<Context> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the call writes the context's id, which must be zero before.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, libc::c_ulong::from(depth), &raw mut id) };
        check(raw(result as isize))?;
        Ok(Context { id })
    }

    /// Submits the first of `requests`: how many, or the error number that the very first met.
    ///
    /// # Safety
    /// What the requests point to stays valid, and is not used otherwise, until each one's completion.
    pub(crate) unsafe fn submit(&self, requests: &mut [Request]) -> i32 {
        let mut pointers: [*mut Request; BATCH] = [std::ptr::null_mut(); BATCH];
        let count = requests.len().min(BATCH);
        for (pointer, request) in pointers.iter_mut().zip(requests) {
            *pointer = request;
        }
        // SAFETY: the kernel reads `count` pointers to requests that live throughout the call, and writes their keys. The
        // memory they name is the caller's care.
        let result =
            unsafe { libc::syscall(libc::SYS_io_submit, self.id, count as libc::c_long, pointers.as_mut_ptr()) };
        raw(result as isize)
    }

    /// Replaces what `completions` holds by ends that are there, as many as it has capacity for. Does not wait.
    pub(crate) fn take_ended(&self, completions: &mut Vec<Completion>) -> io::Result<()> {
        completions.clear();
        let mut zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let room = libc::c_long::try_from(completions.capacity()).unwrap_or(libc::c_long::MAX);
        let none: libc::c_long = 0;
        // SAFETY: the call writes at most `room` completions into the vector's capacity and reads the time.
        let result = unsafe {
            libc::syscall(libc::SYS_io_getevents, self.id, none, room, completions.as_mut_ptr(), &raw mut zero)
        };
        match check(raw(result as isize)) {
            Ok(count) => {
                // SAFETY: the kernel wrote `count` completions, at most `room`, which is at most the capacity.
                unsafe { completions.set_len(count as usize) };
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The most requests of one [`Context::submit`].
pub(crate) const BATCH: usize = 32;

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is this value's alone. An error would say that there is none, which is as well.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}
