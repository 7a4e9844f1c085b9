//! The way of requests that must wait: each is a task that owns a copy of its frame.

use std::cell::Cell;

use cluster::coordinator::TimeoutKind;
use cql_protocol::request::{Batch, BatchQuery, Query, Request};
use cql_protocol::response::{SchemaChange, SchemaChangeKind, SchemaTarget, insert_warnings, write_schema_change};
use cql_protocol::{FrameHeader, write_set_keyspace, write_void};
use cql_syntax::Statement;
use schema::{ChangeTarget, ChangeType, SchemaEvent};

use super::access::run_access;
use super::call::Call;
use super::failed::FailedKind;
use super::prepare::plan_as_in_steps;
use super::read::check_page_size;
use super::reply::{REPLY_BYTES_USUAL, ReplyTo, replace_by_error, warn_of_use};
use super::{Engine, count, masks};
use crate::Session;
use crate::catalog::no_keyspace;
use crate::control::DdlOutcome;
use crate::describe;
use crate::error::{QueryError, invalid};
use crate::execute::bind::{check_count_of_text, generate, replaced, with_replaced, with_values};
use crate::guardrails::GuardrailCheck;
use crate::plan::{Action, Binds};
use crate::prepared::statement_id_in_steps;
use crate::trace::{Trace, shown};

/// The most plans of one request: each comes after a change of the ring or of a table. None is made after the time that a read of a partition may take.
const PLANS_MAX: u32 = 8;
/// The most bytes of a schema statement's text.
const DDL_BYTES_MAX: usize = 2 << 20;

/// A request that was run as a task.
#[derive(Debug)]
pub struct Ran {
    /// Its reply, a whole frame, uncompressed.
    pub frame: Vec<u8>,
    /// True if it reads ranges of tokens.
    pub is_scan: bool,
}

impl Engine {
    /// Answers any QUERY, PREPARE, EXECUTE or BATCH, waiting as it must.
    pub async fn run(&self, session: &Session, header: &FrameHeader, body: &[u8]) -> Ran {
        count(&self.inner.counters.requests_run);
        let is_scan = Cell::new(false);
        let mut out = Vec::with_capacity(REPLY_BYTES_USUAL);
        if let Err(error) = run_planning_again(self, session, (header, body), (None, &is_scan), &mut out).await {
            replace_by_error(&mut out, 0, header, error);
        }
        Ran { frame: out, is_scan: is_scan.get() }
    }

    /// Runs a request once, and says if it is a scan. See [`run_planning_again`].
    async fn run_request(
        &self,
        session: &Session,
        header: &FrameHeader,
        body: &[u8],
        (trace, is_scan): (Option<&Trace<'_>>, &Cell<bool>),
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        self.inner.runtime.label(header.opcode.name());
        match Request::decode(header, body)? {
            Request::Query(request) => {
                if let Some(trace) = trace {
                    trace.request("Execute CQL3 query", Some(request.text), Some(&request.params));
                }
                let outcome = {
                    let _text = self.inner.texts.begin(request.text.len()).await;
                    self.run_query(session, header, &request, (trace, is_scan), out).await
                };
                self.or_on_other_shard(outcome, session, (header, body), out).await
            }
            Request::Prepare(request) => {
                if let Some(trace) = trace {
                    trace.request("Preparing CQL3 query", Some(request.text), None);
                    trace.step("Parsing and planning the statement on all shards".to_owned());
                }
                self.prepare(session, header, &request, out).await
            }
            Request::Execute(request) => {
                let prepared = self.prepared(request.id)?;
                self.inner.authorizer.authorize(session, &prepared.plan, &request.params)?;
                is_scan.set(prepared.plan.is_scan());
                if let Some(trace) = trace {
                    trace.request("Execute CQL3 prepared query", Some(&prepared.text), Some(&request.params));
                }
                let masked = masks::reads_masked(self, session, &prepared.plan);
                let reply = ReplyTo::new(header, &request.params, request.result_metadata_id).masked(masked);
                let plan = masks::plan_in_time(self, &prepared, masked).await?;
                let call = Call { plan, id: prepared.id, params: &request.params, reply, trace };
                let keyspace = prepared.keyspace.as_deref();
                let start = out.len();
                let outcome = self.run_call(session, header, &call, &prepared.text, keyspace, out).await;
                self.or_on_other_shard(outcome, session, (header, body), out).await?;
                if !prepared.plan.is_qualified && !matches!(prepared.plan.action, Action::Batch(_)) {
                    warn_of_use(session, &prepared, start, out);
                }
                Ok(())
            }
            Request::Batch(request) => {
                if let Some(trace) = trace {
                    trace.request("Execute batch of CQL3 queries", None, Some(&request.params));
                }
                let outcome = {
                    let _texts = self.inner.texts.begin(text_bytes(&request)).await;
                    self.batch_message((session, header), &request, trace, out).await
                };
                let outcome = outcome.inspect_err(|error| self.inner.failed.note(Some(FailedKind::Write), error));
                self.or_on_other_shard(outcome, session, (header, body), out).await
            }
            other => {
                Err(QueryError::Protocol { message: format!("{} is no request for the engine", other.opcode().name()) })
            }
        }
    }

    async fn run_query(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Query<'_>,
        (trace, is_scan): (Option<&Trace<'_>>, &Cell<bool>),
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        if let Some(trace) = trace {
            trace.step(format!("Parsing {}", shown(request.text)));
        }
        self.check_keyspace(request.params.keyspace)?;
        let keyspace = session.keyspace();
        let keyspace = request.params.keyspace.or(keyspace.as_deref());
        let id = statement_id_in_steps(keyspace, request.text, &self.inner.runtime).await;
        let mut plan = match self.take_planned(id) {
            Some(plan) => plan,
            None => {
                let planned = self.plan_text_in_steps(request.text, keyspace).await;
                planned.map_err(|error| self.inner.authorizer.unplanned(session, error))?
            }
        };
        is_scan.set(plan.is_scan());
        check_count_of_text(&plan.markers, request.params.values)?;
        self.inner.authorizer.authorize(session, &plan, &request.params)?;
        let masked = masks::reads_masked(self, session, &plan);
        if masked && matches!(plan.action, Action::Select(_)) {
            plan = plan_as_in_steps(self, request.text, keyspace, true).await?;
        }
        let reply = ReplyTo::new(header, &request.params, None).masked(masked);
        let call = Call { plan: &plan, id, params: &request.params, reply, trace };
        call.step(|| "The statement is planned".to_owned());
        let outcome = self.run_call(session, header, &call, request.text, keyspace, out).await;
        if let Action::Batch(batch) = plan.action {
            // The plans of thousands of statements are let go one by one.
            for modification in batch.modifications {
                drop(modification);
                self.inner.runtime.maybe_yield().await;
            }
        }
        outcome
    }

    async fn run_call(
        &self,
        session: &Session,
        header: &FrameHeader,
        call: &Call<'_>,
        text: &str,
        keyspace: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        self.inner.runtime.label(call.plan.action.label());
        check_page_size(call.params)?;
        let values = with_values(&call.plan.markers, call.params.values, |values| Ok(values.to_vec()))?;
        self.check_long_texts(&call.plan.markers, &values).await?;
        let replaced = replaced(call.plan, &values)?;
        let values = with_replaced(&values, &replaced);
        let generated = generate(&call.plan.generators, &values, &self.inner.clock)?;
        let binds = Binds { values: &values, generated: &generated, long_texts_checked: true };
        let mut watch = self.guardrail_check();
        let start = out.len();
        let done = self.run_bound(session, header, (call, binds), (text, keyspace), &mut watch, out).await;
        let done = done.inspect_err(|error| self.inner.failed.note(call.failed_kind(), error));
        watch.tell(done, out, start)
    }

    /// Runs what has its values. Gives what its client is warned of beside what guardrails say.
    async fn run_bound(
        &self,
        session: &Session,
        header: &FrameHeader,
        (call, binds): (&Call<'_>, Binds<'_>),
        (text, keyspace): (&str, Option<&str>),
        watch: &mut GuardrailCheck<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Vec<String>, QueryError> {
        self.guard(watch, call, &binds)?;
        let mut warnings = Vec::new();
        match &call.plan.action {
            Action::Modify(modification) if modification.conditions.is_some() => {
                self.conditional(modification, binds, call, watch, out).await?;
            }
            Action::Modify(modification) => {
                self.modify(modification, &binds, call, watch).await?;
                write_void(out, header.version, header.stream);
            }
            Action::Batch(batch) if batch.is_conditional() => {
                self.conditional_batch(batch, binds, call, watch, out).await?;
            }
            Action::Batch(batch) => {
                warnings.extend(self.batch_statement(batch, &binds, call, watch).await?);
                write_void(out, header.version, header.stream);
            }
            Action::Select(select) => {
                // A result of long rows is begun again with memory for it. There is nothing before it in `out`.
                let mut room = 0;
                let warned = |error: QueryError| error.with_warning(select.warning());
                warnings.extend(select.warning().map(str::to_owned));
                while let Some(wanted) =
                    self.select(select, binds, call, (out, room), &mut warnings).await.map_err(warned)?
                {
                    *out = self.inner.runtime.touched(wanted).await;
                    room = out.capacity();
                }
            }
            Action::SelectVirtual(select) => {
                let selected = self.select_virtual(select, &binds, call, out).await;
                selected.map_err(|error| error.with_warning(select.warning()))?;
                warnings.extend(select.warning().map(str::to_owned));
            }
            Action::Other(statement) => {
                self.run_other(session, header, (call, statement), text, keyspace, out).await?;
            }
        }
        Ok(warnings)
    }

    async fn run_other(
        &self,
        session: &Session,
        header: &FrameHeader,
        (call, statement): (&Call<'_>, &Statement),
        text: &str,
        keyspace: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        match statement {
            Statement::Use { keyspace } => {
                self.use_keyspace(session, keyspace)?;
                write_set_keyspace(out, header.version, header.stream, keyspace);
            }
            Statement::Truncate(table) => {
                let keyspace = table.keyspace.as_deref().or(keyspace).ok_or_else(no_keyspace)?;
                self.truncate(session, keyspace, &table.table).await?;
                write_void(out, header.version, header.stream);
            }
            Statement::Describe(statement) => {
                // What USE said, not what the request says: as in Cassandra, whose requests' keyspace is for names in statements.
                let keyspace = session.keyspace();
                let (catalog, page) = (self.catalog(), describe::Page { id: call.id, params: call.params });
                describe::write(statement, keyspace.as_deref(), &catalog, &self.inner.node, page, header, out)?;
            }
            Statement::Access(statement) => {
                check_length(text)?;
                run_access(self, session, (header, statement), keyspace, out).await?;
            }
            statement if schema::is_ddl(statement) => {
                // It is parsed again where it is done, at once.
                check_length(text)?;
                let outcome = self.change_schema(session, text, keyspace).await?;
                write_ddl_outcome(header, &outcome, out);
            }
            _ => return Err(invalid("The statement is not supported yet")),
        }
        Ok(())
    }

    /// Refuses the keyspace of a request if there is none called so.
    pub(super) fn check_keyspace(&self, keyspace: Option<&str>) -> Result<(), QueryError> {
        match keyspace {
            Some(keyspace) if !self.inner.catalog.borrow().has_keyspace(keyspace) => {
                Err(invalid(format!("Keyspace '{keyspace}' does not exist")))
            }
            _ => Ok(()),
        }
    }

    /// USE.
    pub(super) fn use_keyspace(&self, session: &Session, keyspace: &str) -> Result<(), QueryError> {
        self.check_keyspace(Some(keyspace))?;
        session.set_keyspace(keyspace);
        Ok(())
    }
}

/// Refuses a text of a schema statement, or of one about roles, that is too long for the metadata group.
fn check_length(text: &str) -> Result<(), QueryError> {
    match text.len() <= DDL_BYTES_MAX {
        true => Ok(()),
        false => {
            let length = text.len();
            Err(invalid(format!("a schema statement has at most {DDL_BYTES_MAX} bytes, this one {length}")))
        }
    }
}

/// Runs a request, again from its plan on where the ring or a table has changed before it has written anything.
pub(super) async fn run_planning_again(
    engine: &Engine,
    session: &Session,
    (header, body): (&FrameHeader, &[u8]),
    (trace, is_scan): (Option<&Trace<'_>>, &Cell<bool>),
    out: &mut Vec<u8>,
) -> Result<(), QueryError> {
    let runtime = &engine.inner.runtime;
    let began = runtime.now();
    let is_in_time = || runtime.now() < began + engine.inner.coordinator.timeouts().get(TimeoutKind::Read);
    for _ in 1..PLANS_MAX {
        match engine.run_request(session, header, body, (trace, is_scan), out).await {
            Err(error) if error.is_outdated() && is_in_time() => {
                stdx::sometimes!("a statement is planned again");
                trace.iter().for_each(|trace| trace.step(format!("Planning again: {error}")));
                out.clear();
            }
            done => return done,
        }
    }
    engine.run_request(session, header, body, (trace, is_scan), out).await
}

fn write_ddl_outcome(header: &FrameHeader, outcome: &DdlOutcome, out: &mut Vec<u8>) {
    let start = out.len();
    match &outcome.event {
        Some(event) => write_schema_change(out, header.version, header.stream, &schema_change(event)),
        None => write_void(out, header.version, header.stream),
    }
    insert_warnings(out, start, &outcome.warnings);
}

fn schema_change(event: &SchemaEvent) -> SchemaChange {
    SchemaChange {
        kind: match event.change {
            ChangeType::Created => SchemaChangeKind::Created,
            ChangeType::Updated => SchemaChangeKind::Updated,
            ChangeType::Dropped => SchemaChangeKind::Dropped,
        },
        keyspace: event.keyspace.clone(),
        target: match event.target {
            ChangeTarget::Keyspace => SchemaTarget::Keyspace,
            ChangeTarget::Table => SchemaTarget::Table { name: event.name.clone() },
            ChangeTarget::Type => SchemaTarget::Type { name: event.name.clone() },
        },
    }
}

/// Bytes of the texts of a BATCH.
fn text_bytes(batch: &Batch<'_>) -> usize {
    let texts = batch.statements().map(|statement| match statement.query {
        BatchQuery::Text(text) => text.len(),
        BatchQuery::Prepared(_) => 0,
    });
    texts.sum()
}
