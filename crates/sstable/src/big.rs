//! The index of `big`, which is only read: Index.db has every partition's key in order, Summary.db a sample of them.

use mutation::Deletion;
use topology::Token;

use crate::blocks::Blocks;
use crate::pages::{LookupError, Pages};
use crate::{Corrupt, Version};

/// Summary.db: where in Index.db to begin to look.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The first partition's key.
    pub first_key: Vec<u8>,
    /// The last partition's key.
    pub last_key: Vec<u8>,
}

impl Summary {
    /// From all bytes of Summary.db.
    pub fn decode(_bytes: Vec<u8>) -> Result<Summary, Corrupt> {
        todo!()
    }

    /// An offset in Index.db at or before which no entry has a greater key.
    pub fn seek(&self, _token: Token, _key: &[u8]) -> u64 {
        todo!()
    }
}

/// A partition's entry in Index.db.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Where the partition begins in Data.db.
    pub data_position: u64,
    /// Where the next entry begins in Index.db.
    pub next: u64,
    /// The partition's deletion, if it has blocks.
    pub deletion: Option<Deletion>,
    /// How many blocks it has; 0: it is not wide.
    pub block_count: u32,
}

/// Index.db.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// Its length, bytes.
    pub length: u64,
    /// Its version.
    pub version: Version,
}

impl Index {
    /// The entry at `position`, whose key is appended to `key`; `None` at the file's end.
    pub fn entry(
        &self,
        _pages: &(impl Pages + ?Sized),
        _position: u64,
        _key: &mut Vec<u8>,
    ) -> Result<Option<Entry>, LookupError> {
        todo!()
    }

    /// The entry of a key, looked for from `from` on.
    pub fn find(
        &self,
        _pages: &(impl Pages + ?Sized),
        _from: u64,
        _token: Token,
        _key: &[u8],
    ) -> Result<Option<Entry>, LookupError> {
        todo!()
    }

    /// The blocks that may hold rows or markers between the places of the forms `start` and `end`
    /// ([`crate::byte_comparable::bound`]).
    pub fn blocks(
        &self,
        _pages: &(impl Pages + ?Sized),
        _entry: &Entry,
        _columns: &[schema::Column],
        _start: &[u8],
        _end: &[u8],
    ) -> Result<Blocks, LookupError> {
        todo!()
    }
}
