//! Writes of one statement.

use cluster::coordinator::{PlanPlace, PlannedMutation, ReadDone, ReplicaPlan};
use cql_protocol::{Consistency, WriteType, write_void};
use mutation::{ReadCommand, Slice};
use storage::{Ack, TryOutcome};
use topology::{ConsistencyLevel, token_of};

use super::call::Call;
use super::counting::{check_attributes, counter_level};
use super::read::whole_page_limits;
use super::{Engine, SCRATCH_BYTES_KEPT};
use crate::Outcome;
use crate::error::{QueryError, invalid, level};
use crate::execute::key::{keys, single_key};
use crate::execute::lists::{KnownLists, ListReader, rows_to_read};
use crate::execute::modify::{MUTATION_BYTES_MAX, WriteTime, too_large, using_timestamp};
use crate::guardrails::GuardrailCheck;
use crate::plan::{Binds, Modification, Operand};

/// A statement's or batch's mutations while they are collected.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) mutations: Vec<PlannedMutation>,
    bytes: usize,
}

impl Planned {
    /// The encoding of each mutation.
    pub(super) fn bytes_of_each(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.mutations.iter().map(|planned| planned.mutation.as_slice())
    }
}

impl Engine {
    /// A write of one row, answered within the call if this shard owns it.
    #[inline]
    pub(super) fn modify_now(
        &self,
        modification: &Modification,
        binds: &Binds<'_>,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, QueryError> {
        let inner = &*self.inner;
        let counts = modification.counts;
        let level = match counts {
            true => {
                check_attributes(modification)?;
                counter_level(modification, call.params.consistency)?
            }
            false => write_level(call.params.consistency)?,
        };
        let mut scratch = inner.scratch.borrow_mut();
        let scratch = &mut *scratch;
        let key = single_key(&modification.table, &modification.key, binds, &mut scratch.key)?;
        let token = token_of(key);
        let plan = inner.coordinator.plan_write(&modification.replication, token, level)?;
        match inner.coordinator.place_of_write(&plan) {
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Ok(Outcome::OfShard(shard)),
            PlanPlace::OtherNodes => return Ok(Outcome::MustWait),
        }
        inner.coordinator.prefetch_partition(modification.table.id, token);
        let time = self.write_time(modification.timestamp.as_ref(), binds, call.params)?;
        scratch.mutation.clear();
        modification.encode_single(binds, key, token, time, &mut scratch.mutation)?;
        let written = match counts {
            true => inner.coordinator.count_now(&plan, &scratch.mutation),
            false => inner.coordinator.write_now(&plan, &scratch.mutation),
        };
        if scratch.mutation.capacity() > SCRATCH_BYTES_KEPT {
            scratch.mutation = Vec::new();
        }
        let required = plan.required;
        let write_type = if counts { WriteType::Counter } else { WriteType::Simple };
        match written.map_err(|error| QueryError::Write { error: error.into(), level, required, write_type })? {
            TryOutcome::WouldBlock => Ok(Outcome::MustWait),
            TryOutcome::Done(ack) => {
                write_void(out, call.reply.version, call.reply.stream);
                Ok(acknowledged(ack))
            }
        }
    }

    /// A write of any shape.
    pub(super) async fn modify(
        &self,
        modification: &Modification,
        binds: &Binds<'_>,
        call: &Call<'_>,
        watch: &mut GuardrailCheck<'_>,
    ) -> Result<(), QueryError> {
        if modification.counts {
            return self.count(modification, binds, call, watch).await;
        }
        let level = write_level(call.params.consistency)?;
        let time = self.write_time(modification.timestamp.as_ref(), binds, call.params)?;
        let mut planned = Planned::default();
        let required = self.plan_mutations(modification, binds, time, level, watch, &mut planned).await?;
        let written = match call.trace {
            Some(trace) => self.write_traced(trace, planned.mutations, level).await,
            None => self.inner.coordinator.write_batch(planned.mutations, level).await,
        };
        written.map_err(|error| QueryError::Write { error, level, required, write_type: WriteType::Simple })
    }

    /// Adds a modification's mutations, one for each partition that it names, whose values guardrails look at. Gives how many answers the
    /// level needs, of that which needs most.
    pub(super) async fn plan_mutations(
        &self,
        modification: &Modification,
        binds: &Binds<'_>,
        time: WriteTime,
        level: ConsistencyLevel,
        watch: &mut GuardrailCheck<'_>,
        planned: &mut Planned,
    ) -> Result<u32, QueryError> {
        let mut required = 1;
        let moment = self.inner.coordinator.fence().moment();
        let keys = keys(&modification.table, &modification.key, binds)?;
        if keys.is_empty() {
            modification.check_rows(binds)?;
        }
        self.inner.runtime.maybe_yield().await;
        for key in keys {
            let token = token_of(&key);
            let plan = self.inner.coordinator.plan_write(&modification.replication, token, level)?;
            let buffer = self.mutation_buffer(binds.values, modification).await;
            let mut mutation = buffer.map_err(|error| QueryError::Write {
                error: error.into(),
                level,
                required: plan.required,
                write_type: WriteType::Simple,
            })?;
            let lists = match modification.needs_reading() {
                true => self.read_lists(modification, binds, &plan, level, &key, time.seconds).await?,
                false => KnownLists::default(),
            };
            modification.encode_many(&self.inner.runtime, binds, &key, token, time, &lists, &mut mutation).await?;
            self.guard_values(watch, modification, binds).await?;
            required = required.max(plan.required);
            planned.bytes += mutation.len();
            if planned.bytes > MUTATION_BYTES_MAX {
                return Err(too_large());
            }
            let (replication, shard) = (modification.replication.clone(), plan.shard);
            planned.mutations.push(PlannedMutation { replication, token, shard, mutation, moment });
            self.inner.runtime.maybe_yield().await;
        }
        Ok(required)
    }

    /// What a partition's rows hold of the lists that a modification must know. It is read from as many replicas as the write
    /// will go to.
    async fn read_lists(
        &self,
        modification: &Modification,
        binds: &Binds<'_>,
        plan: &ReplicaPlan<'_>,
        level: ConsistencyLevel,
        key: &[u8],
        now_in_seconds: u32,
    ) -> Result<KnownLists, QueryError> {
        if level == ConsistencyLevel::Any {
            return Err(invalid("Write operation require a read but consistency ANY is not supported on reads"));
        }
        let rows = rows_to_read(modification, binds)?;
        let slices: Vec<Slice<'_>> = rows.iter().map(|row| Slice::of_prefix(row)).collect();
        let whole = ReadCommand::partition(modification.table.id, token_of(key), key, now_in_seconds);
        let command = ReadCommand { slices: &slices, ..whole };
        let limits = whole_page_limits();
        let mut reader = ListReader::new(modification);
        let read = self.inner.coordinator.read(plan, &modification.table, command, limits, &mut reader).await;
        match read.map_err(|error| QueryError::Read { error, level, required: plan.required })? {
            ReadDone::Complete => Ok(reader.finish()),
            ReadDone::Stopped(_) => Err(too_large()),
        }
    }

    /// When a write takes place: by USING TIMESTAMP, else by the request, else now.
    #[inline]
    pub(super) fn write_time(
        &self,
        using: Option<&Operand>,
        binds: &Binds<'_>,
        params: &cql_protocol::QueryParams<'_>,
    ) -> Result<WriteTime, QueryError> {
        let now = self.inner.clock.wall_micros();
        let timestamp = match using_timestamp(using, binds)?.or(params.timestamp) {
            Some(timestamp) => timestamp,
            None => self.inner.clock.next(now),
        };
        Ok(WriteTime { timestamp, asked: timestamp, seconds: seconds(now, params) })
    }
}

/// The second at which expiry is judged: the request's, else the clock's.
#[inline]
pub(super) fn seconds(now_micros: i64, params: &cql_protocol::QueryParams<'_>) -> u32 {
    match params.now_in_seconds.map(u32::try_from) {
        Some(Ok(seconds)) => seconds,
        _ => u32::try_from(now_micros / 1_000_000).unwrap_or(u32::MAX),
    }
}

#[inline]
pub(super) fn acknowledged(ack: Ack) -> Outcome {
    match ack {
        Ack::Now => Outcome::Ready,
        Ack::When(sequence) => Outcome::AfterSync(sequence),
    }
}

/// The level of a plain write.
#[inline]
pub(super) fn write_level(consistency: Consistency) -> Result<ConsistencyLevel, QueryError> {
    match consistency.is_serial() {
        true => Err(invalid("You must use conditional updates for serializable writes")),
        false => Ok(level(consistency)),
    }
}
