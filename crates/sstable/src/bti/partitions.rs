//! Partitions.db: from a partition's key to its place.

use topology::Token;

use crate::bloom::KeyHash;
use crate::pages::{LookupError, Pages};

/// Where a partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// At this offset in Data.db: it has no row index.
    Data(u64),
    /// Its entry is at this offset in Rows.db.
    Rows(u64),
}

/// What is known of Partitions.db without its trie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionIndex {
    /// The first partition's key.
    pub first_key: Vec<u8>,
    /// The last partition's key.
    pub last_key: Vec<u8>,
    /// How many partitions there are.
    pub count: u64,
    root: u64,
}

impl PartitionIndex {
    /// Reads the end of a file of `length` bytes.
    pub fn open(_pages: &(impl Pages + ?Sized), _length: u64) -> Result<PartitionIndex, LookupError> {
        todo!()
    }

    /// Where the key of that form ([`crate::byte_comparable::key`]) and hash is, if it is there at all: only the first bytes that tell
    /// the keys apart are in the trie, so whoever reads the place compares the key there.
    pub fn find(
        &self,
        _pages: &(impl Pages + ?Sized),
        _form: &[u8],
        _hash: KeyHash,
    ) -> Result<Option<Partition>, LookupError> {
        todo!()
    }

    /// A cursor before all partitions.
    pub fn start(&self) -> PartitionCursor {
        todo!()
    }

    /// Sets `cursor` so that [`PartitionCursor::next`] gives every partition whose key's form is `form` or greater, and before them at
    /// most one that is less: the first key has to be compared where it lies.
    pub fn seek(
        &self,
        _pages: &(impl Pages + ?Sized),
        _form: &[u8],
        _cursor: &mut PartitionCursor,
    ) -> Result<(), LookupError> {
        todo!()
    }

    /// The same for [`PartitionCursor::previous`]: it gives every partition up to `form`, and before them at most one
    /// that is greater.
    pub fn seek_back(
        &self,
        _pages: &(impl Pages + ?Sized),
        _form: &[u8],
        _cursor: &mut PartitionCursor,
    ) -> Result<(), LookupError> {
        todo!()
    }
}

/// A place between partitions, in order of token and key. After an error it is where it was, and the call may be tried again.
#[derive(Debug, Clone)]
pub struct PartitionCursor {}

impl PartitionCursor {
    /// The partition behind it, which it moves over.
    pub fn next(&mut self, _pages: &(impl Pages + ?Sized)) -> Result<Option<Partition>, LookupError> {
        todo!()
    }

    /// The partition before it, which it moves over.
    pub fn previous(&mut self, _pages: &(impl Pages + ?Sized)) -> Result<Option<Partition>, LookupError> {
        todo!()
    }
}

/// Writes Partitions.db as partitions come, in order.
#[derive(Debug, Default)]
pub struct PartitionIndexWriter {}

impl PartitionIndexWriter {
    /// A writer at the beginning of the file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next partition. Bytes that are ready are appended to `out`, whose content the caller may take at any time: all that is
    /// ever appended, in order, is the file.
    pub fn add(&mut self, _token: Token, _key: &[u8], _hash: KeyHash, _place: Partition, _out: &mut Vec<u8>) {
        todo!()
    }

    /// Appends the rest of the file.
    pub fn finish(self, _out: &mut Vec<u8>) {
        todo!()
    }
}
