//! A schema statement on the node that was asked: checked here, planned by the leader of the metadata group, and answered when all shards have it.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | its role has lost the permission, or the guardrails of this node refuse it | answered: the refusal |
//! | asked | it gives a column a mask, and this node's configuration enables none | answered: the refusal |
//! | asked | the snapshots of what it drops are made | proposed |
//! | proposed | the group applied it | answered: the event, with warnings |
//! | proposed | the leader refused it: this node, whose state is as late, plans it itself | answered: the refusal, or that nothing changes |
//! | proposed | the same, and by then it can be carried out | asked |
//! | proposed | it could not be made durable | answered: the error |

use cluster::coordinator::TimeoutKind;
use metadata::Turn;
use schema::{SchemaEvent, TableId};

use super::applier::dropped_by;
use super::asked::{Answered, TRIES_MAX, ask};
use super::datacenters::check_datacenters;
use super::intention::{Intention, property_names};
use super::nodes::NodesPlanner;
use crate::control::DdlOutcome;
use crate::engine::Engine;
use crate::error::{QueryError, invalid};
use crate::guardrails::GuardrailCheck;

/// A schema statement on its way.
pub(super) struct SchemaStatement<'a> {
    engine: &'a Engine,
    /// One statement of this node at a time.
    _turn: Turn,
    text: &'a str,
    keyspace: Option<&'a str>,
    /// The role that is to have all permissions on what it makes.
    creator: Option<String>,
    watch: GuardrailCheck<'a>,
}

impl<'a> SchemaStatement<'a> {
    /// The statement `text` of a session in `keyspace`.
    pub(super) fn new(
        engine: &'a Engine,
        turn: Turn,
        text: &'a str,
        keyspace: Option<&'a str>,
        creator: Option<String>,
    ) -> Self {
        SchemaStatement { engine, _turn: turn, text, keyspace, creator, watch: engine.guardrail_check() }
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
                creator: self.creator.clone(),
                text: self.text.to_owned(),
            };
            let check = || intention.check(engine.access().state(), engine.inner.coordinator.storage().planted());
            // It has waited for its turn, or was refused: before snapshots are made of what it drops.
            check()?;
            let schema = engine.schema();
            if schema::sets_mask(&statement) && !engine.inner.masks_enabled {
                let ring = engine.inner.coordinator.ring();
                let plan = intention.plan_without_masks(&schema, &ring, &engine.inner.strategies)?;
                return Ok(DdlOutcome { event: None, warnings: plan.warnings });
            }
            let planned = intention.plan(&schema, &engine.inner.coordinator.ring(), &engine.inner.strategies);
            if let Ok(plan) = &planned {
                engine.guard_changes(&mut self.watch, &statement, &plan.changes)?;
                let coordinator = &engine.inner.coordinator;
                let by = (&*coordinator.ring(), &engine.inner.strategies);
                check_datacenters(&schema, &plan.changes, by, |host| coordinator.is_up(host))?;
                let flushed = engine.flush_for_snapshot(&dropped_by(&schema, &plan.changes)).await;
                flushed.map_err(|what| QueryError::Server { message: format!("nothing was dropped: {what}") })?;
            }
            match (ask(engine, intention.to_bytes(), TimeoutKind::Other).await, planned) {
                (Answered::Applied { event, queued, .. }, planned) => {
                    // A node that got the state as a whole has seen no event.
                    let event = event.or_else(|| SchemaEvent::of_statement(&statement, self.keyspace));
                    let mut warnings = planned.unwrap_or_default().warnings;
                    if let (Some(id), Some(of)) = (queued, &event) {
                        let keyspace = &of.keyspace;
                        warnings.push(format!(
                            "Operation {id} copies the data of keyspace {keyspace} to its new replicas: nodetool operations"
                        ));
                    }
                    return Ok(DdlOutcome { event, warnings });
                }
                (Answered::Refused, _) => {
                    check()?;
                    // The state is as late as the refusal now. Where it can be carried out after all, others have changed the schema since.
                    let ring = engine.inner.coordinator.ring();
                    let plan = intention.plan(&engine.schema(), &ring, &engine.inner.strategies)?;
                    let beside = engine.group().with_member(|member, _| {
                        NodesPlanner::of(member.state().cluster(), &engine.inner.strategies).beside(&plan.changes)
                    });
                    beside.map_err(|error| invalid(error.to_string()))?;
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
}
