//! Logged batches: whole on all their shards and nodes, or nowhere.
//!
//! A batch that goes to one place is one record there and needs no more. One that spans places is first synced as one
//! record of this shard's log; then it is delivered, and when that is done the log says so. A start delivers what the log
//! does not say that of. See `docs/internals/batch-log.md`.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use planted::Bug;
use runtime::Group;
use schema::TableId;
use storage::BatchId;
use topology::{ConsistencyLevel, Required};

use super::keepers::{Keepers, NotKept, delivered_by_keepers};
use super::missed::Hinting;
use super::planned::{PlannedMutation, is_whole_everywhere, onto_one_ring};
use super::rounds::{Kind, Needs, Pending};
use super::writes::Writes;
use crate::outcome::Failure;
use crate::plan::Replication;
use crate::replica::{ReplicaError, append_batch, synced_batch};
use crate::timeouts::TimeoutKind;

/// The rest between two tries to deliver a batch.
const REST: Duration = Duration::from_secs(5);
/// Times that a batch is delivered at once where the ring or a table changes meanwhile.
const TRIES_AT_ONCE: u32 = 3;

impl Writes {
    /// Writes a logged batch. An error but [`Failure::BatchLog`] and [`Failure::Refused`] leaves a batch that will be
    /// finished.
    pub(crate) async fn write_logged_batch(
        self: &Rc<Self>,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement);
        let planted = self.shards.storage.planted();
        if is_whole_everywhere(&planned) || planted.is(Bug::BatchLogNotWritten) {
            return self.write_batch(planned, level).await;
        }
        let (id, keepers) = self.log_batch(&mut planned).await?;
        let planned = Rc::new(planned);
        if planted.is(Bug::BatchDoneBeforeDelivered) {
            self.shards.storage.finish_batch(id);
        }
        match self.deliver(&planned, Needs::Level(level), Hinting::of(level)).await {
            Ok(()) => {
                self.shards.storage.finish_batch(id);
                keepers.done();
                Ok(())
            }
            Err(failure) => {
                stdx::sometimes!("batch delivered later");
                self.deliver_in_background(id, planned, Some(keepers));
                Err(match failure {
                    Failure::Outdated => Failure::Timeout { received: 0 },
                    // Some part may be done, and the rest will be: that is what a time-out of a batch means.
                    Failure::Refused(error) => {
                        tracing::info!(%error, "logged batch not delivered to all shards; retrying");
                        Failure::Timeout { received: 0 }
                    }
                    failure => failure,
                })
            }
        }
    }

    /// A mutation of a batch that a start found, planned for the present ring and shards. `None`: its table is gone.
    pub(crate) fn plan_logged(
        &self,
        mutation: Vec<u8>,
        replication_of: impl FnOnce(TableId) -> Option<Rc<Replication>>,
    ) -> Option<PlannedMutation> {
        let head = MutationRef::decode(&mutation).ok()?;
        let token = head.token();
        let replication = replication_of(head.table())?;
        let (shard, moment) = (self.owner(token), self.shards.fence.moment());
        Some(PlannedMutation { replication, token, shard, mutation, moment })
    }

    /// Delivers a batch that a start found in the log: at once if that can be done, else again and again.
    pub(crate) async fn finish_batch(self: &Rc<Self>, id: BatchId, planned: Vec<PlannedMutation>) {
        stdx::sometimes!("batch replay");
        // The hints of its first delivery may have been lost with the process.
        if !self.try_to_finish(id, &planned, Hinting::Kept).await {
            self.deliver_in_background(id, Rc::new(planned), None);
        }
    }

    /// Logs a batch, here and at keepers. It may be delivered then: its record is synced, and a keeper has its copy, if there is any.
    async fn log_batch(self: &Rc<Self>, planned: &mut Vec<PlannedMutation>) -> Result<(BatchId, Keepers), Failure> {
        let failed = |error| Failure::BatchLog { error };
        let shards = &self.shards;
        let mutations: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
        let appended = append_batch(shards, &mutations).await.map_err(failed)?;
        let (id, _) = appended;
        let keepers = Keepers::choose(shards, &self.placement, id);
        if !keepers.is_needed() {
            return Ok((synced_batch(shards, appended).await.map_err(failed)?, keepers));
        }
        let copying = {
            let (writes, keepers) = (Rc::clone(self), keepers.clone());
            let planned = std::mem::take(planned);
            shards.runtime.spawn(Group::Query, async move { writes.copy_batch(&keepers, planned).await })
        };
        let synced = synced_batch(shards, appended).await;
        let copied = copying.await;
        match (synced, copied) {
            (Ok(id), Ok(settled)) => {
                *planned = settled;
                Ok((id, keepers))
            }
            (Err(error), _) => {
                keepers.done();
                Err(failed(error))
            }
            (Ok(id), Err(failure)) => {
                // Nothing is delivered. A keeper that has it nevertheless, and hears nothing, asks, and delivers it: as with any write that timed out.
                shards.storage.finish_batch(id);
                keepers.done();
                Err(failure)
            }
        }
    }

    /// Sends copies of a batch to its keepers, and waits for the first. Gives the batch back.
    async fn copy_batch(
        self: Rc<Self>,
        keepers: &Keepers,
        planned: Vec<PlannedMutation>,
    ) -> Result<Vec<PlannedMutation>, Failure> {
        let mut pending = Pending::new(planned);
        let mut bytes = Vec::with_capacity(pending.planned.len());
        for planned in &pending.planned {
            bytes.push(planned.mutation.clone());
            self.shards.runtime.maybe_yield().await;
        }
        let bytes = Rc::new(bytes);
        let time = self.shards.timeouts.get(TimeoutKind::Write);
        for _ in 0..TRIES_AT_ONCE {
            let rests_on = self.settle(&mut pending, Kind::BATCH, time).await?;
            match keepers.copy(&bytes, rests_on).await {
                Ok(()) => return Ok(pending.planned),
                Err(NotKept::Stale(node, epoch)) => self.catch_up(Some(node), epoch, time).await,
                Err(NotKept::Failed(error)) => return Err(Failure::BatchLog { error }),
            }
        }
        let shard = self.shards.here().into();
        Err(Failure::BatchLog { error: ReplicaError::Gone { shard } })
    }

    /// Of batches that a start has found, those that another node has delivered meanwhile, by the copy that it kept.
    pub(crate) async fn delivered_by_keepers(&self, ids: &[BatchId]) -> Vec<BatchId> {
        delivered_by_keepers(&self.shards, &self.placement, ids).await
    }

    /// Copies mutations, which may be long, one by one.
    async fn copied<'m>(&self, planned: impl Iterator<Item = &'m PlannedMutation>) -> Vec<PlannedMutation> {
        let mut copies = Vec::new();
        for planned in planned {
            copies.push(planned.clone());
            self.shards.runtime.maybe_yield().await;
        }
        copies
    }

    /// Writes every part, synced on this node whatever the mode: the log is about to forget the batch.
    async fn deliver(
        self: &Rc<Self>,
        planned: &[PlannedMutation],
        needs: Needs,
        hinting: Hinting,
    ) -> Result<(), Failure> {
        let kind = Kind::BATCH.with_hints(hinting);
        for _ in 1..TRIES_AT_ONCE {
            let copies = self.copied(planned.iter()).await;
            match self.write_planned(copies, needs.clone(), kind).await {
                Err(Failure::Outdated) => {}
                written => return written,
            }
        }
        self.write_planned(self.copied(planned.iter()).await, needs, kind).await
    }

    fn deliver_in_background(
        self: &Rc<Self>,
        id: BatchId,
        planned: Rc<Vec<PlannedMutation>>,
        keepers: Option<Keepers>,
    ) {
        let writes = Rc::clone(self);
        self.shards.runtime.spawn(Group::Maintenance, async move {
            loop {
                writes.shards.runtime.sleep(REST).await;
                if writes.try_to_finish(id, &planned, Hinting::None).await {
                    return keepers.into_iter().for_each(Keepers::done);
                }
            }
        });
    }

    /// Delivers what still counts of a batch, at one replica of each mutation at least, on the present ring: a batch may wait for longer than
    /// the ring that it was planned by is there.
    pub(super) async fn try_to_finish(
        self: &Rc<Self>,
        id: BatchId,
        planned: &[PlannedMutation],
        hinting: Hinting,
    ) -> bool {
        let storage = &self.shards.storage;
        let wanted = planned.iter().filter(|planned| storage.is_batch_wanted(id, &planned.mutation));
        let mut wanted = self.copied(wanted).await;
        // What was truncated while they were copied is not wanted any more, and is planned of now: so it is asked in one call.
        wanted.retain(|planned| storage.is_batch_wanted(id, &planned.mutation));
        wanted.iter_mut().for_each(|planned| planned.plan_again(&self.placement, &self.shards.fence));
        if !wanted.is_empty()
            && let Err(error) = self.deliver(&wanted, Needs::Fixed(Required::Total(1)), hinting).await
        {
            tracing::info!(%error, "logged batch not delivered; retrying");
            return false;
        }
        storage.finish_batch(id);
        true
    }
}
