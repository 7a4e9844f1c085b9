//! Schema changes and truncations: proposed on shard 0, durable in its metadata log before any shard acts on them, and applied
//! by all shards of all nodes before the client is answered. The order is that of the metadata group; what its entries do on a node is here.

mod applier;
mod asked;
mod datacenters;
mod intention;
pub(super) mod low_bound;
mod nodes;
mod rows;
mod statement;

use std::rc::Rc;

use auth::Actor;
use cluster::paxos::with_state_table;
use metadata::group::Driver;
use metadata::{MetadataParts, Proposer};
use runtime::{Group, ShardId};
use schema::{SchemaChange, TableId};
use topology::{Epoch, Ring};

use super::Engine;
use crate::Session;
use crate::control::{AccessUpdate, ControlReply, ControlRequest, DdlOutcome, InstalledRing};
use crate::domain::LowBoundDomain;
use crate::error::QueryError;
use crate::event::Event;
use crate::parts::GroupLinks;
use rows::{NodeTruncations, TruncateStatement};
use statement::SchemaStatement;

use applier::{EngineApplier, Nodes};
pub(super) use asked::{Answered, TRIES_MAX, ask};
pub use nodes::{settings, unplaced};

/// The shard that holds the metadata log.
pub(super) const LEADER: ShardId = ShardId(0);

impl Engine {
    /// Has shard 0 carry out a schema statement of a session.
    pub(super) async fn change_schema(
        &self,
        session: &Session,
        text: &str,
        keyspace: Option<&str>,
    ) -> Result<DdlOutcome, QueryError> {
        let creator = self.checked_role(session);
        let request = ControlRequest::Ddl { text: text.to_owned(), keyspace: keyspace.map(str::to_owned), creator };
        match self.control().call(LEADER, request).await {
            Ok(ControlReply::Ddl(outcome)) => outcome,
            Ok(reply) => panic!("shard 0 answers a schema statement with its outcome, not with {reply:?}"),
            Err(gone) => Err(QueryError::Server { message: gone.to_string() }),
        }
    }

    /// The role of a session, where permissions are checked: the leader of the metadata group judges it again.
    fn checked_role(&self, session: &Session) -> Option<String> {
        match session.actor() {
            Actor::Role(name) if self.access().settings().authorizes => Some(name.to_owned()),
            _ => None,
        }
    }

    /// Has shard 0 empty a table for a session.
    pub(super) async fn truncate(&self, session: &Session, keyspace: &str, table: &str) -> Result<(), QueryError> {
        let role = self.checked_role(session);
        let request = ControlRequest::Truncate { keyspace: keyspace.to_owned(), table: table.to_owned(), role };
        match self.control().call(LEADER, request).await {
            Ok(ControlReply::Truncated(outcome)) => outcome,
            Ok(reply) => panic!("shard 0 answers a truncation with its outcome, not with {reply:?}"),
            Err(gone) => Err(QueryError::Truncate { message: gone.to_string() }),
        }
    }

    /// Gives the turn to ask for a schema change, and all that must not happen meanwhile.
    pub(super) fn proposer(&self) -> &Proposer {
        self.inner.proposer.as_ref().expect("shard 0 has the metadata log")
    }

    /// Begins this node's part in the metadata group, on shard 0.
    pub(super) fn start_group(&self, parts: MetadataParts, links: Option<Rc<dyn GroupLinks>>) {
        let MetadataParts { log, member, truncated } = parts;
        let state = member.state().cluster();
        let nodes = (Nodes::of(state), state.of::<LowBoundDomain>().clone());
        let truncations = NodeTruncations::new(log.clone(), truncated);
        let applier = EngineApplier::new(self, links, nodes, truncations);
        let driver = Driver::start(&self.inner.runtime, log, member, Box::new(applier));
        self.inner.group.set(driver).ok().expect("it is started once");
    }

    /// This node's part in the metadata group. On shard 0.
    pub fn group(&self) -> &Driver {
        self.inner.group.get().expect("shard 0 has the metadata log")
    }

    /// Writes all that memory has of the tables to files, of which a snapshot is made before they are emptied or dropped. Does nothing where no
    /// snapshots are kept.
    async fn flush_for_snapshot(&self, tables: &[TableId]) -> Result<(), String> {
        if tables.is_empty() || !self.inner.coordinator.storage().keeps_snapshots() {
            return Ok(());
        }
        let replies = self.on_all_shards(|| ControlRequest::Flush { tables: tables.to_vec() }).await;
        let failed = replies.map_err(|error| error.to_string())?.into_iter().find_map(|(_, reply)| match reply {
            ControlReply::Flushed(Err(error)) => Some(error),
            _ => None,
        });
        match failed {
            Some(error) => Err(format!("the snapshot before it, which auto_snapshot asks for, failed: {error}")),
            None => Ok(()),
        }
    }

    /// Deletes shared files that no shard's manifest names as live, on shard 0.
    async fn sweep_shared(&self) {
        if let Err(error) = self.inner.coordinator.storage().sweep_shared().await {
            tracing::warn!(%error, "cannot delete obsolete shared sstables; retrying at next start");
        }
    }

    /// Makes a call to every shard, this one too, and waits for all.
    pub(super) async fn on_all_shards(
        &self,
        request: impl Fn() -> ControlRequest,
    ) -> Result<Vec<(ShardId, ControlReply)>, QueryError> {
        let mut running = Vec::new();
        for shard in (0..self.inner.runtime.shard_count()).map(ShardId) {
            let (mesh, request) = (self.control().clone(), request());
            running
                .push((shard, self.inner.runtime.spawn(Group::Query, async move { mesh.call(shard, request).await })));
        }
        let mut replies = Vec::with_capacity(running.len());
        for (shard, call) in running {
            let reply = call.await.map_err(|gone| QueryError::Server { message: gone.to_string() })?;
            replies.push((shard, reply));
        }
        Ok(replies)
    }

    /// Takes over an entry's changes on this shard: no request is planned between the ring's, the schema's and those of access.
    pub(super) fn apply_changes(
        &self,
        epoch: Epoch,
        ring: Option<InstalledRing>,
        changes: &[SchemaChange],
        access: &AccessUpdate,
    ) {
        // In the same turn as the schema: a table is never seen without the grants of its creator, nor a new one with those of its namesake.
        let next = self.access().after(access);
        self.inner.authorizer.install(next);
        if let Some(InstalledRing { nodes, local, operations, tenure }) = ring {
            // Before a request can be planned by the ring.
            self.inner.coordinator.fence().begin_tenure(tenure);
            self.install_ring(Rc::new(Ring::new(epoch, nodes, local)), operations);
        }
        if changes.is_empty() {
            return;
        }
        let old = self.catalog();
        let schema = old.schema.with_all(changes);
        self.inner.coordinator.fence().schema_changed(epoch, &old.schema, &schema);
        self.inner.coordinator.storage().update_schema(&with_state_table(&schema));
        *self.inner.catalog.borrow_mut() = Rc::new(old.next(schema, &self.inner.coordinator));
    }

    /// Hands an event to the server, for the clients that registered for it.
    pub(super) fn announce(&self, event: Event) {
        if self.inner.events.try_push(event).is_err() {
            tracing::warn!("dropped an event: the queue to clients is full");
        }
    }
}

/// Carries out a schema statement, on shard 0 of the node that was asked.
pub(super) async fn lead_ddl(
    engine: &Engine,
    text: &str,
    keyspace: Option<&str>,
    creator: Option<String>,
) -> Result<DdlOutcome, QueryError> {
    let turn = engine.proposer().turn().await;
    SchemaStatement::new(engine, turn, text, keyspace, creator).run().await
}

/// Empties a table, on shard 0, for a role where permissions are checked.
pub(super) async fn lead_truncate(engine: &Engine, table: (&str, &str), role: Option<&str>) -> Result<(), QueryError> {
    let _turn = engine.proposer().turn().await;
    TruncateStatement::new(engine, table, role).run().await
}
