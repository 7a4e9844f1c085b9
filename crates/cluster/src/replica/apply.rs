//! Writes and counts on this very shard, and what its refusals are called.

use storage::{Ack, ApplyError, CountError, ReadError, Shard};

use super::error::ReplicaError;
use crate::fence::{Fence, Gate};

/// The error of a file that cannot be read. Which one and where stands in the log, since clients are not to know.
pub(crate) fn unreadable(shard: u16, error: ReadError) -> ReplicaError {
    tracing::error!(shard, %error, "read failed; an sstable is damaged or cannot be read");
    ReplicaError::Unreadable { shard: shard.into() }
}

/// Applies mutations as one record.
pub(crate) fn apply_all(storage: &Shard, mutations: &[impl AsRef<[u8]>]) -> Result<Ack, ApplyError> {
    match mutations {
        [mutation] => storage.apply(mutation.as_ref()),
        mutations => {
            let slices: Vec<&[u8]> = mutations.iter().map(AsRef::as_ref).collect();
            storage.apply_batch(&slices)
        }
    }
}

pub(crate) fn is_small(mutations: &[impl AsRef<[u8]>]) -> bool {
    storage::is_small(mutations.len(), mutations.iter().map(|mutation| mutation.as_ref().len()).sum())
}

/// Applies planned mutations as one record, waiting for room as often as it takes and is of use; many or long ones in steps. The fence is asked in each call that applies. What is long takes several, so it is asked after the last one
/// too; a write that is stale by then will come again.
pub(crate) async fn apply_planned(
    gate: Gate<'_>,
    storage: &Shard,
    mutations: &[impl AsRef<[u8]>],
) -> Result<Ack, ReplicaError> {
    let refused = |error| apply_error(gate.shard().0, error);
    gate.reach().await?;
    if !is_small(mutations) {
        gate.check_mutations(mutations)?;
        let applied = storage.apply_in_steps(mutations).await.map_err(refused)?;
        gate.check_mutations(mutations)?;
        return Ok(applied);
    }
    let mut admission = storage.write_admission();
    loop {
        gate.check_mutations(mutations)?;
        match apply_all(storage, mutations) {
            Ok(ack) => return Ok(ack),
            Err(error) => admission.after(error).await.map_err(refused)?,
        }
    }
}

/// When a write may be acknowledged that is perhaps to be synced whatever the mode.
pub(crate) fn needed_ack(storage: &Shard, ack: Ack, durable: bool) -> Ack {
    if ack == Ack::Now && durable { Ack::When(storage.appended()) } else { ack }
}

/// The coordinator's error of a storage's refusal on `shard` of this node.
pub(crate) fn apply_error(shard: u16, error: ApplyError) -> ReplicaError {
    let shard = shard.into();
    match error {
        // Whoever waits for room does not come here with the latter two.
        ApplyError::Overloaded { .. } | ApplyError::LogBusy | ApplyError::MemoryBusy => {
            ReplicaError::Overloaded { shard, problem: error.to_string() }
        }
        ApplyError::DiskFull => ReplicaError::DiskFull { shard },
        ApplyError::TooLarge { length, length_max } => ReplicaError::TooLarge { size: length, max: length_max },
        ApplyError::Poisoned => ReplicaError::Poisoned { shard },
        ApplyError::UnknownTable(_) => ReplicaError::UnknownTable { shard },
        ApplyError::Malformed(problem) => ReplicaError::Malformed { shard, problem: problem.to_string() },
        ApplyError::Mismatch(problem) => ReplicaError::Malformed { shard, problem: problem.to_owned() },
    }
}

/// Counts on this shard, and waits until what comes of it may be acknowledged: no other replica hears of a state that this one could
/// still lose. The fence is asked in each call that applies, since a count waits for its turn and for what it reads. Where some of it is counted by then, nothing is
/// said: whether the rest counts is not known.
pub(crate) async fn count_here(
    gate: Gate<'_>,
    storage: &Shard,
    fence: &Fence,
    deltas: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let shard = gate.shard();
    gate.reach().await?;
    gate.check_mutations(deltas)?;
    let counted =
        storage.count(|table| fence.counter_id(table), deltas, &|| gate.check_mutations(deltas).is_ok()).await;
    let (ack, states) = match counted {
        Ok(counted) => counted,
        Err(CountError::Apply(error)) => return Err(apply_error(shard.0, error)),
        Err(CountError::Read(error)) => return Err(unreadable(shard.0, error)),
        Err(error @ CountError::Queue) => {
            return Err(ReplicaError::Overloaded { shard: shard.into(), problem: error.to_string() });
        }
        Err(CountError::Overtaken { is_begun }) => {
            stdx::sometimes!("a count is overtaken");
            if !is_begun {
                gate.check_mutations(deltas)?;
            }
            return Err(ReplicaError::Gone { shard: shard.into() });
        }
    };
    if let Ack::When(sequence) = ack {
        let synced = storage.wait_synced(sequence).await;
        synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.into(), reason })?;
    }
    Ok(states)
}
