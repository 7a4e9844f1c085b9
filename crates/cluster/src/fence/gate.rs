//! The check of a request on the shard that owns its data, in the call that applies or reads.

use mutation::{MutationRef, ReadCommand};
use runtime::ShardId;
use schema::TableId;
use topology::Epoch;

use super::Fence;
use crate::counts::count;
use crate::paxos::{Ballot, table_of};

/// A request does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotPassed {
    /// The shard that refuses it.
    pub(crate) shard: ShardId,
    /// The change that the plan does not know, or that the shard lacks.
    pub(crate) epoch: Epoch,
    /// The plan is older; else the shard lags.
    pub(crate) is_stale: bool,
}

/// A shard's fence for one request.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'f> {
    fence: &'f Fence,
    shard: ShardId,
    /// The epoch that the request's plan rests on.
    planned: Epoch,
}

impl Fence {
    /// The fence of `shard` for a request whose plan rests on `planned`.
    pub(crate) fn gate(&self, shard: ShardId, planned: Epoch) -> Gate<'_> {
        Gate { fence: self, shard, planned }
    }
}

impl Gate<'_> {
    /// The shard that is asked.
    pub(crate) fn shard(&self) -> ShardId {
        self.shard
    }

    /// True if the shard may not have applied what the plan rests on.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.planned > self.fence.applied.get() && !self.fence.planted.is(planted::Bug::NewerPlanNotWaitedFor)
    }

    /// Waits until the node has applied what the plan rests on, which another shard of it made.
    #[inline]
    pub(crate) async fn reach(&self) -> Result<(), NotPassed> {
        if !self.is_ahead() {
            return Ok(());
        }
        match self.fence.reach(None, self.planned).await {
            true => Ok(()),
            false => Err(NotPassed { shard: self.shard, epoch: self.planned, is_stale: false }),
        }
    }

    /// Checks the tables of mutations.
    #[inline]
    pub(crate) fn check_mutations(&self, mutations: &[impl AsRef<[u8]>]) -> Result<(), NotPassed> {
        // What cannot be decoded is refused by who applies it.
        let table = |bytes: &[u8]| MutationRef::decode(bytes).map(|mutation| table_of(&mutation)).ok();
        self.check(mutations.iter().filter_map(|mutation| table(mutation.as_ref())))
    }

    /// Checks the table of a read.
    #[inline]
    pub(crate) fn check_read(&self, command: &ReadCommand<'_>) -> Result<(), NotPassed> {
        self.check(std::iter::once(command.table))
    }

    /// Checks one table.
    #[inline]
    pub(crate) fn check_table(&self, table: TableId) -> Result<(), NotPassed> {
        self.check(std::iter::once(table))
    }

    /// Checks the table of an attempt, and that its coordinator knows the low bound.
    pub(crate) fn check_attempt(&self, table: TableId) -> Result<(), NotPassed> {
        self.check_table(table)?;
        let epoch = self.fence.low_bound_at();
        if epoch <= self.planned {
            return Ok(());
        }
        stdx::sometimes!("an attempt is older than the low bound");
        count(&self.fence.refused);
        Err(NotPassed { shard: self.shard, epoch, is_stale: true })
    }

    /// The same for an acceptance: its ballot is later than the low bound.
    pub(crate) fn check_ballot(&self, table: TableId, ballot: Ballot) -> Result<(), NotPassed> {
        self.check_attempt(table)?;
        match ballot.micros() <= self.fence.low_bound().refused {
            true => Err(NotPassed { shard: self.shard, epoch: self.fence.moment(), is_stale: true }),
            false => Ok(()),
        }
    }

    #[inline]
    fn check(&self, tables: impl Iterator<Item = TableId>) -> Result<(), NotPassed> {
        self.fence.check(self.planned, tables).map_err(|epoch| {
            stdx::sometimes!("a stale request is refused");
            count(&self.fence.refused);
            NotPassed { shard: self.shard, epoch, is_stale: true }
        })
    }
}
