//! The engine as the metadata group sees it: it plans what a statement asks for, and has all shards apply what was agreed on.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

use auth::Schemas;
use cluster::paxos::LowBound;
use membership::{OperationsDomain, TopologyDomain};
use metadata::group::{Applier, Applying, Configuration, GroupMessage, Index, NodeId, Plan, Planner, ProposalId};
use metadata::{ClusterState, Domain, Entry, Part};
use planted::Planted;
use schema::{Schema, SchemaChange, SchemaEvent, TableId};
use topology::Epoch;
use topology::nodes::Registry;
use topology::operations::{Kind, Operation, OperationChange, Operations};

use super::intention::{self, Intention, TruncateIntention, truncations_beside};
use super::low_bound::{LOW_BOUND, plan_low_bound};
use super::nodes::NodesPlanner;
use super::rows::NodeTruncations;
use crate::access::{ACCESS, datacenters, grants_beside, plan_bytes};
use crate::control::{AccessUpdate, ControlRequest, InstalledRing};
use crate::discarded::snapshot_time;
use crate::domain::{AccessDomain, LowBoundDomain, SchemaDomain, TruncationsDomain};
use crate::engine::{Engine, Inner};
use crate::error::QueryError;
use crate::event::Event;
use crate::nodes::{LEAVE, MEMBERSHIP, OPERATION, REBUILD};
use crate::own_proposal::OwnProposal;
use crate::parts::GroupLinks;

/// Shard 0's engine, as long as it is there, and the way to other nodes.
pub(crate) struct EngineApplier {
    engine: Weak<Inner>,
    links: Option<Rc<dyn GroupLinks>>,
    /// The nodes of the cluster and its operations, as all shards know them.
    nodes: RefCell<Nodes>,
    low_bound: RefCell<LowBound>,
    truncations: NodeTruncations,
}

/// The nodes of the cluster and its operations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nodes {
    pub(super) registry: Registry,
    pub(super) operations: Operations,
}

impl Nodes {
    pub(super) fn of(state: &ClusterState) -> Nodes {
        let (registry, operations) = (state.of::<TopologyDomain>().clone(), state.of::<OperationsDomain>().clone());
        Nodes { registry, operations }
    }
}

impl EngineApplier {
    pub(super) fn new(
        engine: &Engine,
        links: Option<Rc<dyn GroupLinks>>,
        (nodes, low_bound): (Nodes, LowBound),
        truncations: NodeTruncations,
    ) -> EngineApplier {
        let (nodes, low_bound) = (RefCell::new(nodes), RefCell::new(low_bound));
        EngineApplier { engine: Rc::downgrade(&engine.inner), links, nodes, low_bound, truncations }
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }

    /// Has all shards apply a low bound of attempts.
    async fn bound(&self, engine: &Engine, epoch: Index, bound: LowBound) -> Result<(), QueryError> {
        self.low_bound.replace(bound.clone());
        let bounded = || ControlRequest::LowBound { epoch: Epoch(epoch.0), bound: bound.times() };
        engine.on_all_shards(bounded).await.map(drop)
    }

    /// Applies an entry: nodes, operations, schema and access at once, since one may mean nothing without the other.
    async fn apply_entry(
        &self,
        engine: &Engine,
        (epoch, id): (Index, ProposalId),
        entry: &Entry,
    ) -> Result<(), QueryError> {
        const APPLIED: &str = "the group's state has applied it";
        let mut next = self.nodes.borrow().clone();
        let (mut changes, mut access, mut bound) = (Vec::new(), Vec::new(), None);
        for part in entry.parts() {
            match part.domain {
                TopologyDomain::ID => {
                    let changes = TopologyDomain::decode(part.version, &part.bytes).expect(APPLIED);
                    next.registry = next.registry.apply(changes);
                }
                OperationsDomain::ID => {
                    let changes = OperationsDomain::decode(part.version, &part.bytes).expect(APPLIED);
                    note_queued(engine, id, &changes);
                    next.operations = next.operations.apply(changes);
                }
                SchemaDomain::ID => {
                    changes.extend(SchemaDomain::decode(part.version, &part.bytes).expect(APPLIED));
                }
                AccessDomain::ID => {
                    access.extend(AccessDomain::decode(part.version, &part.bytes).expect(APPLIED));
                }
                LowBoundDomain::ID => {
                    let changes = LowBoundDomain::decode(part.version, &part.bytes).expect(APPLIED);
                    bound = Some(self.low_bound.borrow().with_all(changes));
                }
                _ => {}
            }
        }
        let access = AccessUpdate::Changes(access);
        let followed = self.follow(engine, (epoch, Some(id)), next, (&changes, access)).await;
        let bounded = match bound {
            Some(bound) => self.bound(engine, epoch, bound).await,
            None => Ok(()),
        };
        followed.and(bounded)
    }

    /// Has all shards plan by the nodes, the operations, the schema and access as they are now: by a proposal, or by a state that was taken over as a whole. A node that is not
    /// among them yet goes on alone.
    async fn follow(
        &self,
        engine: &Engine,
        (epoch, id): (Index, Option<ProposalId>),
        next: Nodes,
        changes: (&[SchemaChange], AccessUpdate),
    ) -> Result<(), QueryError> {
        let before = self.nodes.replace(next.clone());
        let operations: Vec<Operation> = next.operations.all().cloned().collect();
        // Confirmations and the like move nothing.
        let phases = |nodes: &Nodes| nodes.operations.all().map(|of| (of.id, of.phase)).collect::<Vec<_>>();
        let is_installed = next.registry == before.registry && phases(&next) == phases(&before);
        let of_ring = next.registry.nodes_of_ring(engine.inner.node.host_id).filter(|_| !is_installed);
        let tenure = next.operations.tenure(engine.inner.node.host_id);
        let ring = of_ring.map(|(nodes, local)| InstalledRing { nodes, local, operations, tenure });
        apply_to_shards(engine, (epoch, id), ring, changes).await?;
        if let Some(links) = self.links.as_ref().filter(|_| next != before || id.is_none()) {
            links.follow(epoch, &next.registry, &next.operations);
        }
        Ok(())
    }
}

/// Notes the operation of replication that a proposal of this node has queued.
fn note_queued(engine: &Engine, id: ProposalId, changes: &[OperationChange]) {
    let queued = changes.iter().find_map(|change| match change {
        OperationChange::Queue(operation) if operation.kind == Kind::Replication => Some(operation.id),
        _ => None,
    });
    note(engine, id, |own| own.queued = queued);
}

/// Notes something of a proposal, if it is one of this node.
fn note(engine: &Engine, id: ProposalId, note: impl FnOnce(&mut OwnProposal)) {
    if let Some(own) = engine.inner.own_proposals.borrow_mut().get_mut(&id) {
        note(own);
    }
}

impl Planner for EngineApplier {
    fn plan(&self, state: &ClusterState, voters: &Configuration, intention: &[u8]) -> Plan {
        let Some(engine) = self.engine() else { return Plan::Refused(Vec::new()) };
        let planted = engine.inner.coordinator.storage().planted();
        let planner = NodesPlanner { planted, ..NodesPlanner::of(state, &engine.inner.strategies) };
        let own = engine.inner.node.host_id;
        let is_up = |id| id == own || self.links.as_ref().is_some_and(|links| links.is_up(id));
        match intention.split_first() {
            Some((&MEMBERSHIP, request)) => return planner.membership(voters, request, &is_up),
            Some((&OPERATION, request)) => return planner.operation(request),
            Some((&LEAVE, request)) => return planner.leaving(request, &is_up),
            Some((&REBUILD, request)) => return planner.rebuilding(request),
            _ => {}
        }
        let planned = match intention.first() {
            Some(&intention::TRUNCATE) => plan_truncate(state, intention, planted),
            Some(&ACCESS) => plan_access(state, intention, &engine),
            Some(&LOW_BOUND) => {
                let now = engine.inner.runtime.wall_clock_micros();
                plan_low_bound(state, intention, (&engine.inner.strategies, now))
            }
            _ => plan_statement(state, intention, &engine.inner),
        };
        // The asker plans it on the same state, and finds the reason by itself.
        planned.map_or_else(|| Plan::Refused(Vec::new()), Plan::Change)
    }
}

fn plan_truncate(state: &ClusterState, intention: &[u8], planted: Planted) -> Option<Entry> {
    let (schema, access) = (state.of::<SchemaDomain>(), state.of::<AccessDomain>());
    let change = TruncateIntention::decode(intention).ok()?.plan(schema, access, planted)?;
    Some(Entry::of(TruncationsDomain::part(&[change])))
}

fn plan_access(state: &ClusterState, intention: &[u8], engine: &Engine) -> Option<Entry> {
    let catalog = engine.catalog();
    let schemas = Schemas { users: state.of::<SchemaDomain>(), system: catalog.system.schema() };
    let datacenters = datacenters(&engine.inner.coordinator.ring());
    let changes = plan_bytes(intention, state.of::<AccessDomain>(), schemas, &datacenters);
    (!changes.is_empty()).then(|| Entry::of(AccessDomain::part(&changes)))
}

fn plan_statement(state: &ClusterState, intention: &[u8], inner: &Inner) -> Option<Entry> {
    let (schema, truncations) = (state.of::<SchemaDomain>(), state.of::<TruncationsDomain>());
    let intention = Intention::decode(intention).ok()?;
    intention.check(state.of::<AccessDomain>(), inner.coordinator.storage().planted()).ok()?;
    let changes = intention.plan(schema, &inner.coordinator.ring(), &inner.strategies).ok()?.changes;
    let operations = NodesPlanner::of(state, &inner.strategies).beside(&changes).ok()?;
    let dropped = dropped_by(schema, &changes);
    let beside = truncations_beside((schema, truncations), &changes, &dropped, intention.new_id);
    let grants = grants_beside((schema, state.of::<AccessDomain>()), &changes, intention.creator.as_deref());
    let parts = [
        (!changes.is_empty()).then(|| SchemaDomain::part(&changes)),
        (!operations.is_empty()).then(|| OperationsDomain::part(&operations)),
        (!beside.is_empty()).then(|| TruncationsDomain::part(&beside)),
        (!grants.is_empty()).then(|| AccessDomain::part(&grants)),
    ];
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Entry::new(parts))
}

impl Applier for EngineApplier {
    fn apply(&self, epoch: Index, id: ProposalId, entry: Entry) -> Applying<'_> {
        Box::pin(async move {
            let Some(engine) = self.engine() else { return };
            let _turn = engine.proposer().turn_of_shards().await;
            let is_own = engine.inner.own_proposals.borrow().contains_key(&id);
            if let Err(reason) = self.truncations.apply(&engine, (epoch, &entry), is_own).await {
                return engine.group().end(reason);
            }
            if let Err(error) = self.apply_entry(&engine, (epoch, id), &entry).await {
                tracing::error!(%error, "change of the cluster's state not applied by all shards");
            }
            reached(&engine, epoch, false).await;
        })
    }

    fn replace(&self, epoch: Index, state: ClusterState) -> Applying<'_> {
        Box::pin(async move {
            let Some(engine) = self.engine() else { return };
            let _turn = engine.proposer().turn_of_shards().await;
            if let Err(reason) = self.truncations.catch_up(&engine, epoch, state.of::<TruncationsDomain>()).await {
                return engine.group().end(reason);
            }
            let changes = replacing(&engine.schema(), state.of::<SchemaDomain>());
            let access = AccessUpdate::Whole(state.of::<AccessDomain>().as_changes());
            let followed = self.follow(&engine, (epoch, None), Nodes::of(&state), (&changes, access)).await;
            let bounded = self.bound(&engine, epoch, state.of::<LowBoundDomain>().clone()).await;
            if let Err(error) = followed.and(bounded) {
                tracing::error!(%error, "state of another node not applied by all shards");
            }
            reached(&engine, epoch, true).await;
        })
    }

    fn send(&self, to: NodeId, message: GroupMessage) {
        if let Some(links) = &self.links {
            links.send(to, message);
        }
    }
}

/// The changes that make a schema of another.
fn replacing(before: &Schema, after: &Schema) -> Vec<SchemaChange> {
    let gone = before.keyspaces().keys().filter(|name| after.keyspace(name).is_none());
    let mut changes: Vec<SchemaChange> = gone.map(|name| SchemaChange::DropKeyspace(name.to_string())).collect();
    // A keyspace that is put keeps the tables and types that it has.
    let kept = before.keyspaces().values().filter(|keyspace| after.keyspace(keyspace.name()).is_some());
    let mut types_gone = Vec::new();
    for keyspace in kept {
        let tables = keyspace.tables.values().filter(|table| after.table_by_id(table.id).is_none());
        changes.extend(tables.map(|table| SchemaChange::DropTable {
            keyspace: table.keyspace.clone(),
            name: table.name.clone(),
            id: table.id,
        }));
        let is_there = |name: &str| after.keyspace(keyspace.name()).is_some_and(|of| of.types.contains_key(name));
        let types = keyspace.types.keys().filter(|name| !is_there(name));
        types_gone.extend(
            types.map(|name| SchemaChange::DropType { keyspace: keyspace.name().to_owned(), name: name.to_string() }),
        );
    }
    changes.extend(after.as_changes());
    changes.extend(types_gone);
    changes
}

/// Tells all shards that each of them has applied an entry, or a whole state: requests that rest on it are served from now on.
async fn reached(engine: &Engine, epoch: Index, is_replaced: bool) {
    let reached = || ControlRequest::Reached { epoch: Epoch(epoch.0), is_replaced };
    if let Err(error) = engine.on_all_shards(reached).await {
        tracing::error!(%error, "change of the cluster's state not known to all shards");
    }
}

/// Has all shards apply changes that are durable, then does what may follow only then: announcements, deletions.
async fn apply_to_shards(
    engine: &Engine,
    (epoch, id): (Index, Option<ProposalId>),
    ring: Option<InstalledRing>,
    (changes, access): (&[SchemaChange], AccessUpdate),
) -> Result<(), QueryError> {
    if ring.is_none() && changes.is_empty() && access.is_none() {
        return Ok(());
    }
    let before = engine.schema();
    let events: Vec<SchemaEvent> = changes.iter().map(|change| SchemaEvent::of(&before, change)).collect();
    let dropped = dropped_by(&before, changes);
    if let Err(error) = engine.flush_for_snapshot(&dropped).await {
        tracing::warn!(%error, "snapshot of a dropped table lacks its last writes");
    }
    let apply = || ControlRequest::Apply {
        epoch: Epoch(epoch.0),
        ring: ring.clone(),
        changes: changes.to_vec(),
        access: access.clone(),
    };
    engine.on_all_shards(apply).await?;
    // A client that hears of the change may use any shard at once, so all must have it by then.
    for event in &events {
        engine.on_all_shards(|| ControlRequest::Announce { event: Event::Schema(event.clone()) }).await?;
    }
    if let Some(id) = id {
        note(engine, id, |own| own.event = events.into_iter().next());
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

#[cfg(test)]
mod tests {
    use cql_syntax::parse;
    use schema::{DdlContext, plan_ddl};

    use super::*;

    fn run(schema: &Schema, number: &mut u8, text: &str) -> Schema {
        *number += 1;
        let context = DdlContext {
            current_keyspace: None,
            new_id: TableId([*number; 16]),
            datacenters: &[("datacenter1".to_owned(), 1)].into(),
            strategies: &topology::Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        let plan = plan_ddl(schema, &parse(text).expect("a statement"), &context).expect("it can be done");
        schema.with_all(&plan.changes)
    }

    /// A node that lagged gets the state as a whole: what was dropped meanwhile is gone there too.
    #[test]
    fn a_replaced_schema_is_the_other_one() {
        let keyspace = |name: &str| {
            format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
        };
        let mut number = 0;
        let mut states = vec![Schema::empty()];
        for text in [
            &keyspace("a"),
            &keyspace("b"),
            "CREATE TABLE a.kept (k int PRIMARY KEY)",
            "CREATE TABLE a.gone (k int PRIMARY KEY)",
            "CREATE TYPE a.used (f int)",
            "CREATE TYPE a.unused (f int)",
            "CREATE TABLE a.uses (k int PRIMARY KEY, u frozen<used>)",
            "ALTER TABLE a.kept ADD v int",
            "DROP TABLE a.gone",
            "DROP TYPE a.unused",
            "CREATE TABLE a.gone (k text PRIMARY KEY)",
            "DROP TABLE a.uses",
            "DROP TYPE a.used",
            "ALTER TABLE a.kept DROP v",
            "DROP KEYSPACE b",
            "DROP KEYSPACE a",
            &keyspace("a"),
        ] {
            let next = run(states.last().expect("there is one"), &mut number, text);
            states.push(next);
        }
        for before in &states {
            for after in &states {
                let replaced = before.with_all(&replacing(before, after));
                assert_eq!(replaced.as_changes(), after.as_changes());
                assert_eq!(replaced.version(), after.version());
            }
        }
    }
}
