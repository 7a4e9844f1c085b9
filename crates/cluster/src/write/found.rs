//! The batches that a start finds in a shard's log: the copies for other nodes are kept on; of its own, those are delivered that no keeper has delivered.
//!
//! ```text
//! copies ──────► kept, and due at once
//! own batches ─► asked about at other nodes ─► done there: finished · else: delivered, many side by side ─► finished, or again in the background
//! ```

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::Group;
use schema::TableId;
use storage::{BatchId, UnfinishedBatch};

use super::batch::Undelivered;
use super::keepers::delivered_by_keepers;
use super::kept::Keeper;
use super::planned::PlannedMutation;
use super::writes::Writes;
use crate::plan::Replication;

/// Time that a start waits for all first tries together: clients wait for it.
const FIRST_TIME: Duration = Duration::from_secs(2);
/// Batches that are delivered side by side.
const BATCHES_AT_ONCE: usize = 64;

/// The batches that a start found, on their way to be finished. Clones are the same.
#[derive(Clone)]
pub(crate) struct FoundBatches {
    writes: Rc<Writes>,
}

impl FoundBatches {
    /// They are delivered by `writes`.
    pub(crate) fn new(writes: Rc<Writes>) -> FoundBatches {
        FoundBatches { writes }
    }

    /// Finishes the batches that a start found in this shard's log. Returns when each was tried once, or after a while: the rest goes on without.
    /// `replication_of` finds the replication of a table's keyspace; `None`: the table is gone.
    pub(crate) async fn finish(
        &self,
        found: Vec<UnfinishedBatch>,
        replication_of: impl Fn(TableId) -> Option<Rc<Replication>> + 'static,
    ) {
        if found.is_empty() {
            return;
        }
        // Copies are kept between nodes that follow one group only.
        let is_copy = |batch: &UnfinishedBatch| batch.head.copy_of.is_some() && self.writes.shards.fence.is_closed();
        let (copies, own): (Vec<_>, Vec<_>) = found.into_iter().partition(is_copy);
        Keeper::new(Rc::clone(&self.writes)).keep_found(copies.into_iter());
        let found = self.clone();
        let finishing =
            self.writes.shards.runtime.spawn(Group::Query, async move { found.finish_own(own, replication_of).await });
        if self.writes.shards.runtime.timeout(FIRST_TIME, finishing).await.is_err() {
            tracing::info!("logged batches of before this start are not all delivered yet; continuing while serving");
        }
    }

    async fn finish_own(&self, own: Vec<UnfinishedBatch>, replication_of: impl Fn(TableId) -> Option<Rc<Replication>>) {
        let ids: Vec<BatchId> = own.iter().map(|batch| batch.id).collect();
        let delivered = delivered_by_keepers(&self.writes.shards, &self.writes.placement, &ids).await;
        delivered.iter().for_each(|id| self.writes.shards.storage.finish_batch(*id));
        let mut batches = Vec::with_capacity(own.len());
        for batch in own.into_iter().filter(|batch| !delivered.contains(&batch.id)) {
            let planned =
                batch.mutations.into_iter().filter_map(|mutation| self.plan_logged(mutation, &replication_of));
            batches.push((batch.id, planned.collect()));
            self.writes.shards.runtime.maybe_yield().await;
        }
        let batches: Rc<RefCell<std::vec::IntoIter<_>>> = Rc::new(RefCell::new(batches.into_iter()));
        let workers = (0..BATCHES_AT_ONCE.min(batches.borrow().len())).map(|_| {
            let (found, batches) = (self.clone(), Rc::clone(&batches));
            self.writes.shards.runtime.spawn(Group::Query, async move {
                loop {
                    let next = batches.borrow_mut().next();
                    let Some((id, planned)) = next else { return };
                    found.finish_batch(id, planned).await;
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await;
        }
    }

    /// Delivers a batch: at once if that can be done, else again and again.
    async fn finish_batch(&self, id: BatchId, planned: Vec<PlannedMutation>) {
        stdx::sometimes!("batch replay");
        if let Err(Undelivered { left, .. }) = self.writes.try_to_finish(id, planned).await {
            self.writes.deliver_in_background(id, left, None);
        }
    }

    /// A mutation of a batch, planned for the present ring and shards. `None`: its table is gone.
    fn plan_logged(
        &self,
        mutation: Vec<u8>,
        replication_of: &impl Fn(TableId) -> Option<Rc<Replication>>,
    ) -> Option<PlannedMutation> {
        let head = MutationRef::decode(&mutation).ok()?;
        let token = head.token();
        let replication = replication_of(head.table())?;
        let (shard, moment) = (self.writes.owner(token), self.writes.shards.fence.moment());
        Some(PlannedMutation { replication, token, shard, mutation, moment })
    }
}
