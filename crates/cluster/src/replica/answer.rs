//! The answers to other nodes: each request goes to the shards that own its data.

use std::rc::Rc;

use mutation::{MutationRef, ReadCommandBuf};
use runtime::ShardId;
use storage::reader::Page;
use topology::{Token, token_of};

use super::error::ReplicaError;
use super::message::PageLimits;
use super::peer_message::{PeerAnswer, PeerRead, PeerRequest, PeerShard};
use super::shards::{ByShard, Shards, add};

/// The most that one page for another node holds, bytes, whatever it asks for: memory is kept for it while it is made.
pub(super) const PAGE_BYTES_MAX: u32 = 256 << 10;

/// Does what another node asks for.
pub(crate) async fn answer(shards: Rc<Shards>, request: PeerRequest) -> PeerAnswer {
    let answered = match request {
        PeerRequest::Write { mutations } => write(&shards, mutations).await.map(|()| PeerAnswer::Written),
        PeerRequest::Count { deltas } => count(&shards, deltas).await.map(|states| PeerAnswer::Counted { states }),
        PeerRequest::Read(asked) => read(&shards, asked).await.map(PeerAnswer::Page),
    };
    answered.unwrap_or_else(PeerAnswer::Failed)
}

/// Applies each mutation on its owner. All are waited for; the first refusal is the answer.
async fn write(shards: &Rc<Shards>, mutations: Vec<Vec<u8>>) -> Result<(), ReplicaError> {
    let count = mutations.len();
    let parts = by_owner(shards, mutations).await?;
    if !parts.is_empty() {
        shards.write_all(parts, false).await?;
    }
    shards
        .runtime
        .tracing()
        .step(|| format!("Appended {count} mutations to the commit log and merged them into memtables"));
    Ok(())
}

/// Counts each delta on its owner. Gives the states.
async fn count(shards: &Rc<Shards>, deltas: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let mut states = Vec::new();
    for (shard, deltas) in by_owner(shards, deltas).await? {
        states.extend(shards.count(shard, deltas, true).await?);
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

async fn read(shards: &Shards, read: PeerRead) -> Result<Page, ReplicaError> {
    let count = shards.sharder.shards;
    let shard = match read.of {
        PeerShard::One { shard, count: believed } if believed == count && shard < count => ShardId(shard),
        PeerShard::One { shard, count: believed } => {
            let problem = format!("shard {shard} of {believed} was asked for, and there are {count}");
            return Err(malformed(shards, problem));
        }
        PeerShard::Owner => {
            let command =
                ReadCommandBuf::decode(&read.command).map_err(|error| malformed(shards, error.to_string()))?;
            match command.command().keys {
                mutation::KeyRange::Partition { token, .. } => ShardId(shards.sharder.shard_of(token)),
                mutation::KeyRange::Tokens { .. } => {
                    return Err(malformed(shards, "a range of tokens has no one owner".to_owned()));
                }
            }
        }
    };
    let bytes = read.bytes.min(PAGE_BYTES_MAX);
    let limits = PageLimits { rows: read.rows, rows_per_partition: u32::MAX, bytes, counts_statics: true };
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
