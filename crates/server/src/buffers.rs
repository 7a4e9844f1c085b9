//! Memory for large requests, used again.
//!
//! A request of several MiB is gathered, and perhaps decompressed, into memory of its own, and is over soon after. If each took new
//! memory and gave it back, what the allocator has yet to return to the system would pile up to many times what is in use, and
//! every request would pay for the first touch of its pages. So a shard keeps what a few large requests left for the next ones, of
//! few sizes, at most [`SPARE_BYTES_MAX`], and lets it go when nobody has asked for a while.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::time::Duration;

use runtime::Runtime;
use runtime::sync::Notify;

/// The most that is kept, bytes.
const SPARE_BYTES_MAX: usize = 16 << 20;
/// What nobody asked for in this time is let go, one buffer at a time.
const IDLE: Duration = Duration::from_millis(500);

/// A shard's buffers for large requests that nobody uses now.
#[derive(Default)]
pub(crate) struct Buffers {
    spare: RefCell<Vec<Vec<u8>>>,
    /// Their capacities together.
    bytes: Cell<usize>,
    /// One was taken since the last look.
    was_taken: Cell<bool>,
    /// One was put back.
    returned: Notify,
}

/// A buffer that goes back to its shard's when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    home: Rc<Buffers>,
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffers({} spare bytes)", self.bytes.get())
    }
}

impl Buffers {
    /// An empty buffer for `length` bytes: the smallest spare one in which they fit.
    ///
    /// A new one is made for a power of two: with any size there is, what one request left would seldom do for the next. What is
    /// asked for beyond `length` is not touched, so it costs addresses alone.
    pub(crate) fn take(self: &Rc<Self>, length: usize) -> Buffer {
        self.was_taken.set(true);
        let mut spare = self.spare.borrow_mut();
        let fits = |buffer: &Vec<u8>| buffer.capacity() >= length;
        let smallest =
            (0..spare.len()).filter(|&index| fits(&spare[index])).min_by_key(|&index| spare[index].capacity());
        let bytes = match smallest {
            Some(index) => {
                let bytes = spare.swap_remove(index);
                self.bytes.set(self.bytes.get() - bytes.capacity());
                bytes
            }
            None => Vec::with_capacity(length.next_power_of_two()),
        };
        Buffer { bytes, home: self.clone() }
    }

    fn put(&self, mut bytes: Vec<u8>) {
        let capacity = bytes.capacity();
        if capacity == 0 || self.bytes.get() + capacity > SPARE_BYTES_MAX {
            return;
        }
        bytes.clear();
        self.bytes.set(self.bytes.get() + capacity);
        self.spare.borrow_mut().push(bytes);
        self.returned.notify();
    }

    /// Lets one spare buffer go if none was asked for since the last call. False: there are none.
    fn let_go(&self) -> bool {
        let mut spare = self.spare.borrow_mut();
        if !self.was_taken.replace(false)
            && let Some(bytes) = spare.pop()
        {
            self.bytes.set(self.bytes.get() - bytes.capacity());
        }
        !spare.is_empty()
    }

    /// Lets go what is not used, for as long as the shard runs.
    pub(crate) async fn let_idle_go(self: Rc<Self>, runtime: Runtime) {
        loop {
            self.returned.notified().await;
            while {
                runtime.sleep(IDLE).await;
                self.let_go()
            } {}
        }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.put(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_request_left_is_the_next_ones() {
        let buffers = Rc::new(Buffers::default());
        let mut large = buffers.take(3 << 20);
        large.extend_from_slice(b"request");
        let (small, place) = (buffers.take(100_000), large.as_ptr());
        assert_eq!(large.capacity(), 4 << 20);
        drop((large, small));
        assert_eq!(buffers.bytes.get(), (4 << 20) + (128 << 10));
        assert_eq!(buffers.take(1000).capacity(), 128 << 10, "the smallest that fits");
        let again = buffers.take(4 << 20);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }

    #[test]
    fn what_is_kept_is_bounded_and_goes_when_nobody_asks() {
        let buffers = Rc::new(Buffers::default());
        let taken: Vec<Buffer> = (0..5).map(|_| buffers.take(8 << 20)).collect();
        drop(taken);
        assert_eq!(buffers.bytes.get(), SPARE_BYTES_MAX);
        assert!(buffers.let_go(), "they were asked for a moment ago");
        assert_eq!(buffers.bytes.get(), SPARE_BYTES_MAX);
        assert!(buffers.let_go());
        assert!(!buffers.let_go());
        assert_eq!(buffers.bytes.get(), 0);
    }
}
