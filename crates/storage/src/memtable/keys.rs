//! The keys of a frozen memtable's partitions, and the places of a partition's rows, without what is there.

use std::rc::Rc;

use topology::Token;

use crate::memtable::partition::PartitionHead;
use crate::memtable::tree::{Cursor, Key, unflip};
use crate::memtable::{Memtable, entry};

/// A walk over the partitions of a memtable to which nobody writes any more.
pub struct KeyWalk {
    memtable: Rc<Memtable>,
    partitions: Cursor,
}

impl KeyWalk {
    /// A walk over all of `memtable`.
    pub fn over(memtable: Rc<Memtable>) -> Self {
        let partitions = memtable.partitions.tree().first(&memtable.arena);
        KeyWalk { memtable, partitions }
    }

    /// The next partition.
    pub fn next_key(&mut self) -> Option<(Token, &[u8])> {
        let (prefix, handle, next) = self.partitions.next(&self.memtable.arena)?;
        self.partitions = next;
        Some((Token(unflip(prefix)), entry::key(&self.memtable.arena, handle)))
    }
}

/// The places of a partition's rows.
pub struct RowPlaces<'m> {
    memtable: &'m Memtable,
    rows: Cursor,
}

impl<'m> RowPlaces<'m> {
    /// The next row's, in byte-comparable form.
    pub fn next_place(&mut self) -> Option<&'m [u8]> {
        let (_, handle, next) = self.rows.next(&self.memtable.arena)?;
        self.rows = next;
        Some(entry::key(&self.memtable.arena, handle))
    }
}

impl Memtable {
    fn head_of(&self, token: Token, key: &[u8]) -> Option<PartitionHead> {
        let found = self.partitions.get(&self.arena, Key::of_partition(token, key))?;
        self.shape.has_clustering().then(|| PartitionHead::from_bytes(entry::entry(&self.arena, found).body))
    }

    /// Whether there is a static row, or a deletion of the partition or of ranges of its rows.
    pub fn says_more_than_rows(&self, token: Token, key: &[u8]) -> bool {
        self.head_of(token, key)
            .is_some_and(|head| head.deletion.is_some() || !head.boundaries.is_empty() || !head.static_row.is_null())
    }

    /// The places of the partition's rows, ascending. Nothing is written meanwhile.
    pub fn row_places(&self, token: Token, key: &[u8]) -> RowPlaces<'_> {
        let rows = self.head_of(token, key).map_or(Cursor::END, |head| head.rows.first(&self.arena));
        RowPlaces { memtable: self, rows }
    }
}
