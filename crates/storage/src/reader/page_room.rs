//! The memory of a page that is being written.
//!
//! What is long is copied only into memory that was touched before ([`runtime::Runtime::touched`]): else the copy would find each of its
//! thousands of pages for the first time, in one poll. A page that has no such memory takes nothing more, and is begun again with it.

/// A row of more bytes is a long one.
const LONG_ROW: usize = 256 << 10;
/// What an item has beside its row, from above: two lengths of 16 bits bound keys.
const BESIDE_ROW: usize = 160 << 10;

/// How much of a page's memory was touched, and how much is wanted.
#[derive(Debug, Default)]
pub struct PageRoom {
    touched: usize,
    wanted: Option<usize>,
}

impl PageRoom {
    /// That of memory that was touched.
    pub fn of(memory: &Vec<u8>) -> Self {
        PageRoom { touched: memory.capacity(), wanted: None }
    }

    /// Whether a row of `length` bytes may be added to `filled` ones. From the first that may not on none may.
    #[inline]
    pub fn takes(&mut self, filled: usize, length: usize) -> bool {
        (length <= LONG_ROW || self.takes_long(filled, length)) && self.wanted.is_none()
    }

    #[cold]
    fn takes_long(&mut self, filled: usize, length: usize) -> bool {
        let needed = filled.saturating_add(length).saturating_add(BESIDE_ROW);
        if needed > self.touched {
            self.wanted.get_or_insert(needed.max(self.touched.saturating_mul(2)));
        }
        needed <= self.touched
    }

    /// With how much the page is to be begun again.
    #[inline]
    pub fn wanted(&self) -> Option<usize> {
        self.wanted
    }
}
