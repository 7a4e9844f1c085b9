//! Rows.db: for each wide partition a trie of what separates its blocks, and an entry.

use mutation::Deletion;

use crate::blocks::{Block, Blocks};
use crate::pages::{LookupError, Pages};

/// The bytes of data after which a block ends, Cassandra's `column_index_size`.
pub const BLOCK_LENGTH: u64 = 16 << 10;

/// A wide partition's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowIndex {
    /// Where the partition begins in Data.db.
    pub data_position: u64,
    /// The partition's deletion.
    pub deletion: Option<Deletion>,
    /// How many blocks it has.
    pub block_count: u32,
    root: u64,
}

impl RowIndex {
    /// Reads the entry at `position` of Rows.db and appends its partition's key to `key`.
    pub fn open(_pages: &(impl Pages + ?Sized), _position: u64, _key: &mut Vec<u8>) -> Result<RowIndex, LookupError> {
        todo!()
    }

    /// The blocks that may hold rows or markers between the places of the forms `start` and `end`
    /// ([`crate::byte_comparable::bound`]).
    pub fn blocks(&self, _pages: &(impl Pages + ?Sized), _start: &[u8], _end: &[u8]) -> Result<Blocks, LookupError> {
        todo!()
    }
}

/// Writes Rows.db as rows come, in order.
#[derive(Debug, Default)]
pub struct RowIndexWriter {}

impl RowIndexWriter {
    /// A writer at the beginning of the file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next row or marker of the partition, whose bytes lie from `begins` to `ends`, counted from the partition's beginning in
    /// Data.db. `open` is the range deletion that holds behind it. `form` appends its byte-comparable form; it is asked for only in
    /// partitions that have a block.
    pub fn add(
        &mut self,
        _begins: u64,
        _ends: u64,
        _open: Option<Deletion>,
        _form: impl FnOnce(&mut Vec<u8>),
        _out: &mut Vec<u8>,
    ) {
        todo!()
    }

    /// Ends the partition, whose rows end at `ends` (before the byte that ends it). Gives the position of its entry; `None`: it is not
    /// wide and has none.
    pub fn end_partition(
        &mut self,
        _key: &[u8],
        _data_position: u64,
        _deletion: Option<Deletion>,
        _ends: u64,
        _out: &mut Vec<u8>,
    ) -> Option<u64> {
        todo!()
    }
}

#[allow(dead_code)]
fn seam(_: Block) {}
