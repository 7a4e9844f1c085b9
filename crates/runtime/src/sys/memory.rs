//! How the kernel backs this process's memory.
#![allow(unsafe_code)]

/// Asks the kernel not to back this process with huge pages, whatever asks for them. (The allocator is built not to: its first memory is
/// there before this is called.)
///
/// The first touch of a huge page clears 2 MiB within whatever poll happens to touch it: 5 ms on a virtual machine whose host
/// must find the memory too, measured as stalls under a load of writes. Small pages cost the same in sum or less, in pieces that
/// no request notices: writes became 0.5 µs cheaper, random reads 0.2 µs dearer (their translations are cached less well).
pub(crate) fn refuse_huge_pages() {
    // SAFETY: this `prctl` takes plain numbers and changes nothing that Rust code relies on. A kernel that refuses leaves
    // everything as it was.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    // What the kernel says of this process is no file of the database's.
    #[allow(clippy::disallowed_methods)]
    #[test]
    fn the_kernel_is_asked() {
        super::refuse_huge_pages();
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
        assert!(line.is_none_or(|value| value.trim() == "0"), "{line:?}");
    }
}
