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
use storage::{ApplyError, BatchId};
use topology::{ConsistencyLevel, Required};

use super::missed::Hinting;
use super::planned::{PlannedMutation, by_shard, is_whole_everywhere, onto_one_ring, onto_present_ring};
use super::writes::Writes;
use crate::outcome::Failure;
use crate::plan::Replication;
use crate::replica::{ReplicaError, apply_error};

/// The rest between two tries to deliver a batch.
const REST: Duration = Duration::from_secs(5);

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
        let id = self.log_batch(&planned).await.map_err(|error| Failure::BatchLog { error })?;
        let needs = planned.iter().map(|planned| planned.replication.required(level).clone()).collect();
        let planned = Rc::new(planned);
        if planted.is(Bug::BatchDoneBeforeDelivered) {
            self.shards.storage.finish_batch(id);
        }
        match self.deliver(Rc::clone(&planned), needs, Hinting::of(level)).await {
            Ok(()) => {
                self.shards.storage.finish_batch(id);
                Ok(())
            }
            Err(failure) => {
                stdx::sometimes!("batch delivered later");
                self.deliver_in_background(id, planned);
                Err(match failure {
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
        let shard = self.owner(token);
        Some(PlannedMutation { replication, token, shard, mutation })
    }

    /// Delivers a batch that a start found in the log: at once if that can be done, else again and again.
    pub(crate) async fn finish_batch(self: &Rc<Self>, id: BatchId, planned: Vec<PlannedMutation>) {
        stdx::sometimes!("batch replay");
        // The hints of its first delivery may have been lost with the process.
        if !self.try_to_finish(id, &planned, Hinting::Kept).await {
            self.deliver_in_background(id, Rc::new(planned));
        }
    }

    async fn log_batch(&self, planned: &[PlannedMutation]) -> Result<BatchId, ReplicaError> {
        let storage = &self.shards.storage;
        let mutations: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
        let shard = self.shards.here().0;
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        let logged = match storage::is_small(mutations.len(), bytes) {
            true => loop {
                match storage.log_batch(&mutations) {
                    Err(ApplyError::LogBusy) => storage.room().await,
                    logged => break logged,
                }
            },
            false => storage.log_batch_in_steps(&mutations).await,
        };
        let (id, sequence) = logged.map_err(|error| apply_error(shard, error))?;
        if let Err(reason) = storage.wait_synced(sequence).await {
            // The record may get to the disk yet. Nothing was delivered and nothing will be, so it must not wait for that for ever.
            storage.finish_batch(id);
            return Err(ReplicaError::NotSynced { shard: shard.into(), reason });
        }
        Ok(id)
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
        &self,
        planned: Rc<Vec<PlannedMutation>>,
        needs: Vec<Required>,
        hinting: Hinting,
    ) -> Result<(), Failure> {
        if !planned.iter().zip(&needs).all(|(planned, needs)| planned.is_local(needs)) {
            return self.write_to_replicas(planned, needs, (true, hinting)).await;
        }
        let planned = match Rc::try_unwrap(planned) {
            Ok(planned) => planned,
            Err(shared) => self.copied(shared.iter()).await,
        };
        Ok(self.shards.write_all(by_shard(planned), true).await?)
    }

    fn deliver_in_background(self: &Rc<Self>, id: BatchId, planned: Rc<Vec<PlannedMutation>>) {
        let writes = Rc::clone(self);
        self.shards.runtime.spawn(Group::Maintenance, async move {
            loop {
                writes.shards.runtime.sleep(REST).await;
                if writes.try_to_finish(id, &planned, Hinting::None).await {
                    return;
                }
            }
        });
    }

    /// Delivers what still counts of a batch, at one replica of each mutation at least, on the present ring: a batch may wait for longer than
    /// the ring that it was planned by is there.
    async fn try_to_finish(&self, id: BatchId, planned: &[PlannedMutation], hinting: Hinting) -> bool {
        let storage = &self.shards.storage;
        let wanted = planned.iter().filter(|planned| storage.is_batch_wanted(id, &planned.mutation));
        let mut wanted = self.copied(wanted).await;
        onto_present_ring(&mut wanted, &self.placement);
        if !wanted.is_empty() {
            let needs = vec![Required::Total(1); wanted.len()];
            if let Err(error) = self.deliver(Rc::new(wanted), needs, hinting).await {
                tracing::info!(%error, "logged batch not delivered; retrying");
                return false;
            }
        }
        storage.finish_batch(id);
        true
    }
}
