//! What shards tell each other beside data: schema changes, truncations, prepared statements.
//!
//! Shard 0 decides on schema changes and truncations, one after the other, since it holds the metadata log; it then has
//! every shard take them over before the client is answered.

use auth::AccessChange;
use cluster::coordinator::PendingHints;
use cluster::paxos::Bound;
use schema::{SchemaChange, SchemaEvent, TableId};
use storage::{FilesToTakeIn, ReplayPosition};
use topology::operations::Operation;
use topology::{Epoch, HostId, Node, NodeIndex};

use crate::access::AccessIntention;
use crate::clients::ClientInfo;
use crate::error::QueryError;
use crate::event::Event;
use crate::trace::Traced;

/// A ring as a shard installs it.
#[derive(Debug, Clone)]
pub(crate) struct InstalledRing {
    /// The nodes.
    pub(crate) nodes: Vec<Node>,
    /// This node among them.
    pub(crate) local: NodeIndex,
    /// The operations of the cluster's state.
    pub(crate) operations: Vec<Operation>,
    /// This node's tenure, as operations count.
    pub(crate) tenure: u64,
}

/// Changes of roles and permissions on their way to the shards' snapshots.
#[derive(Debug, Clone)]
pub(crate) enum AccessUpdate {
    /// Of the state that the shard has.
    Changes(Vec<AccessChange>),
    /// Of the empty one: the state as a whole was taken over from another node.
    Whole(Vec<AccessChange>),
}

impl AccessUpdate {
    /// True if it leaves each state as it is.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, AccessUpdate::Changes(changes) if changes.is_empty())
    }
}

/// A call to another shard, or to this one.
#[derive(Debug)]
pub(crate) enum ControlRequest {
    /// To shard 0: carry out a schema statement.
    Ddl {
        /// The statement's text.
        text: String,
        /// The session's keyspace.
        keyspace: Option<String>,
        /// The role that is to have all permissions on what the statement makes.
        creator: Option<String>,
    },
    /// To shard 0: carry out a statement about roles.
    Access {
        /// The statement, without a password.
        intention: AccessIntention,
    },
    /// To shard 0: empty a table.
    Truncate {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
        /// The role that asks, where permissions are checked.
        role: Option<String>,
    },
    /// From shard 0: take over the changes of an entry that is in the metadata log, all at once: a keyspace's new replication means nothing without the operation that
    /// brings it.
    Apply {
        /// The entry.
        epoch: Epoch,
        /// The ring to plan by from now on, if it or the operations have changed.
        ring: Option<InstalledRing>,
        /// The changes of the schema, in order.
        changes: Vec<SchemaChange>,
        /// The changes of roles and permissions, in order.
        access: AccessUpdate,
    },
    /// From shard 0: all shards have applied an entry.
    Reached {
        /// Its epoch.
        epoch: Epoch,
        /// The state as a whole was taken over from another node.
        is_replaced: bool,
    },
    /// To shard 0: follow a node (`None`: this one) up to an epoch.
    CatchUp {
        /// The node that named the epoch.
        node: Option<HostId>,
        /// The epoch.
        epoch: Epoch,
    },
    /// From shard 0, once all shards have taken a change over: tell the clients that registered for it.
    Announce {
        /// The event.
        event: Event,
    },
    /// From shard 0: write what memory has of these tables to files.
    Flush {
        /// The tables.
        tables: Vec<TableId>,
    },
    /// From shard 0: give the position of a truncation that is committed.
    BeginTruncation {
        /// The table.
        table: TableId,
        /// The entry that has decided it.
        epoch: Epoch,
    },
    /// From shard 0: the position is not durable, and another one will be asked for.
    AbandonTruncation {
        /// The table.
        table: TableId,
    },
    /// From shard 0: the metadata log holds the position; drop what lies before it.
    TruncationIsDurable {
        /// The table.
        table: TableId,
        /// The position that the shard gave.
        position: ReplayPosition,
        /// Stands in the snapshot's name.
        at: String,
    },
    /// From shard 0, once all shards have taken over a schema with fewer tables: take their files away.
    DiscardDropped {
        /// Stands in the snapshots' names.
        at: String,
    },
    /// From shard 0, which has listed them: have the manifest name these files, which are taken in.
    NameFiles {
        /// The files.
        files: FilesToTakeIn,
    },
    /// From shard 0, once every shard's manifest names them: read them.
    OpenFiles {
        /// The files.
        files: FilesToTakeIn,
    },
    /// From shard 0: the low bound of attempts is this from now on.
    LowBound {
        /// The entry that has changed it.
        epoch: Epoch,
        /// Its times.
        bound: Bound,
    },
    /// From shard 0: do a part of what the low bound asks for.
    Left(LeftRequest),
    /// Take a prepared statement in.
    Install {
        /// The statement's text.
        text: String,
        /// The keyspace for names without one.
        keyspace: Option<String>,
    },
    /// Drop what the shard has of token ranges that this node does not keep.
    CleanUp,
    /// Say who the shard's clients are.
    Clients,
    /// From shard 0: give the ends of the commit log.
    LogEnds,
    /// From shard 0: give the bytes of the SSTables.
    DiskBytes,
    /// Say which hints wait.
    PendingHints,
    /// Say what the shard keeps for other nodes and has not handed on: see [`cluster::coordinator::hand_on`].
    HandOn,
    /// Say what the shard keeps of traced requests.
    Traces {
        /// Of this one alone.
        id: Option<Vec<u8>>,
    },
}

/// A shard's work on registers of attempts that are old. Times are microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftRequest {
    /// Say if there are any up to a time: 1 or 0.
    Look(i64),
    /// Finish what those up to a time have left.
    Finish(i64),
    /// Delete those up to a time, and say how many they were.
    Delete(i64),
}

/// The answer to a [`ControlRequest`].
#[derive(Debug)]
pub(crate) enum ControlReply {
    /// A schema statement's outcome.
    Ddl(Result<DdlOutcome, QueryError>),
    /// The warnings of a statement about roles.
    Access(Result<Vec<String>, QueryError>),
    /// A truncation's outcome.
    Truncated(Result<(), QueryError>),
    /// What came of a flush.
    Flushed(Result<(), String>),
    /// What came of a step with files that are taken in.
    TakenIn(Result<(), String>),
    /// The shard's position of a truncation.
    Position(ReplayPosition),
    /// The shard's clients.
    Clients(Vec<ClientInfo>),
    /// To [`ControlRequest::CatchUp`]: the epoch that all shards have applied.
    Applied(Epoch),
    /// To [`ControlRequest::LogEnds`].
    LogEnds(Vec<ReplayPosition>),
    /// To [`ControlRequest::Left`].
    Left(Result<u64, String>),
    /// To [`ControlRequest::CleanUp`]: the first table that failed, and why.
    CleanedUp(Result<(), String>),
    /// To [`ControlRequest::DiskBytes`].
    DiskBytes(u64),
    /// To [`ControlRequest::PendingHints`].
    PendingHints(Vec<PendingHints>),
    /// To [`ControlRequest::HandOn`].
    NotHandedOn(usize),
    /// What the shard keeps of traced requests.
    Traces(Vec<Traced>),
    /// Done.
    Done,
}

/// What the client of a schema statement is told.
#[derive(Debug)]
pub(crate) struct DdlOutcome {
    /// The change; `None` where there was nothing to change.
    pub(crate) event: Option<SchemaEvent>,
    /// Warnings.
    pub(crate) warnings: Vec<String>,
}
