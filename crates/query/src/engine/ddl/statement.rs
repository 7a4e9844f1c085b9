//! A schema statement on the node that was asked: checked here, planned by the leader of the metadata group, and answered when all shards have it.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | the guardrails of this node refuse it | answered: the refusal |
//! | asked | its rows under a reused id are forgotten, and the snapshots of what it drops are made | proposed |
//! | proposed | the group applied it | answered: the event, with warnings |
//! | proposed | the leader refused it: this node, whose state is as late, plans it itself | answered: the refusal, or that nothing changes |
//! | proposed | the same, and by then it can be carried out | asked |
//! | proposed | it could not be made durable | answered: the error |

use std::time::Duration;

use metadata::Turn;
use metadata::group::Answer;
use schema::{DdlPlan, Schema, SchemaChange, SchemaEvent, TableId};

use super::applier::dropped_by;
use super::intention::{Intention, property_names};
use super::rows::ForgottenRows;
use crate::control::DdlOutcome;
use crate::engine::Engine;
use crate::error::QueryError;
use crate::guardrails::GuardrailCheck;

/// Times that a statement is proposed again because others changed the schema meanwhile.
const TRIES_MAX: u32 = 16;

/// Time in which this node applies what the group has.
const APPLY_TIME: Duration = Duration::from_secs(10);
const LAGS: &str = "this node does not reach the cluster's metadata group, and lags; the change may have been applied";
const NO_LEADER: &str = "the cluster's metadata has no leader, since no majority of its voters answers; nothing was changed. If they are lost for good: helenus --recover-metadata";
const UNKNOWN: &str =
    "no answer of the cluster's metadata leader in time; the change may have been applied, or may be yet";

/// A schema statement on its way.
pub(super) struct SchemaStatement<'a> {
    engine: &'a Engine,
    /// One statement of this node at a time.
    turn: Turn<'a>,
    text: &'a str,
    keyspace: Option<&'a str>,
    watch: GuardrailCheck<'a>,
}

impl<'a> SchemaStatement<'a> {
    /// The statement `text` of a session in `keyspace`.
    pub(super) fn new(engine: &'a Engine, turn: Turn<'a>, text: &'a str, keyspace: Option<&'a str>) -> Self {
        SchemaStatement { engine, turn, text, keyspace, watch: engine.guardrail_check() }
    }

    /// Carries it out. Warnings of guardrails come with an error too.
    pub(super) async fn run(mut self) -> Result<DdlOutcome, QueryError> {
        let result = self.propose().await;
        let mut warnings = self.watch.into_warnings();
        match result {
            Ok(outcome) => {
                warnings.extend(outcome.warnings);
                Ok(DdlOutcome { event: outcome.event, warnings })
            }
            Err(error) => Err(error.with_warnings(warnings)),
        }
    }

    async fn propose(&mut self) -> Result<DdlOutcome, QueryError> {
        let engine = self.engine;
        let mut statement = cql_syntax::parse(self.text)?;
        let mut ignored = property_names(&mut statement);
        engine.guard_ddl(&mut self.watch, &mut statement, self.keyspace)?;
        let kept = property_names(&mut statement);
        ignored.retain(|name| !kept.contains(name));
        for _ in 0..TRIES_MAX {
            let intention = Intention {
                new_id: TableId(engine.inner.clock.time_uuid()),
                now_micros: engine.inner.clock.wall_micros(),
                keyspace: self.keyspace.map(str::to_owned),
                ignored: ignored.clone(),
                text: self.text.to_owned(),
            };
            let schema = engine.schema();
            let planned = intention.plan(&schema, &engine.inner.coordinator.ring());
            if let Ok(plan) = &planned {
                engine.guard_changes(&mut self.watch, &statement, &plan.changes)?;
                self.precede(&schema, plan, intention.new_id).await?;
            }
            match (self.ask(&intention).await, planned) {
                (Answered::Applied { event }, planned) => {
                    // A node that got the state as a whole has seen no event.
                    let event = event.or_else(|| SchemaEvent::of_statement(&statement, self.keyspace));
                    return Ok(DdlOutcome { event, warnings: planned.unwrap_or_default().warnings });
                }
                (Answered::Refused, _) => {
                    // The state is as late as the refusal now. Where it can be carried out after all, others have changed the schema since.
                    let plan = intention.plan(&engine.schema(), &engine.inner.coordinator.ring())?;
                    if plan.changes.is_empty() {
                        return Ok(DdlOutcome { event: None, warnings: plan.warnings });
                    }
                }
                (Answered::Again, _) => {}
                (Answered::Failed(message), _) => return Err(QueryError::Server { message }),
            }
        }
        Err(QueryError::Server { message: "the schema changed too often meanwhile; try again".to_owned() })
    }

    /// Does what must precede a change on the node that was asked.
    async fn precede(&self, schema: &Schema, plan: &DdlPlan, new_id: TableId) -> Result<(), QueryError> {
        for table in plan.changes.iter().filter_map(|change| reused_id(schema, change, new_id)) {
            self.turn.carry_out(&mut ForgottenRows::new(self.engine, table)).await?;
        }
        let flushed = self.engine.flush_for_snapshot(&dropped_by(schema, &plan.changes)).await;
        flushed.map_err(|what| QueryError::Server { message: format!("nothing was dropped: {what}") })
    }

    /// Proposes the statement, and waits for the outcome.
    async fn ask(&self, intention: &Intention) -> Answered {
        let own_events = &self.engine.inner.own_events;
        let group = self.engine.group();
        let id = group.new_id();
        own_events.borrow_mut().insert(id, None);
        let answer = group.propose(id, intention.to_bytes()).await;
        if let Answer::Applied { epoch, .. } | Answer::Refused { epoch, .. } = answer {
            // The leader waits for nodes that it sees up, of which this one may be none; its state must be as late as the answer.
            let is_late = self.engine.inner.runtime.timeout(APPLY_TIME, group.applied(epoch)).await.is_err();
            if is_late {
                own_events.borrow_mut().remove(&id);
                return Answered::Failed(LAGS.to_owned());
            }
        }
        let event = own_events.borrow_mut().remove(&id).flatten();
        match answer {
            Answer::Applied { .. } => Answered::Applied { event },
            Answer::Refused { .. } => Answered::Refused,
            Answer::TooLate => Answered::Again,
            Answer::Failed { reason } => Answered::Failed(format!("the change could not be made durable: {reason}")),
            Answer::Busy => Answered::Failed("too many schema changes wait; try again".to_owned()),
            Answer::NoLeader => Answered::Failed(NO_LEADER.to_owned()),
            Answer::Unknown => Answered::Failed(UNKNOWN.to_owned()),
        }
    }
}

/// The group's answer, as the statement needs it.
enum Answered {
    /// The change is applied; the event is what clients received, unless this node got the state as a whole.
    Applied {
        event: Option<SchemaEvent>,
    },
    Refused,
    Again,
    Failed(String),
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
