//! Bytes that will be read soon are asked for, so that they are on their way from memory while something else is done.
#![allow(unsafe_code)]

/// What processors fetch at once, bytes, or a part of it.
const CACHE_LINE: usize = 64;

/// Asks for the first `lines` cache lines of `bytes`, as far as there are so many. Nothing waits for them.
#[inline(always)]
pub fn prefetch(bytes: &[u8], lines: usize) {
    for line in bytes.chunks(CACHE_LINE).take(lines) {
        prefetch_line(line.as_ptr());
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint: it neither faults nor changes anything that a program can see, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a hint: it neither faults nor changes anything that a program can see, whatever the address.
    unsafe { std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) };
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
fn prefetch_line(_address: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_will_do() {
        let bytes: Vec<u8> = (0..200).collect();
        for (length, lines) in [(0, 7), (1, 1), (64, 2), (65, 2), (200, 1), (200, 100)] {
            prefetch(&bytes[..length], lines);
        }
        assert!(bytes.iter().copied().eq(0..200));
    }
}
