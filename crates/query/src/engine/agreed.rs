//! Conditional statements and SERIAL reads of partitions that other nodes have replicas of: what a majority of these agrees on. See `docs/internals/paxos.md`.

use cluster::coordinator::{AgreementError, Failure, Found, Proposed, ReplicaPlan};
use cluster::paxos::{Ballot, Purpose};
use cql_protocol::{QueryParams, WriteType};
use mutation::{KeyRange, Position, ReadCommand};
use topology::{ConsistencyLevel, token_of};

use super::Engine;
use super::conditional::{Levels, check_commit, contention, failed, write_time};
use super::read::{end_of_last, page_limits, whole_page_limits};
use super::reply::ReplyTo;
use super::write::seconds;
use crate::error::QueryError;
use crate::execute::conditional::Request;
use crate::execute::rows::RowEmitter;
use crate::guardrails::GuardrailCheck;
use crate::paging::InvalidPagingState;
use crate::plan::{Modification, Select};

/// A conditional statement or batch.
pub(super) async fn conditional(
    engine: &Engine,
    first: &Modification,
    (request, plan, levels): (&Request<'_>, ReplicaPlan<'_>, Levels),
    params: &QueryParams<'_>,
    reply: ReplyTo<'_>,
    watch: &mut GuardrailCheck<'_>,
    out: &mut Vec<u8>,
) -> Result<(), QueryError> {
    let inner = &*engine.inner;
    let seconds = seconds(inner.clock.wall_micros(), params);
    let (token, key) = request.key();
    let new_ballot = |latest: Option<Ballot>| inner.clock.ballot(latest);
    let failed = |error| failed_agreement(error, levels, &plan);
    let partition = (request.table(), token, key);
    let begun = inner.coordinator.agreement(plan, partition, Purpose::Write, &new_ballot).await;
    let mut agreement = begun.map_err(failed)?;
    let (slices, limits) = (request.slices(), whole_page_limits());
    let mut required = plan.required;
    loop {
        let command = request.command(&slices, seconds);
        if agreement.prepare(command, limits).await.map_err(failed)? == Found::Chosen {
            break;
        }
        let mut current = request.reader(seconds);
        let _ = agreement.feed(command, limits, &mut current).await.map_err(failed)?;
        let in_doubt = agreement.is_in_doubt();
        // An error says that nothing is written, unless an earlier proposal may be.
        let refused = |error| if in_doubt { failed(AgreementError::Unknown { received: 0 }) } else { error };
        current.check_length().map_err(refused)?;
        if !engine.holds(request, &current).await.map_err(refused)? {
            if agreement.settle().await.map_err(failed)? == Proposed::Overtaken {
                continue;
            }
            return request.write_result(Some(&current), (reply.version, reply.stream), out);
        }
        required = check_commit(engine, first, request, levels).map_err(refused)?;
        let time = write_time(agreement.ballot().micros(), params, seconds);
        let mutations = engine.mutations(request, &current, time, watch).await.map_err(refused)?;
        if agreement.propose(mutations).await.map_err(failed)? == Proposed::Chosen {
            break;
        }
    }
    let committed = agreement.commit(levels.commit).await;
    committed.map_err(|error| QueryError::Write {
        error,
        level: levels.commit,
        required,
        write_type: WriteType::Cas,
    })?;
    request.write_result(None, (reply.version, reply.stream), out)
}

/// A SERIAL read of one partition. Gives where the page ended.
pub(super) async fn select(
    engine: &Engine,
    (select, plan): (&Select, ReplicaPlan<'_>),
    key: &Vec<u8>,
    command: ReadCommand<'_>,
    level: ConsistencyLevel,
    emitter: &mut RowEmitter<'_>,
) -> Result<Option<Position>, QueryError> {
    if command.after.is_some_and(|after| after.key != key) {
        return Err(InvalidPagingState.into());
    }
    let inner = &*engine.inner;
    let (token, required) = (token_of(key), plan.required);
    let new_ballot = |latest: Option<Ballot>| inner.clock.ballot(latest);
    let failed = |error| match error {
        AgreementError::Failed(error) => QueryError::Read { error, level, required },
        AgreementError::Contended => QueryError::Contention { level, required, is_write: false },
        AgreementError::Unknown { received } => {
            QueryError::Read { error: Failure::Timeout { received }, level, required }
        }
    };
    let begun = inner.coordinator.agreement(plan, (&select.table, token, key), Purpose::Read, &new_ballot).await;
    let mut agreement = begun.map_err(failed)?;
    let command = ReadCommand { keys: KeyRange::Partition { token, key }, ..command };
    let limits = page_limits(select, emitter.limits());
    loop {
        let found = agreement.prepare(command, limits).await.map_err(failed)?;
        assert_eq!(found, Found::Rows, "a read has no proposal of its own");
        if agreement.settle().await.map_err(failed)? == Proposed::Chosen {
            break;
        }
    }
    let done = agreement.feed(command, limits, emitter).await;
    emitter.end_read(Some(key));
    // Later pages may have what was committed since the promises: then the statement begins again.
    if done.is_ok() && agreement.is_pending() && agreement.settle().await.map_err(failed)? == Proposed::Overtaken {
        return Err(failed(AgreementError::Failed(Failure::Outdated)));
    }
    Ok(end_of_last(done.map_err(failed)?, key, emitter))
}

/// The error of a conditional statement whose attempt has no result.
fn failed_agreement(error: AgreementError, levels: Levels, plan: &ReplicaPlan<'_>) -> QueryError {
    match error {
        AgreementError::Failed(error) => failed(error, levels, plan),
        AgreementError::Contended => contention(levels, plan),
        AgreementError::Unknown { received } => {
            QueryError::UnknownOutcome { level: levels.serial, required: plan.required, received }
        }
    }
}
