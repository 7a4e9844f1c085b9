//! The coordinator's requests, each handed to the part that does it.

use std::rc::Rc;

use mutation::ReadCommand;
use schema::{Table, TableId};
use storage::reader::ReadDone;
use storage::{Ack, LogSequence, ReadEnd, RowSink, TryOutcome, UnfinishedBatch};
use topology::{ConsistencyLevel, Token};

use super::Coordinator;
use crate::outcome::Failure;
use crate::paxos::{Ballot, Purpose};
use crate::plan::{PlanPlace, ReplicaPlan, Replication};
use crate::read::{judge_read, planned_at};
use crate::replica::{PageLimits, ReplicaError};
use crate::serial::{Agreement, AgreementError, Agreements, Attempt};
use crate::timeouts::TimeoutKind;
use crate::write::{FoundBatches, PlannedMutation};

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
        let planned = planned_at(&self.inner.shards, kind, table.id, plan.replication).await?;
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
        let planned = planned_at(&self.inner.shards, kind, table.id, replication).await?;
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

    /// Claims the partition, when those before have done, and begins an attempt by a plan at a serial level, whose only replica is this shard; what an attempt before
    /// it has left is finished then. `None`: others were there for too long. [`Failure::Outdated`]: the statement is to be planned again.
    pub async fn attempt<'p>(
        &self,
        plan: &ReplicaPlan<'_>,
        partition: (&'p Table, Token, &'p [u8]),
        now_in_seconds: u32,
    ) -> Result<Option<Attempt<'p>>, Failure> {
        self.inner.rounds.attempt(plan.replication, partition, now_in_seconds).await
    }

    /// Begins an attempt whose electorate has other nodes, by a plan at a serial level. `new_ballot` makes one later than another.
    pub async fn agreement<'p>(
        &self,
        plan: ReplicaPlan<'p>,
        partition: (&'p Table, Token, &'p [u8]),
        purpose: Purpose,
        new_ballot: &'p dyn Fn(Option<Ballot>) -> Ballot,
    ) -> Result<Agreement<'p>, AgreementError> {
        self.inner.agreements.begin(plan, partition, purpose, new_ballot).await
    }

    /// Attempts whose electorate has other nodes, and what they have left.
    pub fn agreements(&self) -> &Rc<Agreements> {
        &self.inner.agreements
    }

    /// The sequence that the reply to a read of this shard's data must wait for, if it is to give only what stays.
    #[inline]
    pub fn seen(&self) -> LogSequence {
        self.inner.rounds.seen()
    }
}
