//! [`AlignedBuf`]: bytes whose address is a multiple of a disk block, for I/O past the page cache. Like a `Vec<u8>` in
//! all else, but for growth: the capacity is what [`AlignedBuf::with_capacity`] or [`AlignedBuf::reserve`] made it,
//! rounded up to whole blocks.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The alignment of the address, and what every capacity is a multiple of.
pub const ALIGNMENT: usize = 4096;

/// A growable run of bytes at an address that is a multiple of [`ALIGNMENT`].
pub struct AlignedBuf {
    address: NonNull<u8>,
    len: usize,
    capacity: usize,
}

// SAFETY: the bytes are owned by this value alone, as a Vec's are.
unsafe impl Send for AlignedBuf {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for AlignedBuf {}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity, ALIGNMENT).expect("a capacity of at most isize::MAX bytes")
}

impl AlignedBuf {
    /// An empty buffer that holds no memory.
    pub const fn new() -> Self {
        AlignedBuf { address: NonNull::dangling(), len: 0, capacity: 0 }
    }

    /// An empty buffer with room for at least `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut buffer = AlignedBuf::new();
        buffer.reserve(capacity);
        buffer
    }

    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        let mut buffer = AlignedBuf::with_capacity(len);
        buffer.resize(len, 0);
        buffer
    }

    /// Bytes in use.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no bytes are in use.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes there is room for.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes there is room for beyond those in use.
    #[inline]
    pub fn spare(&self) -> usize {
        self.capacity - self.len
    }

    /// Forgets the bytes, keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets the bytes from `len` on.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes room for at least `additional` more bytes.
    pub fn reserve(&mut self, additional: usize) {
        if additional <= self.spare() {
            return;
        }
        let wanted = self.len.checked_add(additional).expect("a length that fits usize");
        let grown = wanted.max(self.capacity.saturating_mul(2)).max(ALIGNMENT);
        self.move_to(grown.checked_next_multiple_of(ALIGNMENT).expect("a capacity that fits usize"));
    }

    fn move_to(&mut self, capacity: usize) {
        let layout = layout(capacity);
        // SAFETY: the layout's size is not zero, being at least ALIGNMENT.
        let address = unsafe { alloc(layout) };
        let Some(address) = NonNull::new(address) else { handle_alloc_error(layout) };
        // SAFETY: both runs hold at least `len` bytes, the first `len` of the old one are initialized, and a fresh
        // allocation does not overlap.
        unsafe { std::ptr::copy_nonoverlapping(self.address.as_ptr(), address.as_ptr(), self.len) };
        self.release();
        self.address = address;
        self.capacity = capacity;
    }

    fn release(&mut self) {
        if self.capacity > 0 {
            // SAFETY: `address` came from `alloc` with this very layout and is not used after.
            unsafe { dealloc(self.address.as_ptr(), layout(self.capacity)) };
            self.capacity = 0;
        }
    }

    /// Appends `bytes`, growing if there is no room.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: there is room for `bytes` after `len`, and a borrowed slice cannot overlap memory owned by `self`,
        // which is borrowed exclusively.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.as_ptr().add(self.len), bytes.len());
        }
        self.len += bytes.len();
    }

    /// Cuts to `len`, or appends `byte` up to it.
    pub fn resize(&mut self, len: usize, byte: u8) {
        if len > self.len {
            self.reserve(len - self.len);
            // SAFETY: there is room up to `len`.
            unsafe { std::ptr::write_bytes(self.address.as_ptr().add(self.len), byte, len - self.len) };
        }
        self.len = len;
    }

    /// Where the spare room begins; [`AlignedBuf::spare`] bytes from there belong to the buffer.
    #[inline]
    pub fn spare_ptr(&mut self) -> *mut u8 {
        // SAFETY: `len` is at most `capacity`, so the result is inside the allocation or one past it.
        unsafe { self.address.as_ptr().add(self.len) }
    }

    /// Declares `len` bytes to be in use.
    ///
    /// # Safety
    /// `len` is at most the capacity, and all bytes before it have been written.
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity);
        self.len = len;
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        self.release();
    }
}

impl Default for AlignedBuf {
    fn default() -> Self {
        AlignedBuf::new()
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are initialized; without memory `len` is 0 and the address is dangling but not null.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.len) }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        AlignedBuf::from(&self[..])
    }
}

impl From<&[u8]> for AlignedBuf {
    fn from(bytes: &[u8]) -> Self {
        let mut buffer = AlignedBuf::with_capacity(bytes.len());
        buffer.extend_from_slice(bytes);
        buffer
    }
}

impl PartialEq for AlignedBuf {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for AlignedBuf {}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf {{ len: {}, capacity: {} }}", self.len, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_at_every_size() {
        for capacity in [1, 4095, 4096, 4097, 1 << 20] {
            let buffer = AlignedBuf::with_capacity(capacity);
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.capacity() % ALIGNMENT, 0);
            assert!(buffer.capacity() >= capacity);
        }
    }

    #[test]
    fn grows_and_keeps_its_bytes() {
        let mut buffer = AlignedBuf::new();
        let mut model = Vec::new();
        for round in 0..2_000u32 {
            buffer.extend_from_slice(&round.to_be_bytes());
            model.extend_from_slice(&round.to_be_bytes());
        }
        assert_eq!(&buffer[..], &model[..]);
        buffer.resize(9_000, 7);
        model.resize(9_000, 7);
        buffer[0] = 9;
        model[0] = 9;
        assert_eq!(&buffer.clone()[..], &model[..]);
        buffer.truncate(3);
        assert_eq!(&buffer[..], &model[..3]);
        buffer.clear();
        assert!(buffer.is_empty() && buffer.spare() == buffer.capacity());
    }

    #[test]
    fn without_memory_it_is_an_empty_slice() {
        let mut buffer = AlignedBuf::default();
        assert_eq!(&buffer[..], b"");
        buffer.extend_from_slice(b"");
        assert_eq!(buffer.capacity(), 0);
        assert_eq!(AlignedBuf::zeroed(10)[..], [0; 10]);
    }
}
