//! The bytes of an entry, and what stands where in them. They are made here alone, by [`BodyBuilder`](super::builder::BodyBuilder).
//!
//! ```text
//! kind u8 │ flags u8 │ key length u16 │ place length u16 │ static row's length u16 │ items u16 │ zeros u16 │ deletion 12
//! │ key │ place │ static row │ item … │ where each item begins, from the first: u16
//! ```

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};

/// The most that a body takes, bytes. What says more of its partition is not cached as a whole.
pub const BODY_BYTES_MAX: usize = 64 << 10;
/// Bytes before the key.
pub const HEAD_BYTES: usize = 24;
/// Tags of items.
pub const ROW: u8 = 1;
pub const OPENS: u8 = 2;
pub const CLOSES: u8 = 3;

/// Flags.
pub const HAS_DELETION: u8 = 1;
/// Some item is a change of what is deleted.
pub const HAS_RANGES: u8 = 2;
/// There is a tombstone or something that expires.
pub const PURGEABLE: u8 = 4;
/// The table has no clustering columns: the only row is the partition.
pub const SINGLE: u8 = 8;

/// What an entry stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No file has anything of the partition.
    Absent,
    /// All that files have of the partition, or, if it has a place, of that row.
    Whole,
    /// Files have more of the partition, or of the row at the place, than a body may be long.
    Large,
}

impl Kind {
    pub const fn tag(self) -> u8 {
        match self {
            Kind::Absent => 0,
            Kind::Whole => 1,
            Kind::Large => 2,
        }
    }
}

/// An entry's bytes. They never change; clones are the same bytes.
#[derive(Debug, Clone)]
pub struct Body(Rc<[u8]>);

/// One thing in a partition.
#[derive(Debug, Clone, Copy)]
pub enum Item<'b> {
    /// A row, at its place.
    Row(ClusteringRef<'b>, RowRef<'b>),
    /// From its place on rows are deleted by this, or by none.
    Change(Option<Deletion>),
}

impl Body {
    pub(super) fn new(bytes: &[u8]) -> Self {
        assert!(bytes.len() <= BODY_BYTES_MAX && bytes.len() >= HEAD_BYTES, "a body within its bounds");
        Body(bytes.into())
    }

    /// Whether these are the very same bytes in memory.
    pub fn is(&self, other: &Body) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Its length.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    fn u16_at(&self, at: usize) -> usize {
        usize::from(u16::from_le_bytes([self.0[at], self.0[at + 1]]))
    }

    pub fn kind(&self) -> Kind {
        match self.0[0] {
            0 => Kind::Absent,
            1 => Kind::Whole,
            _ => Kind::Large,
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.0[1] & flag != 0
    }

    /// Whether a compaction may leave something of it out.
    pub fn is_purgeable(&self) -> bool {
        self.has(PURGEABLE)
    }

    /// Whether the table has no clustering columns.
    pub fn is_single(&self) -> bool {
        self.has(SINGLE)
    }

    /// Whether rows are deleted by ranges.
    pub fn has_ranges(&self) -> bool {
        self.has(HAS_RANGES)
    }

    /// The partition's key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.0[HEAD_BYTES..][..self.u16_at(2)]
    }

    /// The row that it stands for; empty if it is the partition.
    #[inline]
    pub fn place(&self) -> &[u8] {
        &self.0[HEAD_BYTES + self.u16_at(2)..][..self.u16_at(4)]
    }

    /// The deletion of all of the partition.
    pub fn deletion(&self) -> Option<Deletion> {
        let bytes = *self.0[12..].first_chunk().expect("a body has a head");
        self.has(HAS_DELETION).then(|| Deletion::from_bytes(bytes))
    }

    /// The static row.
    pub fn static_row(&self) -> Option<RowRef<'_>> {
        let begins = HEAD_BYTES + self.u16_at(2) + self.u16_at(4);
        match self.u16_at(6) {
            0 => None,
            length => Some(RowRef::trusted(&self.0[begins..][..length])),
        }
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.u16_at(8)
    }

    fn items_begin(&self) -> usize {
        HEAD_BYTES + self.u16_at(2) + self.u16_at(4) + self.u16_at(6)
    }

    fn item_bytes(&self, index: usize) -> &[u8] {
        let count = self.items();
        let offsets = self.0.len() - 2 * count;
        let begin = self.items_begin();
        let from = begin + self.u16_at(offsets + 2 * index);
        let to = if index + 1 < count { begin + self.u16_at(offsets + 2 * (index + 1)) } else { offsets };
        &self.0[from..to]
    }

    /// Where an item stands, in byte-comparable form.
    #[inline]
    pub fn place_of(&self, index: usize) -> &[u8] {
        prefixed(&self.item_bytes(index)[1..]).0
    }

    /// An item.
    pub fn item(&self, index: usize) -> Item<'_> {
        let bytes = self.item_bytes(index);
        let (_, rest) = prefixed(&bytes[1..]);
        match bytes[0] {
            ROW => {
                let (clustering, row) = prefixed(rest);
                Item::Row(ClusteringRef::trusted(clustering), RowRef::trusted(row))
            }
            OPENS => Item::Change(rest.first_chunk().map(|bytes| Deletion::from_bytes(*bytes))),
            _ => Item::Change(None),
        }
    }

    /// How many items stand before a place.
    pub fn items_before(&self, place: &[u8]) -> usize {
        let (mut from, mut to) = (0, self.items());
        while from < to {
            let middle = from + (to - from) / 2;
            if self.place_of(middle) < place { from = middle + 1 } else { to = middle }
        }
        from
    }

    /// The deletion by range that holds behind the first `items` ones.
    pub fn range_behind(&self, items: usize) -> Option<Deletion> {
        if !self.has_ranges() {
            return None;
        }
        let changes = (0..items).rev().find_map(|index| match self.item(index) {
            Item::Change(deletion) => Some(deletion),
            Item::Row(..) => None,
        });
        changes.flatten()
    }
}

/// Bytes behind their length, and what follows.
fn prefixed(bytes: &[u8]) -> (&[u8], &[u8]) {
    let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    bytes[2..].split_at(length)
}
