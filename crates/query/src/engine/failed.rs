//! Requests that too few replicas answered, counted by their kind: what Cassandra counts as `ClientRequest`'s Timeouts, Unavailables and Failures.

use std::cell::Cell;

use cluster::coordinator::{Failure, ReplicaError};
use cql_protocol::WriteType;

use crate::error::QueryError;
use crate::plan::{Action, Keys};

/// A request's kind, where its failure is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedKind {
    /// A read of partitions by their keys.
    Read,
    /// A scan.
    Range,
    /// A write, or a batch.
    Write,
    /// An update of counters.
    CounterWrite,
    /// A read at SERIAL or LOCAL_SERIAL.
    CasRead,
    /// A conditional statement or batch.
    CasWrite,
}

/// How many kinds there are.
pub const FAILED_KINDS: usize = 6;

impl FailedKind {
    /// All, in the order of their numbers.
    pub const ALL: [FailedKind; FAILED_KINDS] = [
        FailedKind::Read,
        FailedKind::Range,
        FailedKind::Write,
        FailedKind::CounterWrite,
        FailedKind::CasRead,
        FailedKind::CasWrite,
    ];

    /// As metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            FailedKind::Read => "read",
            FailedKind::Range => "range",
            FailedKind::Write => "write",
            FailedKind::CounterWrite => "counter_write",
            FailedKind::CasRead => "cas_read",
            FailedKind::CasWrite => "cas_write",
        }
    }

    /// The kind of what a statement's plan does; `None`: it asks no replicas.
    pub(super) fn of(action: &Action, is_serial: bool) -> Option<FailedKind> {
        match action {
            Action::Modify(modification) if modification.conditions.is_some() => Some(FailedKind::CasWrite),
            Action::Batch(batch) if batch.is_conditional() => Some(FailedKind::CasWrite),
            Action::Modify(modification) if modification.table.is_counter() => Some(FailedKind::CounterWrite),
            Action::Modify(_) | Action::Batch(_) => Some(FailedKind::Write),
            Action::Select(select) => Some(match select.keys {
                Keys::Tokens { .. } => FailedKind::Range,
                Keys::Choices(_) if is_serial => FailedKind::CasRead,
                Keys::Choices(_) => FailedKind::Read,
            }),
            Action::SelectVirtual(_) | Action::Other(_) => None,
        }
    }
}

/// How often requests of one kind failed, by the way in which they did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailedCounts {
    /// Too few replicas answered in time.
    pub timeouts: u64,
    /// Too few replicas were alive.
    pub unavailables: u64,
    /// Too many replicas refused.
    pub failures: u64,
}

/// One shard's counts.
#[derive(Debug, Default)]
pub(super) struct FailedRequests {
    counts: [Cell<FailedCounts>; FAILED_KINDS],
}

impl FailedRequests {
    /// A request of a kind has ended with an error, which may be one of these.
    #[cold]
    pub(super) fn note(&self, kind: Option<FailedKind>, error: &QueryError) {
        let error = match error {
            QueryError::Warned { error, .. } => error,
            error => error,
        };
        let kind = match error {
            QueryError::Write { write_type: WriteType::Cas, .. } => Some(FailedKind::CasWrite),
            QueryError::Write { write_type: WriteType::Counter, .. } => Some(FailedKind::CounterWrite),
            _ => kind,
        };
        let Some(kind) = kind else { return };
        let cell = &self.counts[kind as usize];
        let mut counts = cell.get();
        match error {
            QueryError::Unavailable(_) => counts.unavailables += 1,
            QueryError::Contention { .. } | QueryError::UnknownOutcome { .. } => counts.timeouts += 1,
            QueryError::Write { error, .. } | QueryError::Read { error, .. } => match error {
                Failure::Timeout { .. } | Failure::BatchLog { error: ReplicaError::Gone { .. }, .. } => {
                    counts.timeouts += 1;
                }
                Failure::Failed { .. } => counts.failures += 1,
                Failure::Refused(error) | Failure::BatchLog { error, .. } if is_failure(error) => counts.failures += 1,
                Failure::Refused(_) | Failure::BatchLog { .. } | Failure::Outdated => {}
            },
            _ => {}
        }
        cell.set(counts);
    }

    /// The counts of the kinds, in the order of [`FailedKind::ALL`].
    pub(super) fn counts(&self) -> [FailedCounts; FAILED_KINDS] {
        std::array::from_fn(|kind| self.counts[kind].get())
    }
}

/// False for refusals that have errors of their own: no room, or a wrong request.
fn is_failure(error: &ReplicaError) -> bool {
    !matches!(
        error,
        ReplicaError::Overloaded { .. }
            | ReplicaError::DiskFull { .. }
            | ReplicaError::TooLarge { .. }
            | ReplicaError::UnknownTable { .. }
            | ReplicaError::Malformed { .. }
    )
}

#[cfg(test)]
mod tests {
    use cluster::coordinator::Unavailable;
    use topology::ConsistencyLevel;

    use super::*;

    const LEVEL: ConsistencyLevel = ConsistencyLevel::Quorum;

    fn write(error: Failure, write_type: WriteType) -> QueryError {
        QueryError::Write { error, level: LEVEL, required: 2, write_type }
    }

    #[test]
    fn errors_are_counted_by_kind_and_way() {
        let failed = FailedRequests::default();
        let timeout = || Failure::Timeout { received: 1 };
        let unavailable = || Unavailable { level: LEVEL, required: 2, alive: 1, datacenter: None }.into();
        let overloaded = Failure::Refused(ReplicaError::DiskFull { shard: 0.into() });
        failed.note(Some(FailedKind::Read), &QueryError::Read { error: timeout(), level: LEVEL, required: 2 });
        failed.note(Some(FailedKind::Range), &unavailable());
        let warned = QueryError::Warned { error: Box::new(unavailable()), warnings: vec!["w".to_owned()] };
        failed.note(Some(FailedKind::Range), &warned);
        failed.note(Some(FailedKind::Write), &write(timeout(), WriteType::Simple));
        failed.note(Some(FailedKind::Write), &write(overloaded, WriteType::Simple));
        failed.note(Some(FailedKind::Write), &write(Failure::Outdated, WriteType::Simple));
        failed.note(Some(FailedKind::Write), &write(timeout(), WriteType::Counter));
        failed.note(None, &write(Failure::Failed { received: 0, refusals: Vec::new() }, WriteType::Cas));
        failed.note(None, &unavailable());
        let counts = |timeouts, unavailables, failures| FailedCounts { timeouts, unavailables, failures };
        let expected = [
            ("read", counts(1, 0, 0)),
            ("range", counts(0, 2, 0)),
            ("write", counts(1, 0, 0)),
            ("counter_write", counts(1, 0, 0)),
            ("cas_read", counts(0, 0, 0)),
            ("cas_write", counts(0, 0, 1)),
        ];
        assert_eq!(
            FailedKind::ALL.map(FailedKind::name).into_iter().zip(failed.counts()).collect::<Vec<_>>(),
            expected
        );
    }
}
