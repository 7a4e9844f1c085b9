//! The kernel's calls that the standard library does not offer, made safe: nothing outside this folder names `libc`
//! functions. Each gives a plain result or the kernel's negative error number, as the reactors want it.

pub(crate) mod aio;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod socket;
pub(crate) mod thread;
pub(crate) mod unix;

/// A call's result as the kernel itself gives it: a count, or a negative error number.
pub(crate) fn raw(result: isize) -> i32 {
    if result >= 0 {
        // Counts are limited to i32::MAX by every caller.
        return i32::try_from(result).unwrap_or(i32::MAX);
    }
    -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// [`raw`]'s numbers as the standard library's result.
pub(crate) fn check(result: i32) -> std::io::Result<i32> {
    if result < 0 { Err(std::io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}

/// The most bytes one call is asked to move: what Linux moves at most, down to a page.
pub(crate) const CALL_BYTES_MAX: usize = 0x7fff_f000;
