//! One compaction, from its inputs to the record that exchanges them for its outputs.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use planted::Bug;
use schema::Table;
use sstable::helenus_component::{LogSpan, Origin};
use topology::Token;

use crate::compaction::merge::{Input, Merge};
use crate::compaction::outputs::Outputs;
use crate::compaction::purge::Rules;
use crate::compaction::scrub::Scrubbing;
use crate::compaction::strategy::{Cut, FILES_MAX, Task};
use crate::manifest::{Destination, GoneRecord, LiveRecord, ManifestError, Record, ReplacedRecord};
use crate::options::ReplayPosition;
use crate::shard::Shard;
use crate::space::{self, DiskReservation};
use crate::sstable::{Estimates, ReadError, Scan, Sstable, WriteError};
use crate::tables::{FilesChange, LiveFile};

/// What all inputs of a compaction read ahead together at a time, bytes, and what one does at least.
const AHEAD_BYTES: usize = 4 << 20;
const AHEAD_BYTES_MIN: usize = 32 << 10;
/// The rest after a record that was refused, and the longest one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Items of a memtable's partition that are looked at for its least timestamp.
const ITEMS_MAX: usize = 1024;

/// A compaction did not come to its end. Its inputs are as they were, and what it wrote is removed.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// An input cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// An output cannot be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The manifest takes no record.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// The table's folder cannot be made.
    #[error("{0}")]
    Folder(String),
    /// The table was truncated or dropped meanwhile, or there is nothing to be exchanged.
    #[error("the table was truncated or dropped during the compaction")]
    Unwanted,
    /// An operator has stopped it.
    #[error("the compaction was stopped by an operator")]
    Stopped,
}

impl CompactionError {
    /// Whether there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            CompactionError::Write(error) => error.is_disk_full(),
            CompactionError::Manifest(error) => crate::commitlog::is_disk_full(&error.source),
            _ => false,
        }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Files that it took.
    pub inputs: u64,
    /// Files that it made.
    pub outputs: u64,
    /// Bytes of data written, before compression.
    pub bytes: u64,
}

/// What of a file goes although nothing of it is old, since other files have something later in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// What they delete: by partition, range and row.
    Deleted,
    /// And cells that they delete or overwrite.
    Overwritten,
}

/// What is done with the inputs.
#[derive(Clone, Copy)]
pub(crate) enum How<'h> {
    /// They are merged.
    Merge,
    /// They are merged, less what all other files hide.
    Collect(Garbage),
    /// What of the only one can be read is written anew, as it is.
    Scrub(&'h Scrubbing),
}

/// The inputs of a compaction.
pub(super) struct Inputs {
    /// Those that are read.
    read: Vec<LiveFile>,
    /// All of them, with what the manifest says.
    all: Vec<(LiveFile, LiveRecord)>,
    /// Other files, which may hide something of them.
    shadows: Vec<LiveFile>,
    /// The greatest of their ends.
    end: ReplayPosition,
    /// Copies of the table that had begun on the shard.
    copies_begun: u64,
}

impl Shard {
    /// Carries out a task whose places are those of `files`. `None`: an input is not live any more.
    pub(crate) async fn run_task(
        &self,
        table: &Rc<Table>,
        files: &[LiveFile],
        task: &Task,
        only_purge_repaired: bool,
        how: How<'_>,
    ) -> Result<Option<Compacted>, CompactionError> {
        self.wait_in_force().await.map_err(|error| CompactionError::Folder(error.to_string()))?;
        let Some(mut inputs) = self.inputs(table, files, task) else { return Ok(None) };
        if !task.expired.is_empty() && has_received_since(self, table, files) {
            stdx::sometimes!("expired files stay since a range is received");
            return Ok(None);
        }
        if let How::Collect(_) = how {
            inputs.find_shadows(files);
        }
        let _running = self.compaction_begins(table, inputs.read.iter().map(|file| file.sstable.data_bytes()).sum());
        let folder = self.table_folder(table);
        let prepared = self.prepare_folder(&folder).await;
        let path = prepared.map_err(|error| CompactionError::Folder(error.to_string()))?;
        let bytes = inputs.read.iter().map(|file| file.sstable.disk_bytes()).sum();
        let room =
            space::require(self.runtime(), &path, self.options().disk_reserve, DiskReservation::Compaction, bytes)
                .await;
        room.map_err(WriteError::io(&path))?;
        let rules = self.rules(table, &inputs, only_purge_repaired).await?;
        let mut outputs = self.outputs(table, (folder, path.clone()), &inputs, task, &rules);
        let written = match how {
            How::Merge => self.write(table, &inputs, &rules, &mut outputs, false).await,
            How::Collect(garbage) => {
                self.write(table, &inputs, &rules, &mut outputs, garbage == Garbage::Overwritten).await
            }
            How::Scrub(scrubbing) => scrubbing.write(self, &inputs.read, &mut outputs).await,
        };
        let opened = match written {
            Ok(()) => self.open_outputs(table, &outputs, &path).await,
            Err(error) => Err(error),
        };
        let opened = opened.and_then(|opened| self.compactor().go_on().map(|()| opened));
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                outputs.give_up().await;
                return match error {
                    CompactionError::Unwanted => Ok(None),
                    error => Err(error),
                };
            }
        };
        let bytes_out = opened.iter().map(|sstable| sstable.disk_bytes()).sum();
        let merged = std::mem::take(&mut outputs.merged);
        let done = Compacted { inputs: inputs.all.len() as u64, outputs: opened.len() as u64, bytes: outputs.bytes };
        let has_purged = rules.has_purged.get();
        let change = match how {
            // What could not be read is not there any more.
            How::Scrub(_) => FilesChange::Other,
            _ => FilesChange::Compacted { has_purged: has_purged && !self.planted().is(Bug::PurgedStaysCached) },
        };
        if !self.exchange(table, &inputs, &outputs, opened, (change, has_purged)).await {
            stdx::sometimes!("inputs gone, or a range received, during a compaction");
            outputs.give_up().await;
            return Ok(None);
        }
        self.compaction_ended(merged, (bytes, bytes_out));
        for (_, live) in &inputs.all {
            self.carry_out(&gone(live)).await;
        }
        Ok(Some(done))
    }

    /// The task's inputs; `None`: one of them is not live any more.
    pub(super) fn inputs(&self, table: &Table, files: &[LiveFile], task: &Task) -> Option<Inputs> {
        let contents = self.manifest().contents();
        let mut all = Vec::new();
        for place in task.inputs.iter().chain(&task.expired) {
            let file = &files[*place];
            let is_it =
                |live: &&LiveRecord| live.name.table == table.id && live.name.descriptor == *file.sstable.descriptor();
            all.push((file.clone(), contents.live.iter().find(is_it)?.clone()));
        }
        let ends = all.iter().map(|(_, live)| live.end);
        let end = ends.max_by_key(|end| (end.boot, end.sequence))?;
        let read = task.inputs.iter().map(|place| files[*place].clone()).collect();
        let copies_begun = self.engine_ref().tables.get(table.id)?.copies_begun;
        Some(Inputs { read, all, shadows: Vec::new(), end, copies_begun })
    }

    /// Whether all inputs are what the table and the manifest have.
    fn are_live(&self, table: &Table, inputs: &Inputs) -> bool {
        let engine = self.engine_ref();
        let contents = self.manifest().contents();
        engine.tables.get(table.id).is_some_and(|table| {
            inputs.all.iter().all(|(file, live)| {
                table.files.iter().any(|other| Rc::ptr_eq(&other.sstable, &file.sstable))
                    && contents.live.iter().any(|other| other.name == live.name)
            })
        })
    }

    /// What may be left out.
    async fn rules(
        &self,
        table: &Rc<Table>,
        inputs: &Inputs,
        only_purge_repaired: bool,
    ) -> Result<Rules, CompactionError> {
        let now = u32::try_from(self.runtime().wall_clock_micros() / 1_000_000).unwrap_or(u32::MAX);
        let may = self.may_purge(table, inputs, only_purge_repaired).await;
        let has = |file: &LiveFile, name: &str| {
            let header = &file.sstable.statistics().header;
            header.statics.iter().chain(&header.regulars).any(|column| column.name == name)
        };
        let dropped = table.dropped.values().filter(|dropped| table.column(&dropped.column.name).is_none());
        let still_written = dropped.filter(|dropped| {
            let name = &dropped.column.name;
            let is_newer = |file: &&LiveFile| file.sstable.timestamps().1 > dropped.dropped_at_micros;
            inputs.read.iter().filter(is_newer).any(|file| has(file, name))
        });
        Ok(Rules {
            now,
            gc_before: may.then(|| now.saturating_sub(table.options.gc_grace_seconds)),
            dropped: still_written.map(|dropped| dropped.column.id).collect(),
            has_purged: Cell::new(inputs.read.len() < inputs.all.len()),
            planted: self.planted(),
            table: table.clone(),
        })
    }

    /// Whether what a tombstone of the inputs hides can come back from nowhere but the files and memtables that are live now.
    pub(super) async fn may_purge(&self, table: &Table, inputs: &Inputs, only_repaired: bool) -> bool {
        let is_repaired = |file: &LiveFile| file.sstable.statistics().stats.repaired_at > 0;
        let mut files = inputs.all.iter().map(|(file, _)| file);
        let is_received = self.engine_ref().tables.get(table.id).is_some_and(|table| table.copies > 0);
        (!is_received || self.planted().is(Bug::PurgedWhileReceiving))
            && !files.clone().any(|file| file.is_shared)
            && self.is_covered(table, inputs)
            && (!only_repaired || files.all(is_repaired))
            && !self.has_released(table).await
    }

    /// Whether no start replays what is in the inputs. One that was frozen beside a large write has a part of it, and its record counts until
    /// the next flush: a replay would bring back what a purged tombstone hid of it.
    fn is_covered(&self, table: &Table, inputs: &Inputs) -> bool {
        let place = |position: &ReplayPosition| (position.boot, position.sequence);
        let contents = self.manifest().contents();
        let covered = contents.covered.get(&table.id).map(place);
        let is_covered = |end: &ReplayPosition| {
            // Files of another shard count end where this log begins.
            end.sequence == 0 || covered.is_some_and(|covered| covered >= place(end))
        };
        inputs.all.iter().all(|(_, live)| is_covered(&live.end))
    }

    /// Whether a shared file of the table, which this shard does not name any more, may still be named by others.
    async fn has_released(&self, table: &Table) -> bool {
        let gone: Vec<GoneRecord> = {
            let contents = self.manifest().contents();
            contents.gone.iter().filter(|gone| gone.is_shared && gone.name.table == table.id).cloned().collect()
        };
        let mut has_any = false;
        for gone in gone {
            match self.is_anything_left(&gone.name).await {
                // No shard names it, or it would be there.
                Ok(false) => self.manifest().contents().forget(&gone.name),
                Ok(true) | Err(_) => has_any = true,
            }
        }
        has_any
    }

    fn outputs(
        &self,
        table: &Rc<Table>,
        folder: (String, std::path::PathBuf),
        inputs: &Inputs,
        task: &Task,
        rules: &Rules,
    ) -> Outputs {
        let shards = u64::from(self.sharder().shards);
        let partitions = |file: &LiveFile| match file.is_shared {
            true => file.sstable.partitions().div_ceil(shards),
            false => file.sstable.partitions(),
        };
        let bytes: u64 = inputs.read.iter().map(|file| file.sstable.data_bytes()).sum();
        let parts = match task.cut {
            Cut::Never => 1,
            Cut::AtBytes(each) => bytes.div_ceil(each.max(1)),
            Cut::AtParts(parts) => u64::from(parts),
        };
        let encodings = || inputs.read.iter().map(|file| file.sstable.statistics().header.encoding);
        let repaired_at = inputs.read.iter().map(|file| file.sstable.statistics().stats.repaired_at).min();
        let estimates = Estimates {
            partitions: inputs.read.iter().map(partitions).sum::<u64>().div_ceil(parts.max(1)),
            timestamp_min: encodings().map(|encoding| encoding.timestamp_min).min(),
            local_deletion_time_min: encodings().map(|encoding| encoding.local_deletion_time_min).min(),
            ttl_min: encodings().map(|encoding| encoding.ttl_min).min(),
            dropped: rules.dropped.clone(),
            level: task.level,
            repaired_at: repaired_at.unwrap_or(0).max(0),
        };
        let (host, shard) = (self.options().host.0, self.runtime().shard().0);
        let log = spans(inputs.all.iter().filter_map(|(file, _)| file.sstable.own()).flat_map(|own| &own.origin.log));
        let (id, content, wanted) = (table.id, self.content(table), self.clone());
        Outputs {
            shard: self.clone(),
            table: table.clone(),
            folder,
            cut: task.cut,
            most: FILES_MAX - inputs.all.len(),
            estimates,
            origin: Origin { host, shard_count: self.sharder().shards, shard, log },
            finished: Vec::new(),
            current: None,
            beginning: None,
            is_copy: false,
            part: 0,
            counted: 0,
            bytes: 0,
            merged: Vec::new(),
            looked_at: 0,
            is_wanted: Box::new(move || {
                let engine = wanted.engine_ref();
                engine.tables.get(id).map(|table| table.content) == content
            }),
        }
    }

    fn content(&self, table: &Table) -> Option<crate::tables::Content> {
        self.engine_ref().tables.get(table.id).map(|table| table.content)
    }

    async fn write(
        &self,
        table: &Table,
        inputs: &Inputs,
        rules: &Rules,
        outputs: &mut Outputs,
        leaves_out_overwritten: bool,
    ) -> Result<(), CompactionError> {
        let count = inputs.read.len() + inputs.shadows.len();
        let ahead = (AHEAD_BYTES / count.max(1)).max(AHEAD_BYTES_MIN);
        let mut scans = Vec::new();
        for file in &inputs.read {
            scans.push(Input::new(Scan::begin(&file.sstable, ahead).await?, file.is_shared));
        }
        for file in &inputs.shadows {
            scans.push(Input::shadow(Scan::idle(&file.sstable, ahead)?));
        }
        let outside = |token: Token, key: &[u8]| self.least_outside(table, inputs, token, key);
        let merge = Merge {
            inputs: scans,
            rules,
            outside: &outside,
            owner: (self.sharder(), self.runtime().shard().0),
            leaves_out_overwritten,
            until: None,
            outputs: &mut *outputs,
            members: Vec::new(),
            items: 0,
        };
        merge.run().await?;
        outputs.finish().await
    }

    /// The least timestamp of what memtables and files that are no inputs may hold of a partition.
    fn least_outside(&self, table: &Table, inputs: &Inputs, token: Token, key: &[u8]) -> i64 {
        let engine = self.engine_ref();
        let Some(table) = engine.tables.get(table.id) else { return i64::MIN };
        let hash = sstable::KeyHash::of(key);
        let is_input = |file: &LiveFile| inputs.all.iter().any(|(input, _)| Rc::ptr_eq(&input.sstable, &file.sstable));
        let holding = table.files.iter().filter(|file| file.sstable.may_contain_hash(token, hash));
        let of_files = holding.filter(|file| !is_input(file)).map(|file| file.sstable.timestamps().0);
        let of_memtables = table.memtables().map(|memtable| memtable.timestamp_min_of(token, key, ITEMS_MAX));
        of_files.chain(of_memtables).min().unwrap_or(i64::MAX)
    }

    async fn open_outputs(
        &self,
        table: &Table,
        outputs: &Outputs,
        path: &Path,
    ) -> Result<Vec<Rc<Sstable>>, CompactionError> {
        let mut opened = Vec::new();
        for name in &outputs.finished {
            let definition = self.engine().tables.get(table.id).map(|table| table.definition.clone());
            let Some(definition) = definition else { return Err(CompactionError::Unwanted) };
            let descriptor = name.descriptor.clone();
            opened.push(Sstable::open(self.runtime(), self.pages(), path, descriptor, &definition).await?);
        }
        Ok(opened)
    }

    /// Puts the outputs in the inputs' place, in the manifest and in memory. False: an input is not live any more, or something was purged that a copy
    /// which began meanwhile may bring back; nothing of the outputs is live.
    async fn exchange(
        &self,
        table: &Table,
        inputs: &Inputs,
        outputs: &Outputs,
        opened: Vec<Rc<Sstable>>,
        (change, has_purged): (FilesChange, bool),
    ) -> bool {
        let record = ReplacedRecord {
            table: table.id,
            folder: outputs.folder.0.clone(),
            end: inputs.end,
            inputs: inputs.all.iter().map(|(_, live)| (live.name.descriptor.clone(), live.is_shared)).collect(),
            outputs: outputs.finished.iter().map(|name| name.descriptor.clone()).collect(),
        };
        let mut rest = RETRY_FIRST;
        let mut is_undecided = false;
        loop {
            // Nothing is discarded between the look and the swap: it would find inputs that are not there any more, or no outputs yet.
            let permit = self.compactor().exchange.acquire().await;
            if !self.are_live(table, inputs) || (has_purged && receives_since(self, table, inputs)) {
                drop(permit);
                if is_undecided {
                    self.settle().await;
                }
                return false;
            }
            if self.planted().is(Bug::InputRemovedBeforeManifest) {
                for (_, live) in &inputs.all {
                    let _ = self.remove_components(&live.name).await;
                }
            }
            match self.manifest().append(Record::Replaced(record.clone())).await {
                Ok(()) => {
                    self.swap_files(table, inputs, opened, change);
                    return true;
                }
                Err(error) => {
                    is_undecided = true;
                    tracing::warn!(%error, "cannot commit compaction result to the manifest; retrying");
                }
            }
            drop(permit);
            self.runtime().sleep(rest).await;
            rest = (rest * 2).min(RETRY_MAX);
        }
    }

    /// Writes the manifest anew, until it is known not to hold a record that was refused.
    pub(crate) async fn settle(&self) {
        let mut rest = RETRY_FIRST;
        while self.manifest().compact().await.is_err() {
            self.runtime().sleep(rest).await;
            rest = (rest * 2).min(RETRY_MAX);
        }
    }

    /// The outputs take the inputs' place among the table's files. If the table was emptied meanwhile, the outputs end before that
    /// truncation, which takes them from the manifest.
    fn swap_files(&self, table: &Table, inputs: &Inputs, opened: Vec<Rc<Sstable>>, change: FilesChange) {
        let mut engine = self.engine();
        let Some(table) = engine.tables.get_mut(table.id) else { return };
        let is_input = |file: &LiveFile| inputs.all.iter().any(|(input, _)| Rc::ptr_eq(&input.sstable, &file.sstable));
        let Some(place) = table.files.iter().position(is_input) else { return };
        table.remove_files(is_input);
        let definition = table.definition.clone();
        for (sstable, offset) in opened.into_iter().zip(0..) {
            let file = LiveFile { sstable, is_shared: false };
            // The table may have been altered since the file was opened.
            file.take_definition(&definition);
            table.files.insert(place + offset, file);
        }
        table.files_changed(change);
    }
}

impl Inputs {
    /// The files that may hide something of what is read: they overlap it, and something in them is as new as its oldest.
    fn find_shadows(&mut self, files: &[LiveFile]) {
        let is_input = |file: &LiveFile| self.all.iter().any(|(input, _)| Rc::ptr_eq(&input.sstable, &file.sstable));
        let may_hide = |file: &&LiveFile| {
            let (first, last) = file.sstable.token_range();
            self.read.iter().any(|input| {
                let range = input.sstable.token_range();
                first <= range.1 && range.0 <= last && file.sstable.timestamps().1 >= input.sstable.timestamps().0
            })
        };
        self.shadows = files.iter().filter(|file| !is_input(file)).filter(may_hide).cloned().collect();
    }
}

/// True if the table receives a range, or has a file that was not there when `files` were looked at: what expired files hide may be in it.
fn has_received_since(shard: &Shard, table: &Table, files: &[LiveFile]) -> bool {
    let engine = shard.engine_ref();
    let is_known = |file: &LiveFile| files.iter().any(|known| Rc::ptr_eq(&known.sstable, &file.sstable));
    let is_kept = !shard.planted().is(Bug::PurgedWhileReceiving);
    is_kept && engine.tables.get(table.id).is_some_and(|table| table.copies > 0 || !table.files.iter().all(is_known))
}

/// True if the table has begun to receive a range since a compaction began: what that purged may hide what comes.
fn receives_since(shard: &Shard, table: &Table, inputs: &Inputs) -> bool {
    let engine = shard.engine_ref();
    let is_kept = !shard.planted().is(Bug::PurgedWhileReceiving);
    is_kept && engine.tables.get(table.id).is_some_and(|table| table.copies_begun != inputs.copies_begun)
}

/// The record of an input that was exchanged.
fn gone(live: &LiveRecord) -> GoneRecord {
    GoneRecord { name: live.name.clone(), is_shared: live.is_shared, destination: Destination::Removed }
}

/// The spans of logs that several files hold, those that touch as one.
fn spans<'s>(all: impl Iterator<Item = &'s LogSpan>) -> Vec<LogSpan> {
    let mut sorted: Vec<LogSpan> = all.copied().collect();
    sorted.sort_by_key(|span| (span.boot, span.shard, span.from, span.to));
    let mut joined: Vec<LogSpan> = Vec::new();
    for span in sorted {
        match joined.last_mut() {
            Some(last) if (last.boot, last.shard) == (span.boot, span.shard) && span.from <= last.to => {
                last.to = last.to.max(span.to);
            }
            _ => joined.push(span),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_are_one() {
        let span = |boot, from, to| LogSpan { boot, shard: 0, from, to };
        let all = [span(1, 5, 9), span(1, 0, 5), span(2, 0, 3), span(1, 20, 30), span(1, 22, 25)];
        assert_eq!(spans(all.iter()), [span(1, 0, 9), span(1, 20, 30), span(2, 0, 3)]);
    }
}
