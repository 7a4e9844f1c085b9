//! mimalloc, and how soon it hands back to the kernel what nobody uses.

#![allow(unsafe_code, reason = "the allocator's options are set by a call into C")]

/// Small and quick for the many short-lived vectors of requests that must wait, and it gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc's version 3, by its place in `mi_option_e`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// How long pages that became free are kept, in milliseconds. The default of a second keeps what a burst of long requests took
/// for as long as the burst goes on, and behind it until something else is freed: with eight hostile clients 56 MiB, against 16 to
/// 24 with this. Handing pages back at once would have a steady load of long requests fault them in again for each.
const PURGE_DELAY_MS: std::ffi::c_long = 10;

/// Sets the allocator's options, unless the environment does (`MIMALLOC_PURGE_DELAY`). To be called before there are threads.
pub fn configure() {
    // SAFETY: plain numbers, of which the first names an option that there is; the process has one thread yet.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) }
}
