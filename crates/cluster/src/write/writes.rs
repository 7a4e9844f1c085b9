//! Writes at a level: to the owning shard of this node, at once where it is this one, else by message; and to other nodes.

use std::rc::Rc;

use runtime::ShardId;
use storage::{Ack, ApplyError, TryOutcome};
use topology::{ConsistencyLevel, Epoch, HostId, Required};

use super::electors::Electors;
use super::keepers::hand_over;
use super::missed::Hinting;
use super::planned::{PlannedMutation, onto_one_ring};
use super::rounds::{Kind, Needs};
use crate::fence::Fence;
use crate::hints::Hints;
use crate::outcome::Failure;
use crate::plan::Placement;
use crate::replica::{ReplicaError, Shards, apply_error};

/// The writes that a shard coordinates.
pub(crate) struct Writes {
    pub(super) shards: Rc<Shards>,
    pub(super) placement: Rc<Placement>,
    /// None where no other node could miss anything.
    pub(super) hints: Option<Rc<Hints>>,
}

impl Writes {
    pub(crate) fn new(shards: Rc<Shards>, placement: Rc<Placement>, hints: Option<Rc<Hints>>) -> Rc<Writes> {
        Rc::new(Writes { shards, placement, hints })
    }

    /// Writes on this shard without waiting, if the mutation's size allows that.
    #[inline]
    pub(crate) fn write_now(&self, mutation: &[u8]) -> Result<TryOutcome<Ack>, ReplicaError> {
        if !storage::is_small(1, mutation.len()) {
            return Ok(TryOutcome::WouldBlock);
        }
        self.applied(self.shards.storage.apply(mutation))
    }

    /// Writes several mutations on this shard as one log record without waiting.
    pub(crate) fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<TryOutcome<Ack>, ReplicaError> {
        let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
        if !storage::is_small(mutations.len(), bytes) {
            return Ok(TryOutcome::WouldBlock);
        }
        self.applied(self.shards.storage.apply_batch(mutations))
    }

    #[inline]
    fn applied(&self, applied: Result<Ack, ApplyError>) -> Result<TryOutcome<Ack>, ReplicaError> {
        match applied {
            Ok(ack) => Ok(TryOutcome::Done(ack)),
            Err(error) if error.is_busy() => Ok(TryOutcome::WouldBlock),
            Err(error) => Err(apply_error(self.shards.here().0, error)),
        }
    }

    /// Writes, and waits until so many replicas of each mutation have it as `level` asks for. What belongs to one shard
    /// is one record of its log, so it is there as a whole or not at all. Where this node is the only replica of all, its shards are all waited
    /// for, and the first refusal is reported.
    pub(crate) async fn write_batch(
        self: &Rc<Self>,
        mut planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement, &self.shards.fence);
        self.write_planned(planned, Needs::Level(level), Kind::PLAIN.with_hints(Hinting::of(level))).await
    }

    /// Writes what a former replica missed of a write that began at `created` to one present replica of each mutation at least, of each set where its range moves, and
    /// hints it for those that miss it.
    pub(crate) async fn write_rerouted(
        self: &Rc<Self>,
        mut planned: Vec<PlannedMutation>,
        created: i64,
    ) -> Result<(), Failure> {
        onto_one_ring(&mut planned, &self.placement, &self.shards.fence);
        self.write_planned(planned, Needs::Level(ConsistencyLevel::One), Kind::HINT.since(created)).await
    }

    /// Hands what another node missed of a write that began at `created` to a node that stays, which delivers it later. The plans rest on `planned`. The error names who refuses.
    pub(crate) async fn hand_over(
        &self,
        created: i64,
        mutations: &[Vec<u8>],
        planned: Epoch,
    ) -> Result<(), (HostId, ReplicaError)> {
        hand_over((&self.shards, &self.placement), created, mutations, planned).await
    }

    /// Logged batches of this shard, and copies of those whose coordinators are not up, that are not delivered.
    pub(crate) fn undelivered_batches(&self) -> usize {
        let (unfinished, copies) = (self.shards.storage.unfinished_batches(), &self.shards.copies);
        let own = unfinished.saturating_sub(usize::try_from(copies.count()).unwrap_or(usize::MAX));
        own + copies.count_of(|coordinator| !self.placement.is_up(coordinator))
    }

    /// Commits a proposal's mutations, and the register of it, at a level. At ANY no replica is waited for: a chosen proposal is not lost.
    pub(crate) async fn commit(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        let needs = match level {
            ConsistencyLevel::Any => Needs::Fixed(Required::Total(0)),
            level => Needs::Level(level),
        };
        self.write_planned(planned, needs, Kind::COMMIT).await
    }

    /// The same, with the answers that an electorate needs.
    pub(crate) async fn commit_for(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        electors: Electors,
    ) -> Result<(), Failure> {
        self.write_planned(planned, Needs::Electorate(Rc::new(electors)), Kind::COMMIT).await
    }

    /// The epochs of the ring and of the tables, as this shard knows them.
    pub(crate) fn fence(&self) -> &Fence {
        &self.shards.fence
    }

    /// The shard that owns a token on this node.
    pub(crate) fn owner(&self, token: topology::Token) -> ShardId {
        ShardId(self.shards.sharder.shard_of(token))
    }
}
