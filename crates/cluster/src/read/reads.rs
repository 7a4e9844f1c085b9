//! Reads at a level. What several replicas answer, or another node, is read in `replicas.rs`.

use std::rc::Rc;

use mutation::{Position, ReadCommand};
use runtime::sync::Semaphore;
use schema::Table;
use storage::RowSink;
use storage::reader::ReadDone;
use topology::ConsistencyLevel;

use super::feed::feed_page;
use crate::outcome::Failure;
use crate::plan::{ReplicaPlan, Replication};
use crate::replica::{PageLimits, Shards};

/// The reads that a shard coordinates.
pub(crate) struct Reads {
    pub(super) shards: Rc<Shards>,
    scans: Semaphore,
}

impl Reads {
    /// So many scans run at once.
    pub(crate) fn new(shards: Rc<Shards>, scans_max: usize) -> Self {
        Reads { shards, scans: Semaphore::new(scans_max) }
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
            return self.read_replicas(plan, table, command, limits, sink).await;
        }
        if plan.shard == self.shards.here() {
            return Ok(self.shards.read_here(command, sink).await?);
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
    /// As many scans run at once as the options allow; others wait.
    pub(crate) async fn scan(
        &self,
        replication: &Replication,
        level: ConsistencyLevel,
        table: &Table,
        command: ReadCommand<'_>,
        limits: PageLimits,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let _permit = self.scans.acquire().await;
        self.scan_ring(replication, level, table, command, limits, sink).await
    }
}
