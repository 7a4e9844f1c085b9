//! BATCH: as a message of the protocol and as a statement.
//!
//! Its level may be SERIAL, which is a QUORUM then: only a statement alone is refused, as in Cassandra.

use std::rc::Rc;

use cluster::coordinator::PlanPlace;
use cql_protocol::request::{Batch, BatchKind, BatchQuery, BatchStatement};
use cql_protocol::response::insert_warnings;
use cql_protocol::{FrameHeader, Value, WriteType, write_void};
use storage::TryOutcome;
use topology::{ConsistencyLevel, token_of};

use super::call::Call;
use super::counting::check_attributes;
use super::guarded::guard_write_levels;
use super::write::{Planned, acknowledged};
use super::{Engine, SCRATCH_BYTES_KEPT};
use crate::error::{QueryError, invalid, level};
use crate::execute::bind::{check_count_in_batch, generate, replaced, with_ordered, with_replaced, with_values};
use crate::execute::key::single_key;
use crate::execute::modify::{WriteTime, using_timestamp};
use crate::guardrails::GuardrailCheck;
use crate::plan::{Action, BatchPlan, Binds, Modification, check_counters};
use crate::prepared::Prepared;
use crate::trace::Trace;
use crate::warnings::WithoutGrace;
use crate::{Outcome, Session};

/// A batch of more statements is worked out by a task, which lets others run in between.
const STATEMENTS_NOW_MAX: usize = 500;

impl Engine {
    /// A batch of prepared statements about single rows that this shard owns: one record of its log.
    pub(super) fn batch_now(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Batch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, QueryError> {
        self.check_keyspace(request.params.keyspace)?;
        if request.len() > STATEMENTS_NOW_MAX || request.kind == BatchKind::Counter || self.inner.guards_writes {
            return Ok(Outcome::MustWait);
        }
        let inner = &*self.inner;
        let level = level(request.params.consistency);
        let time = self.write_time(None, &NO_BINDS, &request.params)?;
        let mut scratch = inner.scratch.borrow_mut();
        let scratch = &mut *scratch;
        scratch.mutation.clear();
        let mut ends = Vec::with_capacity(request.len());
        let mut required = 1;
        let mut place = None;
        for statement in request.statements() {
            let prepared = self.batch_prepared(&statement)?;
            let modification = modification_of(&prepared)?;
            check_count_in_batch(&prepared.plan.markers, statement.values)?;
            // The task says if another statement has a fault that comes before a missing permission.
            if inner.authorizer.authorize_part(session, &prepared.plan, &statement.query).is_err() {
                return Ok(Outcome::MustWait);
            }
            // Counters are read before they are changed, each for itself.
            if !prepared.plan.is_quick || modification.counts {
                return Ok(Outcome::MustWait);
            }
            // Its client is warned, which is done where there is time for it.
            if request.kind == BatchKind::Logged && modification.table.options.gc_grace_seconds == 0 {
                return Ok(Outcome::MustWait);
            }
            let mut encode = |values: &[Value<'_>]| {
                let binds = Binds { values, generated: &[], long_texts_checked: false };
                let key = single_key(&modification.table, &modification.key, &binds, &mut scratch.key)?;
                let token = token_of(key);
                let plan = inner.coordinator.plan_write(&modification.replication, token, level)?;
                required = plan.required.max(required);
                let owner = inner.coordinator.place_of_write(&plan);
                if owner != *place.get_or_insert(owner) {
                    return Ok(Some(Outcome::MustWait));
                }
                match owner {
                    PlanPlace::Here => {}
                    // Of another shard's batch the partitions alone are looked at.
                    PlanPlace::Shard(_) => return Ok(None),
                    PlanPlace::OtherNodes => return Ok(Some(Outcome::MustWait)),
                }
                let time = statement_time(modification, &binds, time)?;
                modification.encode_single(&binds, key, token, time, &mut scratch.mutation)?;
                Ok(None)
            };
            let plan = &prepared.plan;
            let outcome =
                with_values(&plan.markers, statement.values, |values| with_ordered(plan, values, &mut encode))?;
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
            ends.push(scratch.mutation.len());
        }
        if let Some(PlanPlace::Shard(shard)) = place {
            return Ok(Outcome::OfShard(shard));
        }
        if ends.is_empty() {
            write_void(out, header.version, header.stream);
            return Ok(Outcome::Ready);
        }
        let mut start = 0;
        let cut = |end: usize| {
            let mutation = &scratch.mutation[start..end];
            start = end;
            mutation
        };
        let mutations: Vec<&[u8]> = ends.into_iter().map(cut).collect();
        let warnings = self.guard_batch_now(&mutations, request.kind == BatchKind::Logged)?;
        let written = inner.coordinator.write_batch_now(&mutations);
        drop(mutations);
        if scratch.mutation.capacity() > SCRATCH_BYTES_KEPT {
            scratch.mutation = Vec::new();
        }
        let write_type = write_type(request.kind);
        match written.map_err(|error| QueryError::Write { error: error.into(), level, required, write_type })? {
            TryOutcome::WouldBlock => Ok(Outcome::MustWait),
            TryOutcome::Done(ack) => {
                let reply = out.len();
                write_void(out, header.version, header.stream);
                insert_warnings(out, reply, &warnings);
                Ok(acknowledged(ack))
            }
        }
    }

    /// A batch message of any shape.
    pub(super) async fn batch_message(
        &self,
        (session, header): (&Session, &FrameHeader),
        request: &Batch<'_>,
        trace: Option<&Trace<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let mut watch = self.guardrail_check();
        let start = out.len();
        let done = self.run_batch((session, header), request, trace, &mut watch, out).await;
        watch.tell(done, out, start)
    }

    /// Runs a batch message. Gives what its client is warned of behind what is watched.
    async fn run_batch(
        &self,
        (session, header): (&Session, &FrameHeader),
        request: &Batch<'_>,
        trace: Option<&Trace<'_>>,
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Vec<String>, QueryError> {
        self.check_keyspace(request.params.keyspace)?;
        let level = level(request.params.consistency);
        let time = self.write_time(None, &NO_BINDS, &request.params)?;
        let keyspace = session.keyspace();
        let keyspace = request.params.keyspace.or(keyspace.as_deref());
        guard_write_levels(watch, &request.params)?;
        let mut planned = Planned::default();
        let mut required = 1;
        let (mut has_counters, mut has_others) = (false, false);
        let (is_logged, mut without_grace) = (request.kind == BatchKind::Logged, WithoutGrace::default());
        for statement in request.statements() {
            let prepared = match statement.query {
                BatchQuery::Prepared(_) => self.batch_prepared(&statement)?,
                BatchQuery::Text(text) => {
                    let planned = self.plan_unprepared_in_steps(text, keyspace).await;
                    Rc::new(planned.map_err(|error| self.inner.authorizer.unplanned(session, error))?)
                }
            };
            let modification = modification_of(&prepared)?;
            check_count_in_batch(&prepared.plan.markers, statement.values)?;
            if let Err(refusal) = self.inner.authorizer.authorize_part(session, &prepared.plan, &statement.query) {
                return Err(first_fault(self, request, keyspace, refusal).await);
            }
            has_counters |= modification.counts;
            has_others |= !modification.counts;
            check_counters(request.kind == BatchKind::Counter, is_logged, has_counters, has_others)?;
            if is_logged {
                without_grace.look_at(&modification.table);
            }
            if modification.conditions.is_some() {
                // One makes all of them parts of a conditional batch. Nothing was done so far.
                watch.begin_again();
                self.conditional_batch_message((session, header), request, keyspace, watch, out).await?;
                return Ok(Vec::new());
            }
            let values = with_values(&prepared.plan.markers, statement.values, |values| Ok(values.to_vec()))?;
            self.check_long_texts(&prepared.plan.markers, &values).await?;
            let replaced = replaced(&prepared.plan, &values)?;
            let values = with_replaced(&values, &replaced);
            let generated = generate(&prepared.plan.generators, &values, &self.inner.clock)?;
            let binds = Binds { values: &values, generated: &generated, long_texts_checked: true };
            self.guard_modification(watch, modification, &binds)?;
            let time = statement_time(modification, &binds, time)?;
            required = required.max(self.plan_mutations(modification, &binds, time, level, watch, &mut planned).await?);
        }
        let step = |activity: &str| trace.iter().for_each(|trace| trace.step(activity.to_owned()));
        step("The batch's statements are planned");
        let warnings = self.guard_batch(&planned, is_logged, without_grace).await?;
        match has_counters {
            true => self.count_planned(planned, level, required).await?,
            false => self.write_planned(planned, is_logged, level, required).await?,
        }
        step("All mutations of the batch are written and synced");
        write_void(out, header.version, header.stream);
        Ok(warnings)
    }

    async fn write_planned(
        &self,
        planned: Planned,
        is_logged: bool,
        level: ConsistencyLevel,
        required: u32,
    ) -> Result<(), QueryError> {
        let coordinator = &self.inner.coordinator;
        let (written, write_type) = match is_logged {
            true => (coordinator.write_logged_batch(planned.mutations, level).await, WriteType::Batch),
            false => (coordinator.write_batch(planned.mutations, level).await, WriteType::UnloggedBatch),
        };
        written.map_err(|error| QueryError::Write { error, level, required, write_type })
    }

    /// Delivers the logged batches that this shard's log held at the start. When every shard has its engine, and the node can follow its cluster. Returns
    /// when each was tried once, or after two seconds.
    pub async fn finish_batches(&self) {
        let (coordinator, engine) = (&self.inner.coordinator, self.clone());
        let found = coordinator.storage().take_unfinished_batches();
        coordinator.finish_batches(found, move |table| engine.catalog().replication_of(table)).await;
    }

    /// BEGIN BATCH … APPLY BATCH. Gives what its client is warned of.
    pub(super) async fn batch_statement(
        &self,
        batch: &BatchPlan,
        binds: &Binds<'_>,
        call: &Call<'_>,
        watch: &mut GuardrailCheck<'_>,
    ) -> Result<Vec<String>, QueryError> {
        let level = level(call.params.consistency);
        let time = self.write_time(batch.timestamp.as_ref(), binds, call.params)?;
        let mut planned = Planned::default();
        let mut required = 1;
        let mut without_grace = WithoutGrace::default();
        for modification in &batch.modifications {
            if batch.is_logged {
                without_grace.look_at(&modification.table);
            }
            let time = statement_time(modification, binds, time)?;
            required = required.max(self.plan_mutations(modification, binds, time, level, watch, &mut planned).await?);
        }
        let warnings = self.guard_batch(&planned, batch.is_logged, without_grace).await?;
        match batch.has_counters {
            true => self.count_planned(planned, level, required).await?,
            false => self.write_planned(planned, batch.is_logged, level, required).await?,
        }
        call.step(|| "All mutations of the batch are written and synced".to_owned());
        Ok(warnings)
    }

    pub(super) fn batch_prepared(&self, statement: &BatchStatement<'_>) -> Result<Rc<Prepared>, QueryError> {
        match statement.query {
            BatchQuery::Prepared(id) => self.prepared(id),
            BatchQuery::Text(_) => panic!("texts are planned elsewhere"),
        }
    }
}

/// The binds of what has no markers.
const NO_BINDS: Binds<'static> = Binds { values: &[], generated: &[], long_texts_checked: false };

/// The error of a batch of which a statement is refused: as in Cassandra, what the preparation of any of them refuses comes first.
#[cold]
pub(super) async fn first_fault(
    engine: &Engine,
    batch: &Batch<'_>,
    keyspace: Option<&str>,
    refusal: QueryError,
) -> QueryError {
    for statement in batch.statements() {
        let prepared = match statement.query {
            BatchQuery::Prepared(_) => engine.batch_prepared(&statement),
            BatchQuery::Text(text) => engine.plan_unprepared_in_steps(text, keyspace).await.map(Rc::new),
        };
        let checked = prepared.and_then(|prepared| {
            modification_of(&prepared)?;
            check_count_in_batch(&prepared.plan.markers, statement.values)
        });
        match checked {
            // Cassandra plans it, and refuses it when it is executed.
            Ok(()) | Err(QueryError::Unwritable { .. }) => {}
            Err(fault) => return fault,
        }
        engine.inner.runtime.maybe_yield().await;
    }
    refusal
}

/// All statements of a batch share its timestamp, unless one brings its own.
fn statement_time(modification: &Modification, binds: &Binds<'_>, batch: WriteTime) -> Result<WriteTime, QueryError> {
    if modification.counts {
        check_attributes(modification)?;
    }
    let timestamp = using_timestamp(modification.timestamp.as_ref(), binds)?.unwrap_or(batch.timestamp);
    Ok(WriteTime { timestamp, asked: timestamp, ..batch })
}

pub(super) fn modification_of(prepared: &Prepared) -> Result<&Modification, QueryError> {
    match &prepared.plan.action {
        Action::Modify(modification) => Ok(modification),
        _ => Err(invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.")),
    }
}

fn write_type(kind: BatchKind) -> WriteType {
    match kind {
        BatchKind::Logged => WriteType::Batch,
        BatchKind::Unlogged => WriteType::UnloggedBatch,
        BatchKind::Counter => WriteType::Counter,
    }
}
