//! What one shard asks another to do with the data that the other owns. Nodes ask each other the same, in messages of
//! `peer_message.rs`, which carry the same encoded bytes.

use mutation::CounterId;
use storage::reader::Page;

/// A request to the shard that owns the data.
#[derive(Debug)]
pub enum ReplicaRequest {
    /// Apply one encoded mutation.
    Write {
        /// As `mutation::MutationEncoder` wrote it.
        mutation: Vec<u8>,
    },
    /// Apply several encoded mutations as one commit-log record: all or none.
    WriteBatch {
        /// Each as `mutation::MutationEncoder` wrote it.
        mutations: Vec<Vec<u8>>,
        /// Whether to answer only when they are synced, whatever the mode.
        durable: bool,
    },
    /// Add deltas to counters: apply what they come to, and answer with that.
    Count {
        /// What the node's parts are known by.
        id: CounterId,
        /// Each as `mutation::MutationEncoder` wrote it, with deltas.
        deltas: Vec<Vec<u8>>,
        /// Whether other replicas are to be sent what they come to; else [`ReplicaReply::Written`] is an answer too.
        wants_states: bool,
    },
    /// Read one page of what lives.
    Read(ReadRequest),
    /// Read one page with all that reconciliation with other replicas needs.
    ReadData(ReadRequest),
}

impl ReplicaRequest {
    /// What it is called where the log says what a shard was doing.
    pub fn label(&self) -> &'static str {
        match self {
            ReplicaRequest::Write { .. } => "a write for a shard",
            ReplicaRequest::WriteBatch { .. } => "a batch for a shard",
            ReplicaRequest::Count { .. } => "counters for a shard",
            ReplicaRequest::Read(_) | ReplicaRequest::ReadData(_) => "a page for a shard",
        }
    }
}

/// One page's worth of a read.
#[derive(Debug)]
pub struct ReadRequest {
    /// An encoded `mutation::ReadCommand`.
    pub command: Vec<u8>,
    /// What the page may hold.
    pub limits: PageLimits,
}

/// What one page of a read may hold. At least one row is always delivered, so that a reader makes progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// Rows at most.
    pub rows: u32,
    /// Rows of one partition at most, if there is such a limit.
    pub rows_per_partition: u32,
    /// Encoded bytes after which no row is added.
    pub bytes: u32,
    /// Whether tombstones in static rows count.
    pub counts_statics: bool,
}

/// The answer to a [`ReplicaRequest`].
#[derive(Debug)]
pub enum ReplicaReply {
    /// The write is applied, and synced where the mode asks for that.
    Written,
    /// The deltas are counted, and synced where the mode asks for that.
    Counted {
        /// What they came to: mutations with states.
        states: Vec<Vec<u8>>,
    },
    /// One page of a read.
    Page(Page),
    /// Nothing was done.
    Failed(ReplicaError),
}

/// Why a replica did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// It takes no more for now.
    #[error("shard {shard} takes no more writes: {problem}")]
    Overloaded {
        /// The shard.
        shard: u16,
        /// What is used up.
        problem: String,
    },
    /// The mutation is larger than a commit-log record may be.
    #[error("Mutation of {size} bytes is too large for the maximum size of {max}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The most a record may hold.
        max: usize,
    },
    /// Its disk failed: it takes no writes until the process is started again.
    #[error("shard {shard} cannot write: its disk failed")]
    Poisoned {
        /// The shard.
        shard: u16,
    },
    /// It has the write in memory, and could not make it durable.
    #[error("shard {shard}: {reason}")]
    NotSynced {
        /// The shard.
        shard: u16,
        /// Why.
        reason: storage::SyncError,
    },
    /// It does not know the table: it was dropped meanwhile.
    #[error("shard {shard} does not know the table")]
    UnknownTable {
        /// The shard.
        shard: u16,
    },
    /// Its disk is full.
    #[error("shard {shard} has no room left on its disk")]
    DiskFull {
        /// The shard.
        shard: u16,
    },
    /// A read met more tombstones than it may.
    #[error("READ_TOO_MANY_TOMBSTONES")]
    TooManyTombstones,
    /// A file of its data is damaged or cannot be read; its log says which and where.
    #[error("shard {shard} cannot read a file of its data")]
    Unreadable {
        /// The shard.
        shard: u16,
    },
    /// The bytes that it got cannot be decoded, or do not fit the table.
    #[error("shard {shard} got bytes that make no sense: {problem}")]
    Malformed {
        /// The shard.
        shard: u16,
        /// What is wrong.
        problem: String,
    },
    /// It has ended.
    #[error("shard {shard} does not answer")]
    Gone {
        /// The shard.
        shard: u16,
    },
}
