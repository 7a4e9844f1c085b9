//! [`PiecedTable`]: a long table of plain values.

/// Entries that lie together.
const PIECE: usize = 4096;

/// A table whose memory is taken in pieces, each when something is first changed in it: all at once would hold the core for milliseconds
/// wherever the allocator does not have fresh memory, and a cache that is little used takes little.
#[derive(Debug)]
pub struct PiecedTable<T> {
    /// Without entries until then.
    pieces: Vec<Box<[T]>>,
    length: usize,
}

impl<T: Copy + Default> PiecedTable<T> {
    /// So many of the default value.
    pub fn new(length: usize) -> Self {
        PiecedTable { pieces: (0..length.div_ceil(PIECE)).map(|_| Box::default()).collect(), length }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// What it takes when all of it is used, bytes.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>() + self.pieces.len() * size_of::<Box<[T]>>()
    }

    /// An entry.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        self.pieces[at / PIECE].get(at % PIECE).copied().unwrap_or_default()
    }

    /// An entry, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        let piece = &mut self.pieces[at / PIECE];
        if piece.is_empty() {
            *piece = vec![T::default(); PIECE].into_boxed_slice();
        }
        &mut piece[at % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_where_something_was_changed() {
        let mut table = PiecedTable::<u32>::new(3 * PIECE + 1);
        assert_eq!((table.len(), table.get(3 * PIECE)), (3 * PIECE + 1, 0));
        *table.get_mut(2 * PIECE + 5) = 7;
        assert_eq!((table.get(2 * PIECE + 5), table.get(5), table.get(3 * PIECE)), (7, 0, 0));
        assert_eq!(table.pieces.iter().filter(|piece| !piece.is_empty()).count(), 1);
    }
}
