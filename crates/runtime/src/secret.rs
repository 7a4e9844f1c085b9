//! Random bytes that no other process can foretell, for keys, salts and passwords.

use std::io;

use crate::Runtime;

/// Fills a buffer of at most 256 bytes with random bytes of the kernel. Those of a simulated machine follow from its seed.
///
/// # Errors
/// Those of the kernel: it may have gathered too little yet at the machine's start.
pub fn fill_secret(runtime: &Runtime, bytes: &mut [u8]) -> io::Result<()> {
    runtime.core().random.fill_secret(bytes)
}
