//! Large writes, in steps between which others run.
//!
//! A write of tens of thousands of rows, or of a value of many mebibytes, would hold the shard for tens of milliseconds in one
//! call. Here it goes in four stages. Only the third is one call, and its cost is one copy of the record:
//!
//! ```text
//! check       every mutation is decoded and compared with its table; the record's checksum       yields
//! make room   memory for the record is touched, which is most of what a large copy costs         yields
//! begin       are the tables still there? is there memory? is the log free? append the record    one call
//! merge       into the memtables, some items at a time                                           yields
//! ```
//!
//! The record is whole before the first row can be read, so after a crash all is there or nothing. Readers may for a moment
//! see a part of a batch, as in Cassandra; it is acknowledged when all is merged. What was checked must still fit: its memory
//! is reserved in `begin`. A table that is dropped or truncated between two steps gets nothing any more, even if one of the same
//! id is made: the record lies before the truncation's position, so a replay leaves it out too.
//!
//! A future that is dropped in `merge` leaves the rest to the next replay. Nobody does so: requests are run to their end.

use std::collections::BTreeMap;

use mutation::{Item, MutationRef};
use planted::Bug;
use schema::TableId;

use crate::commitlog::RecordChecksum;
use crate::error::ApplyError;
use crate::memtable::{Memtable, Merge};
use crate::shard::{Ack, Engine, LogSequence, Shard};
use crate::tables::Content;

/// What is written in one call: some hundreds of microseconds.
const MUTATIONS_SMALL: usize = 500;
const BYTES_SMALL: usize = 64 << 10;
/// Rows that are merged, and bytes that are touched or summed up, before the clock is asked.
const ITEMS_PER_STEP: usize = 32;
const BYTES_PER_STEP: usize = 64 << 10;
/// A block of this size is a chunk of its own, which is made ahead.
const OWN_CHUNK_MIN: usize = 512 << 10;
/// What an entry may add to the mutation that it is made of.
const ENTRY_SLACK: usize = 1 << 10;

/// Whether mutations are few and short enough to be written in one call. `count` is how many there are, `bytes` how long
/// they are together.
#[inline]
pub fn is_small(count: usize, bytes: usize) -> bool {
    count <= MUTATIONS_SMALL && bytes <= BYTES_SMALL
}

/// What the first stage found.
struct Checked {
    /// The tables that the mutations were compared with.
    tables: BTreeMap<TableId, Content>,
    needed: usize,
    /// Bytes that the mutations' rows hold twice.
    repeated: usize,
    checksum: RecordChecksum,
}

/// Memory that is kept for a batch until it is merged. Meanwhile a flush does not take the log from `begun` on for covered.
struct Reservation {
    shard: Shard,
    bytes: usize,
    /// The log sequence before the batch's record.
    begun: LogSequence,
}

impl Reservation {
    /// Gives back what was kept for one mutation, for the memtable to take.
    fn spend(&mut self, engine: &mut Engine, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        engine.pool.release(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut engine = self.shard.engine();
        engine.pool.release(self.bytes);
        engine.pool.drop_ready();
        let place = engine.merging.iter().position(|begun| *begun == self.begun);
        engine.merging.swap_remove(place.expect("it was noted when the record was appended"));
    }
}

impl Shard {
    /// Applies mutations as one record of the log, however large, letting others run in between. Waits for room as [`WriteAdmission`]
    /// does. To be awaited to its end.
    ///
    /// [`WriteAdmission`]: crate::WriteAdmission
    pub async fn apply_in_steps(&self, mutations: &[impl AsRef<[u8]>]) -> Result<Ack, ApplyError> {
        self.apply_steps(mutations, false).await
    }

    /// [`Shard::apply_in_steps`] for what another shard count's log held, as [`Shard::adopt_mutations`] does it.
    pub(crate) async fn adopt_in_steps(&self, mutations: &[impl AsRef<[u8]>]) -> Result<Ack, ApplyError> {
        self.apply_steps(mutations, true).await
    }

    async fn apply_steps(&self, mutations: &[impl AsRef<[u8]>], is_adopted: bool) -> Result<Ack, ApplyError> {
        stdx::sometimes!("write in steps");
        let timed = if is_adopted { None } else { self.begin_timed_steps(mutations) };
        let checked = self.check_in_steps(mutations).await?;
        let length = checked.checksum.length();
        let mut admission = self.write_admission();
        let (ack, contents, mut reservation) = loop {
            self.log().make_room(length).await;
            match self.begin(&checked, mutations, is_adopted) {
                Ok(begun) => break begun,
                Err(error) => admission.after(error).await?,
            }
        };
        for mutation in mutations {
            self.merge_in_steps(mutation.as_ref(), &contents, &mut reservation).await;
        }
        drop(reservation);
        if let Some(timed) = timed {
            self.end_timed_write(timed, ack);
        }
        self.flush_if_due();
        Ok(ack)
    }

    async fn check_in_steps(&self, mutations: &[impl AsRef<[u8]>]) -> Result<Checked, ApplyError> {
        let mut checked = Checked {
            tables: BTreeMap::new(),
            needed: Memtable::bytes_needed_once(),
            repeated: 0,
            checksum: RecordChecksum::begin(mutations.len()),
        };
        for bytes in mutations {
            let bytes = bytes.as_ref();
            let mutation = MutationRef::decode(bytes)?;
            let shape = {
                let engine = self.engine();
                let table = engine.tables.get(mutation.table());
                let table = table.ok_or(ApplyError::UnknownTable(mutation.table()))?;
                checked.tables.entry(table.id).or_insert(table.content);
                table.memtable.shape().clone()
            };
            shape.check_head(&mutation).map_err(ApplyError::Mismatch)?;
            for (index, item) in mutation.items().enumerate() {
                shape.check_item(&item).map_err(ApplyError::Mismatch)?;
                if let Item::Row(_, row) | Item::StaticRow(row) = item {
                    checked.repeated += row.repeated_bytes();
                }
                if index % ITEMS_PER_STEP == ITEMS_PER_STEP - 1 {
                    self.runtime().maybe_yield().await;
                }
            }
            let needed = Memtable::bytes_needed_among_others(&mutation);
            checked.needed = checked.needed.saturating_add(needed);
            self.sum_up(&mut checked.checksum, bytes).await;
        }
        Ok(checked)
    }

    /// Adds a mutation to its record's checksum.
    pub(crate) async fn sum_up(&self, checksum: &mut RecordChecksum, mutation: &[u8]) {
        checksum.mutation(mutation.len());
        for piece in mutation.chunks(BYTES_PER_STEP) {
            checksum.bytes(piece);
            self.runtime().maybe_yield().await;
        }
    }

    /// The one call: refuses, and nothing was done, or appends the record and keeps the memory. Gives the contents that it is to
    /// be merged into.
    fn begin(
        &self,
        checked: &Checked,
        mutations: &[impl AsRef<[u8]>],
        is_adopted: bool,
    ) -> Result<(Ack, BTreeMap<TableId, Content>, Reservation), ApplyError> {
        let mut engine = self.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        let mut contents = BTreeMap::new();
        let mut is_durable = is_adopted && !self.planted().is(Bug::DurabilityOfToday);
        for (id, content) in &checked.tables {
            // Another table under the same id may have another shape.
            let table = tables.get(*id).filter(|table| table.content.table == content.table);
            let table = table.ok_or(ApplyError::UnknownTable(*id))?;
            is_durable |= table.is_durable;
            contents.insert(*id, table.content);
        }
        if !is_adopted {
            self.check_room(pool, checked.needed)?;
        }
        let log = self.log();
        let mut ack = Ack::Now;
        let begun = log.appended();
        if is_durable {
            log.check_counted(checked.checksum.length(), checked.repeated)?;
            for id in checked.tables.keys() {
                let table = tables.get_mut(*id).expect("all tables were found above");
                log.note(*id, &mut table.mark);
            }
            let sequence = log.append_checked(mutations, &checked.checksum);
            if !log.acknowledges_at_once() {
                ack = Ack::When(sequence);
            }
        }
        pool.reserve(checked.needed);
        engine.merging.push(begun);
        drop(engine);
        Ok((ack, contents, Reservation { shard: self.clone(), bytes: checked.needed, begun }))
    }

    async fn merge_in_steps(&self, bytes: &[u8], contents: &BTreeMap<TableId, Content>, reservation: &mut Reservation) {
        let mutation = MutationRef::decode(bytes).expect("it was decoded before");
        if bytes.len() >= OWN_CHUNK_MIN {
            self.make_chunk_ahead(bytes.len() + ENTRY_SLACK).await;
        }
        self.sample_write(&mutation);
        let mut merge = Merge::of(&mutation);
        let mut is_first = true;
        while merge.has_more() {
            {
                let mut engine = self.engine();
                if is_first {
                    reservation.spend(&mut engine, Memtable::bytes_needed_among_others(&mutation));
                }
                let Engine { tables, pool, scratch, counts, .. } = &mut *engine;
                let known = contents.get(&mutation.table()).copied();
                let table = tables.get_mut(mutation.table()).filter(|table| Some(table.content) == known);
                let Some(table) = table else { break };
                table.memtable.merge_some(pool, scratch, &mut merge, ITEMS_PER_STEP);
                counts.mutations += u64::from(is_first);
                table.writes += u64::from(is_first);
                is_first = false;
            }
            self.runtime().maybe_yield().await;
        }
        self.engine().pool.drop_ready();
    }

    /// Makes the chunk of a large block: the kernel clears each page when it is first touched, which takes longer than the copy.
    async fn make_chunk_ahead(&self, bytes: usize) {
        let mut chunk = Vec::with_capacity(bytes);
        while chunk.len() < bytes {
            chunk.resize((chunk.len() + BYTES_PER_STEP).min(bytes), 0);
            self.runtime().maybe_yield().await;
        }
        self.engine().pool.offer(chunk.into_boxed_slice());
    }
}
