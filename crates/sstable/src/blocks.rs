//! Blocks of a wide partition, whichever index they come from.

use mutation::Deletion;

use crate::big;
use crate::bti;
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

/// The blocks of a slice, from both ends. After an error the call may be tried again.
#[derive(Debug, Clone)]
pub enum Blocks {
    /// From Rows.db.
    Bti(bti::RowBlocks),
    /// From Index.db.
    Big(big::RowBlocks),
}

impl Blocks {
    /// The first that was not given yet.
    pub fn next(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        match self {
            Blocks::Bti(blocks) => blocks.next(pages),
            Blocks::Big(blocks) => blocks.next(pages),
        }
    }

    /// The last that was not given yet.
    pub fn next_back(&mut self, pages: &(impl Pages + ?Sized)) -> Result<Option<Block>, LookupError> {
        match self {
            Blocks::Bti(blocks) => blocks.next_back(pages),
            Blocks::Big(blocks) => blocks.next_back(pages),
        }
    }
}
