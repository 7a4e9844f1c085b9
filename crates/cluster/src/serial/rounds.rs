//! The rounds of Paxos: an attempt at one partition, from its claim to its commit. See `docs/internals/paxos.md`.
//!
//! The only replica is this very shard: promise, acceptance and commit come to one record of its log. Nobody else can have a
//! ballot meanwhile, since whoever cannot be done in one call has claimed the partition.

use std::rc::Rc;

use mutation::{ReadCommand, Slice};
use planted::Bug;
use schema::Table;
use storage::{Ack, ApplyError, LogSequence, ReadEnd, TryOutcome};
use topology::{Epoch, Token};

use crate::counts::count;
use crate::fence::NO_EPOCH;
use crate::outcome::Failure;
use crate::paxos::{
    Ballot, Claim, Commit, Kept, Purpose, Register, STATE_TABLE, State, StateReader, clustering_of, encode_registers,
};
use crate::plan::Replication;
use crate::read::planned_at;
use crate::replica::{ReplicaError, Shards, apply_error, apply_planned, unreadable};
use crate::timeouts::TimeoutKind;

/// The attempts at this shard's partitions.
pub(crate) struct Rounds {
    shards: Rc<Shards>,
}

/// An attempt at one partition that this shard owns.
pub struct Attempt<'p> {
    rounds: Rc<Rounds>,
    table: &'p Table,
    token: Token,
    key: &'p [u8],
    now_in_seconds: u32,
    /// The epoch that its plan rests on; that of what ends within one call is not compared.
    planned: Epoch,
    state: State,
    /// Held by what is not done in one call.
    claim: Option<Claim>,
}

impl Rounds {
    pub(crate) fn new(shards: Rc<Shards>) -> Rc<Rounds> {
        Rc::new(Rounds { shards })
    }

    /// Whether nobody makes an attempt at a partition of this shard that goes on beyond the present call.
    #[inline]
    pub(crate) fn is_untouched(&self, table: &Table, key: &[u8]) -> bool {
        self.shards.queue.is_free(table.id, key) || self.shards.storage.planted().is(Bug::ConditionReadUnclaimed)
    }

    /// Begins an attempt that ends within the present call. `None`: it must wait.
    pub(crate) fn attempt_now<'p>(
        self: &Rc<Self>,
        table: &'p Table,
        token: Token,
        key: &'p [u8],
        now_in_seconds: u32,
    ) -> Option<Attempt<'p>> {
        if !self.is_untouched(table, key) {
            return None;
        }
        // A truncation may have its position already while rows from before it are read still; or another shard may serve by the ring before.
        let fence = &self.shards.fence;
        if !fence.has_applied(fence.moment()) {
            return None;
        }
        let clustering = clustering_of(table.id);
        let slices = [Slice::of_prefix(&clustering)];
        let command = state_command(&slices, token, key, now_in_seconds);
        let mut reader = StateReader::default();
        match self.shards.storage.read(&command, &mut reader).done()? {
            ReadEnd::Complete | ReadEnd::Stopped(_) => {}
            ReadEnd::Paused(_) => return None,
        }
        let state = reader.finish(self.shards.fence.low_bound(), |position| {
            storage::is_truncated_after(&self.shards.storage, table.id, position)
        });
        let (rounds, planned, claim) = (Rc::clone(self), NO_EPOCH, None);
        let attempt = Attempt { rounds, table, token, key, now_in_seconds, planned, state, claim };
        // What another has left is finished by one who may wait.
        attempt.state.unfinished().is_none().then_some(attempt)
    }

    /// Claims the partition, when those before have done, and begins an attempt; what an attempt before it has left is finished then. `None`: others
    /// were there for too long. [`Failure::Outdated`]: the ring or the table has changed since the plan by `replication` was made.
    pub(crate) async fn attempt<'p>(
        self: &Rc<Self>,
        replication: &Replication,
        (table, token, key): (&'p Table, Token, &'p [u8]),
        now_in_seconds: u32,
    ) -> Result<Option<Attempt<'p>>, Failure> {
        let storage = &self.shards.storage;
        let time = self.shards.timeouts.get(TimeoutKind::CasContention);
        let claim = match storage.planted().is(Bug::ConditionReadUnclaimed) {
            true => None,
            false => match self.shards.queue.claim((&self.shards.runtime, time), table.id, key).await {
                Some(claim) => Some(claim),
                None => return Ok(None),
            },
        };
        // Another node may be a replica since it waits for its turn.
        let planned = planned_at(&self.shards, TimeoutKind::Write, table.id, replication).await?;
        let clustering = clustering_of(table.id);
        let slices = [Slice::of_prefix(&clustering)];
        let command = state_command(&slices, token, key, now_in_seconds);
        let mut reader = StateReader::default();
        let read = storage.read_through(&command, &mut reader).await;
        let _ = read.map_err(|error| unreadable(self.shards.here().0, error))?;
        let state = reader
            .finish(self.shards.fence.low_bound(), |position| storage::is_truncated_after(storage, table.id, position));
        let rounds = Rc::clone(self);
        let mut attempt = Attempt { rounds, table, token, key, now_in_seconds, planned, state, claim };
        if let Some(proposal) = attempt.state.unfinished().cloned() {
            stdx::sometimes!("another's proposal finished");
            let marked = attempt.mark(&[Register::Committed(proposal.commit())]);
            attempt.state.commit(proposal.commit());
            attempt.apply(proposal.mutations, marked).await?;
        }
        Ok(Some(attempt))
    }

    /// What the reply to whoever has read this shard's data must wait for, if it is to tell only what stays.
    #[inline]
    pub(crate) fn seen(&self) -> LogSequence {
        let storage = &self.shards.storage;
        if storage.planted().is(Bug::LwtReplyBeforeSync) { storage.synced() } else { storage.appended() }
    }
}

impl Attempt<'_> {
    /// The latest ballot of the partition so far: the attempt's own must be later.
    #[inline]
    pub fn latest(&self) -> Option<Ballot> {
        self.state.latest()
    }

    /// Proposes and commits encoded mutations of the partition without waiting. Gives the sequence that the reply must wait for.
    /// Where it would have to wait, [`Attempt::commit`] does.
    pub fn commit_now(&mut self, ballot: Ballot, mutations: &[&[u8]]) -> Result<TryOutcome<LogSequence>, ReplicaError> {
        let state = self.committed(ballot);
        let storage = &self.rounds.shards.storage;
        let mut all = Vec::with_capacity(mutations.len() + 1);
        all.extend_from_slice(mutations);
        all.push(&state);
        if !storage::is_small(all.len(), all.iter().map(|mutation| mutation.len()).sum()) {
            return Ok(TryOutcome::WouldBlock);
        }
        match storage.apply_batch(&all) {
            Ok(ack) => Ok(TryOutcome::Done(self.to_wait_for(ack))),
            Err(ApplyError::LogBusy | ApplyError::MemoryBusy) => Ok(TryOutcome::WouldBlock),
            Err(error) => Err(apply_error(self.rounds.shards.here().0, error)),
        }
    }

    /// Proposes and commits encoded mutations of the partition. Gives the sequence that the reply must wait for. [`Failure::Outdated`]: the ring or the table has
    /// changed since the attempt began, and nothing was written.
    pub async fn commit(&mut self, ballot: Ballot, mutations: Vec<Vec<u8>>) -> Result<LogSequence, Failure> {
        let state = self.committed(ballot);
        self.apply(mutations, state).await
    }

    /// Applies mutations as one record, if this shard is still the whole electorate when it does.
    async fn apply(&self, mut mutations: Vec<Vec<u8>>, state: Vec<u8>) -> Result<LogSequence, Failure> {
        mutations.push(state);
        let Shards { storage, fence, counts, .. } = &*self.rounds.shards;
        let shard = self.rounds.shards.here();
        let planned = match storage.planted().is(Bug::CommitWithoutFence) {
            true => fence.moment(),
            false => self.planned,
        };
        let gate = fence.gate(shard, planned);
        let mut is_begun = false;
        if gate.check_mutations(&mutations).is_ok() {
            // What is long is applied in steps, between which the ring may change.
            is_begun = !storage::is_small(mutations.len(), mutations.iter().map(Vec::len).sum());
            match apply_planned(gate, storage, &mutations).await {
                Err(ReplicaError::Stale { .. }) => {}
                applied => return Ok(self.to_wait_for(applied?)),
            }
        }
        stdx::sometimes!("a commit at one replica is overtaken");
        count(&counts.planned_again);
        // Of what is applied the conditions would be judged again.
        Err(if is_begun { Failure::Timeout { received: 0 } } else { Failure::Outdated })
    }

    /// The state's mutation once the ballot is promised, its proposal accepted, and committed: one step, as nobody is told of those
    /// in between.
    fn committed(&mut self, ballot: Ballot) -> Vec<u8> {
        let promised = self.state.prepare(Purpose::Write, ballot);
        promised.expect("an attempt's ballot is later than all that the partition has seen");
        let commit = Commit { ballot, original: ballot };
        self.state.commit(commit);
        self.mark(&[Register::Promised(ballot), Register::Committed(commit)])
    }

    /// The mutation that writes registers.
    fn mark(&self, registers: &[Register<'_>]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(160);
        let place = (self.token, self.key);
        // What another node's attempt has left does not expire, and would come back when the mark of its commit does.
        let kept = match self.state.accepted {
            Some(_) => Kept::Always,
            None => Kept::Expiring(self.now_in_seconds),
        };
        encode_registers(registers, self.table, place, kept, &mut bytes);
        bytes
    }

    fn to_wait_for(&self, ack: Ack) -> LogSequence {
        match ack {
            Ack::When(sequence) if !self.rounds.shards.storage.planted().is(Bug::LwtReplyBeforeSync) => sequence,
            // In `periodic` too: what is told of a conditional statement stays.
            Ack::Now | Ack::When(_) => self.rounds.seen(),
        }
    }

    /// Whether it has claimed the partition, for it goes on beyond one call.
    pub fn has_claim(&self) -> bool {
        self.claim.is_some()
    }
}

fn state_command<'a>(slices: &'a [Slice<'a>], token: Token, key: &'a [u8], now_in_seconds: u32) -> ReadCommand<'a> {
    ReadCommand { slices, ..ReadCommand::partition(STATE_TABLE, token, key, now_in_seconds) }
}
