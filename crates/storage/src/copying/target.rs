//! The target of a copy: a unit that one shard receives, and that becomes files of the table as a whole or not at all.

use std::rc::Rc;
use std::time::Duration;

use mutation::MutationRef;
use runtime::Group;
use schema::{Table, TableId};
use topology::TokenRange;

use super::files::UnitFiles;
use super::{CopyError, PurgeHold};
use crate::error::ApplyError;
use crate::manifest::{ConfirmedRecord, CopyName, Record, ReplacedRecord};
use crate::memtable::{Memtable, TableShape};
use crate::options::ReplayPosition;
use crate::shard::{Engine, Shard};
use crate::sstable::Sstable;
use crate::tables::{Content, FilesChange, LiveFile};

/// Memory that a unit takes before it is written to a file, and the part of the shard's memory that it takes at most.
const UNIT_BYTES: usize = 16 << 20;
const MEMORY_PART: usize = 8;
/// A memtable that has this part of that is worth a file where others have the rest of the shard's memory.
const FILE_PART: usize = 2;
/// The longest that a mutation waits for memory.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(60);
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
/// this shard. Dropped before it is finished, also within a call, nothing of it stays.
pub struct CopyTarget {
    shard: Shard,
    table: Rc<Table>,
    range: TokenRange,
    /// The table's content when it began: what was truncated since does not come back.
    content: Content,
    /// `None` between two of them.
    memtable: Option<Memtable>,
    /// The one that is being written.
    writing: Option<Rc<Memtable>>,
    files: UnitFiles,
    /// The copy and the range of it that are confirmed when the files are listed.
    confirms: Option<(CopyName, TokenRange)>,
    /// True while the manifest may hold a record that names the files.
    is_undecided: bool,
    memory_max: usize,
    _hold: PurgeHold,
}

impl std::fmt::Debug for CopyTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyTarget")
            .field("table", &self.table.name)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

/// A step that a mutation needs before it can be put.
enum Before {
    /// The memtable is full.
    Write,
    /// Others have all of the memory.
    Wait,
}

impl CopyTarget {
    /// Nothing is received yet. The range may wrap.
    pub fn begin(shard: &Shard, table: TableId, range: TokenRange) -> Result<CopyTarget, CopyError> {
        let hold = PurgeHold::begin(shard, table)?;
        let engine = shard.engine_ref();
        let memory_max = UNIT_BYTES.min(engine.pool.budget() / MEMORY_PART);
        let state = engine.tables.get(table).ok_or(CopyError::Gone)?;
        let (table, content) = (Rc::clone(&state.definition), state.content);
        drop(engine);
        let files = UnitFiles::new(shard, &table, content);
        Ok(CopyTarget {
            shard: shard.clone(),
            memtable: Some(Memtable::new(TableShape::of(&table))),
            table,
            range,
            content,
            writing: None,
            files,
            confirms: None,
            is_undecided: false,
            memory_max,
            _hold: hold,
        })
    }

    /// Has the record that lists the unit confirm a range of a copy, of which nothing else is to come. It does not wrap.
    pub fn confirm(&mut self, name: CopyName, range: TokenRange) {
        assert!(range.after < range.end, "a range that a copy confirms does not wrap");
        self.confirms = Some((name, range));
    }

    /// Adds a mutation. The same one may be added several times, and in any order. Waits for memory that others have, at most a minute. After an error
    /// nothing more can be added.
    pub async fn put(&mut self, mutation: &[u8]) -> Result<(), CopyError> {
        let mutation = MutationRef::decode(mutation).map_err(|error| strange(error.to_string()))?;
        self.check(&mutation)?;
        let began = self.shard.runtime().now();
        while let Some(before) = self.try_put(&mutation)? {
            match before {
                Before::Write => self.write_file().await?,
                Before::Wait => {
                    stdx::sometimes!("a copy waits for memory");
                    let runtime = self.shard.runtime();
                    let left = MEMORY_WAIT_MAX.saturating_sub(runtime.now() - began);
                    if left.is_zero() || runtime.timeout(left, self.shard.flush_makes_room()).await.is_err() {
                        return Err(CopyError::NoMemory { seconds: MEMORY_WAIT_MAX.as_secs() });
                    }
                }
            }
        }
        self.shard.flush_if_due();
        self.shard.runtime().maybe_yield().await;
        Ok(())
    }

    /// The mutation belongs to the unit.
    fn check(&self, mutation: &MutationRef<'_>) -> Result<(), CopyError> {
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
        Ok(())
    }

    /// Puts a mutation into the memtable. `Some`: something is to be done before.
    fn try_put(&mut self, mutation: &MutationRef<'_>) -> Result<Option<Before>, CopyError> {
        let needed = Memtable::bytes_needed(mutation);
        let mut engine = self.shard.engine();
        let Engine { tables, pool, scratch, .. } = &mut *engine;
        let is_there = tables.get(self.table.id).is_some_and(|state| state.content == self.content);
        if !is_there {
            return Err(CopyError::Gone);
        }
        if needed > pool.budget() {
            return Err(CopyError::TooLarge { bytes: needed, budget: pool.budget() });
        }
        let memtable = self.memtable.as_mut().expect("it is there between two calls");
        memtable.shape().check(mutation).map_err(|problem| strange(problem.to_owned()))?;
        let is_full = !memtable.is_empty() && memtable.bytes() + needed > self.memory_max;
        let has_room = memtable.has_room(needed) || pool.has_room(needed);
        if !is_full && has_room {
            memtable.apply(pool, scratch, mutation);
            return Ok(None);
        }
        // A small file for each moment at which others have all of the memory would be many files.
        let is_worth_a_file = memtable.bytes() >= self.memory_max / FILE_PART;
        Ok(Some(if is_full || is_worth_a_file { Before::Write } else { Before::Wait }))
    }

    /// Writes what was put to files, and has all of them be the table's: with one record, and read from then on. Nothing was put: no file, and nothing is confirmed.
    pub async fn finish(mut self) -> Result<Copied, CopyError> {
        self.write_file().await?;
        let opened = self.files.open().await?;
        if opened.is_empty() {
            return Ok(Copied::default());
        }
        let copied = Copied { bytes: self.files.bytes(), files: opened.len() };
        let covered = self.list(opened).await?;
        // They are the table's now.
        self.files.are_listed();
        if let Some(end) = covered {
            self.cover(end).await;
        }
        Ok(copied)
    }

    /// Writes the memtable to a file that is not listed.
    async fn write_file(&mut self) -> Result<(), CopyError> {
        if self.memtable.as_ref().is_none_or(Memtable::is_empty) {
            return Ok(());
        }
        let fresh = Memtable::new(TableShape::of(&self.table));
        let memtable = Rc::new(self.memtable.replace(fresh).expect("it was looked at"));
        self.writing = Some(Rc::clone(&memtable));
        let written = self.files.write(&memtable).await;
        drop(memtable);
        self.give_memory_back();
        written
    }

    /// The memory of the memtable that was being written goes back to the shard.
    fn give_memory_back(&mut self) {
        if let Some(memtable) = self.writing.take() {
            let mut engine = self.shard.engine();
            let Engine { tables, pool, .. } = &mut *engine;
            tables.retire(memtable, pool);
            drop(engine);
            self.shard.flusher().has_room();
        }
    }

    /// Names the files in the manifest, by one record, and has them read. Gives up to where the log's records of the table are all in files, if they are.
    async fn list(&mut self, opened: Vec<Rc<Sstable>>) -> Result<Option<ReplayPosition>, CopyError> {
        let shard = self.shard.clone();
        let mut rest = RETRY_FIRST;
        loop {
            // Nothing is discarded between the look and the change, as where a compaction exchanges files.
            let permit = shard.compactor().exchange.acquire().await;
            if !self.is_wanted() {
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
            let covered = self.is_all_in_files().then_some(end);
            let (table, folder) = (self.table.id, shard.table_folder(&self.table));
            let record = ReplacedRecord { table, folder, end, inputs: Vec::new(), outputs: self.files.descriptors() };
            // From here on it is for whoever gives up to see to it that the manifest does not name what is removed.
            self.is_undecided = true;
            match shard.manifest().append(self.record_of(record)).await {
                Ok(()) => {
                    self.is_undecided = false;
                    self.read_from_now_on(opened);
                    return Ok(covered);
                }
                Err(error) => tracing::warn!(%error, "cannot commit received sstables to the manifest; retrying"),
            }
            drop(permit);
            shard.runtime().sleep(rest).await;
            rest = (rest * 2).min(RETRY_MAX);
        }
    }

    /// The record that names the files: one with what it confirms, so that a power cut leaves both or neither.
    fn record_of(&self, files: ReplacedRecord) -> Record {
        match self.confirms.filter(|_| self.shard.manifest().contents().confirmed.has_room()) {
            Some((name, range)) => Record::Copied(files, ConfirmedRecord { name, ranges: vec![range] }),
            None => Record::Replaced(files),
        }
    }

    /// The table has not been truncated or dropped since.
    fn is_wanted(&self) -> bool {
        self.shard.engine_ref().tables.get(self.table.id).is_some_and(|state| state.content == self.content)
    }

    /// True if no memtable has anything of the table.
    fn is_all_in_files(&self) -> bool {
        let engine = self.shard.engine_ref();
        let is_in_files = |state: &crate::tables::TableState| state.memtable.is_empty() && state.frozen.is_empty();
        engine.merging.is_empty() && engine.tables.get(self.table.id).is_some_and(is_in_files)
    }

    /// No start replays anything up to there: else no compaction would purge what was listed before the next flush, which may never come.
    async fn cover(&self, end: ReplayPosition) {
        match self.shard.manifest().append(Record::Covered(self.table.id, end)).await {
            Ok(()) => self.shard.log().flushed(self.table.id, end),
            Err(error) => {
                tracing::warn!(%error, "cannot note in the manifest what the log is not needed for; the next flush does");
            }
        }
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

fn strange(problem: String) -> CopyError {
    CopyError::Strange { problem }
}

impl Drop for CopyTarget {
    fn drop(&mut self) {
        self.give_memory_back();
        if let Some(mut memtable) = self.memtable.take() {
            memtable.clear(&mut self.shard.engine().pool);
        }
        self.shard.flusher().has_room();
        let left = self.files.take();
        if left.is_empty() {
            return;
        }
        stdx::sometimes!("copy given up");
        let (shard, is_undecided) = (self.shard.clone(), self.is_undecided);
        drop(self.shard.runtime().spawn(Group::Maintenance, async move {
            if is_undecided {
                stdx::sometimes!("copy given up while it was listed");
                shard.settle().await;
            }
            for outputs in left {
                outputs.give_up().await;
            }
        }));
    }
}
