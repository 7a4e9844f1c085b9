//! Bounds of what waits at a node: so many proposals, and so many bytes of their intentions.

/// Proposals that wait at once.
const COUNT_MAX: usize = 1024;
/// Bytes of intentions that wait at once, but for a longer one alone.
const BYTES_MAX: usize = 16 << 20;

/// The proposals that wait.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    count: usize,
    bytes: usize,
}

impl Bounds {
    /// True if there is room for a proposal of so many bytes.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.count < COUNT_MAX && (self.count == 0 || self.bytes.saturating_add(bytes) <= BYTES_MAX)
    }

    /// Makes room for a proposal of so many bytes. False if there is none.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let has_room = self.has_room(bytes);
        if has_room {
            (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        }
        has_room
    }

    /// Gives back the room of a proposal.
    pub(super) fn give_back(&mut self, bytes: usize) {
        assert!(self.count > 0 && self.bytes >= bytes, "only what was taken is given back");
        (self.count, self.bytes) = (self.count - 1, self.bytes - bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_and_for_a_long_one_alone() {
        let mut bounds = Bounds::default();
        assert!(bounds.take(BYTES_MAX + 1) && !bounds.take(0));
        bounds.give_back(BYTES_MAX + 1);
        assert!(bounds.take(BYTES_MAX - 1) && bounds.take(1) && !bounds.take(1));
        bounds.give_back(BYTES_MAX - 1);
        assert_eq!((1..=COUNT_MAX).filter(|_| bounds.take(1)).count(), COUNT_MAX - 1);
    }
}
