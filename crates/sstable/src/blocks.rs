//! Blocks of a wide partition, whichever index they come from.

use mutation::Deletion;

use crate::pages::{LookupError, Pages};

/// Rows that lie together in Data.db.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where its first row begins, from the partition's beginning in Data.db.
    pub begins: u64,
    /// Where its last row ends.
    pub ends: u64,
    /// The range deletion that holds where it begins.
    pub open: Option<Deletion>,
}

/// The blocks of a slice, from both ends. After an error it is where it was, and the call may be tried again.
#[derive(Debug, Clone)]
pub struct Blocks {}

impl Blocks {
    /// The first that was not given yet.
    pub fn next(&mut self, _pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        todo!()
    }

    /// The last that was not given yet.
    pub fn next_back(&mut self, _pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        todo!()
    }
}
