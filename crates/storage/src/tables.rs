//! The tables of one shard: their memtables and their files.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use mutation::{KeyRange, ReadCommand};
use planted::{Bug, Planted};
use schema::{Schema, Table, TableId};

use crate::cache::Marks;
use crate::counted::Counted;
use crate::latencies::{FilesPerRead, Latencies};
use crate::memtable::{ChunkPool, Memtable, TableShape};
use crate::options::ReplayPosition;
use crate::sstable::{FilterCounts, Sstable};

/// Which content of a table it is. What was to be merged into one must not be merged into the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Counts the tables that were made on this shard: an id may be that of a table that was dropped.
    pub table: u64,
    /// Counts the table's truncations that have begun.
    pub truncations: u64,
}

/// A memtable that nothing is written to any more: it is read until the file that is made of it is live.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// Its place in the order of all that this shard froze.
    pub number: u64,
    /// What was written.
    pub memtable: Rc<Memtable>,
    /// Where the log ended when it was frozen: a truncation from there on takes it along.
    pub end: ReplayPosition,
    /// Up to here the log's records of the table are in it, or in a file before it.
    pub covered: ReplayPosition,
}

/// A file of the table that is open.
#[derive(Clone)]
pub struct LiveFile {
    /// The file.
    pub sstable: Rc<Sstable>,
    /// Whether other shards read it too: only partitions that this shard owns count.
    pub is_shared: bool,
}

impl LiveFile {
    /// Takes over the table as it is now.
    pub fn take_definition(&self, table: &Rc<Table>) {
        if let Err(error) = self.sstable.set_table(table) {
            tracing::error!(%error, "sstable does not match the altered schema; reading it with the old one");
        }
    }
}

/// What happened to what a table is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesChange {
    /// A memtable was frozen: the files are the same.
    Frozen,
    /// The frozen memtable with this number left, and a file has what it had.
    Flushed(u64),
    /// Files took the place of others, and say the same, or less if something was purged.
    Compacted {
        /// Whether anything was purged.
        has_purged: bool,
    },
    /// The files say something else now.
    Other,
}

/// One table.
pub struct TableState {
    /// Its id.
    pub id: TableId,
    /// The table as it is now.
    pub definition: Rc<Table>,
    /// What is being written to it.
    pub memtable: Memtable,
    /// The counters whose newest own part is in it.
    pub counted: Counted,
    /// What was written before and is on its way into files, oldest first.
    pub frozen: VecDeque<Frozen>,
    /// Its files, oldest first.
    pub files: Vec<LiveFile>,
    /// See [`TableState::files_version`].
    files_version: u64,
    /// Whether its writes go through the log.
    pub is_durable: bool,
    /// True between the moment at which a truncation has its position and the one at which that is durable. Meanwhile no flush begins: a file
    /// must not hold both what the truncation takes along and what came after it.
    pub is_truncation_open: bool,
    /// Copies by which this shard receives parts of it ([`crate::PurgeHold`]): what they bring may be older than a tombstone, which is not purged
    /// meanwhile.
    pub copies: u32,
    /// Those that have begun since the start.
    pub copies_begun: u64,
    /// The group of the log it was noted in last.
    pub mark: u64,
    /// Which content of it this is.
    pub content: Content,
    /// By what its entries in the row cache are judged.
    pub marks: Marks,
    /// Reads begun since the start.
    pub reads: Cell<u64>,
    /// What reads and writes took.
    pub read_latencies: Latencies,
    pub write_latencies: Latencies,
    pub files_per_read: FilesPerRead,
    /// How often a Bloom filter kept a read of one partition from a file, since the start.
    pub filter_negatives: Cell<u64>,
    /// How often filters of files that are gone let reads through.
    pub filter_counts_gone: FilterCounts,
    /// Mutations applied, and memtables that became files, since the start.
    pub writes: u64,
    pub flushes: u64,
}

impl TableState {
    /// An empty one, the `made`th since the start.
    fn new(table: &Rc<Table>, made: u64, is_durable: bool) -> TableState {
        let content = Content { table: made, truncations: 0 };
        TableState {
            id: table.id,
            definition: table.clone(),
            memtable: Memtable::new(TableShape::of(table)),
            counted: Counted::default(),
            frozen: VecDeque::new(),
            files: Vec::new(),
            // A table under the id of one that was dropped goes on nowhere near it.
            files_version: made << 32,
            is_durable,
            is_truncation_open: false,
            copies: 0,
            copies_begun: 0,
            mark: 0,
            content,
            marks: Marks::new(content.table, table.options.caches_rows()),
            reads: Cell::new(0),
            filter_negatives: Cell::new(0),
            filter_counts_gone: FilterCounts::default(),
            read_latencies: Latencies::default(),
            write_latencies: Latencies::default(),
            files_per_read: FilesPerRead::default(),
            writes: 0,
            flushes: 0,
        }
    }

    /// The table as it is now.
    fn take_definition(&mut self, table: &Rc<Table>, planted: Planted) {
        if Rc::ptr_eq(&self.definition, table) || self.definition == *table {
            return;
        }
        self.memtable.take_shape(TableShape::of(table));
        self.definition = table.clone();
        self.marks.is_on = table.options.caches_rows();
        if !planted.is(Bug::AlteredStaysCached) {
            self.marks.all_changed();
        }
        self.files.iter().for_each(|file| file.take_definition(table));
    }

    /// All that is in memory, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Memtable> {
        std::iter::once(&self.memtable).chain(self.frozen.iter().rev().map(|frozen| &*frozen.memtable))
    }

    /// Counts a read that begins; one that goes on where it stopped was counted.
    #[inline]
    pub fn count_read(&self, command: &ReadCommand<'_>) {
        if command.after.is_none() {
            self.reads.set(self.reads.get() + 1);
        }
    }

    /// Puts an empty memtable in the place of the one that is written to, which is then read only. `end` is where the log ends,
    /// `covered` how far it holds nothing of this table that is not applied.
    pub fn freeze(&mut self, number: u64, end: ReplayPosition, covered: ReplayPosition) {
        self.counted.clear();
        let fresh = Memtable::new(TableShape::clone(self.memtable.shape()));
        let memtable = Rc::new(std::mem::replace(&mut self.memtable, fresh));
        self.frozen.push_back(Frozen { number, memtable, end, covered });
        self.files_changed(FilesChange::Frozen);
    }

    /// Rises when the set of frozen memtables and files changes, or the memtable is another: a read that keeps places in them must
    /// begin anew then.
    pub fn files_version(&self) -> u64 {
        self.files_version
    }

    /// To be called in the same call in which they change: reads that are under way see it, and so do entries of the row cache.
    pub fn files_changed(&mut self, change: FilesChange) {
        self.files_version += 1;
        match change {
            FilesChange::Frozen => {}
            FilesChange::Flushed(number) => self.marks.flushed(number),
            FilesChange::Compacted { has_purged } => self.marks.compacted(has_purged),
            FilesChange::Other => self.marks.all_changed(),
        }
    }

    /// Reads some of its files no more. What their filters did still counts.
    pub fn remove_files(&mut self, is_gone: impl Fn(&LiveFile) -> bool) {
        let gone = self.files.iter().filter(|file| is_gone(file)).map(|file| file.sstable.filter_counts());
        self.filter_counts_gone = gone.fold(self.filter_counts_gone, FilterCounts::plus);
        self.files.retain(|file| !is_gone(file));
    }

    /// How often filters let reads through, since the start.
    pub fn filter_counts(&self) -> FilterCounts {
        let live = self.files.iter().map(|file| file.sstable.filter_counts());
        live.fold(self.filter_counts_gone, FilterCounts::plus)
    }

    /// Counts the files that a read of one partition is kept from by their filters: those around it, but `read`.
    #[inline]
    pub fn count_filtered(&self, command: &ReadCommand<'_>, read: usize) {
        if self.files.is_empty() || command.after.is_some() {
            return;
        }
        let KeyRange::Partition { token, .. } = command.keys else { return };
        let is_around = |file: &&LiveFile| {
            let (first, last) = file.sstable.token_range();
            (first..=last).contains(&token)
        };
        let around = self.files.iter().filter(is_around).count();
        self.filter_negatives.set(self.filter_negatives.get() + around.saturating_sub(read) as u64);
    }

    /// Forgets all that it holds, in memory and in files. The frozen memtables are given to the caller.
    fn forget(&mut self, pool: &mut ChunkPool) -> VecDeque<Frozen> {
        self.memtable.clear(pool);
        self.counted.clear();
        self.remove_files(|_| true);
        self.files_changed(FilesChange::Other);
        std::mem::take(&mut self.frozen)
    }

    /// Forgets what lies at or before `position`, in memory and in files; no flush has begun since. The frozen memtables are given to the caller.
    fn forget_before(&mut self, position: &ReplayPosition) -> VecDeque<Frozen> {
        let (gone, kept) = std::mem::take(&mut self.frozen).into_iter().partition(|of| of.end.is_before(position));
        self.frozen = kept;
        self.remove_files(|_| true);
        self.files_changed(FilesChange::Other);
        gone
    }
}

/// What another schema came to.
pub struct Changed {
    /// Tables that were not there.
    pub made: Vec<TableId>,
    /// Tables that are there no more.
    pub gone: Vec<TableId>,
}

/// All tables, by id.
#[derive(Default)]
pub struct Tables {
    /// What the tables follow.
    schema: Schema,
    tables: Vec<TableState>,
    /// Where the last table was found: the next request is likely to be for the same.
    last: usize,
    /// Tables that were made so far.
    made: u64,
    /// Frozen memtables of tables that are gone or were emptied: a flush may hold them yet.
    orphans: Vec<Rc<Memtable>>,
}

impl Tables {
    /// The table with `id`.
    #[inline]
    pub fn get_mut(&mut self, id: TableId) -> Option<&mut TableState> {
        if self.tables.get(self.last).is_none_or(|table| table.id != id) {
            self.last = self.index(id)?;
        }
        self.tables.get_mut(self.last)
    }

    /// The table with `id`.
    #[inline]
    pub fn get(&self, id: TableId) -> Option<&TableState> {
        match self.tables.get(self.last) {
            Some(table) if table.id == id => Some(table),
            _ => self.index(id).map(|index| &self.tables[index]),
        }
    }

    fn index(&self, id: TableId) -> Option<usize> {
        self.tables.binary_search_by_key(&id, |table| table.id).ok()
    }

    /// All tables.
    pub fn iter(&self) -> impl Iterator<Item = &TableState> {
        self.tables.iter()
    }

    /// Takes over the tables of a schema. The memory of those that are gone is back in the pool. Keyspaces that are as they were are not
    /// looked into: there may be thousands, and a change is of one.
    pub fn update(&mut self, schema: &Schema, pool: &mut ChunkPool, planted: Planted) -> Changed {
        let before = std::mem::replace(&mut self.schema, schema.clone());
        let gone: Vec<TableId> = before
            .changed_since(schema)
            .flat_map(|keyspace| keyspace.tables.values().map(|table| table.id))
            .filter(|id| schema.table_by_id(*id).is_none())
            .collect();
        for id in &gone {
            self.remove(*id, pool);
        }
        let mut made = Vec::new();
        for keyspace in schema.changed_since(&before) {
            let is_durable = keyspace.def.durable_writes;
            for table in keyspace.tables.values() {
                match self.tables.binary_search_by_key(&table.id, |table| table.id) {
                    Ok(index) => {
                        self.tables[index].is_durable = is_durable;
                        self.tables[index].take_definition(table, planted);
                    }
                    Err(index) => {
                        self.made += 1;
                        self.tables.insert(index, TableState::new(table, self.made, is_durable));
                        made.push(table.id);
                    }
                }
            }
        }
        Changed { made, gone }
    }

    /// Removes a table; its memory goes back to the pool.
    fn remove(&mut self, id: TableId, pool: &mut ChunkPool) {
        let Some(index) = self.index(id) else { return };
        let mut table = self.tables.remove(index);
        self.orphan(table.forget(pool), pool);
    }

    /// Empties a table of what lies at or before `position`, which is durable.
    pub fn truncate(&mut self, id: TableId, position: &ReplayPosition, pool: &mut ChunkPool) {
        let Some(table) = self.get_mut(id) else { return };
        table.is_truncation_open = false;
        let frozen = table.forget_before(position);
        self.orphan(frozen, pool);
    }

    fn orphan(&mut self, frozen: VecDeque<Frozen>, pool: &mut ChunkPool) {
        self.orphans.extend(frozen.into_iter().map(|frozen| frozen.memtable));
        self.put_back(pool);
    }

    /// A frozen memtable is in a file: its memory goes back to the pool when nobody holds it any more.
    pub fn retire(&mut self, memtable: Rc<Memtable>, pool: &mut ChunkPool) {
        self.orphans.push(memtable);
        self.put_back(pool);
    }

    /// Gives the memory of memtables that nobody holds any more back to the pool.
    pub fn put_back(&mut self, pool: &mut ChunkPool) {
        for orphan in std::mem::take(&mut self.orphans) {
            match Rc::try_unwrap(orphan) {
                Ok(mut memtable) => memtable.clear(pool),
                Err(held) => self.orphans.push(held),
            }
        }
    }
}
