//! A trie's node as it lies in a page: sixteen layouts, told apart by its first four bits. Children are at distances back from the node, so
//! whoever follows them comes to an end.
//!
//! ```text
//!  0 leaf            type│payload
//!  1 single 4        type│distance    byte                        (no payload)
//!  2 single 8        type│payload     byte  distance: 1
//!  3 single 12       type│distance          byte                  (no payload)
//!  4 single 16       type│payload     byte  distance: 2
//!  5… 9 sparse       type│payload     count  bytes…  distances… of 1, 1½, 2, 3, 5 bytes
//! 10…15 dense        type│payload     first  count − 1  distances… of 1½, 2, 3, 4, 5, 8 bytes, 0 for none
//! ```
//!
//! What the payload's four bits mean, and the payload behind the node, is the index's affair. (Source: Cassandra 5.0's
//! `BtiFormat.md`.)

use crate::Corrupt;
use crate::pages::{LookupError, PAGE_LENGTH, Pages, too_far};

/// How distances are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Leaf,
    Single,
    /// Single, the distance in the low bits of the first bytes.
    Packed,
    Sparse,
    Dense,
}

/// The layouts: shape, half-bytes of a distance.
const LAYOUTS: [(Shape, usize); 16] = [
    (Shape::Leaf, 0),
    (Shape::Packed, 1),
    (Shape::Single, 2),
    (Shape::Packed, 3),
    (Shape::Single, 4),
    (Shape::Sparse, 2),
    (Shape::Sparse, 3),
    (Shape::Sparse, 4),
    (Shape::Sparse, 6),
    (Shape::Sparse, 10),
    (Shape::Dense, 3),
    (Shape::Dense, 4),
    (Shape::Dense, 6),
    (Shape::Dense, 8),
    (Shape::Dense, 10),
    (Shape::Dense, 16),
];

/// A node whose bytes are all there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    position: u64,
    /// From the node to the page's end.
    bytes: &'a [u8],
    shape: Shape,
    /// Half-bytes of a distance.
    width: usize,
    /// Slots for children: of a dense node some may be empty.
    count: usize,
    /// The node's own length.
    length: usize,
}

/// Where a byte leads from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To the child in this slot.
    Child(usize),
    /// To none; children of greater bytes are in this slot and behind it.
    None(usize),
}

/// Reads nodes of one lookup; the page of the last one is at hand for the next.
pub(super) struct Walker<'a, P: Pages + ?Sized> {
    pages: &'a P,
    number: u32,
    page: &'a [u8],
}

impl<'a, P: Pages + ?Sized> Walker<'a, P> {
    pub(super) fn new(pages: &'a P) -> Self {
        Walker { pages, number: u32::MAX, page: &[] }
    }

    /// The node at `position`.
    #[inline]
    pub(super) fn node(&mut self, position: u64) -> Result<Node<'a>, LookupError> {
        let number = u32::try_from(position / PAGE_LENGTH as u64).map_err(|_| too_far(position))?;
        if number != self.number || self.page.is_empty() {
            self.page = self.pages.page(number)?;
            self.number = number;
        }
        let bytes = self.page.get((position % PAGE_LENGTH as u64) as usize..).unwrap_or_default();
        Node::read(position, bytes)
    }
}

impl<'a> Node<'a> {
    #[inline]
    fn read(position: u64, bytes: &'a [u8]) -> Result<Self, LookupError> {
        let ends = || LookupError::from(Corrupt::new(position, "a node crosses its page's end"));
        let &first = bytes.first().ok_or_else(ends)?;
        let (shape, width) = LAYOUTS[usize::from(first >> 4)];
        let (count, length) = match shape {
            Shape::Leaf => (0, 1),
            Shape::Packed => (1, 1 + width.div_ceil(2)),
            Shape::Single => (1, 2 + width / 2),
            Shape::Sparse => {
                let count = usize::from(*bytes.get(1).ok_or_else(ends)?);
                (count, 2 + count + (count * width).div_ceil(2))
            }
            Shape::Dense => {
                let count = usize::from(*bytes.get(2).ok_or_else(ends)?) + 1;
                (count, 3 + (count * width).div_ceil(2))
            }
        };
        if length > bytes.len() {
            return Err(ends());
        }
        Ok(Node { position, bytes, shape, width, count, length })
    }

    /// Where it is in the file.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Slots for children, 0 for a leaf.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.count
    }

    /// The four bits of its payload; 0: it has none.
    #[inline]
    pub(super) fn payload_bits(&self) -> u8 {
        if self.shape == Shape::Packed { 0 } else { self.bytes[0] & 0x0f }
    }

    /// `length` bytes of its payload.
    #[inline]
    pub(super) fn payload(&self, length: usize) -> Result<&'a [u8], Corrupt> {
        self.bytes
            .get(self.length..self.length + length)
            .ok_or_else(|| Corrupt::new(self.position, "a payload crosses its page's end"))
    }

    /// Where `byte` leads.
    #[inline]
    pub(super) fn step(&self, byte: u8) -> Step {
        match self.shape {
            Shape::Leaf => Step::None(0),
            Shape::Single | Shape::Packed => {
                let own = if self.shape == Shape::Packed { self.bytes[self.length - 1] } else { self.bytes[1] };
                match own.cmp(&byte) {
                    std::cmp::Ordering::Equal => Step::Child(0),
                    std::cmp::Ordering::Greater => Step::None(0),
                    std::cmp::Ordering::Less => Step::None(1),
                }
            }
            Shape::Sparse => match self.bytes[2..2 + self.count].binary_search(&byte) {
                Ok(slot) => Step::Child(slot),
                Err(slot) => Step::None(slot),
            },
            Shape::Dense => match usize::from(byte).checked_sub(usize::from(self.bytes[1])) {
                None => Step::None(0),
                Some(slot) if slot >= self.count => Step::None(self.count),
                Some(slot) if self.distance(slot) == 0 => Step::None(slot + 1),
                Some(slot) => Step::Child(slot),
            },
        }
    }

    /// The position of the child in `slot`; `None`: the slot is empty.
    #[inline]
    pub(super) fn child(&self, slot: usize) -> Result<Option<u64>, Corrupt> {
        debug_assert!(slot < self.count);
        let distance = self.distance(slot);
        if distance == 0 {
            // A child cannot be its own parent: only dense nodes may say that there is none.
            return match self.shape {
                Shape::Dense => Ok(None),
                _ => Err(Corrupt::new(self.position, "a node points to itself")),
            };
        }
        match self.position.checked_sub(distance) {
            Some(position) => Ok(Some(position)),
            None => Err(Corrupt::new(self.position, "a node points before the start of the file")),
        }
    }

    /// The distance in `slot`.
    #[inline]
    fn distance(&self, slot: usize) -> u64 {
        let (base, width) = match self.shape {
            Shape::Leaf => return 0,
            Shape::Packed if self.width == 1 => return u64::from(self.bytes[0] & 0x0f),
            Shape::Packed => return u64::from(u16::from_be_bytes([self.bytes[0], self.bytes[1]]) & 0x0fff),
            Shape::Single => (2, self.width),
            Shape::Sparse => (2 + self.count, self.width),
            Shape::Dense => (3, self.width),
        };
        if width == 3 {
            let at = base + slot * 3 / 2;
            let both = u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]);
            return u64::from(if slot.is_multiple_of(2) { both >> 4 } else { both & 0x0fff });
        }
        let width = width / 2;
        let at = base + slot * width;
        self.bytes[at..at + width].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }
}
