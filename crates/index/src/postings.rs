//! Postings: the places of rows in a file, and lists of them.
//!
//! ```text
//! list         block* │ if there are several: (token head: u32 │ partition: u64 │ row: u64 │ offset from the list's beginning: u32) for each block
//! block        count − 1: u8 │ token head: u32 │ partition: varint │ row: varint
//!              │ if the count is not 1: widths: u8 × 3 │ packed: token heads' deltas │ partitions' deltas │ rows
//!              a row is a delta to the row before it where the partition's delta is 0, and the offset in its partition where it is not
//!              128 postings, the last may have fewer
//! ```
//!
//! Integers are big-endian, packed ones little-endian, bit after bit. How many postings a list has stands where the list is named, so that the writer
//! need not hold a list back until it knows, and the number of blocks follows from it.

mod bits;
mod block;
mod cursor;
mod list;

use topology::Token;

pub(crate) use cursor::ListCursor;
pub(crate) use list::{ListWriter, Written};

/// Postings of a block; the last of a list may have fewer.
pub(crate) const BLOCK_POSTINGS: usize = 128;

/// The place of a row in a file. Their order is that of the file, in which token heads ascend too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Posting {
    /// Where the partition begins in the data, bytes from the beginning of the uncompressed data.
    pub partition: u64,
    /// Bytes from the partition's beginning to the row; 0 is the partition with its static row.
    pub row: u64,
    /// See [`token_head`].
    pub token_head: u32,
}

impl Posting {
    /// The part by which postings of one file are ordered.
    #[inline]
    pub fn place(&self) -> (u64, u64) {
        (self.partition, self.row)
    }
}

/// The first 32 bits of a token with its sign turned, so that heads ascend as tokens do.
#[inline]
pub fn token_head(token: Token) -> u32 {
    ((token.0.cast_unsigned() ^ 1 << 63) >> 32) as u32
}

/// A list that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListRef {
    /// Bytes from the file's beginning.
    pub(crate) offset: u64,
    /// Bytes, with the skip table.
    pub(crate) length: u64,
    /// Postings, at least one.
    pub(crate) postings: u64,
}

impl ListRef {
    fn blocks(&self) -> u64 {
        self.postings.div_ceil(BLOCK_POSTINGS as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_heads_ascend_as_tokens_do() {
        let tokens = [i64::MIN, i64::MIN + (1 << 32), -1, 0, 1 << 32, i64::MAX].map(Token);
        let heads = tokens.map(token_head);
        assert_eq!(heads, [0, 1, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX]);
    }
}
