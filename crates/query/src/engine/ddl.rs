//! Schema changes and truncations: decided on shard 0, in its metadata log before any shard acts on them, and taken over
//! by all shards before the client is answered.

use std::collections::BTreeSet;
use std::rc::Rc;

use cluster::paxos::with_state_table;
use metadata::{Fact, MetadataLog, Record};
use runtime::{Group, ShardId};
use schema::{DdlContext, SchemaChange, SchemaEvent, TableId, plan_ddl, system_keyspaces};
use storage::ReplayPosition;

use super::Engine;
use super::guarded_ddl::guard_drop_or_truncate;
use crate::control::{ControlReply, ControlRequest, DdlOutcome};
use crate::domain::{SchemaDomain, truncation};
use crate::error::{QueryError, invalid};
use crate::guardrails::Watch;

/// The shard that holds the metadata log.
const LEADER: ShardId = ShardId(0);

impl Engine {
    /// Has shard 0 carry out a schema statement.
    pub(super) async fn change_schema(&self, text: &str, keyspace: Option<&str>) -> Result<DdlOutcome, QueryError> {
        let request = ControlRequest::Ddl { text: text.to_owned(), keyspace: keyspace.map(str::to_owned) };
        match self.control().call(LEADER, request).await {
            Ok(ControlReply::Ddl(outcome)) => outcome,
            Ok(reply) => panic!("shard 0 answers a schema statement with its outcome, not with {reply:?}"),
            Err(gone) => Err(QueryError::Server { message: gone.to_string() }),
        }
    }

    /// Has shard 0 empty a table.
    pub(super) async fn truncate(&self, keyspace: &str, table: &str) -> Result<(), QueryError> {
        let request = ControlRequest::Truncate { keyspace: keyspace.to_owned(), table: table.to_owned() };
        match self.control().call(LEADER, request).await {
            Ok(ControlReply::Truncated(outcome)) => outcome,
            Ok(reply) => panic!("shard 0 answers a truncation with its outcome, not with {reply:?}"),
            Err(gone) => Err(QueryError::Truncate { message: gone.to_string() }),
        }
    }

    /// Carries out a schema statement, on shard 0.
    pub(super) async fn lead_ddl(&self, text: &str, keyspace: Option<&str>) -> Result<DdlOutcome, QueryError> {
        let _turn = self.inner.ddl.acquire().await;
        let mut watch = self.watch();
        match self.carry_out(text, keyspace, &mut watch).await {
            Ok((event, others)) => {
                let mut warnings = watch.into_warnings();
                warnings.extend(others);
                Ok(DdlOutcome { event, warnings })
            }
            Err(error) => Err(error.with_warnings(watch.into_warnings())),
        }
    }

    /// Carries out a schema statement. Gives what it changed, and what its client is warned of beside what guardrails say.
    async fn carry_out(
        &self,
        text: &str,
        keyspace: Option<&str>,
        watch: &mut Watch<'_>,
    ) -> Result<(Option<SchemaEvent>, Vec<String>), QueryError> {
        let mut statement = cql_syntax::parse(text)?;
        self.guard_ddl(watch, &mut statement, keyspace)?;
        let ring = self.inner.coordinator.ring();
        let datacenters: BTreeSet<String> = ring.nodes().iter().map(|node| node.datacenter.clone()).collect();
        let context = DdlContext {
            current_keyspace: keyspace,
            new_id: TableId(self.inner.clock.time_uuid()),
            datacenters: &datacenters,
            node_count: ring.nodes().len(),
            now_micros: self.inner.clock.wall_micros(),
        };
        let planned = plan_ddl(&self.schema(), &statement, &context)?;
        self.guard_changes(watch, &statement, &planned.changes)?;
        if !planned.changes.is_empty() {
            for table in planned.changes.iter().filter_map(|change| self.reused_id(change, context.new_id)) {
                self.forget_rows(table).await?;
            }
            let dropped = self.dropped_by(&planned.changes);
            self.flush_for_snapshot(&dropped)
                .await
                .map_err(|what| QueryError::Server { message: format!("nothing was dropped: {what}") })?;
            self.log(&SchemaDomain::entry(&planned.changes).into()).await?;
            self.on_all_shards(|| ControlRequest::ApplySchema { changes: planned.changes.clone() }).await?;
            // A client that hears of the change may use any shard at once, so all must have it by then.
            if let Some(event) = &planned.event {
                self.on_all_shards(|| ControlRequest::Announce { event: event.clone() }).await?;
            }
            if !dropped.is_empty() {
                let at = self.snapshot_time();
                self.on_all_shards(|| ControlRequest::DiscardDropped { at: at.clone() }).await?;
                self.sweep_shared().await;
            }
        }
        Ok((planned.event, planned.warnings))
    }

    /// Empties a table, on shard 0.
    pub(super) async fn lead_truncate(&self, keyspace: &str, name: &str) -> Result<(), QueryError> {
        let _turn = self.inner.ddl.acquire().await;
        let found = self.catalog().find(Some(keyspace), name)?;
        guard_drop_or_truncate(&mut self.watch())?;
        if found.is_system && system_keyspaces::is_virtual(keyspace) {
            return Err(invalid(format!("Truncation is not supported by table {keyspace}.{name}")));
        }
        if found.is_system {
            return Err(invalid(format!("the tables of keyspace {keyspace} cannot be truncated")));
        }
        let failed = |error: QueryError| QueryError::Truncate { message: format!("Error during truncate: {error}") };
        self.flush_for_snapshot(&[found.table.id]).await.map_err(|what| QueryError::Truncate {
            message: format!("Error during truncate: nothing was truncated: {what}"),
        })?;
        self.forget_rows(found.table.id).await.map_err(failed)
    }

    /// The tables that are there no more after `changes`.
    fn dropped_by(&self, changes: &[SchemaChange]) -> Vec<TableId> {
        // A table that takes another's place has its id.
        if !changes.iter().any(SchemaChange::drops_tables) {
            return Vec::new();
        }
        let (before, after) = (self.schema(), self.schema().with_all(changes));
        before.tables().map(|table| table.id).filter(|id| after.table_by_id(*id).is_none()).collect()
    }

    /// Before tables are emptied or dropped: has all that memory has of them in files, which a snapshot is made of. Nothing where no
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

    /// What stands in a snapshot's name: milliseconds since 1970, as in Cassandra.
    fn snapshot_time(&self) -> String {
        (self.inner.runtime.wall_clock_micros() / 1000).to_string()
    }

    /// Takes away what no shard names any more, on shard 0.
    async fn sweep_shared(&self) {
        if let Err(error) = self.inner.coordinator.storage().sweep_shared().await {
            tracing::warn!(%error, "files that do not count any more stay until the next start");
        }
    }

    /// The id of a new table, if the statement gave it. A dropped table may have had it, and the commit logs its rows still:
    /// a start would apply them to the new table, whose columns may be others.
    fn reused_id(&self, change: &SchemaChange, new_id: TableId) -> Option<TableId> {
        match change {
            SchemaChange::PutTable(table) if table.id != new_id => {
                self.schema().table_by_id(table.id).is_none().then_some(table.id)
            }
            _ => None,
        }
    }

    /// Drops what memtables, files and commit logs hold under an id up to now, durably.
    ///
    /// Memory goes first: a position taken before it would let writes in between vanish now and come back at the next start. So a log
    /// that is known to take no record is asked before, and if the record then fails after all, the error says what happened.
    async fn forget_rows(&self, table: TableId) -> Result<(), QueryError> {
        self.metadata_log().check().map_err(|error| QueryError::Server { message: error.to_string() })?;
        let replies = self.on_all_shards(|| ControlRequest::TruncateHere { table }).await?;
        let positions: Vec<(ShardId, ReplayPosition)> =
            replies.into_iter().filter_map(|(shard, reply)| Some((shard, position(reply)?))).collect();
        let record = Fact::Truncated(truncation(table, positions.iter().map(|(_, position)| *position)));
        self.metadata_log().append(&record.into()).await.map_err(|error| {
            let what = "the rows are gone from memory, and may be there again after the next start, since this could not be made durable";
            QueryError::Server { message: format!("{what}: {error}") }
        })?;
        let at = self.snapshot_time();
        for (shard, position) in positions {
            let request = ControlRequest::TruncationIsDurable { table, position, at: at.clone() };
            self.control()
                .call(shard, request)
                .await
                .map_err(|gone| QueryError::Server { message: gone.to_string() })?;
        }
        self.sweep_shared().await;
        Ok(())
    }

    fn metadata_log(&self) -> &MetadataLog {
        self.inner.metadata_log.as_ref().expect("shard 0 holds the metadata log")
    }

    async fn log(&self, record: &Record) -> Result<(), QueryError> {
        self.metadata_log()
            .append(record)
            .await
            .map_err(|error| QueryError::Server { message: format!("the change could not be made durable: {error}") })
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

    /// Takes over a schema change on this shard.
    pub(super) fn apply_schema(&self, changes: &[SchemaChange]) {
        let old = self.catalog();
        let schema = old.schema.with_all(changes);
        self.inner.coordinator.storage().update_schema(&with_state_table(&schema));
        *self.inner.catalog.borrow_mut() = Rc::new(old.next(schema, &self.inner.coordinator));
    }

    /// Hands a change to the server, for the clients that registered for it.
    pub(super) fn announce(&self, event: SchemaEvent) {
        if self.inner.events.try_push(event).is_err() {
            tracing::warn!("a schema change is not pushed to clients: too many wait already");
        }
    }
}

fn position(reply: ControlReply) -> Option<ReplayPosition> {
    match reply {
        ControlReply::Position(position) => Some(position),
        _ => None,
    }
}
