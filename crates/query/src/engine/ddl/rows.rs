//! All rows of a table go: a TRUNCATE on the node that was asked, and a truncation as every node carries it out.
//!
//! | from | event | to |
//! |---|---|---|
//! | asked | its role has lost the permission; the table is unknown, or may not be truncated; a node is down | answered: the error |
//! | asked | the snapshot of what it empties is made | proposed |
//! | proposed | the leader knows no such table any more, or the role has lost the permission in its state; this node's is as late then | asked |
//! | proposed | the group applied it, on all nodes | answered |
//! | proposed | a node has not applied it in time, or it could not be made durable | answered: the error |
//!
//! On each node, once it is committed: every shard gives its position; the positions are made durable, with the truncation's mark; every shard drops what
//! lies before them. A node that dies on the way finds another mark in the cluster's state at its start than in its last fact, and truncates
//! before it reads its data ([`crate::pending_truncations`]).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use cluster::coordinator::TimeoutKind;
use metadata::group::Index;
use metadata::{Entry, Fact, Mark, MetadataLog, TableKey};
use planted::Bug;
use runtime::{Instant, ShardId};
use schema::truncations::{self, TruncationChange};
use schema::{TableId, system_keyspaces};
use storage::ReplayPosition;
use topology::Epoch;

use super::asked::{Answered, TRIES_MAX, ask};
use super::intention::{TruncateIntention, check_truncate};
use crate::control::{ControlReply, ControlRequest};
use crate::discarded::snapshot_time;
use crate::domain::{TruncationsDomain, truncation};
use crate::engine::Engine;
use crate::engine::guarded_ddl::guard_drop_or_truncate;
use crate::error::{QueryError, invalid};

/// Between two looks whether all nodes have applied a truncation, of which they tell each other at intervals.
const LOOK: Duration = Duration::from_millis(50);
/// Between two tries to make positions durable.
const AGAIN: Duration = Duration::from_secs(1);

/// A TRUNCATE on the node that was asked.
pub(super) struct TruncateStatement<'a> {
    engine: &'a Engine,
    keyspace: &'a str,
    name: &'a str,
    /// The role that asks, where permissions are checked.
    role: Option<&'a str>,
}

fn failed(what: &str) -> QueryError {
    QueryError::Truncate { message: format!("Error during truncate: {what}") }
}

impl<'a> TruncateStatement<'a> {
    /// For the table `name` of `keyspace`, by a role where permissions are checked.
    pub(super) fn new(engine: &'a Engine, (keyspace, name): (&'a str, &'a str), role: Option<&'a str>) -> Self {
        TruncateStatement { engine, keyspace, name, role }
    }

    /// Carries it out, in this node's turn.
    pub(super) async fn run(self) -> Result<(), QueryError> {
        let engine = self.engine;
        for _ in 0..TRIES_MAX {
            // It has waited for its turn, or the leader refused it. As for all statements, who has no permission does not hear of tables.
            check_truncate(self.role, engine.access().state(), (self.keyspace, self.name))?;
            let table = self.find()?;
            let (nodes, up) = engine.group().with_member(|member, _| member.nodes_up());
            let is_planted = engine.inner.coordinator.storage().planted().is(Bug::TruncateMissesTheDown);
            if up < nodes && !is_planted {
                return Err(failed("Cannot achieve consistency level ALL"));
            }
            let flushed = engine.flush_for_snapshot(&[table]).await;
            flushed.map_err(|what| failed(&format!("nothing was truncated: {what}")))?;
            let mark = truncations::Mark(engine.inner.clock.time_uuid());
            let intention = TruncateIntention { table, mark, role: self.role.map(str::to_owned) };
            let until = engine.inner.runtime.now() + engine.inner.coordinator.timeouts().get(TimeoutKind::Truncate);
            match ask(engine, intention.to_bytes(), TimeoutKind::Truncate).await {
                Answered::Applied { is_on_all, .. } if is_on_all || is_planted => return Ok(()),
                Answered::Applied { epoch, .. } => return self.wait_for_all(epoch, nodes, until).await,
                // It was dropped meanwhile, and may be there again with another id; or the role has lost the permission.
                Answered::Refused | Answered::Again => {}
                Answered::Failed(message) => return Err(failed(&message)),
            }
        }
        Err(failed("the schema changed too often meanwhile; try again"))
    }

    /// Waits until all nodes have applied an epoch. The leader does not wait for those that it takes for down, nor for others without end; where one of
    /// them is only late, it would take rows along that are written after the answer.
    async fn wait_for_all(&self, epoch: Index, nodes: usize, until: Instant) -> Result<(), QueryError> {
        let runtime = &self.engine.inner.runtime;
        let lagging = loop {
            let lagging = self.engine.group().with_member(|member, _| member.lagging(epoch));
            match lagging {
                0 => return Ok(()),
                _ if runtime.now() >= until => break lagging,
                _ => runtime.sleep(LOOK).await,
            }
        };
        let received = nodes.saturating_sub(lagging);
        Err(failed(&format!("Truncate timed out - received only {received} responses")))
    }

    /// The table, if it may be truncated.
    fn find(&self) -> Result<TableId, QueryError> {
        let (keyspace, name) = (self.keyspace, self.name);
        let found = self.engine.catalog().find(Some(keyspace), name)?;
        guard_drop_or_truncate(&mut self.engine.guardrail_check())?;
        if found.is_system && system_keyspaces::is_virtual(keyspace) {
            return Err(invalid(format!("Truncation is not supported by table {keyspace}.{name}")));
        }
        if found.is_system {
            return Err(invalid(format!("the tables of keyspace {keyspace} cannot be truncated")));
        }
        Ok(found.table.id)
    }
}

/// Carries truncations out on this node. On shard 0.
pub(super) struct NodeTruncations {
    log: MetadataLog,
    /// The last one of each table that this node has carried out.
    done: RefCell<BTreeMap<TableKey, Mark>>,
}

impl NodeTruncations {
    /// With those that the log names as carried out.
    pub(super) fn new(log: MetadataLog, done: BTreeMap<TableKey, Mark>) -> NodeTruncations {
        NodeTruncations { log, done: RefCell::new(done) }
    }

    /// Carries out those of an entry, before the rest of it is applied: a table that is made under an id of before must find nothing there. `is_own`: a
    /// statement of this node asked for it, which has made the snapshot.
    ///
    /// An error ends the node's part in the group: what is written until the next start goes with it.
    pub(super) async fn apply(
        &self,
        engine: &Engine,
        (epoch, entry): (Index, &Entry),
        is_own: bool,
    ) -> Result<(), String> {
        for change in TruncationsDomain::changes_of(entry) {
            match change {
                TruncationChange::Truncate(table, mark) => {
                    self.carry_out(engine, epoch, (table, Mark(mark.0)), is_own).await?;
                }
                TruncationChange::Forget(table) => _ = self.done.borrow_mut().remove(&table.0),
            }
        }
        Ok(())
    }

    /// Carries out those that another node's state has and this one has not carried out.
    pub(super) async fn catch_up(
        &self,
        engine: &Engine,
        epoch: Index,
        state: &truncations::TableTruncations,
    ) -> Result<(), String> {
        for (table, mark) in state.iter() {
            if self.done.borrow().get(&table.0) != Some(&Mark(mark.0)) {
                self.carry_out(engine, epoch, (table, Mark(mark.0)), false).await?;
            }
        }
        self.done.borrow_mut().retain(|table, _| state.mark(TableId(*table)).is_some());
        Ok(())
    }

    async fn carry_out(
        &self,
        engine: &Engine,
        epoch: Index,
        (table, mark): (TableId, Mark),
        is_own: bool,
    ) -> Result<(), String> {
        if !is_own
            && engine.schema().table_by_id(table).is_some()
            && let Err(error) = engine.flush_for_snapshot(&[table]).await
        {
            tracing::warn!(%error, "snapshot of a truncated table lacks its last writes");
        }
        let positions = self.take_positions(engine, epoch, (table, mark)).await?;
        let at = snapshot_time(&engine.inner.runtime);
        for &(shard, position) in &positions {
            let request = ControlRequest::TruncationIsDurable { table, position, at: at.clone() };
            engine.control().call(shard, request).await.map_err(|gone| gone.to_string())?;
        }
        self.done.borrow_mut().insert(table.0, mark);
        engine.sweep_shared().await;
        Ok(())
    }

    /// Has all shards give their positions, and makes them durable. A full disk is tried again: the truncation is decided.
    async fn take_positions(
        &self,
        engine: &Engine,
        epoch: Index,
        (table, mark): (TableId, Mark),
    ) -> Result<Vec<(ShardId, ReplayPosition)>, String> {
        let epoch = Epoch(epoch.0);
        let said = |error: QueryError| error.to_string();
        loop {
            let begin = || ControlRequest::BeginTruncation { table, epoch };
            let replies = engine.on_all_shards(begin).await.map_err(said)?;
            let positions: Vec<_> =
                replies.into_iter().filter_map(|(shard, reply)| Some((shard, position(reply)?))).collect();
            let fact = truncation(table, positions.iter().map(|(_, position)| *position), mark);
            let Err(error) = self.log.append(&Fact::Truncated(fact).into()).await else { return Ok(positions) };
            engine.on_all_shards(|| ControlRequest::AbandonTruncation { table }).await.map_err(said)?;
            if self.log.check().is_err() {
                let what = "the table is truncated at the next start of this node, with what is written until then";
                return Err(format!("{what}, since its truncation could not be made durable: {error}"));
            }
            tracing::warn!(%error, "positions of a truncation not durable; retrying");
            engine.inner.runtime.sleep(AGAIN).await;
        }
    }
}

fn position(reply: ControlReply) -> Option<ReplayPosition> {
    match reply {
        ControlReply::Position(position) => Some(position),
        _ => None,
    }
}
