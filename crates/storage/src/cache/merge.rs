//! What a flush does to entries: they are merged with the memtable, and change in the call in which it becomes a file.

use std::rc::Rc;

use mutation::{KeyRange, Position, ReadCommand, Slice};
use planted::Bug;
use schema::{Table, TableId};
use topology::Token;

use crate::cache::body::{BODY_BYTES_MAX, Body, Kind};
use crate::cache::builder::BodyBuilder;
use crate::cache::marks::Marks;
use crate::cache::read::CachedPartition;
use crate::cache::slots::Pending;
use crate::cache::store::RowCache;
use crate::memtable::{KeyWalk, Memtable};
use crate::reader::{DataPageLimits, DataPageWriter, combine};
use crate::shard::{Engine, Shard};
use crate::sink::ReadEnd;
use crate::tables::{Frozen, TableState, Tables};

/// Entries that got a pending body.
#[derive(Default)]
pub(crate) struct Merged(Vec<u32>);

/// A partition of the memtable, or a row of one.
struct Target<'t> {
    table: &'t Rc<Table>,
    memtable: &'t Memtable,
    token: Token,
    key: &'t [u8],
    /// The row; empty for the partition.
    place: &'t [u8],
    /// The memtable's number.
    frozen: u64,
}

impl Target<'_> {
    /// The table, as long as the memtable is the next that leaves it and it was not altered. One that was truncated, or is another of the
    /// same id, may have entries already that have nothing to do with this memtable; those of one that was altered meanwhile end
    /// at the swap, as all that are filled beside a flush.
    fn table_in<'t>(&self, tables: &'t Tables) -> Option<&'t TableState> {
        let table = tables.get(self.table.id)?;
        let is_next = table.frozen.front().is_some_and(|frozen| frozen.number == self.frozen);
        (is_next && Rc::ptr_eq(&table.definition, self.table)).then_some(table)
    }
}

/// An entry as it was found.
struct Known {
    body: Body,
    rows: u64,
}

impl Shard {
    /// Merges a frozen memtable, whose file is about to take its place, into the entries that are there.
    pub(crate) async fn merge_into_cache(&self, table: &Rc<Table>, frozen: &Frozen) -> Merged {
        let mut merged = Merged::default();
        let mut walk = KeyWalk::over(frozen.memtable.clone());
        if self.planted().is(Bug::FlushNotCached) {
            return merged;
        }
        let memtable = &*frozen.memtable;
        while let Some((token, key)) = walk.next_key() {
            let target = Target { table, memtable, token, key, place: &[], frozen: frozen.number };
            match self.known(&target) {
                Look::Over => break,
                Look::Nothing => {}
                Look::Known(known) if known.body.kind() == Kind::Large => {
                    self.merge_large(&target, &known, &mut merged).await;
                }
                Look::Known(known) => self.merge_one(&target, &known, &mut merged).await,
            }
            self.runtime().maybe_yield().await;
        }
        merged
    }

    /// Puts pending bodies that count now in the place of those before.
    pub(crate) async fn settle_cache(&self, table: TableId, merged: Merged) {
        for id in merged.0 {
            {
                let mut engine = self.engine();
                let Engine { tables, cache, .. } = &mut *engine;
                if let Some(table) = tables.get(table) {
                    cache.settle_of(id, &table.marks);
                }
            }
            self.runtime().maybe_yield().await;
        }
    }

    /// The entry of what a memtable has something of.
    fn known(&self, target: &Target<'_>) -> Look {
        let mut engine = self.engine();
        let Engine { tables, cache, .. } = &mut *engine;
        match target.table_in(tables) {
            Some(table) if cache.is_on() && table.marks.is_on && cache.slots.taken > 0 => {
                cache.known(&table.marks, target.token, target.key, target.place).map_or(Look::Nothing, Look::Known)
            }
            _ => Look::Over,
        }
    }

    /// One entry, which is not of a large partition.
    async fn merge_one(&self, target: &Target<'_>, known: &Known, merged: &mut Merged) {
        let body = self.merged_body(target, &known.body).await;
        self.set_pending(target, known, body, known.rows, merged);
    }

    /// The row entries of a large partition.
    async fn merge_large(&self, target: &Target<'_>, known: &Known, merged: &mut Merged) {
        if target.memtable.says_more_than_rows(target.token, target.key) {
            let rows = self.engine().cache.next_rows();
            self.set_pending(target, known, Some(known.body.clone()), rows, merged);
            return;
        }
        let mut rows = target.memtable.row_places(target.token, target.key);
        while let Some(place) = rows.next_place() {
            let target = Target { place, ..*target };
            match self.known(&target) {
                Look::Over => return,
                Look::Known(row) if row.rows == known.rows => self.merge_one(&target, &row, merged).await,
                Look::Known(_) | Look::Nothing => {}
            }
            self.runtime().maybe_yield().await;
        }
    }

    fn set_pending(&self, target: &Target<'_>, known: &Known, body: Option<Body>, rows: u64, merged: &mut Merged) {
        let mut engine = self.engine();
        let Engine { tables, pool, cache, .. } = &mut *engine;
        let Some(table) = target.table_in(tables) else { return };
        // A partition that has become large has no row entries yet.
        let is_large_now = body.as_ref().is_some_and(|body| body.kind() == Kind::Large && body.place().is_empty());
        let rows = if is_large_now && known.body.kind() != Kind::Large { cache.next_rows() } else { rows };
        let pending = Pending { frozen: target.frozen, body, rows };
        merged.0.extend(cache.set_pending(&table.marks, target.token, &known.body, pending, pool.used()));
    }

    /// What an entry and the memtable come to; `None`: it cannot be an entry.
    async fn merged_body(&self, target: &Target<'_>, known: &Body) -> Option<Body> {
        let slice = [if target.place.is_empty() { Slice::ALL } else { Slice::of_prefix(target.place) }];
        let keys = KeyRange::Partition { token: target.token, key: target.key };
        let command = ReadCommand {
            table: target.table.id,
            keys,
            slices: &slice,
            reversed: false,
            // Nothing is judged by it here.
            now_in_seconds: 0,
            after: None,
        };
        let limits = DataPageLimits { items: u32::MAX, bytes: BODY_BYTES_MAX as u32 };
        let mut of_memtable = DataPageWriter::new(limits);
        let mut after: Option<Position> = None;
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            match target.memtable.read_data(&command, &mut of_memtable) {
                ReadEnd::Complete => break,
                ReadEnd::Paused(position) if of_memtable.wanted().is_none() => after = Some(position),
                // More than a body may be long.
                ReadEnd::Paused(_) | ReadEnd::Stopped(_) => {
                    return BodyBuilder::only_key(Kind::Large, target.key, target.place);
                }
            }
            self.runtime().maybe_yield().await;
        }
        if of_memtable.wanted().is_some() {
            return BodyBuilder::only_key(Kind::Large, target.key, target.place);
        }
        let mut of_entry = DataPageWriter::new(DataPageLimits { bytes: u32::MAX, ..limits });
        let mut after: Option<Position> = None;
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            match CachedPartition::new(known, target.token).read_data(&command, &mut of_entry) {
                ReadEnd::Complete => break,
                ReadEnd::Paused(position) | ReadEnd::Stopped(position) => after = Some(position),
            }
        }
        let mut builder = BodyBuilder::new(target.table, target.key, target.place);
        let pages = vec![of_memtable.into_bytes(), of_entry.into_bytes()];
        let pause = async || self.runtime().maybe_yield().await;
        combine(pages, target.table, &command, pause, &mut builder).await;
        // What of dropped columns the file has, is the writer's business.
        if builder.has_dropped() { None } else { builder.finish() }
    }
}

/// What a look for an entry comes to.
enum Look {
    /// There is none.
    Nothing,
    /// Nor will there be: the table is not cached, or nothing is, or the memtable is no more.
    Over,
    Known(Known),
}

impl RowCache {
    fn known(&mut self, marks: &Marks, token: Token, key: &[u8], place: &[u8]) -> Option<Known> {
        let id = self.slot(marks.table, self.hash(marks.table, token, place), key, place)?;
        if !self.settle(id, marks) {
            return None;
        }
        let (body, rows) = self.slots.get(id).content(marks)?;
        Some(Known { body: body.clone(), rows })
    }

    /// Settles an entry of the table, if it still is one.
    fn settle_of(&mut self, id: u32, marks: &Marks) {
        let slot = self.slots.get(id);
        if slot.body.is_some() && slot.table == marks.table {
            self.settle(id, marks);
        }
    }
}
