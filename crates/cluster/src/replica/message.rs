//! What one shard asks another to do with the data that the other owns. Nodes ask each other the same, in messages of
//! `peer_message.rs`, which carry the same encoded bytes.

use storage::reader::Page;
use topology::{Epoch, HostId};

use super::error::ReplicaError;
use super::paxos_message::{Accept, Accepted, Prepare, Prepared};
use crate::batches::{BatchName, Fate};
use crate::streaming::{CopyAnswer, CopyRequest, JobOrder, JobReport};

/// A request to the shard that owns the data.
#[derive(Debug)]
pub enum ReplicaRequest {
    /// Apply one encoded mutation.
    Write {
        /// As `mutation::MutationEncoder` wrote it.
        mutation: Vec<u8>,
        /// The epoch that its plan rests on.
        planned: Epoch,
    },
    /// Apply several encoded mutations as one commit-log record: all or none.
    WriteBatch {
        /// Each as `mutation::MutationEncoder` wrote it.
        mutations: Vec<Vec<u8>>,
        /// How they are to be written.
        terms: WriteTerms,
    },
    /// Add deltas to counters: apply what they come to, and answer with that.
    Count {
        /// Each as `mutation::MutationEncoder` wrote it, with deltas.
        deltas: Vec<Vec<u8>>,
        /// Whether other replicas are to be sent what they come to; else [`ReplicaReply::Written`] is an answer too.
        wants_states: bool,
        /// The epoch that their plan rests on.
        planned: Epoch,
    },
    /// Promise an attempt to take part in nothing earlier.
    Prepare {
        /// The attempt.
        prepare: Box<Prepare>,
        /// The epoch that its plan rests on.
        planned: Epoch,
    },
    /// Accept an attempt's proposal.
    Accept {
        /// The proposal.
        accept: Box<Accept>,
        /// The epoch that its plan rests on.
        planned: Epoch,
    },
    /// Say what is known of batches.
    Fates {
        /// Their names.
        names: Vec<BatchName>,
    },
    /// Serve a copy of another node.
    Copy(Box<CopyOrder>),
    /// Begin a job of copying, say how it is, or end it.
    Job(Box<JobCall>),
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
            ReplicaRequest::Prepare { .. } => "a promise for a shard",
            ReplicaRequest::Accept { .. } => "a proposal for a shard",
            ReplicaRequest::Fates { .. } => "batches that a shard may have",
            ReplicaRequest::Copy(_) => "a copy of a shard",
            ReplicaRequest::Job(_) => "a job of copying for a shard",
            ReplicaRequest::Read(_) | ReplicaRequest::ReadData(_) => "a page for a shard",
        }
    }
}

/// A request of another node's receiver.
#[derive(Debug)]
pub struct CopyOrder {
    /// The node.
    pub(crate) from: HostId,
    /// The epoch that the copy was planned at.
    pub(crate) planned: Epoch,
    /// Its request.
    pub(crate) request: CopyRequest,
}

/// The answer to it.
#[derive(Debug)]
pub struct CopyReply(pub(crate) CopyAnswer);

/// An order about a job of copying.
#[derive(Debug)]
pub struct JobCall(pub(crate) JobOrder);

/// A job of copying as it is.
#[derive(Debug)]
pub struct JobReply(pub(crate) JobReport);

/// How a replica is to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteTerms {
    /// The answer waits until it is synced, whatever the mode.
    pub durable: bool,
    /// The epoch that the plan rests on.
    pub planned: Epoch,
}

/// One page's worth of a read.
#[derive(Debug)]
pub struct ReadRequest {
    /// An encoded `mutation::ReadCommand`.
    pub command: Vec<u8>,
    /// What the page may hold.
    pub limits: PageLimits,
}

/// The bounds of one page of a read, and the epoch that the read was planned at. At least one row is always delivered, so that a reader makes progress.
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
    /// The epoch that the plan rests on. The coordinator fills it in.
    pub planned: Epoch,
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
    /// The answer to an attempt that prepares.
    Prepared(Box<Prepared>),
    /// The answer to a proposal.
    Accepted(Accepted),
    /// Each batch, as it is known.
    Fates(Vec<Fate>),
    /// The answer to a request of another node's receiver.
    Copy(Box<CopyReply>),
    /// A job as it is.
    Job(Box<JobReply>),
    /// Nothing was done.
    Failed(ReplicaError),
}
