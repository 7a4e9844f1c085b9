//! The coordinator's requests, each handed to the part that does it.

use std::rc::Rc;
use std::time::Duration;

use mutation::ReadCommand;
use runtime::Elapsed;
use schema::{Table, TableId};
use storage::reader::ReadDone;
use storage::{Ack, LogSequence, ReadEnd, RowSink, TryOutcome, UnfinishedBatch};
use topology::{ConsistencyLevel, Epoch, Token};

use super::Coordinator;
use crate::counts::count;
use crate::fence::Plan;
use crate::outcome::Failure;
use crate::paxos::Attempt;
use crate::plan::{Nodes, PlanPlace, ReplicaPlan, Replication};
use crate::replica::{PageLimits, ReplicaError, Shards};
use crate::timeouts::TimeoutKind;
use crate::write::{FoundBatches, PlannedMutation};

/// The longest that a read waits for this node to apply a change, if its own time is not shorter.
const CATCH_UP_TIME: Duration = Duration::from_secs(2);

impl Coordinator {
    /// Writes without waiting, if the plan and the mutation's size allow that. Otherwise
    /// [`Coordinator::write_batch`] does.
    #[inline]
    pub fn write_now(&self, plan: &ReplicaPlan<'_>, mutation: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        if self.place_of_write(plan) == PlanPlace::Here {
            self.inner.writes.write_now(mutation)
        } else {
            Ok(TryOutcome::WouldBlock)
        }
    }

    /// Writes several mutations as one log record without waiting. All of them have plans that are served here.
    pub fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<TryOutcome<Ack>, ReplicaError> {
        self.inner.writes.write_batch_now(mutations)
    }

    /// Writes, and waits until so many replicas of each mutation have it as `level` asks for. What belongs to one shard
    /// is one record of its log, so it is there as a whole or not at all. Where this node is the only
    /// replica of all, its shards are all waited for, and the first refusal is reported.
    pub async fn write_batch(&self, planned: Vec<PlannedMutation>, level: ConsistencyLevel) -> Result<(), Failure> {
        self.inner.writes.write_batch(planned, level).await
    }

    /// Writes a logged batch. An error but [`Failure::BatchLog`] and [`Failure::Refused`] leaves a batch that will be
    /// finished.
    pub async fn write_logged_batch(
        &self,
        planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        self.inner.writes.write_logged_batch(planned, level).await
    }

    /// Finishes batches that a start found in the log. Returns when each was tried once, or after two seconds: the rest goes on without. `replication_of`
    /// finds the replication of a table's keyspace; `None`: the table is gone.
    pub async fn finish_batches(
        &self,
        found: Vec<UnfinishedBatch>,
        replication_of: impl Fn(TableId) -> Option<Rc<Replication>> + 'static,
    ) {
        FoundBatches::new(Rc::clone(&self.inner.writes)).finish(found, replication_of).await;
    }

    /// Changes counters without waiting, if the plan and what is in memory allow that. Otherwise
    /// [`Coordinator::count`] does.
    pub fn count_now(&self, plan: &ReplicaPlan<'_>, delta: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        if self.place_of_write(plan) == PlanPlace::Here {
            self.inner.writes.count_now(delta)
        } else {
            Ok(TryOutcome::WouldBlock)
        }
    }

    /// Changes counters by mutations with deltas, and waits until so many replicas of each have the states as `level` asks
    /// for. What belongs to one shard of the leader is one record of its log.
    pub async fn count(&self, planned: Vec<PlannedMutation>, level: ConsistencyLevel) -> Result<(), Failure> {
        self.inner.writes.count(planned, level).await
    }

    /// Reads without waiting, if the plan allows that and memory has it. Otherwise nothing is given to the
    /// sink, and [`Coordinator::read`] reads it.
    #[inline]
    pub fn read_now(
        &self,
        plan: &ReplicaPlan<'_>,
        command: &ReadCommand<'_>,
        sink: &mut impl RowSink,
    ) -> TryOutcome<ReadEnd> {
        if self.place_of_read(plan) == PlanPlace::Here {
            self.storage().read(command, sink)
        } else {
            TryOutcome::WouldBlock
        }
    }

    /// Reads a partition, and waits as it must. `limits` bounds what another shard sends at once, not the read. [`Failure::Outdated`]: what was given to the
    /// sink does not count, and the statement is to be planned again.
    pub async fn read(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let kind = TimeoutKind::Read;
        let planned = read_planned_at(&self.inner.shards, kind, table.id, plan.replication).await?;
        let limits = PageLimits { planned, ..limits };
        let read = self.inner.reads.read(plan, table, command, limits, sink).await;
        judge_read(&self.inner.shards, (kind, planned), plan.nodes, read).await
    }

    /// Scans partitions in the order of tokens. `limits` says how much the sink is going to take, in all.
    ///
    /// As many scans run at once as the options allow; others wait.
    pub async fn scan(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let kind = TimeoutKind::Range;
        let planned = read_planned_at(&self.inner.shards, kind, table.id, replication).await?;
        let limits = PageLimits { planned, ..limits };
        let scanned = self.inner.reads.scan(replication, level, table, command, limits, sink).await;
        judge_read(&self.inner.shards, (kind, planned), replication.nodes(), scanned).await
    }

    /// True if no attempt at a partition of this shard goes on beyond the present call.
    #[inline]
    pub fn is_untouched(&self, table: &Table, key: &[u8]) -> bool {
        self.inner.rounds.is_untouched(table, key)
    }

    /// Begins an attempt that ends within the present call. `None`: it must wait.
    pub fn attempt_now<'p>(
        &self,
        table: &'p Table,
        token: Token,
        key: &'p [u8],
        now_in_seconds: u32,
    ) -> Option<Attempt<'p>> {
        self.inner.rounds.attempt_now(table, token, key, now_in_seconds)
    }

    /// Claims the partition, when those before have done, and begins an attempt; what an attempt before it has left is finished then.
    /// `None`: others were there for too long.
    pub async fn attempt<'p>(
        &self,
        table: &'p Table,
        token: Token,
        key: &'p [u8],
        now_in_seconds: u32,
    ) -> Result<Option<Attempt<'p>>, ReplicaError> {
        self.inner.rounds.attempt(table, token, key, now_in_seconds).await
    }

    /// The sequence that the reply to a read of this shard's data must wait for, if it is to give only what stays.
    #[inline]
    pub fn seen(&self) -> LogSequence {
        self.inner.rounds.seen()
    }
}

/// The epoch that a read's plan by a replication rests on, once this node has applied it.
async fn read_planned_at(
    shards: &Shards,
    kind: TimeoutKind,
    table: TableId,
    replication: &Replication,
) -> Result<Epoch, Failure> {
    let fence = &shards.fence;
    let planned = match fence.judge(table, fence.moment(), replication.placed(), false) {
        Plan::Stands(epoch) => epoch,
        Plan::Outdated(_) | Plan::Truncated | Plan::Gone => return Err(Failure::Outdated),
    };
    if fence.has_applied(planned) {
        return Ok(planned);
    }
    let time = CATCH_UP_TIME.min(shards.timeouts.get(kind));
    match shards.runtime.timeout(time, fence.catch_up(None, planned)).await {
        Ok(true) => Ok(planned),
        Ok(false) | Err(Elapsed) => Err(Failure::Timeout { received: 0 }),
    }
}

/// The end of a read whose plan rests on an epoch. Where a replica was Stale, or the ring has changed meanwhile, no answer to it counts.
async fn judge_read(
    shards: &Shards,
    (kind, planned): (TimeoutKind, Epoch),
    nodes: &Rc<Nodes>,
    read: Result<ReadDone, Failure>,
) -> Result<ReadDone, Failure> {
    let fence = &shards.fence;
    let (node, epoch) = match &read {
        Ok(_) if fence.is_placed_otherwise(planned) => {
            count(&shards.counts.planned_again);
            return Err(Failure::Outdated);
        }
        Err(Failure::Refused(ReplicaError::Stale { epoch, shard })) => (nodes.host_at(*shard), *epoch),
        Err(Failure::Failed { refusals, .. }) => {
            let stale = refusals.iter().find_map(|refusal| match refusal.error {
                ReplicaError::Stale { epoch, shard } => Some((nodes.host_at(shard), epoch)),
                _ => None,
            });
            match stale {
                Some(stale) => stale,
                None => return read,
            }
        }
        _ => return read,
    };
    let time = CATCH_UP_TIME.min(shards.timeouts.get(kind));
    let caught_up = shards.runtime.timeout(time, fence.catch_up_after(node, epoch)).await;
    match caught_up {
        Ok(true) => {
            count(&shards.counts.planned_again);
            Err(Failure::Outdated)
        }
        Ok(false) | Err(Elapsed) => Err(Failure::Timeout { received: 0 }),
    }
}
