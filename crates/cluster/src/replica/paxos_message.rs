//! Questions of an attempt to an acceptor, and the acceptor's answers. See `docs/internals/paxos.md`.

use schema::TableId;
use storage::reader::Page;

use crate::paxos::{Ballot, Commit, Promise, Proposal, Purpose};

/// Take part in nothing earlier, and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepare {
    /// The attempt.
    pub ballot: Ballot,
    /// Its purpose.
    pub purpose: Purpose,
    /// True if the mutations of the accepted proposal are sent though it is committed there: another replica lacks them.
    pub wants_committed: bool,
    /// Rows and deletions that the page may hold at most.
    pub rows: u32,
    /// Encoded bytes after which none is added.
    pub bytes: u32,
    /// An encoded `mutation::ReadCommand` of the partition.
    pub command: Vec<u8>,
}

/// The answer to a [`Prepare`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// Something later was promised or accepted.
    Outrun(Ballot),
    /// The registers as they were before, and what the partition holds.
    Promised(Promised),
}

/// An acceptor's registers and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promised {
    /// The attempt may propose, or read alone.
    pub promise: Promise,
    /// The last promise to a write, before this one.
    pub earlier: Option<Ballot>,
    /// The last accepted proposal.
    pub accepted: Option<Proposal>,
    /// True if its mutations were left out: it is committed.
    pub is_left_out: bool,
    /// The last commit.
    pub committed: Option<Commit>,
    /// The first page of data.
    pub page: Page,
}

/// Accept a proposal about a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The table.
    pub table: TableId,
    /// The partition's key.
    pub key: Vec<u8>,
    /// The proposal.
    pub proposal: Proposal,
}

/// The answer to an [`Accept`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is accepted.
    Done,
    /// Something later was promised or accepted.
    Outrun(Ballot),
}
