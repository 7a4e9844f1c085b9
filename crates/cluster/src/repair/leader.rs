//! The leader of a repair: has the participants of each session copy from each other, and asks them how far they are.

use std::rc::Rc;
use std::time::Duration;

use runtime::{Elapsed, Group};
use schema::TableId;
use topology::{Epoch, HostId, TokenRange};

use super::participant::Participant;
use super::ranges::Shared;
use super::verbs::order;
use crate::fence::Plan;
use crate::plan::{Placement, Replication};
use crate::replica::{ReplicaError, ReplicaShard, Shards};
use crate::streaming::{CopyFigures, CopyJob, JobName, JobOrder, JobReport, JobState, RANGES_MAX};

/// Time of the answer to an order.
const ORDER_TIME: Duration = Duration::from_secs(10);
/// The longest that a participant may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The rests between two rounds of questions.
const REST_MIN: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(1);
/// The longest that this node takes to apply what it plans by.
const CATCH_UP_TIME: Duration = Duration::from_secs(2);

/// A table to repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedTable {
    /// Its id.
    pub id: TableId,
    /// Its name, without the keyspace's.
    pub name: String,
}

/// A session that ended with an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SessionFailed {
    /// A participant is down. Cassandra's words.
    #[error("Endpoint not alive: {0}")]
    NotAlive(String),
    /// The ring or the table has changed, or this node does not keep up with changes.
    #[error("{table}: the ring or the table has changed meanwhile")]
    Changed {
        /// The table.
        table: String,
    },
    /// A participant refused, or does not answer.
    #[error("{table}: {error}")]
    Refused {
        /// The table.
        table: String,
        /// The participant's words.
        error: ReplicaError,
    },
    /// A participant has lost its job: it was started again, or has heard nothing for a minute.
    #[error("{table}: {node} does not know the repair any more")]
    Forgotten {
        /// The table.
        table: String,
        /// The participant.
        node: ReplicaShard,
    },
    /// A participant's job has failed.
    #[error("{table}: {node}: {words}")]
    Failed {
        /// The table.
        table: String,
        /// The participant.
        node: ReplicaShard,
        /// Its words, which name range and source.
        words: String,
    },
}

/// One table of a session, on all participants.
struct Task {
    name: JobName,
    /// The table, as errors name it.
    table: String,
    planned: Epoch,
}

/// A node that leads.
pub(super) struct Leader {
    pub(super) shards: Rc<Shards>,
    pub(super) placement: Rc<Placement>,
}

impl Leader {
    /// Repairs the tables of a session, one after the other. `note` receives the figures of what is done so far.
    pub(super) async fn session(
        &self,
        shared: &Shared,
        (keyspace, tables): (&str, &[RepairedTable]),
        replication: &Replication,
        note: &dyn Fn(CopyFigures),
    ) -> Result<(), SessionFailed> {
        for host in &shared.participants {
            if !self.placement.is_up(*host) {
                return Err(SessionFailed::NotAlive(format!("/{}", self.address(*host))));
            }
        }
        let mut done = CopyFigures::default();
        for table in tables {
            for ranges in shared.ranges.chunks(RANGES_MAX) {
                let name = format!("{keyspace}.{}", table.name);
                let Some(planned) = self.plan(table.id, &name, replication).await? else { continue };
                let task = Task { name: self.draw(), table: name, planned };
                let note = |now| {
                    let mut all = done;
                    all.add(now);
                    note(all);
                };
                let outcome = self.task(&task, table.id, (&shared.participants, ranges), &note).await;
                // Participants forget it: those of a failed one end their work.
                self.end(&task, &shared.participants);
                done.add(outcome?);
            }
        }
        Ok(())
    }

    /// The epoch that a task rests on, once this node has applied it. `None`: the table is gone.
    async fn plan(
        &self,
        table: TableId,
        name: &str,
        replication: &Replication,
    ) -> Result<Option<Epoch>, SessionFailed> {
        let fence = &self.shards.fence;
        let changed = || SessionFailed::Changed { table: name.to_owned() };
        let planned = match fence.judge(table, fence.moment(), replication.placed(), false) {
            Plan::Stands(planned) => planned,
            Plan::Gone => return Ok(None),
            Plan::Outdated(_) | Plan::Truncated => return Err(changed()),
        };
        match self.shards.runtime.timeout(CATCH_UP_TIME, fence.catch_up(None, planned)).await {
            Ok(true) => Ok(Some(planned)),
            Ok(false) | Err(Elapsed) => Err(changed()),
        }
    }

    fn draw(&self) -> JobName {
        let draw = || self.shards.runtime.random_u64().to_be_bytes();
        let mut name = [0; 16];
        name[..8].copy_from_slice(&draw());
        name[8..].copy_from_slice(&draw());
        JobName(name)
    }

    /// Repairs one table, and gives what was copied.
    async fn task(
        &self,
        task: &Task,
        table: TableId,
        (participants, ranges): (&[HostId], &[TokenRange]),
        note: &dyn Fn(CopyFigures),
    ) -> Result<CopyFigures, SessionFailed> {
        for host in participants {
            let sources = participants.iter().copied().filter(|source| source != host).collect();
            let job = CopyJob { table, ranges: ranges.to_vec(), sources, planned: task.planned, confirms: None };
            let begin = JobOrder::Begin(task.name, Box::new(job));
            let refused = |error| SessionFailed::Refused { table: task.table.clone(), error };
            self.order(*host, begin, task.planned).await.map_err(refused)?;
        }
        let runtime = &self.shards.runtime;
        let mut heard = vec![runtime.now(); participants.len()];
        let mut figures = vec![CopyFigures::default(); participants.len()];
        let mut is_done = vec![false; participants.len()];
        let mut rest = REST_MIN;
        loop {
            runtime.sleep(rest).await;
            rest = (rest * 2).min(REST_MAX);
            for (index, host) in participants.iter().enumerate() {
                if is_done[index] {
                    continue;
                }

                let asked = self.order(*host, JobOrder::Ask(task.name), task.planned).await;
                let now = runtime.now();
                let error = match asked {
                    Ok(report) => {
                        heard[index] = now;
                        figures[index] = report.figures;
                        is_done[index] = self.is_done(task, *host, report.state)?;
                        continue;
                    }
                    Err(error) => error,
                };
                let is_silent = matches!(error, ReplicaError::Gone { .. });
                if !is_silent || now - heard[index] >= SILENCE_MAX {
                    return Err(SessionFailed::Refused { table: task.table.clone(), error });
                }
            }
            let mut all = CopyFigures::default();
            figures.iter().for_each(|figures| all.add(*figures));
            note(all);
            if is_done.iter().all(|is_done| *is_done) {
                return Ok(all);
            }
        }
    }

    fn is_done(&self, task: &Task, host: HostId, state: JobState) -> Result<bool, SessionFailed> {
        let (table, node) = (task.table.clone(), self.shown(host));
        match state {
            JobState::Done => Ok(true),
            JobState::Waiting | JobState::Running => Ok(false),
            JobState::Unknown => Err(SessionFailed::Forgotten { table, node }),
            JobState::Failed(words) => Err(SessionFailed::Failed { table, node, words }),
        }
    }

    /// Has the participants forget a task, without waiting for them.
    fn end(&self, task: &Task, participants: &[HostId]) {
        for host in participants {
            let (end, planned, runtime) = (JobOrder::End(task.name), task.planned, &self.shards.runtime);
            let participant = Participant { shards: Rc::clone(&self.shards) };
            let peer = self.peer(*host);
            drop(runtime.spawn(Group::Maintenance, async move {
                // One that does not hear it ends its job by itself.
                let _ = match peer {
                    Some(peer) => order(&peer, &end, (ORDER_TIME, planned)).await,
                    None => participant.obey(end).await,
                };
            }));
        }
    }

    async fn order(&self, host: HostId, job: JobOrder, planned: Epoch) -> Result<JobReport, ReplicaError> {
        let Some(peer) = self.peer(host) else {
            return match host == self.placement.nodes().ring().local_node().host_id {
                true => Participant { shards: Rc::clone(&self.shards) }.obey(job).await,
                false => Err(ReplicaError::Gone { shard: self.shown(host) }),
            };
        };
        let asked = self.shards.runtime.timeout(ORDER_TIME, order(&peer, &job, (ORDER_TIME, planned)));
        asked.await.unwrap_or_else(|Elapsed| Err(ReplicaError::Gone { shard: self.shown(host) }))
    }

    fn peer(&self, host: HostId) -> Option<internode::Peer> {
        self.placement.peer(host)
    }

    /// A node, as errors name it.
    fn shown(&self, host: HostId) -> ReplicaShard {
        let nodes = self.placement.nodes();
        let found = nodes.ring().nodes().iter().find(|node| node.host_id == host);
        found.map_or(ReplicaShard::here(), |node| ReplicaShard::of_node(node.internode))
    }

    fn address(&self, host: HostId) -> String {
        let nodes = self.placement.nodes();
        let found = nodes.ring().nodes().iter().find(|node| node.host_id == host);
        found.map_or_else(|| host.to_string(), |node| node.internode.to_string())
    }
}
