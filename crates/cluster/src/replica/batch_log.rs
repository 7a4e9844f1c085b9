//! Records of logged batches in this shard's commit log: of its own batches, and of the copies that it keeps for other nodes.

use storage::{ApplyError, BatchHead, BatchId, LogSequence};

use super::apply::apply_error;
use super::error::ReplicaError;
use super::shards::Shards;

/// Appends a batch to the log, once that has room. Nothing may be delivered before [`synced_batch`].
pub(crate) async fn append_batch(
    shards: &Shards,
    head: &BatchHead,
    mutations: &[impl AsRef<[u8]>],
) -> Result<(BatchId, LogSequence), ReplicaError> {
    let storage = &shards.storage;
    let mutations: Vec<&[u8]> = mutations.iter().map(AsRef::as_ref).collect();
    let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
    let logged = match storage::is_small(mutations.len(), bytes) {
        true => loop {
            match storage.log_batch(head, &mutations) {
                Err(ApplyError::LogBusy) => storage.room().await,
                logged => break logged,
            }
        },
        false => storage.log_batch_in_steps(head, &mutations).await,
    };
    logged.map_err(|error| apply_error(shards.here().0, error))
}

/// Waits until a batch's record is on the disk. If it cannot be, the batch is given up.
pub(crate) async fn synced_batch(
    shards: &Shards,
    (id, sequence): (BatchId, LogSequence),
) -> Result<BatchId, ReplicaError> {
    match shards.storage.wait_synced(sequence).await {
        Ok(()) => Ok(id),
        Err(reason) => {
            // The record may get to the disk yet. Nothing was delivered and nothing will be, so it must not wait for that for ever.
            shards.storage.finish_batch(id);
            Err(ReplicaError::NotSynced { shard: shards.here().into(), reason })
        }
    }
}

/// Appends a batch, and waits until it is on the disk.
pub(crate) async fn log_batch(
    shards: &Shards,
    head: &BatchHead,
    mutations: &[impl AsRef<[u8]>],
) -> Result<BatchId, ReplicaError> {
    let appended = append_batch(shards, head, mutations).await?;
    synced_batch(shards, appended).await
}
