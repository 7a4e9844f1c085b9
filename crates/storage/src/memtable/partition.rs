//! The head of a partition in a table with clustering columns: where its rows, ranges and static row are.

use mutation::Deletion;

use crate::memtable::arena::Handle;
use crate::memtable::ranges;
use crate::memtable::tree::Tree;

/// What a partition's entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionHead {
    /// Rows by byte-comparable clustering.
    pub rows: Tree,
    /// Where deleted ranges begin and end; see [`ranges`].
    pub boundaries: Tree,
    /// An entry whose body is the static row's blob.
    pub static_row: Handle,
    /// The deletion of the whole partition.
    pub deletion: Option<Deletion>,
}

impl PartitionHead {
    /// The bytes of a head.
    pub const BYTES: usize = 2 * Tree::BYTES + 4 + Deletion::LENGTH;

    /// A partition with nothing in it.
    pub const EMPTY: PartitionHead =
        PartitionHead { rows: Tree::EMPTY, boundaries: Tree::EMPTY, static_row: Handle::NULL, deletion: None };

    /// For the partition's entry to hold.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..12].copy_from_slice(&self.rows.to_bytes());
        bytes[12..24].copy_from_slice(&self.boundaries.to_bytes());
        bytes[24..28].copy_from_slice(&self.static_row.to_bits().to_le_bytes());
        bytes[28..].copy_from_slice(&ranges::deletion_to_bytes(self.deletion));
        bytes
    }

    /// From what [`PartitionHead::to_bytes`] gave.
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let part = |at: usize| -> [u8; 12] { *bytes[at..].first_chunk().expect("a partition's head is whole") };
        let static_row = *bytes[24..].first_chunk::<4>().expect("a partition's head is whole");
        PartitionHead {
            rows: Tree::from_bytes(part(0)),
            boundaries: Tree::from_bytes(part(12)),
            static_row: Handle::from_bits(u32::from_le_bytes(static_row)),
            deletion: ranges::deletion_from_bytes(part(28)),
        }
    }
}
