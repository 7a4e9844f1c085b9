//! The files of a unit that are not listed yet: written one after the other, and merged where they are many.

use std::path::PathBuf;
use std::rc::Rc;

use schema::{ColumnId, Table};
use sstable::Descriptor;

use super::CopyError;
use crate::compaction::{CompactionError, Input, Merge, Outputs, Rules, Sink};
use crate::flush::dropped::still_written;
use crate::flush::estimate;
use crate::memtable::{FlushItem, FlushWalk, Memtable};
use crate::shard::Shard;
use crate::space::{self, DiskReservation};
use crate::sstable::{Estimates, Scan, Sstable, WriteError};
use crate::tables::Content;

/// Files that are merged into one: few enough that one record of the manifest names all that a unit has.
pub(crate) const FILES_MAX: usize = 32;
/// Bytes that all files of a merge read ahead together.
const AHEAD_BYTES: usize = 4 << 20;

const _: () = assert!(FILES_MAX <= crate::compaction::FILES_MAX, "the record fits in a block");

/// The files of a unit.
pub(super) struct UnitFiles {
    shard: Shard,
    table: Rc<Table>,
    content: Content,
    outputs: Option<Outputs>,
    /// The file that others are being merged into.
    merged: Option<Outputs>,
    /// Those that were merged, and are being removed.
    replaced: Option<Outputs>,
    /// Columns that the table has no more, of which the files have newer cells.
    dropped: Vec<ColumnId>,
}

impl UnitFiles {
    /// None yet.
    pub(super) fn new(shard: &Shard, table: &Rc<Table>, content: Content) -> UnitFiles {
        let (shard, table) = (shard.clone(), Rc::clone(table));
        UnitFiles { shard, table, content, outputs: None, merged: None, replaced: None, dropped: Vec::new() }
    }

    /// Bytes of data in them, before compression.
    pub(super) fn bytes(&self) -> u64 {
        self.outputs.as_ref().map_or(0, |outputs| outputs.bytes)
    }

    /// Their names.
    pub(super) fn descriptors(&self) -> Vec<Descriptor> {
        let outputs = self.outputs.iter();
        outputs.flat_map(|outputs| &outputs.finished).map(|name| name.descriptor.clone()).collect()
    }

    /// The table has them: nothing is to be removed any more.
    pub(super) fn are_listed(&mut self) {
        self.outputs = None;
    }

    /// Everything that is to be removed.
    pub(super) fn take(&mut self) -> Vec<Outputs> {
        [self.outputs.take(), self.merged.take(), self.replaced.take()].into_iter().flatten().collect()
    }

    /// Writes a memtable, which is not empty, to one more file.
    pub(super) async fn write(&mut self, memtable: &Rc<Memtable>) -> Result<(), CopyError> {
        let (folder, path) = self.folder().await?;
        self.require(&path, memtable.bytes() as u64).await?;
        let dropped = still_written(self.shard.runtime(), memtable, &self.table).await;
        self.dropped.extend(dropped.iter().filter(|id| !self.dropped.contains(id)).copied().collect::<Vec<_>>());
        let estimates = Estimates { dropped, ..estimate(memtable) };
        let new = || Outputs::of_copy(&self.shard, &self.table, (folder, path), Estimates::default(), self.content);
        let outputs = self.outputs.get_or_insert_with(new);
        outputs.estimates = estimates;
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
        if outputs.finished.len() >= FILES_MAX {
            self.merge().await?;
        }
        Ok(())
    }

    /// Opens all of them as a start would.
    pub(super) async fn open(&self) -> Result<Vec<Rc<Sstable>>, CopyError> {
        let Some(outputs) = &self.outputs else { return Ok(Vec::new()) };
        let mut opened = Vec::new();
        for name in &outputs.finished {
            let (path, descriptor) = (&outputs.folder.1, name.descriptor.clone());
            let (runtime, pages) = (self.shard.runtime(), self.shard.pages());
            opened.push(Sstable::open(runtime, pages, path, descriptor, &self.table).await?);
        }
        Ok(opened)
    }

    /// Merges all of them into one, with nothing purged.
    async fn merge(&mut self) -> Result<(), CopyError> {
        let inputs = self.open().await?;
        let (folder, path) = self.folder().await?;
        self.require(&path, inputs.iter().map(|sstable| sstable.disk_bytes()).sum()).await?;
        let encodings = || inputs.iter().map(|sstable| sstable.statistics().header.encoding);
        let estimates = Estimates {
            partitions: inputs.iter().map(|sstable| sstable.partitions()).sum(),
            timestamp_min: encodings().map(|encoding| encoding.timestamp_min).min(),
            local_deletion_time_min: encodings().map(|encoding| encoding.local_deletion_time_min).min(),
            ttl_min: encodings().map(|encoding| encoding.ttl_min).min(),
            dropped: self.dropped.clone(),
            ..Estimates::default()
        };
        let mut scans = Vec::new();
        for sstable in &inputs {
            scans.push(Input::new(Scan::begin(sstable, AHEAD_BYTES / FILES_MAX).await?, false));
        }
        let rules = Rules::nothing_purged(&self.table, self.dropped.clone(), self.shard.planted());
        let outputs = Outputs::of_copy(&self.shard, &self.table, (folder, path), estimates, self.content);
        let merged = self.merged.insert(outputs);
        let merge = Merge {
            inputs: scans,
            rules: &rules,
            outside: &|_, _| i64::MIN,
            owner: (self.shard.sharder(), self.shard.runtime().shard().0),
            leaves_out_overwritten: false,
            until: None,
            outputs: &mut *merged,
            members: Vec::new(),
            items: 0,
        };
        merge.run().await?;
        merged.finish().await?;
        stdx::sometimes!("files of a copy merged");
        self.replaced = std::mem::replace(&mut self.outputs, self.merged.take());
        drop(inputs);
        if let Some(replaced) = &mut self.replaced {
            replaced.remove_finished().await;
        }
        self.replaced = None;
        Ok(())
    }

    /// The table's folder, below the data's and whole.
    async fn folder(&self) -> Result<(String, PathBuf), CopyError> {
        self.shard.wait_in_force().await?;
        let folder = self.shard.table_folder(&self.table);
        let path = self.shard.prepare_folder(&folder).await?;
        Ok((folder, path))
    }

    /// The disk has room for so many bytes more than compactions leave to others.
    async fn require(&self, path: &std::path::Path, bytes: u64) -> Result<(), CopyError> {
        let (runtime, reserve) = (self.shard.runtime(), self.shard.options().disk_reserve);
        let room = space::require(runtime, path, reserve, DiskReservation::Compaction, bytes).await;
        Ok(room.map_err(WriteError::io(path)).map_err(CompactionError::from)?)
    }
}
