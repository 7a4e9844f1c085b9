//! From deltas to states: a write to a table of counters says how much is to be added, and what is logged and merged is what that
//! comes to, so that a replay adds nothing twice. See `docs/internals/counters.md`.
//!
//! Between reading what this node has added so far and applying what it has added then, nobody else may change the counters of the
//! partition: either both are one call, [`Shard::count_now`], or the task holds the partition's lock, [`Shard::count`].

mod current;
mod partition_locks;
mod shown;
mod states;

use mutation::{CounterId, DecodeError, Item, MutationRef};
use planted::Bug;
use schema::TableId;

use crate::counter::current::Current;
use crate::counter::states::write_state;
use crate::error::ApplyError;
use crate::shard::{Ack, Shard};
use crate::sstable::ReadError;
use crate::tables::Content;
use crate::try_outcome::TryOutcome;

use partition_locks::PartitionLock;
pub(crate) use partition_locks::PartitionLocks;
pub use shown::counters_unsynced;

/// A mutation of more items than these is counted by a task.
const ITEMS_NOW_MAX: usize = 32;
/// So many items are read, counted and applied as one record.
const ITEMS_AT_ONCE: usize = 128;

/// Why counters were not changed.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The states could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// What is there already could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Too many wait to change the same partition's counters.
    #[error("too many counter writes wait for one partition")]
    Queue,
    /// The caller's plan holds no more.
    #[error("the counter write is of an older state of the cluster")]
    Overtaken {
        /// True if some of the deltas are counted.
        is_begun: bool,
    },
}

impl From<DecodeError> for CountError {
    fn from(error: DecodeError) -> Self {
        CountError::Apply(error.into())
    }
}

/// Some of a mutation's items, to be counted with others at once.
struct Piece<'m> {
    mutation: MutationRef<'m>,
    /// Whether the partition's deletion belongs to it: the first piece of a mutation.
    is_first: bool,
    items: Vec<Item<'m>>,
}

impl Shard {
    /// Applies a mutation with deltas of a table of counters within the call; `id_of` gives this node's id for a table. Where what is there must be
    /// waited for, [`Shard::count`] does.
    pub fn count_now(&self, id_of: impl Fn(TableId) -> CounterId, delta: &[u8]) -> Result<TryOutcome<Ack>, ApplyError> {
        let mutation = MutationRef::decode(delta)?;
        if mutation.item_count() > ITEMS_NOW_MAX || self.partition_locks().is_locked(mutation.table(), mutation.key()) {
            return Ok(TryOutcome::WouldBlock);
        }
        let id = id_of(mutation.table());
        let mut current = Current::of(self);
        let piece = Piece { mutation, is_first: true, items: mutation.items().collect() };
        if !current.read_now(&piece, id)? {
            return Ok(TryOutcome::WouldBlock);
        }
        let mut state = Vec::with_capacity(delta.len() + 64);
        write_state(&piece, id, &mut current, self.runtime().wall_clock_micros(), &mut state)?;
        match self.apply(&state) {
            Ok(ack) => {
                current.note_counted();
                Ok(TryOutcome::Done(ack))
            }
            Err(error) if error.is_busy() => Ok(TryOutcome::WouldBlock),
            Err(error) => Err(error),
        }
    }

    /// Applies mutations with deltas, waiting for what it takes. What is of up to 128 rows is one record of the log. Gives the states, for
    /// other replicas. `id_of` gives this node's id for a table, at the moment. `holds` is asked in each call that applies; where it does not, nothing more is counted.
    pub async fn count(
        &self,
        id_of: impl Fn(TableId) -> CounterId,
        deltas: &[Vec<u8>],
        holds: &dyn Fn() -> bool,
    ) -> Result<(Ack, Vec<Vec<u8>>), CountError> {
        let mut mutations = Vec::with_capacity(deltas.len());
        for delta in deltas {
            mutations.push(MutationRef::decode(delta)?);
            self.runtime().maybe_yield().await;
        }
        let _locks = self.lock_partitions(&mutations).await?;
        let (mut ack, mut states) = (Ack::Now, Vec::new());
        for pieces in rounds(&mutations) {
            match self.count_pieces(&id_of, &pieces, holds, &mut states).await? {
                Ack::Now => {}
                later => ack = later,
            }
            self.runtime().maybe_yield().await;
        }
        Ok((ack, states))
    }

    /// The locks of all partitions, taken in one order by all.
    async fn lock_partitions(&self, mutations: &[MutationRef<'_>]) -> Result<Vec<PartitionLock>, CountError> {
        let mut partitions: Vec<(TableId, &[u8])> = mutations.iter().map(|one| (one.table(), one.key())).collect();
        partitions.sort_unstable();
        partitions.dedup();
        let mut locks = Vec::with_capacity(partitions.len());
        if self.planted().is(Bug::TurnsIgnored) {
            return Ok(locks);
        }
        for (table, key) in partitions {
            locks.push(self.partition_locks().lock(table, key).await.ok_or(CountError::Queue)?);
        }
        Ok(locks)
    }

    async fn count_pieces(
        &self,
        id_of: &impl Fn(TableId) -> CounterId,
        pieces: &[Piece<'_>],
        holds: &dyn Fn() -> bool,
        states: &mut Vec<Vec<u8>>,
    ) -> Result<Ack, CountError> {
        let mut admission = self.write_admission();
        loop {
            // What is read while a truncation is not done would be counted on after it.
            let locks = self.partition_locks();
            while let Some(piece) = pieces.iter().find(|piece| locks.is_closed(piece.mutation.table())) {
                locks.wait_open(piece.mutation.table()).await;
            }
            let contents = self.contents(pieces)?;
            let ids: Vec<CounterId> = pieces.iter().map(|piece| id_of(piece.mutation.table())).collect();
            let mut current = Current::of(self);
            for (piece, id) in pieces.iter().zip(&ids) {
                if !current.read_now(piece, *id)? {
                    stdx::sometimes!("counter read from files");
                    current.read_through(piece, *id).await?;
                }
            }
            if !holds() {
                return Err(CountError::Overtaken { is_begun: !states.is_empty() });
            }
            // Truncated meanwhile: what was read is not there any more. In another tenure: the part is not this node's to change any more.
            let is_same_tenure = pieces.iter().zip(&ids).all(|(piece, id)| id_of(piece.mutation.table()) == *id);
            if self.contents(pieces)? != contents || !is_same_tenure {
                continue;
            }
            let now = self.runtime().wall_clock_micros();
            let mut written = Vec::with_capacity(pieces.len());
            for (piece, id) in pieces.iter().zip(&ids) {
                let mut state = Vec::new();
                write_state(piece, *id, &mut current, now, &mut state)?;
                written.push(state);
            }
            let slices: Vec<&[u8]> = written.iter().map(Vec::as_slice).collect();
            let applied = match slices.as_slice() {
                [one] => self.apply(one),
                several => self.apply_batch(several),
            };
            match applied {
                Ok(ack) => {
                    current.note_counted();
                    states.append(&mut written);
                    return Ok(ack);
                }
                // By the time that there is room, what was read may be old.
                Err(error) => admission.after(error).await?,
            }
        }
    }

    /// Which contents the pieces' tables have.
    fn contents(&self, pieces: &[Piece<'_>]) -> Result<Vec<Content>, ApplyError> {
        let engine = self.engine_ref();
        let content = |piece: &Piece<'_>| {
            let table = piece.mutation.table();
            engine.tables.get(table).map(|table| table.content).ok_or(ApplyError::UnknownTable(table))
        };
        pieces.iter().map(content).collect()
    }
}

/// The mutations' items in rounds that are counted one after the other.
fn rounds<'m>(mutations: &[MutationRef<'m>]) -> Vec<Vec<Piece<'m>>> {
    let (mut rounds, mut round, mut count) = (Vec::new(), Vec::new(), 0);
    for mutation in mutations {
        let mut items = mutation.items();
        let mut is_first = true;
        loop {
            let some: Vec<Item<'m>> = items.by_ref().take(ITEMS_AT_ONCE - count).collect();
            if some.is_empty() && !is_first {
                break;
            }
            count += some.len().max(1);
            round.push(Piece { mutation: *mutation, is_first, items: some });
            is_first = false;
            if count >= ITEMS_AT_ONCE {
                rounds.push(std::mem::take(&mut round));
                count = 0;
            }
        }
    }
    if !round.is_empty() {
        rounds.push(round);
    }
    rounds
}
