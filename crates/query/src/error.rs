//! Why a request is refused, and the one place where that becomes a protocol error.
//!
//! Words that tools and drivers' users read are Cassandra's.

use auth::AccessError;
use cluster::coordinator::{Failure, Refusal, ReplicaError, Unavailable};
use cql_protocol::{Consistency, ErrorBody, ErrorKind, Failures, WriteType};
use runtime::ShardId;
use schema::SchemaError;
use topology::ConsistencyLevel;

use crate::paging::InvalidPagingState;
use crate::prepared::StatementId;

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueryError {
    /// The statement is not CQL.
    #[error("{message}")]
    Syntax {
        /// Where and what.
        message: String,
    },
    /// The statement cannot be done.
    #[error("{message}")]
    Invalid {
        /// Why.
        message: String,
    },
    /// The table takes no modifications.
    #[error("{message}")]
    Unwritable {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
        /// Why.
        message: String,
    },
    /// A guardrail does not let it be done.
    #[error("{message}")]
    Guardrail {
        /// Which, and why.
        message: String,
        /// What the client is warned of beside it: the same, and what was found before.
        warnings: Vec<String>,
    },
    /// Pages are asked for of several partitions in an order.
    #[error(
        "Cannot page queries with both ORDER BY and a IN restriction on the partition key; you must either remove the ORDER BY or the IN and sort client side, or disable paging for this query"
    )]
    PagedOrder,
    /// An error beside which the client is warned.
    #[error("{error}")]
    Warned {
        /// The error.
        error: Box<QueryError>,
        /// Of what.
        warnings: Vec<String>,
    },
    /// There is no room for it now.
    #[error("{message}")]
    Overloaded {
        /// For what.
        message: String,
    },
    /// The client broke the protocol.
    #[error("{message}")]
    Protocol {
        /// How.
        message: String,
    },
    /// A schema statement is refused.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A statement about roles or permissions is refused.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// No statement has this id.
    #[error(
        "Prepared query with ID {id} not found (either the query was not prepared on this host (maybe the host has been restarted?) or you have prepared too many queries and it has been evicted from the internal cache)"
    )]
    Unprepared {
        /// The id.
        id: UnknownId,
    },
    /// Too few replicas are alive.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Too few replicas did a write.
    #[error("{error}")]
    Write {
        /// Why.
        error: Failure,
        /// The level of the request.
        level: ConsistencyLevel,
        /// Answers that the level needs.
        required: u32,
        /// What kind of write.
        write_type: WriteType,
    },
    /// Too few replicas answered a read.
    #[error("{error}")]
    Read {
        /// Why.
        error: Failure,
        /// The level of the request.
        level: ConsistencyLevel,
        /// Answers that the level needs.
        required: u32,
    },
    /// A read met more tombstones than it may. It becomes a failed read where the level is known.
    #[error("Too many tombstones were read (see tombstone_failure_threshold)")]
    TooManyTombstones,
    /// Others were at the partition for too long.
    #[error("CAS operation timed out: received 0 of {required} required responses after 0 contention retries")]
    Contention {
        /// The level of the rounds.
        level: ConsistencyLevel,
        /// Answers that the level needs.
        required: u32,
        /// Whether it is a conditional statement, not a SERIAL read.
        is_write: bool,
    },
    /// Nobody knows whether a conditional statement is applied.
    #[error("CAS operation result is unknown - proposal accepted by {received} but not a quorum.")]
    UnknownOutcome {
        /// The level of the rounds.
        level: ConsistencyLevel,
        /// Answers that the level needs.
        required: u32,
        /// Replicas that have accepted it, as far as it is known.
        received: u32,
    },
    /// Not an error: the request is about a partition of that shard, which is to run it.
    #[error("the request is one of {shard:?}")]
    OfShard {
        /// The shard.
        shard: ShardId,
        /// True if the client sees values of masked columns as their masks show them.
        masked: bool,
    },
    /// A function failed for the values it was given.
    #[error("{message}")]
    Function {
        /// Its name, in the system keyspace.
        function: String,
        /// Its arguments' types.
        arguments: Vec<String>,
        /// Why.
        message: String,
    },
    /// TRUNCATE failed on some shard.
    #[error("{message}")]
    Truncate {
        /// Why.
        message: String,
    },
    /// The server failed.
    #[error("{message}")]
    Server {
        /// How.
        message: String,
    },
}

/// The id of a statement that is not prepared, as the client sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownId(pub(crate) Vec<u8>);

impl std::fmt::Display for UnknownId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<StatementId> for UnknownId {
    fn from(id: StatementId) -> Self {
        UnknownId(id.0.to_vec())
    }
}

impl From<InvalidPagingState> for QueryError {
    fn from(error: InvalidPagingState) -> Self {
        QueryError::Protocol { message: error.to_string() }
    }
}

impl From<functions::FunctionError> for QueryError {
    fn from(error: functions::FunctionError) -> Self {
        match error {
            functions::FunctionError::Invalid { message } => QueryError::Invalid { message },
            functions::FunctionError::Server { message } => QueryError::Server { message },
            functions::FunctionError::Failed { function, arguments, message } => {
                let arguments = arguments.iter().map(ToString::to_string).collect();
                QueryError::Function { function, arguments, message }
            }
        }
    }
}

impl From<cql_syntax::SyntaxError> for QueryError {
    fn from(error: cql_syntax::SyntaxError) -> Self {
        let message = error.to_string();
        if error.is_invalid { QueryError::Invalid { message } } else { QueryError::Syntax { message } }
    }
}

impl From<cql_protocol::DecodeError> for QueryError {
    fn from(error: cql_protocol::DecodeError) -> Self {
        QueryError::Protocol { message: error.to_string() }
    }
}

/// An INVALID error with this sentence.
#[cold]
pub(crate) fn invalid(message: impl Into<String>) -> QueryError {
    QueryError::Invalid { message: message.into() }
}

impl QueryError {
    /// What the client is warned of beside it.
    pub(crate) fn warnings(&mut self) -> Vec<String> {
        match self {
            QueryError::Guardrail { warnings, .. } | QueryError::Warned { warnings, .. } => std::mem::take(warnings),
            _ => Vec::new(),
        }
    }

    /// The same with warnings before others.
    pub(crate) fn with_warnings(self, mut before: Vec<String>) -> QueryError {
        if before.is_empty() {
            return self;
        }
        match self {
            QueryError::Guardrail { message, warnings } => {
                before.extend(warnings);
                QueryError::Guardrail { message, warnings: before }
            }
            QueryError::Warned { error, warnings } => {
                before.extend(warnings);
                QueryError::Warned { error, warnings: before }
            }
            // Whoever runs it for this shard finds them again.
            QueryError::OfShard { .. } => self,
            other => QueryError::Warned { error: Box::new(other), warnings: before },
        }
    }

    /// The same with a warning before others, if a SELECT came as far as its rows: what is refused before that has none.
    pub(crate) fn with_warning(self, warning: Option<&'static str>) -> QueryError {
        let Some(warning) = warning else { return self };
        match self {
            QueryError::Warned { error, mut warnings } => {
                warnings.insert(0, warning.to_owned());
                QueryError::Warned { error, warnings }
            }
            QueryError::PagedOrder
            | QueryError::Function { .. }
            | QueryError::Read { .. }
            | QueryError::Unavailable(_) => {
                QueryError::Warned { error: Box::new(self), warnings: vec![warning.to_owned()] }
            }
            other => other,
        }
    }

    /// True if the ring or a table has changed since the statement was planned, and nothing was written: it is to be planned again.
    pub(crate) fn is_outdated(&self) -> bool {
        match self {
            QueryError::Warned { error, .. } => error.is_outdated(),
            QueryError::Write { error, .. } | QueryError::Read { error, .. } => *error == Failure::Outdated,
            _ => false,
        }
    }

    /// What the client is sent.
    pub(crate) fn into_body(self) -> ErrorBody {
        let message = self.to_string();
        let kind = match self {
            QueryError::Warned { error, .. } => return error.into_body(),
            QueryError::Syntax { .. } => ErrorKind::SyntaxError,
            QueryError::Invalid { .. }
            | QueryError::Unwritable { .. }
            | QueryError::Guardrail { .. }
            | QueryError::PagedOrder => ErrorKind::Invalid,
            QueryError::Overloaded { .. } => ErrorKind::Overloaded,
            QueryError::Protocol { .. } => ErrorKind::ProtocolError,
            QueryError::Schema(error) => schema_kind(error),
            QueryError::Access(AccessError::Syntax(_)) => ErrorKind::SyntaxError,
            QueryError::Access(AccessError::Invalid(_)) => ErrorKind::Invalid,
            QueryError::Access(AccessError::Unauthorized(_)) => ErrorKind::Unauthorized,
            QueryError::Access(AccessError::Configuration(_)) => ErrorKind::ConfigError,
            QueryError::Unprepared { id } => ErrorKind::Unprepared { id: id.0 },
            QueryError::Unavailable(Unavailable { level, required, alive, .. }) => ErrorKind::Unavailable {
                consistency: wire_level(level),
                required: clamp(required),
                alive: clamp(alive),
            },
            QueryError::Write { error, level, required, write_type } => write_kind(error, level, required, write_type),
            QueryError::Read { error, level, required } => read_kind(error, level, required),
            QueryError::Contention { level, required, is_write } => contention_kind(level, required, is_write),
            QueryError::UnknownOutcome { level, required, received } => ErrorKind::CasWriteUnknown {
                consistency: wire_level(level),
                received: clamp(received),
                block_for: clamp(required),
            },
            QueryError::Function { function, arguments, .. } => {
                ErrorKind::FunctionFailure { keyspace: "system".to_owned(), function, arguments }
            }
            QueryError::Truncate { .. } => ErrorKind::TruncateError,
            QueryError::Server { .. } | QueryError::OfShard { .. } | QueryError::TooManyTombstones => {
                ErrorKind::ServerError
            }
        };
        ErrorBody::new(kind, message)
    }
}

fn schema_kind(error: SchemaError) -> ErrorKind {
    match error {
        SchemaError::Syntax { .. } => ErrorKind::SyntaxError,
        SchemaError::Invalid { .. } => ErrorKind::Invalid,
        SchemaError::Configuration { .. } => ErrorKind::ConfigError,
        SchemaError::AlreadyExists { keyspace, table, .. } => ErrorKind::AlreadyExists { keyspace, table },
        SchemaError::Unauthorized { .. } => ErrorKind::Unauthorized,
    }
}

fn write_kind(error: Failure, level: ConsistencyLevel, required: u32, write_type: WriteType) -> ErrorKind {
    let (consistency, block_for) = (wire_level(level), clamp(required));
    let failure =
        |received, failures| ErrorKind::WriteFailure { consistency, received, block_for, failures, write_type };
    match error {
        // The client did nothing wrong and may try again: it must not take this for a failed node.
        Failure::Refused(ReplicaError::Overloaded { .. } | ReplicaError::DiskFull { .. }) => ErrorKind::Overloaded,
        Failure::Refused(ReplicaError::TooLarge { .. } | ReplicaError::UnknownTable { .. }) => ErrorKind::Invalid,
        Failure::Refused(ReplicaError::Malformed { .. }) => ErrorKind::ServerError,
        Failure::Refused(
            ReplicaError::Poisoned { .. }
            | ReplicaError::NotSynced { .. }
            | ReplicaError::Unreadable { .. }
            | ReplicaError::TooManyTombstones
            | ReplicaError::Stale { .. }
            | ReplicaError::Lags { .. }
            | ReplicaError::Gone { .. },
        ) => failure(0, Failures::Count(1)),
        Failure::Outdated => write_kind(Failure::Timeout { received: 0 }, level, required, write_type),
        Failure::Timeout { received } => {
            let (block_for, received, contentions) = (more_than(received, required), clamp(received), None);
            ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions }
        }
        Failure::Failed { received, refusals } => {
            // At EACH_QUORUM it has all answers, as in Cassandra.
            let is_of_each = level == ConsistencyLevel::EachQuorum;
            let block_for = if is_of_each { block_for } else { more_than(received, required) };
            let (received, failures) = (clamp(received), reasons(&refusals));
            ErrorKind::WriteFailure { consistency, received, block_for, failures, write_type }
        }
        Failure::BatchLog { error: ReplicaError::Overloaded { .. } | ReplicaError::DiskFull { .. }, .. } => {
            ErrorKind::Overloaded
        }
        Failure::BatchLog { error: ReplicaError::TooLarge { .. }, .. } => ErrorKind::Invalid,
        Failure::BatchLog { error, keepers } => {
            // Cassandra writes its batch log at a level of its own: on two nodes where there are two to be chosen.
            let (consistency, block_for) = if keepers > 1 { (Consistency::Two, 2) } else { (Consistency::One, 1) };
            let (received, write_type) = (0, WriteType::BatchLog);
            match error {
                ReplicaError::Gone { .. } => {
                    ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions: None }
                }
                _ => {
                    let failures = Failures::Count(1);
                    ErrorKind::WriteFailure { consistency, received, block_for, failures, write_type }
                }
            }
        }
    }
}

fn contention_kind(level: ConsistencyLevel, required: u32, is_write: bool) -> ErrorKind {
    let (consistency, received, block_for) = (wire_level(level), 0, clamp(required));
    match is_write {
        true => {
            let (write_type, contentions) = (WriteType::Cas, Some(0));
            ErrorKind::WriteTimeout { consistency, received, block_for, write_type, contentions }
        }
        false => ErrorKind::ReadTimeout { consistency, received, block_for, data_present: false },
    }
}

fn read_kind(error: Failure, level: ConsistencyLevel, required: u32) -> ErrorKind {
    let consistency = wire_level(level);
    let failure = |received: u32, failures| {
        // Some replica is always asked for data, and another where that one is silent.
        let (block_for, received, data_present) = (more_than(received, required), clamp(received), received > 0);
        ErrorKind::ReadFailure { consistency, received, block_for, failures, data_present }
    };
    match error {
        Failure::Refused(ReplicaError::Overloaded { .. }) => ErrorKind::Overloaded,
        Failure::Refused(_) | Failure::BatchLog { .. } => failure(0, Failures::Count(1)),
        Failure::Outdated => read_kind(Failure::Timeout { received: 0 }, level, required),
        Failure::Timeout { received } => {
            let (block_for, received, data_present) = (more_than(received, required), clamp(received), received > 0);
            ErrorKind::ReadTimeout { consistency, received, block_for, data_present }
        }
        Failure::Failed { received, refusals } => failure(received, reasons(&refusals)),
    }
}

/// The codes that version 5 gives for refusals. (Source: `native_protocol_v5.spec`, section 9: "reasonmap".)
fn reasons(refusals: &[Refusal]) -> Failures {
    const UNKNOWN: u16 = 0;
    const READ_TOO_MANY_TOMBSTONES: u16 = 1;
    const INCOMPATIBLE_SCHEMA: u16 = 3;
    let code = |error: &ReplicaError| match error {
        ReplicaError::UnknownTable { .. } => INCOMPATIBLE_SCHEMA,
        ReplicaError::TooManyTombstones => READ_TOO_MANY_TOMBSTONES,
        _ => UNKNOWN,
    };
    Failures::Reasons(refusals.iter().map(|refusal| (refusal.node, code(&refusal.error))).collect())
}

/// The answers that were needed, which are more than came: a range that moves since its request was planned needs more than the plan says.
fn more_than(received: u32, required: u32) -> i32 {
    clamp(required.max(received.saturating_add(1)))
}

fn clamp(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The protocol's level as the coordinator knows it.
#[inline]
pub(crate) fn level(consistency: Consistency) -> ConsistencyLevel {
    match consistency {
        Consistency::Any => ConsistencyLevel::Any,
        Consistency::One => ConsistencyLevel::One,
        Consistency::Two => ConsistencyLevel::Two,
        Consistency::Three => ConsistencyLevel::Three,
        Consistency::Quorum => ConsistencyLevel::Quorum,
        Consistency::All => ConsistencyLevel::All,
        Consistency::LocalQuorum => ConsistencyLevel::LocalQuorum,
        Consistency::EachQuorum => ConsistencyLevel::EachQuorum,
        Consistency::Serial => ConsistencyLevel::Serial,
        Consistency::LocalSerial => ConsistencyLevel::LocalSerial,
        Consistency::LocalOne => ConsistencyLevel::LocalOne,
    }
}

fn wire_level(level: ConsistencyLevel) -> Consistency {
    Consistency::ALL[level as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_to_the_wire_and_back() {
        for consistency in Consistency::ALL {
            assert_eq!(wire_level(level(consistency)), consistency);
        }
    }

    /// A batch log has a level of its own, whatever that of the batch.
    #[test]
    fn a_batch_log_that_times_out_is_of_as_many_nodes_as_keep_copies() {
        let shard = cluster::coordinator::ReplicaShard::from(0);
        for (keepers, consistency, block_for) in [(2, Consistency::Two, 2), (1, Consistency::One, 1)] {
            let failure = Failure::BatchLog { error: ReplicaError::Gone { shard }, keepers };
            let (write_type, contentions) = (WriteType::BatchLog, None);
            let expected = ErrorKind::WriteTimeout { consistency, received: 0, block_for, write_type, contentions };
            assert_eq!(write_kind(failure, ConsistencyLevel::Quorum, 2, WriteType::Batch), expected);
        }
    }

    /// A range may move when its request was planned, and has ended by a plan that needs more.
    #[test]
    fn an_error_tells_that_more_answers_were_needed_than_came() {
        for (received, block_for) in [(0, 2), (1, 2), (2, 3), (3, 4)] {
            let level = ConsistencyLevel::LocalQuorum;
            let write = write_kind(Failure::Timeout { received }, level, 2, WriteType::Simple);
            assert!(matches!(write, ErrorKind::WriteTimeout { block_for: needed, .. } if needed == block_for));
            let failed = || Failure::Failed { received, refusals: Vec::new() };
            let write = write_kind(failed(), level, 2, WriteType::Simple);
            assert!(matches!(write, ErrorKind::WriteFailure { block_for: needed, .. } if needed == block_for));
            let read = read_kind(Failure::Timeout { received }, level, 2);
            assert!(matches!(read, ErrorKind::ReadTimeout { block_for: needed, .. } if needed == block_for));
            let read = read_kind(failed(), level, 2);
            assert!(matches!(read, ErrorKind::ReadFailure { block_for: needed, .. } if needed == block_for));
        }
    }
}
