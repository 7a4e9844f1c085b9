//! When the allocator gives freed memory back to the system: on a thread of its own, never on a shard's.
//!
//! mimalloc keeps freed memory for a while and then has whichever thread happens to allocate give all of it back at once, which takes
//! the kernel 2 ms for 30 MiB on a quiet machine, and a request has to wait for that. So the while is made longer than any process
//! lives, and [`purge`] is called from outside the shards. It does not touch what is in use: a shard that allocates meanwhile takes
//! other memory.
#![allow(unsafe_code)]

use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_t};

/// `mi_option_purge_delay`, which the bindings do not name; a test compares its default.
const PURGE_DELAY: mi_option_t = 15;
/// Milliseconds: eleven days from each [`purge`] to the one that a thread would do by itself.
const NEVER: i32 = 1_000_000_000;

/// From now on freed memory is given back by [`purge`] alone. Before there are other threads.
pub(crate) fn keep_purges_from_threads() {
    // SAFETY: it stores a number under an option that exists.
    unsafe { mi_option_set(PURGE_DELAY, NEVER.into()) };
}

/// Gives what is free back to the system.
pub(crate) fn purge() {
    // SAFETY: it may be called by any thread at any time.
    unsafe { mi_collect(true) };
}

#[cfg(test)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    #[test]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: both read or store the number of an option that exists.
        let before = unsafe { mi_option_get(super::PURGE_DELAY) };
        assert_eq!(before, 1000, "mimalloc numbers its options otherwise, or has another default");
        super::keep_purges_from_threads();
        // SAFETY: as above.
        let after = unsafe { mi_option_get(super::PURGE_DELAY) };
        assert_eq!(after, i64::from(super::NEVER));
        super::purge();
    }
}
