//! The steps of a schema statement. Their order is `metadata`'s.

use std::collections::BTreeSet;

use cql_syntax::Statement;
use metadata::{MetadataError, Record, Steps, Turn};
use schema::{DdlContext, DdlPlan, Schema, SchemaChange, TableId, plan_ddl};

use super::rows::ForgottenRows;
use crate::control::{ControlRequest, DdlOutcome};
use crate::domain::SchemaDomain;
use crate::engine::Engine;
use crate::error::QueryError;
use crate::guardrails::GuardrailCheck;

/// A schema statement on its way.
pub(super) struct SchemaStatement<'a> {
    engine: &'a Engine,
    text: &'a str,
    keyspace: Option<&'a str>,
    watch: GuardrailCheck<'a>,
    planned: Option<Planned>,
}

/// A statement's plan, and the tables that it concerns beyond its changes.
struct Planned {
    statement: Statement,
    plan: DdlPlan,
    /// New tables with ids that the statement gave.
    reused: Vec<TableId>,
    /// Tables that do not exist after it.
    dropped: Vec<TableId>,
}

impl<'a> SchemaStatement<'a> {
    /// The statement `text` of a session in `keyspace`.
    pub(super) fn new(engine: &'a Engine, text: &'a str, keyspace: Option<&'a str>) -> SchemaStatement<'a> {
        SchemaStatement { engine, text, keyspace, watch: engine.guardrail_check(), planned: None }
    }

    /// The answer to its client, once it was carried out.
    pub(super) fn outcome(self, result: Result<(), QueryError>) -> Result<DdlOutcome, QueryError> {
        let mut warnings = self.watch.into_warnings();
        match (result, self.planned) {
            (Ok(()), Some(Planned { plan, .. })) => {
                warnings.extend(plan.warnings);
                Ok(DdlOutcome { event: plan.event, warnings })
            }
            (Ok(()), None) => panic!("a statement is planned before it is carried out"),
            (Err(error), _) => Err(error.with_warnings(warnings)),
        }
    }

    fn planned(&self) -> &Planned {
        self.planned.as_ref().expect("the plan precedes all other steps")
    }
}

impl Steps for SchemaStatement<'_> {
    type Error = QueryError;

    fn plan(&mut self) -> Result<bool, QueryError> {
        let engine = self.engine;
        let mut statement = cql_syntax::parse(self.text)?;
        engine.guard_ddl(&mut self.watch, &mut statement, self.keyspace)?;
        let ring = engine.inner.coordinator.ring();
        let datacenters: BTreeSet<String> = ring.nodes().iter().map(|node| node.datacenter.clone()).collect();
        let context = DdlContext {
            current_keyspace: self.keyspace,
            new_id: TableId(engine.inner.clock.time_uuid()),
            datacenters: &datacenters,
            node_count: ring.nodes().len(),
            now_micros: engine.inner.clock.wall_micros(),
        };
        let schema = engine.schema();
        let plan = plan_ddl(&schema, &statement, &context)?;
        let is_change = !plan.changes.is_empty();
        let reused = plan.changes.iter().filter_map(|change| reused_id(&schema, change, context.new_id)).collect();
        let dropped = dropped_by(&schema, &plan.changes);
        self.planned = Some(Planned { statement, plan, reused, dropped });
        Ok(is_change)
    }

    fn check(&mut self) -> Result<(), QueryError> {
        let Planned { statement, plan, .. } = self.planned.as_ref().expect("the plan precedes all other steps");
        self.engine.guard_changes(&mut self.watch, statement, &plan.changes)
    }

    async fn prepare(&mut self, turn: &Turn<'_>) -> Result<Record, QueryError> {
        let (engine, planned) = (self.engine, self.planned());
        for table in &planned.reused {
            turn.carry_out(&mut ForgottenRows::new(engine, *table)).await?;
        }
        engine
            .flush_for_snapshot(&planned.dropped)
            .await
            .map_err(|what| QueryError::Server { message: format!("nothing was dropped: {what}") })?;
        Ok(SchemaDomain::entry(&planned.plan.changes).into())
    }

    fn not_durable(&self, error: MetadataError) -> QueryError {
        QueryError::Server { message: format!("the change could not be made durable: {error}") }
    }

    async fn apply_on_all(&mut self) -> Result<(), QueryError> {
        let changes = &self.planned().plan.changes;
        self.engine.on_all_shards(|| ControlRequest::ApplySchema { changes: changes.clone() }).await.map(drop)
    }

    async fn finish(&mut self) -> Result<(), QueryError> {
        let (engine, Planned { plan, dropped, .. }) = (self.engine, self.planned());
        // A client that hears of the change may use any shard at once, so all must have it by then.
        if let Some(event) = &plan.event {
            engine.on_all_shards(|| ControlRequest::Announce { event: event.clone() }).await?;
        }
        if !dropped.is_empty() {
            let at = engine.snapshot_time();
            engine.on_all_shards(|| ControlRequest::DiscardDropped { at: at.clone() }).await?;
            engine.sweep_shared().await;
        }
        Ok(())
    }
}

/// The tables that do not exist any more after `changes`.
fn dropped_by(before: &Schema, changes: &[SchemaChange]) -> Vec<TableId> {
    // A table that takes another's place has its id.
    if !changes.iter().any(SchemaChange::drops_tables) {
        return Vec::new();
    }
    let after = before.with_all(changes);
    before.tables().map(|table| table.id).filter(|id| after.table_by_id(*id).is_none()).collect()
}

/// The id of a new table, if the statement gave it. A dropped table may have had it, and the commit logs its rows still:
/// a start would apply them to the new table, whose columns may be others.
fn reused_id(before: &Schema, change: &SchemaChange, new_id: TableId) -> Option<TableId> {
    match change {
        SchemaChange::PutTable(table) if table.id != new_id => {
            before.table_by_id(table.id).is_none().then_some(table.id)
        }
        _ => None,
    }
}
