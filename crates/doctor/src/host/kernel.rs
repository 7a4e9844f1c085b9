//! The calls that no file stands for and the standard library does not offer.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use io_uring::{IoUring, cqueue, squeue};

use super::answers::{Space, Synchronisation};

/// The room of the file system that holds `folder`.
pub(super) fn space(folder: &Path) -> io::Result<Space> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let mut stat = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` ends with a zero and lives throughout the call; all zeros is a valid `statvfs`, which the call fills.
    let (result, stat) = unsafe { (libc::statvfs(path.as_ptr(), stat.as_mut_ptr()), stat.assume_init()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok(Space { total_bytes: bytes(stat.f_blocks), free_bytes: bytes(stat.f_bavail) })
}

/// Makes a ring of the shards' kind and enters the kernel for it once.
pub(super) fn uring() -> io::Result<()> {
    const ENTRIES: u32 = 8;
    let mut builder = IoUring::<squeue::Entry, cqueue::Entry>::builder();
    builder.dontfork().setup_submit_all().setup_single_issuer();
    // Kernel 6.0 has no deferring yet; the runtime does the same.
    let ring = match builder.clone().setup_defer_taskrun().setup_taskrun_flag().build(ENTRIES) {
        Ok(ring) => ring,
        Err(_) => builder.setup_coop_taskrun().setup_taskrun_flag().build(ENTRIES)?,
    };
    ring.submitter().submit_and_wait(0)?;
    Ok(())
}

/// Whether linux-aio may be used. Asks for a context without room, so that none is made: EINVAL is the kernel's own answer to
/// that, anything else somebody's who stands before it.
pub(super) fn linux_aio() -> io::Result<()> {
    let mut id: libc::c_ulong = 0;
    // SAFETY: the call would write the context's id.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, 0 as libc::c_ulong, &raw mut id) };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        error => Err(error),
    }
}

/// What the kernel thinks of its clock.
pub(super) fn synchronisation() -> io::Result<Synchronisation> {
    let mut timex = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: all zeros is a valid `timex` and asks for no change (`modes` is 0); the call fills it.
    let (result, timex) = unsafe { (libc::adjtimex(timex.as_mut_ptr()), timex.assume_init()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_synchronised = timex.status & libc::STA_UNSYNC == 0;
    Ok(Synchronisation { is_synchronised, error_micros_max: u64::try_from(timex.maxerror).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers() {
        let space = space(Path::new("/")).expect("there is a root");
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes, "{space:?}");
        let missing = super::space(Path::new("/there is no such folder")).expect_err("nothing is there");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
