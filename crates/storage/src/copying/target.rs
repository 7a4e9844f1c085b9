//! The target of a copy: a unit that one shard receives, and that becomes files of the table as a whole or not at all.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::Group;
use schema::{Table, TableId};
use topology::TokenRange;

use super::CopyError;
use crate::compaction::{Outputs, Sink};
use crate::error::ApplyError;
use crate::flush::estimate;
use crate::manifest::{Record, ReplacedRecord};
use crate::memtable::{FlushItem, FlushWalk, Memtable, TableShape};
use crate::shard::{Engine, Shard};
use crate::sstable::Sstable;
use crate::tables::{Content, FilesChange, LiveFile};

/// Memory that a unit takes before it is written to a file, and the part of the shard's memory that it takes at most.
const UNIT_BYTES: usize = 16 << 20;
const MEMORY_PART: usize = 8;
/// The rest after a record that was refused, and the longest one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// The end of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Bytes of data in its files, before compression.
    pub bytes: u64,
    /// Its files.
    pub files: usize,
}

/// A unit that this shard receives: one table × one token range, from one source or several. While it is there no compaction of the table purges a tombstone on
/// this shard. Dropped before it is finished, nothing of it stays.
pub struct CopyTarget {
    shard: Shard,
    table: Rc<Table>,
    range: TokenRange,
    /// The table's content when it began: what was truncated since does not come back.
    content: Content,
    /// `None` between two of them.
    memtable: Option<Memtable>,
    outputs: Option<Outputs>,
    memory_max: usize,
}

impl std::fmt::Debug for CopyTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyTarget")
            .field("table", &self.table.name)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl CopyTarget {
    /// Nothing is received yet. The range may wrap.
    pub fn begin(shard: &Shard, table: TableId, range: TokenRange) -> Result<CopyTarget, CopyError> {
        let mut engine = shard.engine();
        let memory_max = UNIT_BYTES.min(engine.pool.budget() / MEMORY_PART);
        let state = engine.tables.get_mut(table).ok_or(CopyError::Gone)?;
        state.copies += 1;
        let (table, content) = (Rc::clone(&state.definition), state.content);
        let memtable = Some(Memtable::new(TableShape::of(&table)));
        let shard = shard.clone();
        Ok(CopyTarget { shard, table, range, content, memtable, outputs: None, memory_max })
    }

    /// Adds a mutation. The same one may be added several times, and in any order.
    pub async fn put(&mut self, mutation: &[u8]) -> Result<(), CopyError> {
        let strange = |problem: String| CopyError::Strange { problem };
        let mutation = MutationRef::decode(mutation).map_err(|error| strange(error.to_string()))?;
        let (token, owner) = (mutation.token(), self.shard.sharder().shard_of(mutation.token()));
        if mutation.table() != self.table.id {
            return Err(strange("it is of another table".to_owned()));
        }
        if token != topology::token_of(mutation.key()) || !self.range.contains(token) {
            return Err(strange(format!("token {token} is not of its range")));
        }
        if owner != self.shard.runtime().shard().0 {
            return Err(strange(format!("token {token} belongs to shard {owner}")));
        }
        loop {
            let needed = Memtable::bytes_needed(&mutation);
            let is_full = {
                let mut engine = self.shard.engine();
                let Engine { tables, pool, scratch, .. } = &mut *engine;
                let is_there = tables.get(self.table.id).is_some_and(|state| state.content == self.content);
                if !is_there {
                    return Err(CopyError::Gone);
                }
                let memtable = self.memtable.as_mut().expect("it is there between two calls");
                memtable.shape().check(&mutation).map_err(|problem| strange(problem.to_owned()))?;
                let is_full = !memtable.is_empty() && memtable.bytes() + needed > self.memory_max;
                let has_room = memtable.has_room(needed) || pool.has_room(needed);
                if !is_full && has_room {
                    memtable.apply(pool, scratch, &mutation);
                    break;
                }
                !memtable.is_empty()
            };
            match is_full {
                true => self.write_file().await?,
                // Others have all of the memory.
                false => self.shard.flush_makes_room().await,
            }
        }
        self.shard.flush_if_due();
        self.shard.runtime().maybe_yield().await;
        Ok(())
    }

    /// Writes what was put to files, and has all of them be the table's: with one record, and read from then on. Nothing was put: no file.
    pub async fn finish(mut self) -> Result<Copied, CopyError> {
        self.write_file().await?;
        let Some(outputs) = &self.outputs else { return Ok(Copied::default()) };
        let mut opened = Vec::new();
        for name in &outputs.finished {
            let (path, descriptor) = (&outputs.folder.1, name.descriptor.clone());
            let (runtime, pages) = (self.shard.runtime(), self.shard.pages());
            opened.push(Sstable::open(runtime, pages, path, descriptor, &self.table).await?);
        }
        let copied = Copied { bytes: outputs.bytes, files: opened.len() };
        self.list(opened).await?;
        // They are the table's now.
        self.outputs = None;
        Ok(copied)
    }

    /// Writes the memtable to a file that is not listed.
    async fn write_file(&mut self) -> Result<(), CopyError> {
        if self.memtable.as_ref().is_none_or(Memtable::is_empty) {
            return Ok(());
        }
        let fresh = Memtable::new(TableShape::of(&self.table));
        let memtable = Rc::new(self.memtable.replace(fresh).expect("it was looked at"));
        let written = self.write(&memtable).await;
        let mut engine = self.shard.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        tables.retire(memtable, pool);
        drop(engine);
        self.shard.flusher().has_room();
        written
    }

    async fn write(&mut self, memtable: &Rc<Memtable>) -> Result<(), CopyError> {
        let estimates = estimate(memtable);
        let outputs = match &mut self.outputs {
            Some(outputs) => {
                outputs.estimates = estimates;
                outputs
            }
            None => {
                self.shard.wait_in_force().await?;
                let folder = self.shard.table_folder(&self.table);
                let path = self.shard.prepare_folder(&folder).await?;
                let outputs = Outputs::of_copy(&self.shard, &self.table, (folder, path), estimates, self.content);
                self.outputs.insert(outputs)
            }
        };
        let mut walk = FlushWalk::over(Rc::clone(memtable));
        while let Some(item) = walk.next() {
            match item {
                FlushItem::Partition { token, key, deletion, static_row } => {
                    outputs.partition(token, key, deletion, static_row).await?;
                }
                FlushItem::Row(clustering, row) => outputs.row(clustering, row),
                FlushItem::Marker(marker) => outputs.marker(&marker),
                FlushItem::PartitionEnd => {}
            }
            outputs.write_out().await?;
            self.shard.runtime().maybe_yield().await;
        }
        outputs.finish().await?;
        stdx::sometimes!("part of a copy written");
        Ok(())
    }

    /// Names the files in the manifest, by one record, and has them read.
    async fn list(&mut self, opened: Vec<Rc<Sstable>>) -> Result<(), CopyError> {
        let (shard, outputs) = (self.shard.clone(), self.outputs.as_ref().expect("files were written"));
        let outputs_of = || outputs.finished.iter().map(|name| name.descriptor.clone()).collect();
        let (mut rest, mut is_undecided) = (RETRY_FIRST, false);
        loop {
            // Nothing is discarded between the look and the change, as where a compaction exchanges files.
            let permit = shard.compactor().exchange.acquire().await;
            if !self.is_wanted() {
                drop(permit);
                if is_undecided {
                    shard.settle().await;
                }
                return Err(CopyError::Gone);
            }
            let end = match shard.end_behind_truncations() {
                Ok(end) => end,
                Err(ApplyError::LogBusy) => {
                    drop(permit);
                    shard.room().await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let (table, folder, inputs) = (self.table.id, outputs.folder.0.clone(), Vec::new());
            let record = ReplacedRecord { table, folder, end, inputs, outputs: outputs_of() };
            match shard.manifest().append(Record::Replaced(record)).await {
                Ok(()) => {
                    self.read_from_now_on(opened);
                    return Ok(());
                }
                Err(error) => {
                    is_undecided = true;
                    tracing::warn!(%error, "cannot commit received sstables to the manifest; retrying");
                }
            }
            drop(permit);
            shard.runtime().sleep(rest).await;
            rest = (rest * 2).min(RETRY_MAX);
        }
    }

    /// The table has not been truncated or dropped since.
    fn is_wanted(&self) -> bool {
        self.shard.engine_ref().tables.get(self.table.id).is_some_and(|state| state.content == self.content)
    }

    /// The files are among the table's. If it was emptied while they were named, they end before that truncation, which takes them from the manifest.
    fn read_from_now_on(&self, opened: Vec<Rc<Sstable>>) {
        let mut engine = self.shard.engine();
        let state = engine.tables.get_mut(self.table.id).filter(|state| state.content == self.content);
        let Some(state) = state else { return };
        let definition = Rc::clone(&state.definition);
        for sstable in opened {
            let file = LiveFile { sstable, is_shared: false };
            // The table may have been altered since the file was opened.
            file.take_definition(&definition);
            state.files.push(file);
        }
        // They may have a later own part of a counter.
        state.counted.clear();
        state.files_changed(FilesChange::Other);
        drop(engine);
        stdx::sometimes!("copy listed");
        self.shard.compactor().files_came();
    }
}

impl Drop for CopyTarget {
    fn drop(&mut self) {
        let mut engine = self.shard.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        if let Some(state) = tables.get_mut(self.table.id).filter(|state| state.content.table == self.content.table) {
            state.copies -= 1;
        }
        if let Some(mut memtable) = self.memtable.take() {
            memtable.clear(pool);
        }
        drop(engine);
        self.shard.flusher().has_room();
        if let Some(outputs) = self.outputs.take() {
            stdx::sometimes!("copy given up");
            drop(self.shard.runtime().spawn(Group::Maintenance, outputs.give_up()));
        }
    }
}
