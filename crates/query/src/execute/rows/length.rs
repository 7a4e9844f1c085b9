//! How long a result may become, and where it gets its memory on the way there.

use std::cell::Cell;

use crate::error::{QueryError, invalid};

/// A page ends early when its frame gets longer than this: a client takes fewer rows than it asked for, and the next page.
pub(crate) const PAGE_BYTES_MAX: usize = 16 << 20;

/// A result that is not asked for in pages is refused when its frame gets longer than this.
pub(crate) const RESULT_BYTES_MAX: usize = 64 << 20;

/// How often a growing result is counted: shorter ones are not.
pub(crate) const LENGTH_STEP: usize = 1 << 20;
/// The length at which it is counted first: before its buffer, which doubles as it grows, would come to two mebibytes.
const LENGTH_FIRST: usize = LENGTH_STEP / 4 * 3;

/// A row that makes a result grow by so much that it may not be moved again.
pub(super) const LONG_ROW: usize = 256 << 10;

/// A result that is long enough to be counted, together with the others of its shard.
pub(crate) struct LongResult<'e> {
    all: &'e Cell<usize>,
    counted: usize,
    max: usize,
}

impl<'e> LongResult<'e> {
    /// A result that takes nothing yet of the `max` bytes that `all` may have.
    #[inline]
    pub(crate) fn new(all: &'e Cell<usize>, max: usize) -> Self {
        LongResult { all, counted: 0, max }
    }

    /// Counts it as `length` bytes long; false, and nothing changed, if that is too much.
    fn count(&mut self, length: usize) -> bool {
        let all = self.all.get() - self.counted + length;
        if all > self.max {
            return false;
        }
        self.all.set(all);
        self.counted = length;
        true
    }
}

impl Drop for LongResult<'_> {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.counted);
    }
}

/// The length of a result in the making, and the memory that it is written to.
pub(super) struct ResultLength<'e> {
    long: LongResult<'e>,
    is_paged: bool,
    /// The frame's length at which it is counted again.
    counted_at: usize,
    has_addresses: bool,
    /// How much of the memory was touched, if that is known.
    room: usize,
    /// The room with which the result is to be begun again.
    wanted: Option<usize>,
}

impl<'e> ResultLength<'e> {
    #[inline]
    pub(super) fn new(long: LongResult<'e>, is_paged: bool) -> Self {
        ResultLength { long, is_paged, counted_at: LENGTH_FIRST, has_addresses: false, room: 0, wanted: None }
    }

    /// Says that so much of the memory was touched.
    pub(super) fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// The room that the result must have to go on; what there is of it is of no use then.
    #[inline]
    pub(super) fn wanted(&self) -> Option<usize> {
        self.wanted
    }

    /// Whether a long row does not fit behind the `written` bytes in what was touched.
    #[cold]
    pub(super) fn wants_room_for(&mut self, row: usize, written: usize) -> bool {
        let needed = written + row + LENGTH_STEP;
        if needed > self.room {
            self.wanted.get_or_insert(needed.max(self.room * 2));
        }
        self.wanted.is_some()
    }

    /// Whether a frame of this length is to be counted.
    #[inline]
    pub(super) fn is_due(&self, frame: usize) -> bool {
        frame > self.counted_at
    }

    /// Counts a long frame, which ends `out`, with the others that are in the making on this shard. True if no page may be longer; an
    /// error if no result may.
    #[cold]
    pub(super) fn count(&mut self, frame: usize, out: &mut Vec<u8>) -> Result<bool, QueryError> {
        if !self.long.count(frame) {
            let message = "Too many result bytes are under construction on this shard".to_owned();
            return Err(QueryError::Overloaded { message });
        }
        self.counted_at = frame + LENGTH_STEP;
        self.take_addresses(out);
        if !self.is_paged && frame > RESULT_BYTES_MAX {
            return Err(too_long());
        }
        Ok(self.is_paged && frame > PAGE_BYTES_MAX)
    }

    /// A result that is about to come to a megabyte may become as long as it may: addresses are taken for all of it
    /// and memory as it is filled. Growing by and by would copy it again and again, all of it in one poll.
    fn take_addresses(&mut self, out: &mut Vec<u8>) {
        if self.room > 0 {
            // To move would copy all of it at once: it begins again with twice the room.
            if self.room.saturating_sub(out.len()) < LENGTH_STEP * 2 {
                self.wanted.get_or_insert(self.room * 2);
            }
            return;
        }
        if self.has_addresses {
            return;
        }
        self.has_addresses = true;
        let most = if self.is_paged { PAGE_BYTES_MAX } else { RESULT_BYTES_MAX };
        // Not `reserve`, for which the allocator would copy what was never written too.
        let mut moved = Vec::with_capacity(most + LENGTH_STEP);
        moved.extend_from_slice(out);
        *out = moved;
    }
}

/// The refusal of a result that is not asked for in pages.
pub(crate) fn too_long() -> QueryError {
    invalid(format!("The result is larger than {RESULT_BYTES_MAX} bytes: ask for it in pages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_counted_together_while_they_are_made() {
        let all = Cell::new(0);
        let mut first = LongResult::new(&all, 100);
        let mut second = LongResult::new(&all, 100);
        assert!(first.count(40) && second.count(50) && first.count(50));
        assert!(!first.count(51), "together they are too long");
        assert_eq!(all.get(), 100);
        drop(second);
        assert!(first.count(100));
        drop(first);
        assert_eq!(all.get(), 0);
    }
}
