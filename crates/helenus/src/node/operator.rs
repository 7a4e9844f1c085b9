//! Admin requests as a shard answers them: each [`admin::Question`] by what the shard's parts say and do.
//!
//! A question is a task of its own in the group for maintenance. Whatever goes over tables pauses.

mod access;
mod audited;
mod facts;
mod hints;
mod repair;
mod streams;
mod timeouts;

use std::rc::Rc;
use std::time::Duration;

use admin::{
    Answer, CompactionFacts, DrainStep, EndedCompactionFacts, Question, QuestionResponder, QuestionSeat, Refusal,
    ScrubFacts, SnapshotFacts, SnapshotStep, TableName,
};
use cluster::coordinator::{Hints, answer_nanos, set_stream_throughput, stream_throughput};
use login::Hasher;
use query::{EndpointsError, Engine, clean_up, clean_up_table, endpoints};
use runtime::{Group, Instant, Runtime};
use schema::{Table, TableId};
use server::Server;
use storage::{CompactionKind, Garbage, Shard, SnapshotError};
use tls::{Identity, OutsideFiles};
use topology::{HostId, Token};

use audited::audit;
use hints::{hint_facts, set_hints};
use streams::stream_facts;
use timeouts::{set_timeout, timeout};

use crate::config::AuditOptions;

use super::cluster::departures::Departures;
use super::cluster::exchanging::{MoveFailed, exchange_token};
use super::cluster::operations_asked::{abort_operation, operations_facts};
use super::cluster::rebuilding::{RebuildFailed, rebuild};
use super::cluster::upgrade::{finalize_upgrade, upgrade_facts};
use super::cluster::{Cluster, LeavingError};

/// Limit of the time for requests in flight when the node is drained.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// One shard as operators see it. Clones are the same.
#[derive(Clone)]
pub(super) struct Operator {
    pub(super) runtime: Runtime,
    pub(super) storage: Shard,
    pub(super) engine: Engine,
    pub(super) server: Server,
    /// The memory that all shards may use.
    pub(super) memory_bytes: u64,
    pub(super) started: Instant,
    /// The audit log's options of the configuration.
    pub(super) audit: AuditOptions,
    /// True if a certificate is all that the ports for clients ask for, and those for operators ask for nothing.
    pub(super) are_operators_unproven: bool,
    /// The snitch's name.
    pub(super) snitch: &'static str,
    /// The node's part in a cluster of several; on shard 0.
    pub(super) cluster: Option<Cluster>,
    /// Certificates for other nodes.
    pub(super) internode_tls: Option<Identity>,
    /// Hashes of passwords; `None`: no authenticator is set.
    pub(super) hasher: Option<Hasher>,
    /// Certificates for operators; on shard 0.
    pub(super) api_tls: Option<OutsideFiles>,
}

/// The refusal of a node that is alone, in Cassandra's words.
const ALONE: &str = "no other normal nodes in the ring; decommission would be pointless";

/// Outcome of an admin request.
type Done = Result<Answer, Refusal>;

impl Operator {
    /// Answers questions from now on.
    pub(super) fn listen(self, seat: QuestionSeat) {
        let runtime = self.runtime.clone();
        seat.open(&runtime, move |question, responder: QuestionResponder| {
            let operator = self.clone();
            self.runtime.spawn(Group::Maintenance, async move {
                let answer = operator.answer(question).await;
                responder.reply(answer.unwrap_or_else(Answer::Refusal));
            });
        });
    }

    async fn answer(&self, question: Question) -> Done {
        self.runtime.label("admin request");
        match question {
            Question::Node => self.node().await,
            Question::Process => self.process().await,
            Question::Figures => self.figures().await,
            Question::Tables { names, is_brief } => self.tables(&names, is_brief).await,
            Question::SlowQueries => Ok(Answer::SlowQueries(self.slow_queries())),
            Question::Compactions => {
                let running = self.storage.running_compaction().map(|running| CompactionFacts {
                    number: running.number,
                    is_cleanup: running.kind == CompactionKind::Cleanup,
                    table: TableName { keyspace: running.keyspace, table: running.table },
                    written: running.written,
                    input: running.input,
                });
                Ok(Answer::Compactions(running.into_iter().collect()))
            }
            Question::BeginSampling { tables, capacity } => {
                let tables = self.find_all(&tables)?.iter().map(|table| table.id).collect();
                self.storage.begin_sampling(tables, capacity);
                Ok(Answer::Done)
            }
            Question::EndSampling => Ok(Answer::Sampled(self.sampled())),
            Question::StopCompaction(number) => {
                self.storage.stop_compaction(number);
                Ok(Answer::Done)
            }
            Question::CompactionHistory => {
                let ended = |ended: storage::EndedCompaction| EndedCompactionFacts {
                    number: ended.number,
                    table: TableName { keyspace: ended.keyspace, table: ended.table },
                    ended_ms: ended.ended_ms,
                    bytes_in: ended.bytes_in,
                    bytes_out: ended.bytes_out,
                    merged: ended.merged,
                };
                Ok(Answer::CompactionHistory(self.storage.compaction_history().into_iter().map(ended).collect()))
            }
            Question::Flush(names) => self.flush(&names).await,
            Question::Compact(names) => {
                for table in self.find_all(&names)? {
                    self.storage.compact(table.id).await.map_err(|error| failed(&table, &error))?;
                }
                Ok(Answer::Done)
            }
            Question::CollectGarbage { tables, is_by_cell } => {
                let garbage = if is_by_cell { Garbage::Overwritten } else { Garbage::Deleted };
                for table in self.find_all(&tables)? {
                    let collected = self.storage.collect_garbage(table.id, garbage).await;
                    collected.map_err(|error| failed(&table, &error))?;
                }
                Ok(Answer::Done)
            }
            Question::Scrub(tables) => {
                let mut all = ScrubFacts::default();
                for table in self.find_all(&tables)? {
                    let scrubbed = self.storage.scrub(table.id).await.map_err(|error| failed(&table, &error))?;
                    all.files += scrubbed.files;
                    all.damaged += scrubbed.damaged;
                    all.kept += scrubbed.kept;
                    all.in_part += scrubbed.in_part;
                    all.lost += scrubbed.lost;
                }
                Ok(Answer::Scrubbed(all))
            }
            Question::CleanUp(tables) => {
                self.has_joined()?;
                let mut all = Ok(Answer::Done);
                for table in self.find_all(&tables)? {
                    // One that fails is no reason to leave others as they are.
                    let cleaned = clean_up_table(&self.engine, table.id).await.map_err(|error| failed(&table, &error));
                    all = all.and_then(|done| cleaned.map(|_| done));
                }
                all
            }
            Question::CleanUpAll => {
                self.has_joined()?;
                clean_up(&self.engine).await.map(|()| Answer::Done).map_err(Refusal::Failed)
            }
            Question::Refresh(name) => {
                let table = self.find(&name)?;
                let refreshed = self.engine.refresh(&table.keyspace, &table.name).await;
                refreshed.map(|()| Answer::Done).map_err(Refusal::Failed)
            }
            Question::Endpoints { table, key } => self.endpoints(&table, &key),
            Question::Upgrade => Ok(Answer::Upgrade(upgrade_facts(self.of_cluster()?))),
            Question::FinalizeUpgrade => {
                finalize_upgrade(self.of_cluster()?).await.map(|()| Answer::Done).map_err(Refusal::Refused)
            }
            Question::Decommission { is_forced } => match &self.cluster {
                Some(cluster) => {
                    Departures::of(cluster).decommission(is_forced).await.map(|()| Answer::Done).map_err(stays)
                }
                None => Err(Refusal::Refused(ALONE.to_owned())),
            },
            Question::Rebuild { datacenter } => match &self.cluster {
                Some(cluster) => rebuild(cluster, datacenter).await.map(|()| Answer::Done).map_err(not_rebuilt),
                // There is no other node to copy from.
                None => Ok(Answer::Done),
            },
            Question::Move { token } => {
                let moved = exchange_token(self.of_cluster()?, Token(token)).await;
                moved.map(|()| Answer::Done).map_err(not_moved)
            }
            Question::RemoveNode { host_id, is_forced } => self.remove_node(&host_id, is_forced).await,
            Question::Operations => Ok(Answer::Operations(operations_facts(self.of_cluster()?))),
            Question::Streams => Ok(Answer::Streams(stream_facts(self.engine.coordinator()))),
            Question::AbortOperation(number) => {
                abort_operation(self.of_cluster()?, number).await.map(|()| Answer::Done).map_err(Refusal::Refused)
            }
            Question::Hints => Ok(Answer::Hints(hint_facts(self.hints()?))),
            Question::SetHints(switch) => {
                set_hints(self.hints()?, switch)?;
                Ok(Answer::Done)
            }
            Question::AnswerTimes => {
                let times = answer_nanos(self.engine.coordinator()).into_iter();
                Ok(Answer::AnswerTimes(times.map(|(node, nanos)| (node.to_string(), nanos / 1000)).collect()))
            }
            Question::Timeout(kind) => Ok(Answer::Timeout(timeout(&self.engine, kind))),
            Question::SetTimeout(kind, time) => {
                set_timeout(self, kind, time);
                Ok(Answer::Done)
            }
            Question::Audit(order) => audit(self, &order),
            Question::ImportRoles(order) => self.import_roles(*order).await,
            Question::ReloadTls => {
                self.server.reload_tls();
                self.internode_tls.iter().for_each(Identity::reload);
                self.api_tls.iter().for_each(OutsideFiles::reload);
                Ok(Answer::Done)
            }
            Question::SetTraceProbability(probability) => {
                self.engine.set_trace_probability(probability);
                Ok(Answer::Done)
            }
            Question::SetCompactionThroughput(bytes) => {
                self.storage.set_compaction_throughput(part_of_shard(bytes, self.runtime.shard_count()));
                Ok(Answer::Done)
            }
            Question::StreamThroughput => Ok(Answer::Rate(stream_throughput(self.engine.coordinator()))),
            Question::SetStreamThroughput(bytes) => {
                set_stream_throughput(self.engine.coordinator(), part_of_shard(bytes, self.runtime.shard_count()));
                Ok(Answer::Done)
            }
            Question::SetAutocompaction { tables, is_on } => {
                for table in self.find_all(&tables)? {
                    self.storage.set_autocompaction(table.id, is_on);
                }
                Ok(Answer::Done)
            }
            Question::Repair(order) => self.repair(order).await,
            Question::LogIn(attempt) => self.log_in(attempt).await,
            Question::Admit { login, need } => self.admit(&login, need),
            Question::Connect { from } => self.connect(from),
            Question::DrawTicket(login) => self.draw_ticket(&login),
            Question::AdmitTicket(ticket) => {
                self.server.admit_ticket(ticket);
                Ok(Answer::Done)
            }
            Question::EndTicket(ticket) => {
                self.server.end_ticket(&ticket);
                Ok(Answer::Done)
            }
            Question::Drain(step) => self.drain(step).await,
            Question::Snapshot(step) => self.snapshot(step).await,
        }
    }

    /// Refuses a cleanup of a node that has no tokens: what it has may be what it is given. In Cassandra's words.
    fn has_joined(&self) -> Result<(), Refusal> {
        let ring = self.engine.coordinator().ring();
        match ring.local_node().tokens.is_empty() && ring.nodes().len() > 1 {
            true => Err(Refusal::Refused("Cleanup cannot run before a node has joined the ring".to_owned())),
            false => Ok(()),
        }
    }

    fn of_cluster(&self) -> Result<&Cluster, Refusal> {
        self.cluster.as_ref().ok_or_else(|| Refusal::Refused("this node is alone: it is of no cluster".to_owned()))
    }

    fn hints(&self) -> Result<&Hints, Refusal> {
        let hints = self.engine.coordinator().hints();
        hints.ok_or_else(|| Refusal::Refused("this node keeps no hints".to_owned()))
    }

    /// The user's table with this name.
    fn find(&self, name: &TableName) -> Result<Rc<Table>, Refusal> {
        let table = self.engine.schema().table(&name.keyspace, &name.table).cloned();
        table.ok_or_else(|| Refusal::NotFound(format!("table {name} does not exist")))
    }

    fn endpoints(&self, table: &TableName, key: &str) -> Done {
        let found = endpoints(&self.engine, &table.keyspace, &table.table, key);
        let found = found.map_err(|error| match error {
            EndpointsError::NoTable { .. } => Refusal::NotFound(error.to_string()),
            error => Refusal::Refused(error.to_string()),
        })?;
        let ring = self.engine.coordinator().ring();
        let address = |id: HostId| ring.nodes().iter().find(|node| node.host_id == id).map(|node| node.address.ip());
        Ok(Answer::Endpoints(found.into_iter().filter_map(address).collect()))
    }

    async fn remove_node(&self, host_id: &str, is_forced: bool) -> Done {
        let bytes = stdx::parse_uuid(host_id);
        let host_id = HostId(bytes.ok_or_else(|| Refusal::Refused(format!("Invalid UUID string: {host_id}")))?);
        match &self.cluster {
            Some(cluster) => {
                Departures::of(cluster).remove(host_id, is_forced).await.map(|()| Answer::Done).map_err(stays)
            }
            None if host_id == self.engine.node().host_id => Err(stays(LeavingError::Own)),
            None => Err(Refusal::Refused("Host ID not found.".to_owned())),
        }
    }

    fn find_all(&self, names: &[TableName]) -> Result<Vec<Rc<Table>>, Refusal> {
        names.iter().map(|name| self.find(name)).collect()
    }

    async fn flush(&self, names: &[TableName]) -> Done {
        if names.is_empty() {
            let flushed = self.storage.flush_at_end(true).await;
            return flushed.map(|()| Answer::Done).map_err(|error| Refusal::Failed(error.to_string()));
        }
        for table in self.find_all(names)? {
            self.storage.flush(table.id).await.map_err(|error| failed(&table, &error))?;
        }
        Ok(Answer::Done)
    }

    async fn drain(&self, step: DrainStep) -> Done {
        let refused = |error: &dyn std::fmt::Display| Refusal::Failed(error.to_string());
        match step {
            DrainStep::StopAccepting => {
                self.server.stop_accepting();
                self.engine.coordinator().stop_accepting_peers();
            }
            DrainStep::Answer => {
                self.server.drain(DRAIN_PATIENCE).await;
                self.engine.coordinator().end_peers(DRAIN_PATIENCE).await;
            }
            DrainStep::Flush => {
                let flushed = self.storage.flush_at_end(true).await;
                // Also where a table cannot be written: what the log has is safe then.
                self.storage.drain().await.map_err(|error| refused(&error))?;
                flushed.map_err(|error| refused(&error))?;
            }
        }
        Ok(Answer::Done)
    }

    async fn snapshot(&self, step: SnapshotStep) -> Done {
        match step {
            SnapshotStep::Begin { tag, tables } => {
                let ids: Vec<TableId> = self.find_all(&tables)?.iter().map(|table| table.id).collect();
                self.storage.begin_snapshot(&tag, &ids).await.map_err(refused)?;
            }
            SnapshotStep::Name { tag, tables } => {
                for table in self.find_all(&tables)? {
                    self.storage.name_for_snapshot(&tag, table.id).await.map_err(refused)?;
                }
            }
            SnapshotStep::End { tag, tables } => {
                for table in self.find_all(&tables)? {
                    let definition = format!("{}\n", schema::describe::statements(&self.engine.schema(), &table));
                    self.storage.end_snapshot(&tag, table.id, &definition).await.map_err(refused)?;
                }
            }
            SnapshotStep::List => {
                let found = self.storage.snapshots().await.map_err(refused)?;
                let facts = |found: storage::SnapshotFigures| SnapshotFacts {
                    tag: found.tag,
                    table: TableName { keyspace: found.keyspace, table: found.table },
                    total: found.total,
                    only: found.only,
                };
                return Ok(Answer::Snapshots(found.into_iter().map(facts).collect()));
            }
            SnapshotStep::Clear { tag, keyspaces, tables } => {
                let is_meant = |found: &str, keyspace: &str, table: &str| {
                    tag.as_deref().is_none_or(|tag| tag == found)
                        && (keyspaces.is_empty() || keyspaces.iter().any(|wanted| wanted == keyspace))
                        && (tables.is_empty() || tables.iter().any(|wanted| wanted == table))
                };
                self.storage.clear_snapshots(is_meant).await.map_err(refused)?;
            }
        }
        Ok(Answer::Done)
    }
}

/// A shard's part of a limit of the node, which is 0 if there is none.
pub(super) fn part_of_shard(bytes: u64, shards: u16) -> u64 {
    // A limit of less than a byte per shard is still a limit.
    if bytes == 0 { 0 } else { (bytes / u64::from(shards)).max(1) }
}

fn stays(error: LeavingError) -> Refusal {
    match error {
        LeavingError::Late { .. } | LeavingError::NoAnswer { .. } => Refusal::Failed(error.to_string()),
        error => Refusal::Refused(error.to_string()),
    }
}

fn not_rebuilt(error: RebuildFailed) -> Refusal {
    match error {
        RebuildFailed::Refused(sentence) => Refusal::Refused(sentence),
        error => Refusal::Failed(error.to_string()),
    }
}

fn not_moved(error: MoveFailed) -> Refusal {
    match error {
        MoveFailed::Refused(sentence) => Refusal::Refused(sentence),
        error => Refusal::Failed(error.to_string()),
    }
}

fn failed(table: &Table, error: &impl std::fmt::Display) -> Refusal {
    Refusal::Failed(format!("{}.{}: {error}", table.keyspace, table.name))
}

fn refused(error: SnapshotError) -> Refusal {
    match error {
        SnapshotError::Io { .. } => Refusal::Failed(error.to_string()),
        error => Refusal::Refused(error.to_string()),
    }
}
