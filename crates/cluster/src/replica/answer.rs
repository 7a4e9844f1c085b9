//! The answers to other nodes: each request goes to the shards that own its data.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use internode::Caller;
use mutation::{MutationRef, ReadCommandBuf};
use runtime::{Elapsed, ShardId};
use storage::reader::Page;
use topology::{Epoch, Token, token_of};

use super::digest::{DigestRule, digest_of};
use super::error::ReplicaError;
use super::message::{PageLimits, WriteTerms};
use super::paxos_message::{Prepare, Prepared};
use super::peer_message::{PeerAnswer, PeerRead, PeerRequest, PeerShard};
use super::shards::{ByShard, Shards, add};
use crate::batches::BatchName;

/// The most that one page for another node holds, bytes, whatever it asks for: memory is kept for it while it is made.
pub(super) const PAGE_BYTES_MAX: u32 = 256 << 10;

/// A page below this size is sent instead of its digest.
const DIGEST_BYTES_MIN: usize = 1 << 10;
/// The longest that a request waits for this node to apply what the request rests on.
const CATCH_UP_TIME: Duration = Duration::from_secs(2);

/// Does what another node asks for, once this node has applied what the request's plan rests on. `keep` keeps a copy of a batch, which is of the time given.
pub(crate) async fn answer<Fut>(
    shards: Rc<Shards>,
    caller: Caller,
    request: PeerRequest,
    keep: impl FnOnce(BatchName, i64, Vec<Vec<u8>>) -> Fut,
) -> PeerAnswer
where
    Fut: Future<Output = Result<(), ReplicaError>>,
{
    let planned = Epoch(caller.epoch);
    if let Err(error) = reach(&shards, caller).await {
        return PeerAnswer::Failed(error);
    }
    // A future is as long as its longest arm: those that are long or seldom are boxed.
    let answered = match request {
        PeerRequest::Write { mutations } => {
            let terms = WriteTerms { durable: false, planned };
            write(&shards, mutations, terms).await.map(|()| PeerAnswer::Written)
        }
        PeerRequest::Count { deltas } => {
            Box::pin(count(&shards, deltas, planned)).await.map(|states| PeerAnswer::Counted { states })
        }
        PeerRequest::Commit { mutations } => {
            let terms = WriteTerms { durable: true, planned };
            write(&shards, mutations, terms).await.map(|()| PeerAnswer::Written)
        }
        PeerRequest::Prepare(asked) => Box::pin(prepare(&shards, asked, planned)).await.map(PeerAnswer::Prepared),
        PeerRequest::Accept(asked) => {
            let shard = ShardId(shards.sharder.shard_of(token_of(&asked.key)));
            Box::pin(shards.accept(shard, asked, planned)).await.map(PeerAnswer::Accepted)
        }
        PeerRequest::Read(asked) => Box::pin(read(&shards, asked, planned)).await.map(PeerAnswer::Page),
        PeerRequest::Digest { read, gc_before } => Box::pin(digest(&shards, read, gc_before, planned)).await,
        PeerRequest::BatchCopy { name, created, mutations } => {
            Box::pin(keep(name, created, mutations)).await.map(|()| PeerAnswer::Written)
        }
        PeerRequest::BatchDone { names } => {
            let records = names.into_iter().filter_map(|name| shards.copies.done(name));
            records.for_each(|id| shards.storage.finish_batch(id));
            Ok(PeerAnswer::Written)
        }
        PeerRequest::BatchAsk { names } => Box::pin(shards.fates(names)).await.map(PeerAnswer::Fates),
    };
    answered.unwrap_or_else(PeerAnswer::Failed)
}

/// Waits until this node has applied the epoch that a request names.
pub(crate) async fn reach(shards: &Shards, caller: Caller) -> Result<(), ReplicaError> {
    let epoch = Epoch(caller.epoch);
    if !shards.fence.gate(shards.here(), epoch).is_ahead() {
        return Ok(());
    }
    let reached = shards.runtime.timeout(CATCH_UP_TIME, shards.fence.reach(Some(caller.host_id), epoch));
    match reached.await {
        Ok(true) => Ok(()),
        Ok(false) | Err(Elapsed) => Err(ReplicaError::Lags { shard: shards.here().into(), epoch }),
    }
}

/// Applies each mutation on its owner. All are waited for; the first refusal is the answer.
async fn write(shards: &Rc<Shards>, mutations: Vec<Vec<u8>>, terms: WriteTerms) -> Result<(), ReplicaError> {
    let count = mutations.len();
    let parts = by_owner(shards, mutations).await?;
    if !parts.is_empty() {
        shards.write_all(parts, terms).await?;
    }
    shards
        .runtime
        .tracing()
        .step(|| format!("Appended {count} mutations to the commit log and merged them into memtables"));
    Ok(())
}

/// Counts each delta on its owner. Gives the states.
async fn count(shards: &Rc<Shards>, deltas: Vec<Vec<u8>>, planned: Epoch) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let mut states = Vec::new();
    for (shard, deltas) in by_owner(shards, deltas).await? {
        match shards.count(shard, deltas, true, planned).await {
            Ok(of_shard) => states.extend(of_shard),
            // What other shards have counted must not be counted again: so it is not known what was.
            Err(ReplicaError::Stale { shard, .. }) if !states.is_empty() => return Err(ReplicaError::Gone { shard }),
            Err(error) => return Err(error),
        }
    }
    shards.runtime.tracing().step(|| format!("Counted {} mutations", states.len()));
    Ok(states)
}

async fn by_owner(shards: &Shards, mutations: Vec<Vec<u8>>) -> Result<ByShard, ReplicaError> {
    let mut parts = Vec::new();
    for mutation in mutations {
        let token = checked_token(shards, &mutation)?;
        add(&mut parts, ShardId(shards.sharder.shard_of(token)), mutation);
        shards.runtime.maybe_yield().await;
    }
    Ok(parts)
}

/// The token of a mutation that came from another node, which must be its key's: rows are found by it.
fn checked_token(shards: &Shards, mutation: &[u8]) -> Result<Token, ReplicaError> {
    let mutation = MutationRef::decode(mutation).map_err(|error| malformed(shards, error.to_string()))?;
    match token_of(mutation.key()) == mutation.token() {
        true => Ok(mutation.token()),
        false => Err(malformed(shards, "a mutation's token is not its key's".to_owned())),
    }
}

/// The digest of a page. A short page is the answer itself: where it differs, it need not be asked for.
async fn digest(shards: &Shards, asked: PeerRead, gc_before: u32, planned: Epoch) -> Result<PeerAnswer, ReplicaError> {
    let decoded = ReadCommandBuf::decode(&asked.command).map_err(|error| malformed(shards, error.to_string()))?;
    let (table, now_in_seconds) = (decoded.command().table, decoded.command().now_in_seconds);
    drop(decoded);
    let page = read(shards, asked, planned).await?;
    if page.items.len() < DIGEST_BYTES_MIN {
        return Ok(PeerAnswer::Page(page));
    }
    let Some(table) = shards.storage.definition(table) else {
        return Err(ReplicaError::UnknownTable { shard: shards.here().into() });
    };
    let rule = DigestRule { table: &table, now_in_seconds, gc_before, planted: shards.storage.planted() };
    let digest = digest_of(&page, &rule, async || shards.runtime.maybe_yield().await).await;
    digest.map(PeerAnswer::Digest).map_err(|error| malformed(shards, error.to_string()))
}

/// The owner of the partition that a command reads.
fn owner_of(shards: &Shards, command: &[u8]) -> Result<ShardId, ReplicaError> {
    let command = ReadCommandBuf::decode(command).map_err(|error| malformed(shards, error.to_string()))?;
    match command.command().keys {
        mutation::KeyRange::Partition { token, .. } => Ok(ShardId(shards.sharder.shard_of(token))),
        mutation::KeyRange::Tokens { .. } => Err(malformed(shards, "a range of tokens has no one owner".to_owned())),
    }
}

/// Promises, and reads a page, on the owner.
async fn prepare(shards: &Shards, mut asked: Prepare, planned: Epoch) -> Result<Prepared, ReplicaError> {
    asked.bytes = asked.bytes.min(PAGE_BYTES_MAX);
    let shard = owner_of(shards, &asked.command)?;
    shards.prepare(shard, asked, planned).await
}

async fn read(shards: &Shards, read: PeerRead, planned: Epoch) -> Result<Page, ReplicaError> {
    let count = shards.sharder.shards;
    let shard = match read.of {
        PeerShard::One { shard, count: believed } if believed == count && shard < count => ShardId(shard),
        PeerShard::One { shard, count: believed } => {
            let problem = format!("shard {shard} of {believed} was asked for, and there are {count}");
            return Err(malformed(shards, problem));
        }
        PeerShard::Owner => owner_of(shards, &read.command)?,
    };
    let bytes = read.bytes.min(PAGE_BYTES_MAX);
    let limits = PageLimits { rows: read.rows, rows_per_partition: u32::MAX, bytes, counts_statics: true, planned };
    let page = match shard == shards.here() {
        // Its work ends with this future: the caller may give up.
        true => shards.fetch_data_here(&read.command, limits).await?,
        false => shards.fetch_data(shard, read.command, limits).await?,
    };
    shards.runtime.tracing().step(|| format!("Read a page of {} bytes on shard {}", page.items.len(), shard.0));
    Ok(page)
}

fn malformed(shards: &Shards, problem: String) -> ReplicaError {
    ReplicaError::Malformed { shard: shards.here().into(), problem }
}
