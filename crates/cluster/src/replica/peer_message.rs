//! Requests of one node to another about data, and their answers: the messages under this crate's verbs.

use storage::reader::Page;

use super::digest::Digest;
use super::error::ReplicaError;
use super::paxos_message::{Accept, Accepted, Prepare, Prepared};
use crate::batches::{BatchName, Fate};

/// What one node asks another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerRequest {
    /// Apply encoded mutations. What one shard owns of them is one record of its commit log.
    Write {
        /// Each as `mutation::MutationEncoder` wrote it.
        mutations: Vec<Vec<u8>>,
    },
    /// Add deltas to counters.
    Count {
        /// Each as `mutation::MutationEncoder` wrote it, with deltas.
        deltas: Vec<Vec<u8>>,
    },
    /// Apply a commit's encoded mutations, all of one partition, as one record that is synced before the answer.
    Commit {
        /// Each as `mutation::MutationEncoder` wrote it.
        mutations: Vec<Vec<u8>>,
    },
    /// Promise an attempt to take part in nothing earlier.
    Prepare(Prepare),
    /// Accept an attempt's proposal.
    Accept(Accept),
    /// Read one page of data.
    Read(PeerRead),
    /// Read one page of data, and answer with its digest, or with the page if that is short.
    Digest {
        /// The page.
        read: PeerRead,
        /// Seconds since 1970: deletions and expired data of before are no part of the digest.
        gc_before: u32,
    },
    /// Keep a copy of a logged batch.
    BatchCopy {
        /// The batch.
        name: BatchName,
        /// Wall clock when its write began, microseconds since 1970.
        created: i64,
        /// Each as `mutation::MutationEncoder` wrote it.
        mutations: Vec<Vec<u8>>,
    },
    /// These batches need no copies any more.
    BatchDone {
        /// The batches.
        names: Vec<BatchName>,
    },
    /// Say what is known of these batches.
    BatchAsk {
        /// The batches.
        names: Vec<BatchName>,
    },
}

/// One page's worth of a read on another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRead {
    /// Whose data.
    pub of: PeerShard,
    /// Rows and deletions that the page may hold at most.
    pub rows: u32,
    /// Encoded bytes after which none is added.
    pub bytes: u32,
    /// An encoded `mutation::ReadCommand`.
    pub command: Vec<u8>,
}

/// Which shard of a node is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerShard {
    /// The owner of the command's token.
    Owner,
    /// This one of so many; another count of shards is an error.
    One {
        /// The shard.
        shard: u16,
        /// How many shards the asking node believes that there are.
        count: u16,
    },
}

/// The answer to a [`PeerRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAnswer {
    /// The write is applied, and synced where the mode asks for that.
    Written,
    /// The deltas are counted, and synced where the mode asks for that.
    Counted {
        /// What they came to: mutations with states.
        states: Vec<Vec<u8>>,
    },
    /// One page of a read.
    Page(Page),
    /// The digest of one page of a read.
    Digest(Digest),
    /// The answer to an attempt that prepares.
    Prepared(Prepared),
    /// The answer to a proposal.
    Accepted(Accepted),
    /// Each batch, as it is known.
    Fates(Vec<Fate>),
    /// It was not done, or not all of it.
    Failed(ReplicaError),
}
