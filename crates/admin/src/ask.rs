//! What the admin thread asks shards, and how it asks one or all of them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use auth::ForeignRoles;
use login::{LoggedIn, Ticket};
use runtime::{Outside, OutsideResponder, OutsideSeat, ShardId, Unanswered};

use crate::facts::{
    AuditFacts, CompactionFacts, EndedCompactionFacts, HintFacts, NodeFacts, OperationsFacts, ProcessFacts,
    RepairFacts, SampledFacts, ScrubFacts, ShardFigures, SlowQuery, SnapshotFacts, StreamFacts, TableFacts, TableName,
    UpgradeFacts,
};
use crate::need::Need;
use crate::problem::Problem;

/// Questions that may be under way per shard.
const PLACES: usize = 16;

/// What one shard is asked.
#[derive(Debug, Clone)]
pub enum Question {
    /// The node, of shard 0.
    Node,
    /// The process, of shard 0: what costs nothing to tell.
    Process,
    /// The shard's counters.
    Figures,
    /// The shard's part of tables.
    Tables {
        /// Which; all for none.
        names: Vec<TableName>,
        /// Sizes and counts alone, without what has to be worked out.
        is_brief: bool,
    },
    /// The last requests that were slow or large.
    SlowQueries,
    /// The compaction under way.
    Compactions,
    /// The last compactions that ended.
    CompactionHistory,
    /// Stop the compaction under way: the one of this number, or any.
    StopCompaction(Option<u64>),
    /// Count which partitions are read and written, from now on.
    BeginSampling {
        /// Of which tables; of all for none.
        tables: Vec<TableName>,
        /// How many partitions are counted at a time, of those that are read and of those that are written.
        capacity: usize,
    },
    /// Do so no more, and say what was counted.
    EndSampling,
    /// Have what is in memory of these tables written to files; of all for none.
    Flush(Vec<TableName>),
    /// Compact each of these tables to one file.
    Compact(Vec<TableName>),
    /// Rewrite each file of these tables alone, without what other files hide.
    CollectGarbage {
        /// Which.
        tables: Vec<TableName>,
        /// Whether cells that are overwritten go too, not only what is deleted by row, range or partition.
        is_by_cell: bool,
    },
    /// Read each file of these tables through, and write damaged ones anew.
    Scrub(Vec<TableName>),
    /// Drop what of these tables has tokens that the node does not keep.
    CleanUp(Vec<TableName>),
    /// The same of all tables that the node has, on all shards. To shard 0.
    CleanUpAll,
    /// Take in files that were laid into this table's folder, of shard 0.
    Refresh(TableName),
    /// Say which nodes have a copy of a partition.
    Endpoints {
        /// Its table.
        table: TableName,
        /// Its key as people write it.
        key: String,
    },
    /// The features of the cluster, of shard 0.
    Upgrade,
    /// Enable the features that all nodes know, of shard 0.
    FinalizeUpgrade,
    /// Take this node out of the cluster, of shard 0. Answered before it ends.
    Decommission {
        /// Also where keyspaces have more replicas than nodes are left.
        is_forced: bool,
    },
    /// Take another node out of the cluster, which is down; of shard 0.
    RemoveNode {
        /// Its host id, as operators write it.
        host_id: String,
        /// Also where keyspaces have more replicas than nodes are left.
        is_forced: bool,
    },
    /// Copy this node's ranges of all keyspaces again, of shard 0. Answered when all is copied.
    Rebuild {
        /// The datacenter to copy from; none if any will do.
        datacenter: Option<String>,
    },
    /// Exchange this node's only token for another, of shard 0. Answered when its ranges have moved.
    Move {
        /// The other one.
        token: i64,
    },
    /// The operations that move token ranges, and the nodes with leftovers, as this node has applied them; of shard 0.
    Operations,
    /// The copies to and from a shard.
    Streams,
    /// Abort the operation of this number, of shard 0.
    AbortOperation(u64),
    /// The shard's hints.
    Hints,
    /// Set something of hints.
    SetHints(HintSwitch),
    /// The times in which other nodes answer the shard's reads.
    AnswerTimes,
    /// The time that requests of a kind have, of shard 0.
    Timeout(TimeoutKind),
    /// The time that requests of a kind have from now on.
    SetTimeout(TimeoutKind, Duration),
    /// Something of the audit log. To all shards, but for a look.
    Audit(AuditOrder),
    /// Take over roles of another cluster's files, of shard 0.
    ImportRoles(Box<RolesOrder>),
    /// Look at the files of TLS certificates now.
    ReloadTls,
    /// How likely a request is traced from now on that does not ask for it.
    SetTraceProbability(f64),
    /// What compactions of all shards may write from now on, bytes a second; 0: no limit.
    SetCompactionThroughput(u64),
    /// Bytes a second that copies of the shard's data to other nodes may have.
    StreamThroughput,
    /// Set that of all shards together; 0: no limit.
    SetStreamThroughput(u64),
    /// Have these tables compacted unasked, or left alone.
    SetAutocompaction {
        /// Which.
        tables: Vec<TableName>,
        /// Whether they are compacted.
        is_on: bool,
    },
    /// Repairs that this node leads, of shard 0.
    Repair(RepairOrder),
    /// Verify a name and a password, of shard 0.
    LogIn(LoginAttempt),
    /// Open a connection for CQL within the process, of shard 0.
    Connect {
        /// The address of who it speaks for.
        from: SocketAddr,
    },
    /// Draw a ticket for a login at the native port as the role of this login, of shard 0.
    DrawTicket(LoggedIn),
    /// Let one connection log in by a ticket.
    AdmitTicket(Ticket),
    /// Let none do so any more.
    EndTicket(Ticket),
    /// Say if a login holds, and if its role may do what a request needs; of shard 0.
    Admit {
        /// The login.
        login: LoggedIn,
        /// The need.
        need: Need,
    },
    /// A step of a drain.
    Drain(DrainStep),
    /// A step of a snapshot.
    Snapshot(SnapshotStep),
}

/// An order to take over roles.
#[derive(Debug, Clone)]
pub struct RolesOrder {
    /// The login of who asks; `None` where no authenticator is set.
    pub login: Option<LoggedIn>,
    /// The rows of the files.
    pub roles: ForeignRoles,
    /// True if roles that exist become as the files have them.
    pub replaces: bool,
    /// True if nothing is changed: the answer says what an import would do.
    pub is_dry: bool,
}

/// An order about the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOrder {
    /// Say how it is.
    Show,
    /// Turn it on, with these options and else those of the configuration.
    Enable(Vec<(String, String)>),
    /// Turn it off.
    Disable,
}

/// A name and a password. Debug text does not show the password.
#[derive(Clone)]
pub struct LoginAttempt {
    /// The address that it comes from, if it is known.
    pub from: Option<IpAddr>,
    /// The role.
    pub name: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoginAttempt({}, {:?})", self.name, self.from)
    }
}

/// A kind of request, or of connection, with a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are nodetool's")]
pub enum TimeoutKind {
    Read,
    Range,
    Write,
    CounterWrite,
    CasContention,
    Truncate,
    Misc,
    InternodeConnect,
}

/// A setting of hints that an operator changes, until the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintSwitch {
    /// Keep hints, or none.
    Enabled(bool),
    /// Keep hints for the nodes of a datacenter, or none.
    Datacenter {
        /// Its name.
        name: String,
        /// True if they are kept.
        is_enabled: bool,
    },
    /// Deliver none, or go on.
    Paused(bool),
    /// The time after the oldest hint of a node after which no further one is kept for it.
    Window(Duration),
    /// Bytes a second of the node to another; 0: no limit.
    Throttle(u64),
    /// Remove hints.
    Remove {
        /// Of the node with this id; `None`: of all.
        host_id: Option<String>,
    },
}

/// An order about repairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairOrder {
    /// Begin one.
    Begin(RepairTerms),
    /// Say how one is, once there is a line from `from` on, or it has ended, or after a time.
    Status {
        /// Its number.
        number: u32,
        /// The first line that is wanted.
        from: usize,
        /// The longest that it may take.
        wait: Duration,
    },
    /// Say which run.
    Running,
}

/// The part of a keyspace that is repaired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairTerms {
    /// The keyspace.
    pub keyspace: String,
    /// Its tables.
    pub tables: Vec<TableName>,
    /// Only ranges of which this node is the first replica.
    pub is_primary: bool,
    /// Only this range: its tokens, the first of which is outside.
    pub range: Option<(i64, i64)>,
    /// Only replicas in these datacenters; none: in all.
    pub datacenters: Vec<String>,
    /// Only these nodes; none: all.
    pub hosts: Vec<IpAddr>,
}

/// Steps of a drain, each for all shards before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainStep {
    /// No client gets in: of shard 0.
    StopAccepting,
    /// What is under way is answered, the rest refused.
    Answer,
    /// All that is in memory is written to files, and the log synced.
    Flush,
}

/// Steps of what is done with snapshots. All but naming files are shard 0's.
#[derive(Debug, Clone)]
pub enum SnapshotStep {
    /// Make the folders.
    Begin {
        /// The snapshot's name.
        tag: String,
        /// Of which tables.
        tables: Vec<TableName>,
    },
    /// Give the shard's files their further names.
    Name {
        /// The snapshot's name.
        tag: String,
        /// Of which tables.
        tables: Vec<TableName>,
    },
    /// Say in the folders that it is whole.
    End {
        /// The snapshot's name.
        tag: String,
        /// Of which tables.
        tables: Vec<TableName>,
    },
    /// What snapshots there are.
    List,
    /// Remove some: with this name, if there is one, of these keyspaces and tables, if there are any.
    Clear {
        /// `None`: of any name.
        tag: Option<String>,
        /// None: of any keyspace.
        keyspaces: Vec<String>,
        /// None: of any table.
        tables: Vec<String>,
    },
}

/// Why a shard does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such thing.
    NotFound(String),
    /// It must not be done.
    Refused(String),
    /// It could not be done.
    Failed(String),
    /// The name and the password are not a role's that may log in.
    Unauthenticated(String),
    /// The role may not do it.
    Forbidden(String),
    /// There is too much to do.
    Busy(String),
}

/// What a shard says.
#[derive(Debug)]
pub enum Answer {
    /// To [`Question::Node`].
    Node(Box<NodeFacts>),
    /// To [`Question::Process`].
    Process(ProcessFacts),
    /// To [`Question::Figures`].
    Figures(Box<ShardFigures>),
    /// To [`Question::Tables`].
    Tables(Vec<TableFacts>),
    /// To [`Question::SlowQueries`].
    SlowQueries(Vec<SlowQuery>),
    /// To [`Question::Compactions`].
    Compactions(Vec<CompactionFacts>),
    /// To [`Question::Scrub`].
    Scrubbed(ScrubFacts),
    /// To [`Question::CompactionHistory`], oldest first.
    CompactionHistory(Vec<EndedCompactionFacts>),
    /// To [`Question::EndSampling`].
    Sampled(SampledFacts),
    /// To [`SnapshotStep::List`].
    Snapshots(Vec<SnapshotFacts>),
    /// The addresses of nodes, in the order of the ring.
    Endpoints(Vec<IpAddr>),
    /// To [`Question::Upgrade`].
    Upgrade(UpgradeFacts),
    /// To [`Question::Operations`].
    Operations(OperationsFacts),
    /// To [`AuditOrder::Show`].
    Audit(Box<AuditFacts>),
    /// To [`Question::Streams`].
    Streams(StreamFacts),
    /// To [`Question::Hints`].
    Hints(HintFacts),
    /// To [`Question::AnswerTimes`]: host ids, and smoothed times in microseconds.
    AnswerTimes(Vec<(String, u64)>),
    /// To [`RepairOrder::Begin`]: its number; `None`: no range has another replica.
    RepairBegun(Option<u32>),
    /// To [`RepairOrder::Status`].
    Repair(Box<RepairFacts>),
    /// To [`RepairOrder::Running`].
    RunningRepairs(Vec<u32>),
    /// To [`Question::StreamThroughput`].
    Rate(u64),
    /// To [`Question::LogIn`], if it is the role.
    LoggedIn {
        /// The login.
        login: LoggedIn,
        /// Random bytes that no other login has.
        secret: [u8; 16],
    },
    /// To [`Question::Connect`].
    Connected(UnixStream),
    /// To [`Question::DrawTicket`].
    Drawn(Ticket),
    /// To [`Question::ImportRoles`].
    ImportedRoles {
        /// Lines about what was taken over, or would be.
        imported: Vec<String>,
        /// Lines about what was left as it is, with the reasons.
        skipped: Vec<String>,
    },
    /// To [`Question::Timeout`].
    Timeout(Duration),
    /// It is done.
    Done,
    /// It is not.
    Refusal(Refusal),
}

/// The asker's end.
pub type Questions = Outside<Question, Answer>;
/// A shard's end.
pub type QuestionSeat = OutsideSeat<Question, Answer>;
/// The way back.
pub type QuestionResponder = OutsideResponder<Question, Answer>;

/// Both ends, before the shards run.
pub fn questions(shards: u16) -> (Questions, Vec<QuestionSeat>) {
    runtime::outside(shards, PLACES)
}

/// Asks one shard.
pub(crate) async fn ask(questions: &Questions, shard: u16, question: Question) -> Result<Answer, Problem> {
    match questions.call(ShardId(shard), question).await {
        Ok(Answer::Refusal(refusal)) => Err(refusal.into()),
        Ok(answer) => Ok(answer),
        Err(unanswered) => Err(unanswered.into()),
    }
}

/// Asks all shards side by side; the first refusal of any, when all have answered.
pub(crate) async fn ask_all(questions: &Questions, question: &Question) -> Result<Vec<Answer>, Problem> {
    let calls: Vec<_> =
        (0..questions.shard_count()).map(|shard| questions.call(ShardId(shard), question.clone())).collect();
    let mut answers = Vec::with_capacity(calls.len());
    let mut problem = None;
    for call in calls {
        match call.await {
            Ok(Answer::Refusal(refusal)) => problem = problem.or(Some(refusal.into())),
            Ok(answer) => answers.push(answer),
            Err(unanswered) => problem = problem.or(Some(unanswered.into())),
        }
    }
    problem.map_or(Ok(answers), Err)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(sentence) => Problem::not_found(sentence),
            Refusal::Refused(sentence) => Problem::bad_request(sentence),
            Refusal::Failed(sentence) => Problem::failed(sentence),
            Refusal::Unauthenticated(sentence) => Problem::unauthorized(sentence),
            Refusal::Forbidden(sentence) => Problem::forbidden(sentence),
            Refusal::Busy(sentence) => Problem::unavailable(sentence),
        }
    }
}

impl From<Unanswered> for Problem {
    fn from(unanswered: Unanswered) -> Self {
        Problem::unavailable(match unanswered {
            Unanswered::Starting => "the node is starting",
            Unanswered::Busy => "too many admin requests in flight; retry later",
            Unanswered::Gone => "the node is shutting down",
        })
    }
}
