//! The acceptor: this shard's word in the attempts of coordinators, one message at a time for each partition.
//!
//! It claims the partition, reads its registers, answers by them ([`State`]), writes the one that changed, and lets the partition go. What it has said is on
//! the disk before it is answered. See `docs/internals/paxos.md`.

use std::rc::Rc;

use mutation::{KeyRange, ReadCommand, ReadCommandBuf, Slice};
use planted::Bug;
use runtime::Runtime;
use schema::{Table, TableId};
use storage::Shard;
use storage::reader::Page;
use topology::{Epoch, Token, token_of};

use super::apply::{apply_all, apply_error, unreadable};
use super::error::ReplicaError;
use super::message::PageLimits;
use super::paxos_message::{Accept, Accepted, Prepare, Prepared, Promised};
use super::serve::page_of_data;
use crate::fence::Fence;
use crate::paxos::{
    Claim, Kept, Outrun, Promise, Purpose, Queue, Register, STATE_TABLE, State, StateReader, clustering_of,
    encode_registers,
};
use crate::timeouts::{TimeoutKind, Timeouts};

/// A shard as acceptor.
pub(crate) struct Acceptor {
    pub(crate) runtime: Runtime,
    pub(crate) storage: Shard,
    pub(crate) fence: Rc<Fence>,
    /// The attempts at partitions of this shard.
    pub(crate) queue: Queue,
    pub(crate) timeouts: Rc<Timeouts>,
}

/// A partition while it is claimed.
struct Held<'a> {
    acceptor: &'a Acceptor,
    table: Rc<Table>,
    token: Token,
    key: &'a [u8],
    planned: Epoch,
    state: State,
    /// True if what was written last was written in one call.
    is_short: bool,
    _claim: Claim,
}

impl Acceptor {
    /// Promises, and reads a page for the coordinator, whose plan rests on `planned`.
    pub(crate) async fn prepare(&self, prepare: &Prepare, planned: Epoch) -> Result<Prepared, ReplicaError> {
        let decoded =
            ReadCommandBuf::decode(&prepare.command).map_err(|problem| self.malformed(problem.to_string()))?;
        let command = decoded.command();
        let KeyRange::Partition { token, key } = command.keys else {
            return Err(self.malformed("an attempt is about one partition".to_owned()));
        };
        let Some(mut held) = self.hold(command.table, (token, key), planned).await? else {
            return Ok(Prepared::Outrun(prepare.ballot));
        };
        if prepare.purpose == Purpose::Look {
            let (registers, page) = (held.state.clone(), Page::default());
            drop(held);
            self.synced(Bug::PromiseNotSynced).await?;
            return Ok(promised(registers, Promise::Readable, prepare.wants_committed, page));
        }
        let before = held.state.clone();
        let promise = match held.state.prepare(prepare.purpose, prepare.ballot) {
            Ok(promise) => promise,
            Err(Outrun(latest)) => return Ok(Prepared::Outrun(latest)),
        };
        match (promise, prepare.purpose) {
            (Promise::Made, Purpose::Write) => held.write(Register::Promised(prepare.ballot)).await?,
            (Promise::Made, Purpose::Read) => held.write(Register::ReadPromised(prepare.ballot)).await?,
            (Promise::Readable, _) | (_, Purpose::Look) => {}
        }
        let table = Rc::clone(&held.table);
        drop(held);
        let page = self.page(prepare, planned).await?;
        // What the page shows is there to stay as well.
        self.synced(Bug::PromiseNotSynced).await?;
        self.fence.gate(self.runtime.shard(), planned).check_attempt(table.id)?;
        // A page that is read while something is committed may have a part of it, or have it without what was committed before.
        let after = self.registers(&table, (token, key)).await?;
        if (&after.accepted, after.committed) != (&before.accepted, before.committed) {
            stdx::sometimes!("a page is read beside a commit");
            return Ok(Prepared::Outrun(after.latest().unwrap_or(prepare.ballot)));
        }
        Ok(promised(before, promise, prepare.wants_committed, page))
    }

    /// Accepts a proposal.
    pub(crate) async fn accept(&self, accept: Accept, planned: Epoch) -> Result<Accepted, ReplicaError> {
        let (shard, Accept { table, key, proposal }) = (self.runtime.shard(), accept);
        let Some(mut held) = self.hold(table, (token_of(&key), &key), planned).await? else {
            return Ok(Accepted::Outrun(proposal.ballot));
        };
        if self.storage.planted().is(Bug::AcceptedOverLaterPromise) {
            held.state = State::default();
        }
        if let Err(Outrun(latest)) = held.state.accept(proposal) {
            return Ok(Accepted::Outrun(latest));
        }
        let position = storage::write_start(&self.storage).map_err(|error| apply_error(shard.0, error))?;
        let accepted = held.state.accepted.clone();
        let written = held.write(Register::Accepted(accepted.as_ref().expect("it was just accepted"), position)).await;
        written.map_err(|error| match error {
            // It is written, in steps: the coordinator must not take it for refused.
            ReplicaError::Stale { shard, .. } if !held.is_short => ReplicaError::Gone { shard },
            error => error,
        })?;
        drop(held);
        self.synced(Bug::PromiseNotSynced).await?;
        Ok(Accepted::Done)
    }

    /// Claims a partition and reads its registers, once the node has applied what the plan rests on. `None`: others were at the partition for too long.
    async fn hold<'a>(
        &'a self,
        table: TableId,
        (token, key): (Token, &'a [u8]),
        planned: Epoch,
    ) -> Result<Option<Held<'a>>, ReplicaError> {
        let shard = self.runtime.shard();
        self.fence.gate(shard, planned).reach().await?;
        if token_of(key) != token {
            return Err(self.malformed("a partition's token is not its key's".to_owned()));
        }
        let time = self.timeouts.get(TimeoutKind::CasContention);
        let Some(claim) = self.queue.claim((&self.runtime, time), table, key).await else { return Ok(None) };
        let Some(table) = self.storage.definition(table) else {
            return Err(ReplicaError::UnknownTable { shard: shard.into() });
        };
        let state = self.registers(&table, (token, key)).await?;
        // The registers are beside the low bound of now.
        self.fence.gate(shard, planned).check_attempt(table.id)?;
        Ok(Some(Held { acceptor: self, table, token, key, planned, state, is_short: true, _claim: claim }))
    }

    /// The registers of a partition.
    async fn registers(&self, table: &Table, (token, key): (Token, &[u8])) -> Result<State, ReplicaError> {
        let clustering = clustering_of(table.id);
        let slices = [Slice::of_prefix(&clustering)];
        let now_in_seconds = u32::try_from(self.runtime.wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
        let command =
            ReadCommand { slices: &slices, ..ReadCommand::partition(STATE_TABLE, token, key, now_in_seconds) };
        let mut reader = StateReader::default();
        let read = self.storage.read_through(&command, &mut reader).await;
        let _ = read.map_err(|error| unreadable(self.runtime.shard().0, error))?;
        Ok(reader
            .finish(self.fence.low_bound(), |position| storage::is_truncated_after(&self.storage, table.id, position)))
    }

    async fn page(&self, prepare: &Prepare, planned: Epoch) -> Result<Page, ReplicaError> {
        let (rows, bytes) = (prepare.rows, prepare.bytes);
        let limits = PageLimits { rows, rows_per_partition: u32::MAX, bytes, counts_statics: true, planned };
        page_of_data(&self.runtime, (&self.storage, &self.fence), &prepare.command, limits).await
    }

    /// Waits until all that this shard has written so far is on the disk, unless a planted bug leaves it out.
    async fn synced(&self, left_out: Bug) -> Result<(), ReplicaError> {
        if self.storage.planted().is(left_out) {
            return Ok(());
        }
        let synced = self.storage.wait_synced(self.storage.appended()).await;
        synced.map_err(|reason| ReplicaError::NotSynced { shard: self.runtime.shard().into(), reason })
    }

    fn malformed(&self, problem: String) -> ReplicaError {
        ReplicaError::Malformed { shard: self.runtime.shard().into(), problem }
    }
}

/// The answer with registers.
fn promised(registers: State, promise: Promise, wants_committed: bool, page: Page) -> Prepared {
    let State { promised: earlier, committed, .. } = registers;
    let (accepted, is_left_out) = registers.shown(wants_committed);
    Prepared::Promised(Promised { promise, earlier, accepted, is_left_out, committed, page })
}

impl Held<'_> {
    /// Writes a register. The fence is asked in the call that does.
    async fn write(&mut self, register: Register<'_>) -> Result<(), ReplicaError> {
        let Acceptor { runtime, storage, fence, .. } = self.acceptor;
        let mut bytes = Vec::with_capacity(160);
        encode_registers(&[register], &self.table, (self.token, self.key), Kept::Always, &mut bytes);
        let refused = |error| apply_error(runtime.shard().0, error);
        let gate = fence.gate(runtime.shard(), self.planned);
        // The low bound may have passed the proposal since it was judged.
        let check = || match register {
            Register::Accepted(proposal, _) => gate.check_ballot(self.table.id, proposal.ballot),
            _ => gate.check_attempt(self.table.id),
        };
        let mutation = [bytes];
        if !super::apply::is_small(&mutation) {
            check()?;
            self.is_short = false;
            storage.apply_in_steps(&mutation).await.map_err(refused)?;
            return Ok(check()?);
        }
        let mut admission = storage.write_admission();
        loop {
            check()?;
            match apply_all(storage, &mutation) {
                Ok(_) => return Ok(()),
                Err(error) => admission.after(error).await.map_err(refused)?,
            }
        }
    }
}
