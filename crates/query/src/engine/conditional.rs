//! Conditional statements and batches: within the call where memory has the data and nobody else is at the partition, else as a task
//! that claims the partition. A partition of another shard is that shard's: it is handed the whole request. Where other nodes have replicas, their majority is asked
//! (`agreed.rs`). See `docs/internals/paxos.md`.

use cluster::coordinator::{Failure, PlanPlace, ReplicaError, ReplicaPlan};
use cql_protocol::request::{Batch, BatchQuery};
use cql_protocol::{Consistency, FrameHeader, QueryParams, Value, WriteType};

use storage::{LogSequence, ReadEnd, TryOutcome};
use topology::{ConsistencyLevel, ReplicationStrategy};

use super::Engine;
use super::agreed;
use super::batch::{first_fault, modification_of};
use super::call::Call;
use super::guarded::guard_write_levels;
use super::masks;
use super::reply::ReplyTo;
use super::write::seconds;
use crate::error::{QueryError, invalid, level};
use crate::execute::bind::{check_count_in_batch, generate, replaced, with_replaced, with_values};
use crate::execute::conditional::{CurrentRows, Request};
use crate::execute::modify::{MUTATION_BYTES_MAX, WriteTime, too_large};
use crate::guardrails::GuardrailCheck;
use crate::plan::{BatchPlan, Binds, Modification, check_one_table};
use crate::{Outcome, Session};

/// The levels of a conditional statement.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    /// Of its rounds.
    pub(super) serial: ConsistencyLevel,
    /// Of its commit.
    pub(super) commit: ConsistencyLevel,
}

impl Engine {
    /// A conditional statement, answered within the call if that can be.
    pub(super) fn conditional_now(
        &self,
        modification: &Modification,
        values: &[Value<'_>],
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, QueryError> {
        let inner = &*self.inner;
        let generated = generate(&call.plan.generators, values, &inner.clock)?;
        let binds = Binds { values, generated: &generated, long_texts_checked: false };
        let mut request = Request::new(&modification.table, false).masked(call.reply.masked);
        request.add(modification, binds)?;
        let levels = levels(call.params, modification, self)?;
        let (token, key) = request.key();
        let plan = self.plan_serial(modification, &request, levels)?;
        match inner.coordinator.serial_place(&plan) {
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Ok(Outcome::OfShard(shard)),
            PlanPlace::OtherNodes => return Ok(Outcome::MustWait),
        }
        let now = inner.clock.wall_micros();
        let seconds = seconds(now, call.params);
        let Some(mut attempt) = inner.coordinator.attempt_now(request.table(), token, key, clock_seconds(now)) else {
            return Ok(Outcome::MustWait);
        };
        let mut current = request.reader(seconds);
        let slices = request.slices();
        match inner.coordinator.read_now(&plan, &request.command(&slices, seconds), &mut current) {
            TryOutcome::WouldBlock | TryOutcome::Done(ReadEnd::Paused(_)) => return Ok(Outcome::MustWait),
            TryOutcome::Done(ReadEnd::Complete | ReadEnd::Stopped(_)) => current.check_length()?,
        }
        let sequence = match request.holds(&current)? {
            false => {
                request.write_result(Some(&current), (call.reply.version, call.reply.stream), out)?;
                inner.coordinator.seen()
            }
            true => {
                check_commit(self, modification, &request, levels)?;
                let ballot = inner.clock.ballot(attempt.latest());
                let time = write_time(ballot.micros(), call.params, seconds);
                let mutation = request.mutation(0, &current, time)?;
                let committed = attempt.commit_now(ballot, &[&mutation]);
                let TryOutcome::Done(sequence) = committed.map_err(|error| failed(error.into(), levels, &plan))? else {
                    return Ok(Outcome::MustWait);
                };
                request.write_result(None, (call.reply.version, call.reply.stream), out)?;
                sequence
            }
        };
        Ok(self.when_synced(sequence))
    }

    /// How a reply is to be sent that tells of what the log holds up to `sequence`.
    #[inline]
    pub(super) fn when_synced(&self, sequence: LogSequence) -> Outcome {
        match sequence <= self.synced() {
            true => Outcome::Ready,
            false => Outcome::AfterSync(sequence),
        }
    }

    /// A conditional statement that must wait.
    pub(super) async fn conditional(
        &self,
        modification: &Modification,
        binds: Binds<'_>,
        call: &Call<'_>,
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let mut request = Request::new(&modification.table, false).masked(call.reply.masked);
        request.add(modification, binds)?;
        self.run_conditional(modification, &request, call.params, call.reply, watch, out).await
    }

    /// A BATCH as a statement, of which some statement is conditional.
    pub(super) async fn conditional_batch(
        &self,
        batch: &BatchPlan,
        binds: Binds<'_>,
        call: &Call<'_>,
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let first = batch.modifications.first().expect("one of them is conditional");
        let mut request = Request::new(&first.table, true).masked(call.reply.masked);
        for modification in &batch.modifications {
            request.add(modification, binds)?;
            self.inner.runtime.maybe_yield().await;
        }
        self.run_conditional(first, &request, call.params, call.reply, watch, out).await
    }

    /// A BATCH message, of which some statement is conditional.
    pub(super) async fn conditional_batch_message(
        &self,
        (session, header): (&Session, &FrameHeader),
        batch: &Batch<'_>,
        keyspace: Option<&str>,
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let runtime = &self.inner.runtime;
        guard_write_levels(watch, &batch.params)?;
        let mut statements = Vec::with_capacity(batch.len());
        for statement in batch.statements() {
            let prepared = match statement.query {
                BatchQuery::Prepared(_) => self.batch_prepared(&statement)?,
                BatchQuery::Text(text) => {
                    let planned = self.plan_unprepared_in_steps(text, keyspace).await;
                    std::rc::Rc::new(planned.map_err(|error| self.inner.authorizer.unplanned(session, error))?)
                }
            };
            let markers = &prepared.plan.markers;
            check_count_in_batch(markers, statement.values)?;
            // Those before the first conditional one have been checked, which costs a comparison here.
            if let Err(refusal) = self.inner.authorizer.authorize_part(session, &prepared.plan, &statement.query) {
                return Err(first_fault(self, batch, keyspace, refusal).await);
            }
            let values = with_values(markers, statement.values, |values| Ok(values.to_vec()))?;
            self.check_long_texts(markers, &values).await?;
            let replaced = replaced(&prepared.plan, &values)?;
            statements.push((prepared, values, replaced));
            runtime.maybe_yield().await;
        }
        let mut modifications = Vec::with_capacity(statements.len());
        let mut values = Vec::with_capacity(statements.len());
        let mut generated = Vec::with_capacity(statements.len());
        for (prepared, given, replaced) in &statements {
            modifications.push(modification_of(prepared)?);
            let given = with_replaced(given, replaced);
            generated.push(generate(&prepared.plan.generators, &given, &self.inner.clock)?);
            values.push(given);
            runtime.maybe_yield().await;
        }
        check_one_table(&modifications)?;
        let first = modifications.first().expect("one of them is conditional");
        let masked = statements.iter().any(|(prepared, _, _)| masks::reads_masked(self, session, &prepared.plan));
        let mut request = Request::new(&first.table, true).masked(masked);
        for ((modification, values), generated) in modifications.iter().zip(&values).zip(&generated) {
            let binds = Binds { values, generated, long_texts_checked: true };
            self.guard_modification(watch, modification, &binds)?;
            request.add(modification, binds)?;
            runtime.maybe_yield().await;
        }
        let reply = ReplyTo::new(header, &batch.params, None).masked(masked);
        self.run_conditional(first, &request, &batch.params, reply, watch, out).await
    }

    async fn run_conditional(
        &self,
        first: &Modification,
        request: &Request<'_>,
        params: &QueryParams<'_>,
        reply: ReplyTo<'_>,
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let inner = &*self.inner;
        let levels = levels(params, first, self)?;
        let (token, key) = request.key();
        let plan = self.plan_serial(first, request, levels)?;
        match inner.coordinator.serial_place(&plan) {
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Err(QueryError::OfShard { shard, masked: reply.masked }),
            PlanPlace::OtherNodes => {
                return agreed::conditional(self, first, (request, plan, levels), params, reply, watch, out).await;
            }
        }
        let now = inner.clock.wall_micros();
        let seconds = seconds(now, params);
        let failed = |error| failed(error, levels, &plan);
        let attempt = inner.coordinator.attempt(&plan, (request.table(), token, key), clock_seconds(now)).await;
        let Some(mut attempt) = attempt.map_err(failed)? else {
            return Err(contention(levels, &plan));
        };
        let mut current = request.reader(seconds);
        let slices = request.slices();
        let limits = super::read::whole_page_limits();
        let command = request.command(&slices, seconds);
        let read = inner.coordinator.read(&plan, request.table(), command, limits, &mut current).await;
        let (level, required) = (levels.serial, plan.required);
        let _ = read.map_err(|error| QueryError::Read { error, level, required })?;
        current.check_length()?;
        let sequence = match self.holds(request, &current).await? {
            false => {
                request.write_result(Some(&current), (reply.version, reply.stream), out)?;
                inner.coordinator.seen()
            }
            true => {
                check_commit(self, first, request, levels)?;
                let ballot = inner.clock.ballot(attempt.latest());
                let time = write_time(ballot.micros(), params, seconds);
                let mutations = self.mutations(request, &current, time, watch).await?;
                let sequence = attempt.commit(ballot, mutations).await.map_err(failed)?;
                request.write_result(None, (reply.version, reply.stream), out)?;
                sequence
            }
        };
        drop(attempt);
        self.wait_for(sequence).await.map_err(|error| failed(error.into()))
    }

    /// Waits until what a reply tells of is on the disk.
    pub(super) async fn wait_for(&self, sequence: LogSequence) -> Result<(), ReplicaError> {
        let shard = self.inner.coordinator.shard().0;
        let synced = self.wait_synced(sequence).await;
        synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.into(), reason })
    }

    pub(super) async fn holds(&self, request: &Request<'_>, current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        if !request.holds_for_static_row(current)? {
            return Ok(false);
        }
        for row in request.rows() {
            if !request.holds_for_row(row, current)? {
                return Ok(false);
            }
            self.inner.runtime.maybe_yield().await;
        }
        Ok(true)
    }

    /// The mutations of all statements, made at a time of what the partition holds.
    pub(super) async fn mutations(
        &self,
        request: &Request<'_>,
        current: &CurrentRows<'_>,
        time: WriteTime,
        watch: &mut GuardrailCheck<'_>,
    ) -> Result<Vec<Vec<u8>>, QueryError> {
        let mut mutations = Vec::with_capacity(request.len() + 1);
        let mut bytes = 0;
        for index in 0..request.len() {
            let mutation = request.mutation(index, current, time)?;
            let (modification, binds) = request.statement(index);
            self.guard_values(watch, modification, binds).await?;
            bytes += mutation.len();
            if bytes > MUTATION_BYTES_MAX {
                return Err(too_large());
            }
            mutations.push(mutation);
            self.inner.runtime.maybe_yield().await;
        }
        Ok(mutations)
    }

    /// The plan of the rounds.
    fn plan_serial<'m>(
        &self,
        modification: &'m Modification,
        request: &Request<'_>,
        levels: Levels,
    ) -> Result<ReplicaPlan<'m>, QueryError> {
        let (token, _) = request.key();
        Ok(self.inner.coordinator.plan(&modification.replication, token, levels.serial)?)
    }
}

/// Refuses a commit for which too few replicas are alive, before anything is proposed: of a statement that is not applied nothing is committed. Gives the
/// answers that its level needs.
pub(super) fn check_commit(
    engine: &Engine,
    modification: &Modification,
    request: &Request<'_>,
    levels: Levels,
) -> Result<u32, QueryError> {
    let (token, _) = request.key();
    Ok(engine.inner.coordinator.plan_write(&modification.replication, token, levels.commit)?.required)
}

/// The levels that a request asks for, in the words of Cassandra where they do not fit.
fn levels(params: &QueryParams<'_>, modification: &Modification, engine: &Engine) -> Result<Levels, QueryError> {
    let serial = params.serial_consistency.unwrap_or(Consistency::Serial);
    if !serial.is_serial() {
        return Err(invalid("Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL"));
    }
    let commit = params.consistency;
    if commit.is_serial() {
        let name = level(commit);
        return Err(invalid(format!(
            "{name} is not supported as conditional update commit consistency. Use ANY if you mean \"make sure it is accepted but I don't care how many replicas commit it for non-SERIAL reads\""
        )));
    }
    if commit == Consistency::EachQuorum {
        check_each_quorum(modification, engine)?;
    }
    Ok(Levels { serial: level(serial), commit: level(commit) })
}

#[cold]
fn check_each_quorum(modification: &Modification, engine: &Engine) -> Result<(), QueryError> {
    let catalog = engine.catalog();
    let keyspace = catalog.schema.keyspace(&modification.table.keyspace);
    let strategy = match keyspace.map(|keyspace| keyspace.strategy()) {
        Some(ReplicationStrategy::NetworkTopology { .. }) | None => return Ok(()),
        Some(strategy) => strategy,
    };
    let class = strategy.class();
    Err(invalid(format!("consistency level EACH_QUORUM not compatible with replication strategy ({class})")))
}

/// When a conditional write takes place: its cells have the round's timestamp.
pub(super) fn write_time(ballot: i64, params: &QueryParams<'_>, seconds: u32) -> WriteTime {
    WriteTime { timestamp: ballot, asked: params.timestamp.unwrap_or(ballot), seconds }
}

/// What a conditional write that failed is called.
pub(super) fn failed(error: Failure, levels: Levels, plan: &ReplicaPlan<'_>) -> QueryError {
    QueryError::Write { error, level: levels.serial, required: plan.required, write_type: WriteType::Cas }
}

#[cold]
pub(super) fn contention(levels: Levels, plan: &ReplicaPlan<'_>) -> QueryError {
    QueryError::Contention { level: levels.serial, required: plan.required, is_write: true }
}

/// The clock's second: what Paxos keeps expires by it, whatever moment a request speaks of.
pub(super) fn clock_seconds(now_micros: i64) -> u32 {
    u32::try_from(now_micros / 1_000_000).unwrap_or(u32::MAX)
}
