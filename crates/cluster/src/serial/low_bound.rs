//! The low bound on one shard: it finishes what its registers have left up to a time, and deletes rows that all ignore. See `docs/internals/paxos.md`.

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, LiveRow, MutationEncoder, Position, ReadCommand};
use planted::Bug;
use runtime::Runtime;
use schema::{Table, TableId};
use storage::reader::ReadDone;
use storage::{Cleaned, CompactionError, Flow, RowSink, Shard};
use topology::{Token, TokenRanges};

use super::agreement::{AgreementError, Agreements};
use crate::outcome::Failure;
use crate::paxos::{Ballot, Purpose, RegisterTimes, STATE_TABLE, registers_of};
use crate::plan::{Replication, plan_for};
use crate::read::Running;

/// Rows of a scan's page.
const ROWS: usize = 128;
/// Partitions that are finished at once.
const AT_ONCE: usize = 8;
/// Tries of one partition, each on the present ring.
const TRIES: u32 = 4;

/// A table with its replication.
pub type PlacedTable = (Rc<Table>, Rc<Replication>);

/// Why a shard has not finished what it has.
#[derive(Debug, thiserror::Error)]
pub enum LeftError {
    /// Its own registers cannot be read, or not deleted.
    #[error("system.paxos: {0}")]
    Storage(String),
    /// An attempt has no result.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The shard has not applied the bound.
    #[error("the low bound is not applied yet")]
    NotApplied,
    /// Others are at the partition.
    #[error("other attempts were ahead for too long")]
    Contended,
    /// Those of tokens that are not kept are being dropped, which may take long.
    #[error("a cleanup of system.paxos is under way")]
    CleanedUp,
}

/// A row of registers that do not expire.
#[derive(Debug)]
struct Left {
    token: Token,
    key: Vec<u8>,
    table: TableId,
    times: RegisterTimes,
}

/// Collects a page of them.
#[derive(Default)]
struct LeftSink {
    at: Option<(Token, Vec<u8>)>,
    rows: Vec<Left>,
    seen: usize,
}

impl RowSink for LeftSink {
    fn partition(&mut self, token: Token, key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        self.at = Some((token, key.to_vec()));
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let (token, key) = self.at.clone().expect("a row is of a partition");
        let table = clustering.components().next().and_then(|id| id.try_into().ok()).map(TableId);
        if let (Some(table), Some(times)) = (table, registers_of(row)) {
            self.rows.push(Left { token, key, table, times });
        }
        self.seen += 1;
        if self.seen >= ROWS { Flow::Stop } else { Flow::Continue }
    }
}

/// A page of the shard's rows of registers, after a position. `None`: it is the last.
async fn page(
    storage: &Shard,
    runtime: &Runtime,
    after: Option<&Position>,
) -> Result<(Vec<Left>, Option<Position>), LeftError> {
    let now_in_seconds = u32::try_from(runtime.wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
    let command = ReadCommand { after: after.map(Position::as_ref), ..ReadCommand::all(STATE_TABLE, now_in_seconds) };
    let mut sink = LeftSink::default();
    let done = storage.read_through(&command, &mut sink).await;
    match done.map_err(|error| LeftError::Storage(error.to_string()))? {
        ReadDone::Complete => Ok((sink.rows, None)),
        ReadDone::Stopped(after) => Ok((sink.rows, Some(after))),
    }
}

impl Agreements {
    /// True if this shard has a register of several replicas' attempts that is not later than a time, microseconds since 1970.
    pub async fn has_left(&self, below: i64) -> Result<bool, LeftError> {
        let mut after = None;
        loop {
            let (rows, next) = page(&self.shards.storage, &self.shards.runtime, after.as_ref()).await?;
            if rows.iter().any(|row| row.times.earliest <= below) {
                return Ok(true);
            }
            let Some(next) = next else { return Ok(false) };
            after = Some(next);
        }
    }

    /// Finishes what this shard's registers have left up to a time: it is written at a majority in each datacenter. `placed` gives a table as it is now; `None`: it is gone.
    pub async fn finish_below(
        self: &Rc<Self>,
        below: i64,
        placed: &dyn Fn(TableId) -> Option<PlacedTable>,
        new_ballot: &dyn Fn(Option<Ballot>) -> Ballot,
    ) -> Result<(), LeftError> {
        let (mut after, mut failed) = (None, Ok(()));
        loop {
            let (rows, next) = page(&self.shards.storage, &self.shards.runtime, after.as_ref()).await?;
            let mut left = rows.iter().filter(|row| row.times.may_have_left(below));
            let mut running = Running::new();
            loop {
                let more = AT_ONCE.saturating_sub(running.len());
                left.by_ref().take(more).for_each(|row| running.push((), self.finish_row(row, placed, new_ballot)));
                // The others are finished all the same: there is less to do next time.
                match running.next().await {
                    Some(((), finished)) => failed = failed.and(finished),
                    None => break,
                }
            }
            let Some(next) = next else { return failed };
            after = Some(next);
        }
    }

    async fn finish_row(
        self: &Rc<Self>,
        row: &Left,
        placed: &dyn Fn(TableId) -> Option<PlacedTable>,
        new_ballot: &dyn Fn(Option<Ballot>) -> Ballot,
    ) -> Result<(), LeftError> {
        let mut tries = 0;
        loop {
            // Of a table that is gone nothing is left.
            let Some((table, replication)) = placed(row.table) else { return Ok(()) };
            // A majority in each datacenter is one of all, too.
            let needs = replication.majority_of_each(row.token);
            let plan = plan_for(&replication, self.shards.sharder, row.token, &needs);
            let partition = (&*table, row.token, &row.key[..]);
            let now_in_seconds = u32::try_from(self.shards.runtime.wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
            let command = ReadCommand::partition(table.id, row.token, &row.key, now_in_seconds);
            let finished = async {
                let mut agreement = self.begin(plan, partition, Purpose::Look, new_ballot).await?;
                agreement.finish_left(command, row.times.is_again).await
            };
            tries += 1;
            match finished.await {
                Ok(_) => return Ok(()),
                Err(AgreementError::Failed(Failure::Outdated)) if tries < TRIES => {}
                Err(AgreementError::Failed(failure)) => return Err(failure.into()),
                Err(AgreementError::Contended) => return Err(LeftError::Contended),
                Err(AgreementError::Unknown { received }) => return Err(Failure::Timeout { received }.into()),
            }
        }
    }

    /// Drops this shard's registers of tokens that are not kept, as [`storage::clean_up`] says, in turn with [`delete_below`](Self::delete_below). Beside each other, a row
    /// would be found that the cleanup then drops, and its tombstone, written after the flush, would be left over on a node that is clean. Rejected: to delete no row of tokens
    /// that are not kept. Those of a dropped keyspace, which no cleanup comes for, would stay for good.
    pub async fn clean_up(&self, kept: impl Fn() -> Rc<TokenRanges>) -> Result<Cleaned, CompactionError> {
        let _turn = self.deleting.acquire().await;
        storage::clean_up(&self.shards.storage, STATE_TABLE, kept).await
    }

    /// Deletes this shard's registers that are not later than a time, which all replicas ignore. Gives how many rows had some. Does not wait for a cleanup.
    pub async fn delete_below(&self, closed: i64) -> Result<u64, LeftError> {
        let (storage, runtime) = (&self.shards.storage, &self.shards.runtime);
        let turn = self.deleting.try_acquire();
        if turn.is_none() && !storage.planted().is(Bug::RegistersDeletedBesideCleanup) {
            return Err(LeftError::CleanedUp);
        }
        let local_deletion_time = u32::try_from(runtime.wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
        let (mut after, mut count) = (None, 0);
        loop {
            let (rows, next) = page(storage, runtime, after.as_ref()).await?;
            for row in rows.iter().filter(|row| row.times.earliest <= closed) {
                let mut bytes = Vec::with_capacity(96);
                let mut mutation = MutationEncoder::begin(&mut bytes, STATE_TABLE, row.token, &row.key);
                mutation.row([&row.table.0[..]]).deletion(Deletion { timestamp: closed, local_deletion_time });
                mutation.finish();
                let mut admission = storage.write_admission();
                while let Err(error) = storage.apply(&bytes) {
                    admission.after(error).await.map_err(|error| LeftError::Storage(error.to_string()))?;
                }
                stdx::sometimes!("registers below the low bound are deleted");
                count += 1;
                runtime.maybe_yield().await;
            }
            let Some(next) = next else { return Ok(count) };
            after = Some(next);
        }
    }
}
