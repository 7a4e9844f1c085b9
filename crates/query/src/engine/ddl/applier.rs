//! The engine as the metadata group sees it: it plans what a statement asks for, and has all shards apply what was agreed on.

use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

use metadata::group::{Applier, Applying, GroupMessage, Index, NodeId, Plan, Planner, ProposalId};
use metadata::{ClusterState, Domain, Entry};
use schema::{Schema, SchemaChange, SchemaEvent, TableId};

use super::intention::Intention;
use crate::control::ControlRequest;
use crate::discarded::snapshot_time;
use crate::domain::SchemaDomain;
use crate::engine::{Engine, Inner};
use crate::error::QueryError;

/// Shard 0's engine, as long as it is there.
pub(crate) struct EngineApplier {
    engine: Weak<Inner>,
}

impl EngineApplier {
    pub(crate) fn new(engine: &Engine) -> EngineApplier {
        EngineApplier { engine: Rc::downgrade(&engine.inner) }
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }
}

impl Planner for EngineApplier {
    fn plan(&self, state: &ClusterState, intention: &[u8]) -> Plan {
        let Some(engine) = self.engine() else { return Plan::Refused(Vec::new()) };
        let ring = engine.inner.coordinator.ring();
        let planned = Intention::decode(intention).map(|of| of.plan(state.of::<SchemaDomain>(), &ring));
        match planned {
            Ok(Ok(plan)) if !plan.changes.is_empty() => Plan::Change(SchemaDomain::entry(&plan.changes)),
            // The asker plans it on the same state, and finds the reason by itself.
            _ => Plan::Refused(Vec::new()),
        }
    }
}

impl Applier for EngineApplier {
    fn apply(&self, _epoch: Index, id: ProposalId, entry: Entry) -> Applying<'_> {
        Box::pin(async move {
            let Some(engine) = self.engine() else { return };
            for part in entry.parts().iter().filter(|part| part.domain == SchemaDomain::ID) {
                let changes =
                    SchemaDomain::decode(part.version, &part.bytes).expect("the group's state has applied it");
                if let Err(error) = apply_to_shards(&engine, id, &changes).await {
                    tracing::error!(%error, "schema change not applied by all shards");
                }
            }
        })
    }

    fn replace(&self, _epoch: Index, state: ClusterState) -> Applying<'_> {
        Box::pin(async move {
            let Some(engine) = self.engine() else { return };
            let changes = replacing(&engine.schema(), state.of::<SchemaDomain>());
            if let Err(error) = apply_to_shards(&engine, ProposalId(0), &changes).await {
                tracing::error!(%error, "schema of another node not applied by all shards");
            }
        })
    }

    fn send(&self, _to: NodeId, _message: GroupMessage) {
        // A node is alone in its group until nodes can join.
    }
}

/// The changes that make a schema of another.
fn replacing(before: &Schema, after: &Schema) -> Vec<SchemaChange> {
    let puts = after.as_changes();
    let gone = before.keyspaces().keys().filter(|name| after.keyspace(name).is_none());
    let drops = gone.map(|name| SchemaChange::DropKeyspace(name.to_string()));
    drops.chain(puts).collect()
}

/// Has all shards apply a schema change that is durable, then does what may follow only then: announcements, deletions.
async fn apply_to_shards(engine: &Engine, id: ProposalId, changes: &[SchemaChange]) -> Result<(), QueryError> {
    let before = engine.schema();
    let events: Vec<SchemaEvent> = changes.iter().map(|change| SchemaEvent::of(&before, change)).collect();
    let dropped = dropped_by(&before, changes);
    if let Err(error) = engine.flush_for_snapshot(&dropped).await {
        tracing::warn!(%error, "snapshot of a dropped table lacks its last writes");
    }
    engine.on_all_shards(|| ControlRequest::ApplySchema { changes: changes.to_vec() }).await?;
    // A client that hears of the change may use any shard at once, so all must have it by then.
    for event in &events {
        engine.on_all_shards(|| ControlRequest::Announce { event: event.clone() }).await?;
    }
    if let Some(event) = engine.inner.own_events.borrow_mut().get_mut(&id) {
        *event = events.into_iter().next();
    }
    if !dropped.is_empty() {
        let at = snapshot_time(&engine.inner.runtime);
        engine.on_all_shards(|| ControlRequest::DiscardDropped { at: at.clone() }).await?;
        engine.sweep_shared().await;
    }
    Ok(())
}

/// The tables that do not exist any more after `changes`.
pub(super) fn dropped_by(before: &Schema, changes: &[SchemaChange]) -> Vec<TableId> {
    // A table that takes another's place has its id.
    if !changes.iter().any(SchemaChange::drops_tables) {
        return Vec::new();
    }
    let after = before.with_all(changes);
    let kept: BTreeSet<TableId> = after.tables().map(|table| table.id).collect();
    before.tables().map(|table| table.id).filter(|id| !kept.contains(id)).collect()
}
