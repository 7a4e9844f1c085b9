//! Writes: to the owning shard of this node, at once where it is this one, else by message.

use runtime::{Group, ShardId};
use storage::{Ack, ApplyError};

use super::Coordinator;
use super::message::{ReplicaError, ReplicaReply, ReplicaRequest};
use super::replica::{apply_error, apply_when_there_is_room};
use super::replication::ReplicaPlan;

/// A mutation whose plan was made, on its way into a batch.
#[derive(Debug)]
pub struct PlannedMutation {
    /// The plan's shard.
    pub shard: ShardId,
    /// As `mutation::MutationEncoder` wrote it.
    pub mutation: Vec<u8>,
}

impl Coordinator {
    /// Writes without waiting, if the plan allows that. `None`: nothing was done, [`Coordinator::write`] it.
    #[inline]
    pub fn write_now(&self, plan: &ReplicaPlan<'_>, mutation: &[u8]) -> Result<Option<Ack>, ReplicaError> {
        if !self.is_here(plan) {
            return Ok(None);
        }
        self.applied(self.inner.storage.apply(mutation))
    }

    /// Writes several mutations as one log record without waiting. All of them have plans that are served here.
    pub fn write_batch_now(&self, mutations: &[&[u8]]) -> Result<Option<Ack>, ReplicaError> {
        self.applied(self.inner.storage.apply_batch(mutations))
    }

    #[inline]
    fn applied(&self, applied: Result<Ack, ApplyError>) -> Result<Option<Ack>, ReplicaError> {
        match applied {
            Ok(ack) => Ok(Some(ack)),
            Err(ApplyError::LogBusy) => Ok(None),
            Err(error) => Err(apply_error(self.shard().0, error)),
        }
    }

    /// Writes, and waits until the write may be acknowledged.
    pub async fn write(&self, plan: &ReplicaPlan<'_>, mutation: Vec<u8>) -> Result<(), ReplicaError> {
        self.write_to_shard(plan.shard, vec![mutation]).await
    }

    /// Writes a batch: what belongs to one shard is one record of its log, so it is there as a whole or not at all.
    /// The shards work at the same time; all are waited for, and the first refusal is reported.
    pub async fn write_batch(&self, planned: Vec<PlannedMutation>) -> Result<(), ReplicaError> {
        let mut shards: Vec<(ShardId, Vec<Vec<u8>>)> = Vec::new();
        for PlannedMutation { shard, mutation } in planned {
            match shards.iter_mut().find(|(known, _)| *known == shard) {
                Some((_, mutations)) => mutations.push(mutation),
                None => shards.push((shard, vec![mutation])),
            }
        }
        if let [(shard, mutations)] = shards.as_mut_slice() {
            return self.write_to_shard(*shard, std::mem::take(mutations)).await;
        }
        let mut running = Vec::with_capacity(shards.len());
        for (shard, mutations) in shards {
            let coordinator = self.clone();
            let write = async move { coordinator.write_to_shard(shard, mutations).await };
            running.push(self.inner.runtime.spawn(Group::Query, write));
        }
        let mut outcome = Ok(());
        for write in running {
            outcome = outcome.and(write.await);
        }
        outcome
    }

    async fn write_to_shard(&self, shard: ShardId, mut mutations: Vec<Vec<u8>>) -> Result<(), ReplicaError> {
        if shard == self.shard() {
            let ack = apply_when_there_is_room(&self.inner.storage, &mutations).await;
            return match ack.map_err(|error| apply_error(shard.0, error))? {
                Ack::Now => Ok(()),
                Ack::When(sequence) => {
                    let synced = self.inner.storage.wait_synced(sequence).await;
                    synced.map_err(|storage::Poisoned| ReplicaError::Poisoned { shard: shard.0 })
                }
            };
        }
        let request = match mutations.len() {
            1 => ReplicaRequest::Write { mutation: mutations.swap_remove(0) },
            _ => ReplicaRequest::WriteBatch { mutations },
        };
        match self.call(shard, request).await? {
            ReplicaReply::Written => Ok(()),
            reply => panic!("a shard answers a write with its outcome, not with {reply:?}"),
        }
    }

    /// Asks another shard, and turns its refusal into an error.
    pub(super) async fn call(&self, shard: ShardId, request: ReplicaRequest) -> Result<ReplicaReply, ReplicaError> {
        match self.inner.mesh.call(shard, request).await {
            Ok(ReplicaReply::Failed(error)) => Err(error),
            Ok(reply) => Ok(reply),
            Err(gone) => Err(ReplicaError::Gone { shard: gone.shard.0 }),
        }
    }
}
