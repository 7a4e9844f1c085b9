//! The steps by which all rows of a table are forgotten, and of TRUNCATE, which does no more. Their order is `metadata`'s.

use metadata::{Fact, MetadataError, Record, Steps, Turn};
use runtime::ShardId;
use schema::{TableId, system_keyspaces};
use storage::ReplayPosition;

use crate::control::{ControlReply, ControlRequest};
use crate::discarded::snapshot_time;
use crate::domain::truncation;
use crate::engine::Engine;
use crate::engine::guarded_ddl::guard_drop_or_truncate;
use crate::error::{QueryError, invalid};

/// Drops what memtables, files and commit logs hold under an id up to now, durably.
///
/// Memory is emptied in preparation: a position taken before that would let writes in between vanish now and come back at the next start. So a log
/// that is known to take no record is asked before, and if the record then fails after all, the error says what happened.
pub(super) struct ForgottenRows<'a> {
    engine: &'a Engine,
    table: TableId,
    /// Where each shard's log stood when it emptied its memory.
    positions: Vec<(ShardId, ReplayPosition)>,
}

impl<'a> ForgottenRows<'a> {
    pub(super) fn new(engine: &'a Engine, table: TableId) -> ForgottenRows<'a> {
        ForgottenRows { engine, table, positions: Vec::new() }
    }
}

impl Steps for ForgottenRows<'_> {
    type Error = QueryError;

    fn plan(&mut self) -> Result<bool, QueryError> {
        Ok(true)
    }

    fn check(&mut self) -> Result<(), QueryError> {
        Ok(())
    }

    async fn prepare(&mut self, turn: &Turn<'_>) -> Result<Record, QueryError> {
        turn.check_log().map_err(|error| QueryError::Server { message: error.to_string() })?;
        let table = self.table;
        let replies = self.engine.on_all_shards(|| ControlRequest::TruncateHere { table }).await?;
        self.positions = replies.into_iter().filter_map(|(shard, reply)| Some((shard, position(reply)?))).collect();
        Ok(Fact::Truncated(truncation(table, self.positions.iter().map(|(_, position)| *position))).into())
    }

    fn not_durable(&self, error: MetadataError) -> QueryError {
        let what = "the rows are gone from memory, and may be there again after the next start, since this could not be made durable";
        QueryError::Server { message: format!("{what}: {error}") }
    }

    async fn apply_on_all(&mut self) -> Result<(), QueryError> {
        let at = snapshot_time(&self.engine.inner.runtime);
        for &(shard, position) in &self.positions {
            let request = ControlRequest::TruncationIsDurable { table: self.table, position, at: at.clone() };
            let answered = self.engine.control().call(shard, request).await;
            answered.map_err(|gone| QueryError::Server { message: gone.to_string() })?;
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), QueryError> {
        self.engine.sweep_shared().await;
        Ok(())
    }
}

fn position(reply: ControlReply) -> Option<ReplayPosition> {
    match reply {
        ControlReply::Position(position) => Some(position),
        _ => None,
    }
}

/// A TRUNCATE on its way.
pub(super) struct Truncate<'a> {
    engine: &'a Engine,
    keyspace: &'a str,
    name: &'a str,
    /// Of the table, once it is found.
    rows: Option<ForgottenRows<'a>>,
    is_system: bool,
}

impl<'a> Truncate<'a> {
    pub(super) fn new(engine: &'a Engine, keyspace: &'a str, name: &'a str) -> Truncate<'a> {
        Truncate { engine, keyspace, name, rows: None, is_system: false }
    }

    fn rows(&mut self) -> &mut ForgottenRows<'a> {
        self.rows.as_mut().expect("the plan precedes all other steps")
    }
}

fn failed(error: &QueryError) -> QueryError {
    QueryError::Truncate { message: format!("Error during truncate: {error}") }
}

impl Steps for Truncate<'_> {
    type Error = QueryError;

    fn plan(&mut self) -> Result<bool, QueryError> {
        let found = self.engine.catalog().find(Some(self.keyspace), self.name)?;
        self.is_system = found.is_system;
        self.rows = Some(ForgottenRows::new(self.engine, found.table.id));
        Ok(true)
    }

    fn check(&mut self) -> Result<(), QueryError> {
        let Truncate { keyspace, name, is_system, .. } = *self;
        guard_drop_or_truncate(&mut self.engine.guardrail_check())?;
        if is_system && system_keyspaces::is_virtual(keyspace) {
            return Err(invalid(format!("Truncation is not supported by table {keyspace}.{name}")));
        }
        if is_system {
            return Err(invalid(format!("the tables of keyspace {keyspace} cannot be truncated")));
        }
        Ok(())
    }

    async fn prepare(&mut self, turn: &Turn<'_>) -> Result<Record, QueryError> {
        let table = self.rows().table;
        self.engine.flush_for_snapshot(&[table]).await.map_err(|what| QueryError::Truncate {
            message: format!("Error during truncate: nothing was truncated: {what}"),
        })?;
        self.rows().prepare(turn).await.map_err(|error| failed(&error))
    }

    fn not_durable(&self, error: MetadataError) -> QueryError {
        let rows = self.rows.as_ref().expect("the plan precedes all other steps");
        failed(&rows.not_durable(error))
    }

    async fn apply_on_all(&mut self) -> Result<(), QueryError> {
        self.rows().apply_on_all().await.map_err(|error| failed(&error))
    }

    async fn finish(&mut self) -> Result<(), QueryError> {
        self.rows().finish().await.map_err(|error| failed(&error))
    }
}
