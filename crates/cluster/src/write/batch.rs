//! Logged batches: whole on all their shards and nodes, or nowhere.
//!
//! A batch that goes to one place is one record there and needs no more. One that spans places is first synced as one
//! record of this shard's log; then it is delivered, and when that is done the log says so. A start delivers what the log
//! does not say that of. See `docs/internals/batch-log.md`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use runtime::Group;
use storage::{BatchHead, BatchId};
use topology::{ConsistencyLevel, NodeIndex};

use super::keepers::{Keepers, NotKept};
use super::missed::Hinting;
use super::planned::{PlannedMutation, is_whole_everywhere, onto_one_ring};
use super::rounds::{Kind, Needs, Pending};
use super::writes::Writes;
use crate::outcome::Failure;
use crate::replica::{ReplicaError, append_batch, synced_batch};
use crate::timeouts::TimeoutKind;

/// The rest before the second try to deliver a batch, doubled up to the longest.
const REST: Duration = Duration::from_secs(5);
const REST_MAX: Duration = Duration::from_secs(60);
/// Groups of a batch's mutations that are delivered side by side.
const GROUPS_AT_ONCE: usize = 16;
/// Times that a batch is delivered at once where the ring or a table changes meanwhile.
const TRIES_AT_ONCE: u32 = 3;

/// The rest of a batch that no replica takes, and of which no hint is kept.
pub(super) struct Undelivered {
    pub(super) left: Vec<PlannedMutation>,
    pub(super) error: Failure,
}

impl Writes {
    /// Writes a logged batch. An error but [`Failure::BatchLog`] and [`Failure::Refused`] leaves a batch that will be
    /// finished.
    pub(crate) async fn write_logged_batch(
        self: &Rc<Self>,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement, &self.shards.fence);
        let planted = self.shards.storage.planted();
        if planted.is(Bug::BatchLogNotWritten) {
            return self.write_batch(planned, level).await;
        }
        if is_whole_everywhere(&planned) {
            // A ring that comes meanwhile may set it apart: then it is a batch of several places.
            match self.write_as_one(planned, level).await? {
                Some(apart) => planned = apart,
                None => return Ok(()),
            }
        }
        let created = self.shards.runtime.wall_clock_micros();
        let (id, keepers) = self.log_batch(&mut planned, created).await?;
        if planted.is(Bug::BatchDoneBeforeDelivered) {
            self.shards.storage.finish_batch(id);
        }
        let kind = Kind::BATCH.since(created).with_hints(Hinting::of(level));
        match self.deliver(&planned, Needs::Level(level), kind).await {
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

    /// Logs a batch, here and at keepers. It may be delivered then: its record is synced, and a keeper has its copy, if there is any.
    async fn log_batch(
        self: &Rc<Self>,
        planned: &mut Vec<PlannedMutation>,
        created: i64,
    ) -> Result<(BatchId, Keepers), Failure> {
        let shards = &self.shards;
        let mutations: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
        let head = BatchHead { created, copy_of: None };
        let appended = append_batch(shards, &head, &mutations).await;
        let appended = appended.map_err(|error| Failure::BatchLog { error, keepers: 0 })?;
        let (id, _) = appended;
        let keepers = Keepers::choose(shards, &self.placement, id);
        let failed = |error| Failure::BatchLog { error, keepers: keepers.count() };
        if !keepers.is_needed() {
            let id = synced_batch(shards, appended).await.map_err(failed)?;
            return Ok((id, keepers));
        }
        let copying = {
            let (writes, keepers) = (Rc::clone(self), keepers.clone());
            let planned = std::mem::take(planned);
            shards.runtime.spawn(Group::Query, async move { writes.copy_batch(&keepers, created, planned).await })
        };
        let synced = synced_batch(shards, appended).await;
        let copied = copying.await;
        match (synced, copied) {
            (Ok(id), Ok(settled)) => {
                *planned = settled;
                Ok((id, keepers))
            }
            (Err(error), _) => {
                let failure = failed(error);
                keepers.done();
                Err(failure)
            }
            (Ok(id), Err(failure)) => {
                // Nothing is delivered. A keeper that has it nevertheless, and hears nothing, asks: it delivers it only if this node has ended by then, as with
                // any write that timed out.
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
        created: i64,
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
            let rests_on = match self.settle(&mut pending, Kind::BATCH, time).await {
                Ok(rests_on) => rests_on,
                // Nothing was delivered, and nothing will be: it is the log's time that is over.
                Err(Failure::Timeout { .. }) => break,
                Err(failure) => return Err(failure),
            };
            match keepers.copy(created, &bytes, rests_on).await {
                Ok(()) => return Ok(pending.planned),
                Err(NotKept::Stale(node, epoch)) => self.catch_up(Some(node), epoch, time).await,
                Err(NotKept::Failed(error)) => return Err(Failure::BatchLog { error, keepers: keepers.count() }),
            }
        }
        let shard = self.shards.here().into();
        Err(Failure::BatchLog { error: ReplicaError::Gone { shard }, keepers: keepers.count() })
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
    async fn deliver(self: &Rc<Self>, planned: &[PlannedMutation], needs: Needs, kind: Kind) -> Result<(), Failure> {
        for _ in 1..TRIES_AT_ONCE {
            let copies = self.copied(planned.iter()).await;
            match self.write_planned(copies, needs.clone(), kind).await {
                Err(Failure::Outdated) => {}
                written => return written,
            }
        }
        self.write_planned(self.copied(planned.iter()).await, needs, kind).await
    }

    /// Delivers a batch again and again, until each mutation is at one replica or its hints are on the disk.
    pub(super) fn deliver_in_background(
        self: &Rc<Self>,
        id: BatchId,
        mut planned: Vec<PlannedMutation>,
        keepers: Option<Keepers>,
    ) {
        let writes = Rc::clone(self);
        self.shards.runtime.spawn(Group::Maintenance, async move {
            let mut rest = REST;
            loop {
                writes.shards.runtime.sleep(rest).await;
                let Err(Undelivered { left, error }) = writes.try_to_finish(id, planned).await else {
                    return keepers.into_iter().for_each(Keepers::done);
                };
                if rest == REST {
                    tracing::info!(%error, "logged batch not delivered, and not hinted; retrying");
                }
                planned = left;
                rest = (rest * 2).min(REST_MAX);
            }
        });
    }

    /// Delivers what still counts of a batch, on the present ring: a batch may wait for longer than the ring that it was planned by is there. It is finished
    /// when each mutation is at one replica at least, of each set where its range moves, or has a hint on this node's disk.
    ///
    /// Mutations of the same replicas are delivered together, so that what cannot be delivered does not have the rest sent again.
    pub(super) async fn try_to_finish(
        self: &Rc<Self>,
        id: BatchId,
        planned: Vec<PlannedMutation>,
    ) -> Result<(), Undelivered> {
        let mut groups: BTreeMap<Vec<NodeIndex>, Vec<PlannedMutation>> = BTreeMap::new();
        for mut planned in planned {
            planned.plan_again(&self.placement, &self.shards.fence);
            let mut replicas = planned.replicas().to_vec();
            replicas.sort_unstable();
            groups.entry(replicas).or_default().push(planned);
            self.shards.runtime.maybe_yield().await;
        }
        let (mut groups, mut undelivered) = (groups.into_values(), None);
        loop {
            let running: Vec<_> = groups
                .by_ref()
                .take(GROUPS_AT_ONCE)
                .map(|group| {
                    let writes = Rc::clone(self);
                    self.shards.runtime.spawn(Group::Query, async move { writes.deliver_group(id, group).await })
                })
                .collect();
            if running.is_empty() {
                break;
            }
            for delivered in running {
                let Err(Undelivered { left, error }) = delivered.await else { continue };
                let undelivered = undelivered.get_or_insert_with(|| Undelivered { left: Vec::new(), error });
                undelivered.left.extend(left);
            }
        }
        match undelivered {
            Some(undelivered) => Err(undelivered),
            None => {
                self.shards.storage.finish_batch(id);
                Ok(())
            }
        }
    }

    /// Delivers mutations of a batch that have the same replicas.
    async fn deliver_group(self: &Rc<Self>, id: BatchId, mut group: Vec<PlannedMutation>) -> Result<(), Undelivered> {
        let storage = &self.shards.storage;
        // What was truncated until now is not wanted any more, and what is wanted is planned of now: so it is asked in one call.
        group.retain(|planned| storage.is_batch_wanted(id, &planned.mutation));
        group.iter_mut().for_each(|planned| planned.plan_again(&self.placement, &self.shards.fence));
        let Some(created) = storage::batch_created(storage, id).filter(|_| !group.is_empty()) else { return Ok(()) };
        let kind = Kind::BATCH.since(created).with_hints(Hinting::Enough);
        // One that gains the range alone is not enough: what it has is not read yet, and an operation may be aborted.
        let delivered = self.deliver(&group, Needs::Level(ConsistencyLevel::One), kind).await;
        delivered.map_err(|error| Undelivered { left: group, error })
    }
}
