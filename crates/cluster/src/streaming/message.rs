//! The messages of a copy, between a receiver's shard and a source's.

use schema::TableId;
use topology::{Sharder, Token, TokenRange};

use crate::replica::ReplicaError;

/// The most ranges of a copy.
pub(crate) const RANGES_MAX: usize = 4_096;
/// The most cuts of a copy, over all its ranges.
pub(crate) const CUTS_MAX: usize = 65_536;

/// A copy's number: a random one, that its receiver draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CopyNumber(pub(crate) u64);

/// A request of a receiver's shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyRequest {
    /// Flush the table, hold its files, and say where the ranges may be cut.
    Open(Box<Open>),
    /// Give a page of a unit.
    Page(PageOf),
    /// Keep the files: others are being read.
    Keep {
        /// The copy.
        copy: CopyNumber,
        /// The shard that is asked.
        shard: u16,
    },
    /// Let the files go.
    Close {
        /// The copy.
        copy: CopyNumber,
        /// The shard that is asked.
        shard: u16,
    },
}

impl CopyRequest {
    /// The shard that is asked.
    pub(crate) fn shard(&self) -> u16 {
        match self {
            CopyRequest::Open(open) => open.shard,
            CopyRequest::Page(page) => page.shard,
            CopyRequest::Keep { shard, .. } | CopyRequest::Close { shard, .. } => *shard,
        }
    }
}

/// The opening of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// The copy.
    pub(crate) copy: CopyNumber,
    /// The table.
    pub(crate) table: TableId,
    /// The shard that is asked.
    pub(crate) shard: u16,
    /// The count of shards that the asking node believes that there are.
    pub(crate) shards: u16,
    /// The shard that receives.
    pub(crate) receiver: Owner,
    /// The ranges, none of which wraps: `after` is below `end`.
    pub(crate) ranges: Vec<TokenRange>,
}

/// A shard, and the tokens that it owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The shard; below the count of the mapping.
    pub(crate) shard: u16,
    /// The mapping of its node.
    pub(crate) sharder: Sharder,
}

impl Owner {
    /// True if the shard owns a token.
    pub(crate) fn owns(&self, token: Token) -> bool {
        self.sharder.shard_of(token) == self.shard
    }
}

/// One page of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageOf {
    /// The copy.
    pub(crate) copy: CopyNumber,
    /// The shard that is asked.
    pub(crate) shard: u16,
    /// The unit's range, which does not wrap.
    pub(crate) unit: TokenRange,
    /// The page's number, from 0.
    pub(crate) page: u32,
}

/// A source's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyAnswer {
    /// For each range, the tokens at which it may be cut, ascending and within it.
    Opened(Vec<Vec<Token>>),
    /// Mutations of a unit.
    Page(Page),
    /// The files are kept for another while.
    Kept,
    /// The files are let go.
    Closed,
    /// The page is not the next one: the unit is to begin again at page 0.
    Restart,
    /// There is no such copy, or not any more: it is to be opened again.
    NotOpen,
    /// It was not done.
    Failed(ReplicaError),
}

/// Mutations of a unit, in the order of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// Each as `mutation::MutationEncoder` wrote it.
    pub(crate) mutations: Vec<Vec<u8>>,
    /// Of the last page: the sum of all that the source gave for the unit.
    pub(crate) end: Option<Sum>,
}

/// The count of rows and the hash of mutations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Items of mutations, and deletions of whole partitions.
    pub(crate) rows: u64,
    /// Of the mutations in their order.
    pub(crate) hash: [u8; 16],
}
