//! Reads at a level. What several replicas answer, or another node, is read in `replicas.rs`.

use std::cell::Cell;
use std::rc::Rc;

use mutation::{Position, ReadCommand};
use runtime::Elapsed;
use runtime::sync::Semaphore;
use schema::Table;
use storage::RowSink;
use storage::reader::ReadDone;
use topology::ConsistencyLevel;

use super::feed::feed_page;
use super::reached::Reached;
use super::reading::Reading;
use super::speculation::{ReadCounters, ReadTimes};
use crate::outcome::Failure;
use crate::plan::{ReplicaPlan, Replication};
use crate::replica::{PageLimits, ReplicaError, Shards};
use crate::timeouts::TimeoutKind;

/// The reads that a shard coordinates.
pub(crate) struct Reads {
    pub(super) shards: Rc<Shards>,
    scans: Semaphore,
    pub(super) times: ReadTimes,
    pub(super) counters: Cell<ReadCounters>,
}

impl Reads {
    /// So many scans run at once.
    pub(crate) fn new(shards: Rc<Shards>, scans_max: usize) -> Self {
        let (times, counters) = (ReadTimes::default(), Cell::default());
        Reads { shards, scans: Semaphore::new(scans_max), times, counters }
    }

    /// Counts of what reads over several replicas did.
    pub(crate) fn counters(&self) -> ReadCounters {
        self.counters.get()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut ReadCounters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// Reads a partition, and waits as it must. `limits` bounds what another shard sends at once, not the read.
    pub(crate) async fn read(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        if !plan.is_local_read() {
            return Box::pin(self.read_replicas(plan, Reading { table, command, limits, sink }, Vec::new())).await;
        }
        if plan.is_local_alone() {
            return Ok(self.read_here(plan, table, command, limits, sink).await?);
        }
        let mut noting = Reached::new(sink);
        let error = match self.read_here(plan, table, command, limits, &mut noting).await {
            Ok(done) => return Ok(done),
            Err(error) if error.is_stale() => return Err(error.into()),
            Err(error) => error,
        };
        // Another replica goes on.
        let reached = noting.position(table);
        let command = ReadCommand { after: reached.as_ref().map(Position::as_ref).or(command.after), ..command };
        let failed = vec![(plan.nodes.local(), error)];
        Box::pin(self.read_replicas(plan, Reading { table, command, limits, sink }, failed)).await
    }

    /// Reads a partition of this node.
    async fn read_here(
        &self,
        plan: &ReplicaPlan<'_>,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, ReplicaError> {
        if plan.shard == self.shards.here() {
            return self.shards.read_here(command, sink).await;
        }
        let mut after = command.after.map(|position| position.to_owned());
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            let mut bytes = Vec::with_capacity(128);
            command.encode(&mut bytes);
            let page = self.shards.fetch(plan.shard, bytes, limits).await?;
            if let Some(position) = feed_page(plan.shard.0, table, &page, command.now_in_seconds, sink)? {
                return Ok(ReadDone::Stopped(position));
            }
            match page.more_after {
                None => return Ok(ReadDone::Complete),
                position => after = position,
            }
        }
    }

    /// Scans partitions in the order of tokens. `limits` says how much the sink is going to take, in all.
    ///
    /// As many scans run at once as the options allow; others wait, as long as one may take.
    pub(crate) async fn scan(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let time = self.shards.timeouts.get(TimeoutKind::Range);
        let _permit = match self.scans.try_acquire() {
            Some(permit) => permit,
            None => match self.shards.runtime.timeout(time, self.scans.acquire()).await {
                Ok(permit) => permit,
                Err(Elapsed) => return Err(Failure::Timeout { received: 0 }),
            },
        };
        self.scan_ring(replication, level, Reading { table, command, limits, sink }).await
    }
}
