//! Prepared statements: PREPARE, the look-up of an id, and plans made anew after a schema change.

use std::cell::OnceCell;
use std::rc::Rc;

use cql_protocol::FrameHeader;
use cql_protocol::request::Prepare;
use cql_protocol::response::{ColumnSpec, PreparedReply, insert_warnings};
use cql_protocol::write_prepared;
use cql_syntax::Statement;
use planted::Bug;
use runtime::{Group, ShardId};

use super::access::check_access;
use super::{Engine, count};
use crate::Session;
use crate::catalog::Catalog;
use crate::control::ControlRequest;
use crate::error::{QueryError, UnknownId};
use crate::plan::{Action, Marker, Plan, PlanContext, PlanNumber, plan, plan_in_steps};
use crate::prepared::{Prepared, statement_id, statement_id_in_steps};

/// A longer text is parsed and planned by a task, with pauses. It may have some 4,000 items, each some 0.5 µs.
pub(super) const TEXT_NOW_BYTES_MAX: usize = 8 << 10;

impl Engine {
    /// The prepared statement with `id`, with a plan of the present schema.
    #[inline]
    pub(super) fn prepared(&self, id: &[u8]) -> Result<Rc<Prepared>, QueryError> {
        let found = match id.try_into() {
            Ok(id) => self.inner.prepared.borrow_mut().get(id).cloned(),
            Err(_) => None,
        };
        match found {
            Some(prepared) if prepared.epoch == self.inner.catalog.borrow().epoch => Ok(prepared),
            Some(prepared) => self.replan(&prepared),
            None => Err(self.unprepared(id)),
        }
    }

    #[cold]
    pub(super) fn unprepared(&self, id: &[u8]) -> QueryError {
        count(&self.inner.counters.unprepared);
        QueryError::Unprepared { id: UnknownId(id.to_vec()) }
    }

    /// Plans a statement again after the schema changed. Where its table is gone, or its markers or result are others by now, the client
    /// must prepare it again: it would send or read values by types that are no longer right.
    #[cold]
    fn replan(&self, old: &Prepared) -> Result<Rc<Prepared>, QueryError> {
        /// A longer text is prepared again by the client, with pauses.
        const TEXT_BYTES_MAX: usize = 1 << 20;
        let is_short = old.text.len() <= TEXT_BYTES_MAX;
        let planned = is_short.then(|| self.plan_unprepared(&old.text, old.keyspace.as_deref()));
        let same = planned.and_then(Result::ok).filter(|new| have_one_shape(&new.plan, &old.plan));
        let mut cache = self.inner.prepared.borrow_mut();
        match same {
            Some(mut new) => {
                new.id = old.id;
                let new = Rc::new(new);
                cache.put(new.clone());
                Ok(new)
            }
            None => {
                cache.remove(&old.id);
                Err(self.unprepared(&old.id.0))
            }
        }
    }

    /// Plans a text.
    pub(super) fn plan_text(&self, text: &str, keyspace: Option<&str>) -> Result<Plan, QueryError> {
        plan_as(self, text, keyspace, false)
    }

    /// Plans a text of any length, with pauses.
    pub(super) async fn plan_text_in_steps(&self, text: &str, keyspace: Option<&str>) -> Result<Plan, QueryError> {
        plan_as_in_steps(self, text, keyspace, false).await
    }

    /// Plans a text in the form of a prepared statement, without keeping it.
    pub(super) fn plan_unprepared(&self, text: &str, keyspace: Option<&str>) -> Result<Prepared, QueryError> {
        let epoch = self.inner.catalog.borrow().epoch;
        let plan = self.plan_text(text, keyspace)?;
        let keyspace = if plan.is_qualified { None } else { keyspace };
        let id = statement_id(keyspace, text);
        let (keyspace, text, masked) = (keyspace.map(str::to_owned), text.to_owned(), OnceCell::new());
        Ok(Prepared { id, keyspace, text, epoch, plan, masked })
    }

    /// The same for a text of any length, with pauses. The plan is of the schema as it was at the beginning.
    pub(super) async fn plan_unprepared_in_steps(
        &self,
        text: &str,
        keyspace: Option<&str>,
    ) -> Result<Prepared, QueryError> {
        let epoch = self.inner.catalog.borrow().epoch;
        let plan = self.plan_text_in_steps(text, keyspace).await?;
        let keyspace = if plan.is_qualified { None } else { keyspace };
        let id = statement_id_in_steps(keyspace, text, &self.inner.runtime).await;
        let (keyspace, text, masked) = (keyspace.map(str::to_owned), text.to_owned(), OnceCell::new());
        Ok(Prepared { id, keyspace, text, epoch, plan, masked })
    }

    /// Prepares a statement on this shard.
    pub(super) async fn install(&self, text: &str, keyspace: Option<&str>) -> Result<Rc<Prepared>, QueryError> {
        let _text = self.inner.texts.begin(text.len()).await;
        let prepared = Rc::new(self.plan_unprepared_in_steps(text, keyspace).await?);
        self.inner.prepared.borrow_mut().put(prepared.clone());
        Ok(prepared)
    }

    /// PREPARE: on all shards, since the client may run the statement on a connection to any.
    pub(super) async fn prepare(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Prepare<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        self.inner.authorizer.check_session(session)?;
        self.check_keyspace(request.keyspace)?;
        let keyspace = session.keyspace();
        let keyspace = request.keyspace.or(keyspace.as_deref());
        let prepared = self.install(request.text, keyspace).await?;
        // As in Cassandra, which validates a statement before it is prepared. The text may have a password, so one that is refused does not stay.
        if let Action::Other(statement) = &prepared.plan.action
            && let Statement::Access(statement) = &**statement
            && let Err(error) = check_access(self, session, statement, keyspace)
        {
            self.inner.prepared.borrow_mut().remove(&prepared.id);
            return Err(error);
        }
        self.install_elsewhere(request.text, keyspace).await;
        write_reply(header, &prepared, out);
        Ok(())
    }

    /// Has the other shards prepare the statement. One that cannot yet, for it is a schema change behind, answers an EXECUTE with
    /// UNPREPARED, and the client prepares again.
    async fn install_elsewhere(&self, text: &str, keyspace: Option<&str>) {
        let mut running = Vec::new();
        let here = self.inner.runtime.shard();
        for shard in (0..self.inner.runtime.shard_count()).map(ShardId).filter(|shard| *shard != here) {
            let mesh = self.control().clone();
            let request = ControlRequest::Install { text: text.to_owned(), keyspace: keyspace.map(str::to_owned) };
            running.push(self.inner.runtime.spawn(Group::Query, async move { mesh.call(shard, request).await }));
        }
        for install in running {
            // A shard that has ended takes the process with it.
            let _ = install.await;
        }
    }
}

/// Plans a text for clients that see values of masked columns, or for those that do not.
pub(super) fn plan_as(engine: &Engine, text: &str, keyspace: Option<&str>, masked: bool) -> Result<Plan, QueryError> {
    let statement = cql_syntax::parse(text)?;
    plan(statement, plan_context(engine, &engine.inner.catalog.borrow(), keyspace, (text, masked)))
}

/// [`plan_as`] for a text of any length, with pauses.
pub(super) async fn plan_as_in_steps(
    engine: &Engine,
    text: &str,
    keyspace: Option<&str>,
    masked: bool,
) -> Result<Plan, QueryError> {
    if text.len() <= TEXT_NOW_BYTES_MAX {
        return plan_as(engine, text, keyspace, masked);
    }
    let runtime = &engine.inner.runtime;
    let mut scan = cql_syntax::Scan::begin(text)?;
    let long = loop {
        if let Some(long) = scan.step()? {
            break long;
        }
        runtime.maybe_yield().await;
    };
    let mut parse = cql_syntax::Parse::with_long(text, &long)?;
    let statement = loop {
        if let Some(statement) = parse.step()? {
            break statement;
        }
        runtime.maybe_yield().await;
    };
    runtime.yield_now().await;
    let catalog = engine.catalog();
    let context = plan_context(engine, &catalog, keyspace, (text, masked));
    let plan = plan_in_steps(statement, context, runtime).await?;
    runtime.yield_now().await;
    Ok(plan)
}

/// True if clients that know the one statement can run the other: its markers and result columns are the same.
pub(super) fn have_one_shape(one: &Plan, other: &Plan) -> bool {
    let columns = |plan: &Plan| plan.select().map(|select| *select.columns.id());
    one.markers == other.markers && columns(one) == columns(other)
}

/// The context of the next plan.
fn plan_context<'a>(
    engine: &'a Engine,
    catalog: &'a Catalog,
    keyspace: Option<&'a str>,
    (text, masked): (&str, bool),
) -> PlanContext<'a> {
    let inner = &*engine.inner;
    let planted = inner.coordinator.storage().planted();
    let number = match planted.is(Bug::UseChangesNothing) {
        true => PlanNumber::of_text(text),
        false => inner.plan_numbers.replace(inner.plan_numbers.get().next()),
    };
    let (guardrails, checks_access) = (&inner.guardrails, inner.authorizer.is_on());
    PlanContext { catalog, keyspace, guardrails, number, checks_access, masked, planted }
}

fn write_reply(header: &FrameHeader, prepared: &Prepared, out: &mut Vec<u8>) {
    let markers: Vec<ColumnSpec<'_>> = prepared.plan.markers.iter().map(Marker::spec).collect();
    let select = prepared.plan.select();
    let columns = select.map_or(Vec::new(), |select| select.columns.specs());
    let start = out.len();
    let reply = PreparedReply {
        id: &prepared.id.0,
        result_metadata_id: select.map_or(&NO_COLUMNS_ID, |select| select.columns.id()),
        markers: &markers,
        partition_key: &prepared.plan.key_markers,
        columns: &columns,
    };
    write_prepared(out, header.version, header.stream, &reply);
    insert_warnings(out, start, &prepared.plan.warnings);
}

/// The id of a result without columns: the MD5 of nothing.
const NO_COLUMNS_ID: [u8; 16] =
    [0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42, 0x7e];
