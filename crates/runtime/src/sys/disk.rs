//! Calls on open files, as the workers make them.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stdx::AlignedBuf;

use super::{CALL_BYTES_MAX, raw};

/// The flag that takes I/O past the page cache.
pub(crate) const DIRECT: i32 = libc::O_DIRECT;
/// The flag that makes a write wait for the disk.
pub(crate) const DSYNC: i32 = libc::O_DSYNC;
/// The flag that has opening not wait.
pub(crate) const NONBLOCK: i32 = libc::O_NONBLOCK;

fn offset(value: u64) -> libc::off_t {
    // Beyond what files can have; the kernel answers EINVAL to -1.
    libc::off_t::try_from(value).unwrap_or(-1)
}

/// Appends what the file has at `at`, as far as the spare capacity goes.
pub(crate) fn read_at(fd: RawFd, buffer: &mut AlignedBuf, at: u64) -> i32 {
    let length = buffer.spare().min(CALL_BYTES_MAX);
    // SAFETY: `length` bytes from `spare_ptr` belong to the buffer.
    let count = raw(unsafe { libc::pread(fd, buffer.spare_ptr().cast(), length, offset(at)) });
    if count > 0 {
        // SAFETY: the kernel wrote `count` bytes, at most the spare room, after the buffer's length.
        unsafe { buffer.set_len(buffer.len() + count as usize) };
    }
    count
}

/// Writes some of `bytes`.
pub(crate) fn write_at(fd: RawFd, bytes: &[u8], at: u64) -> i32 {
    // SAFETY: the call reads at most the slice's length.
    raw(unsafe { libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len().min(CALL_BYTES_MAX), offset(at)) })
}

/// Waits until the file's bytes, and with `is_data_only` false its metadata, are on the disk.
pub(crate) fn sync(fd: RawFd, is_data_only: bool) -> i32 {
    // SAFETY: the calls have no preconditions.
    raw(unsafe { if is_data_only { libc::fdatasync(fd) } else { libc::fsync(fd) } } as isize)
}

/// Reserves room; -EOPNOTSUPP where the file system cannot.
pub(crate) fn allocate(fd: RawFd, at: u64, length: u64) -> i32 {
    // SAFETY: the call has no preconditions.
    raw(unsafe { libc::fallocate(fd, 0, offset(at), offset(length)) } as isize)
}

/// Cuts or extends the file.
pub(crate) fn set_length(fd: RawFd, length: u64) -> i32 {
    // SAFETY: the call has no preconditions.
    raw(unsafe { libc::ftruncate(fd, offset(length)) } as isize)
}

/// The file's length.
pub(crate) fn length(fd: RawFd) -> io::Result<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: all zeros is a valid `stat`, which the call fills.
    let (result, stat) = unsafe { (libc::fstat(fd, stat.as_mut_ptr()), stat.assume_init()) };
    super::check(raw(result as isize))?;
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

/// What the file system that holds `path` has left for those without privileges.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends in a zero; all zeros is a valid `statvfs`, which the call fills.
    let (result, stat) = unsafe { (libc::statvfs(path.as_ptr(), stat.as_mut_ptr()), stat.assume_init()) };
    super::check(raw(result as isize))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
