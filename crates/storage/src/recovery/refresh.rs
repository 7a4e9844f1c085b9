//! SSTables that are taken in while the node runs, as `nodetool refresh` asks.
//!
//! Every shard has to name a file before any shard may compact it: what one shard has compacted and no other names is removed. So it goes in steps, each of
//! all shards before the next, in which no table is truncated, dropped or altered:
//!
//! ```text
//! find    shard 0 brings in what lies in `upload/`, and checks which foreign files can be imported
//! list    shard 0 lists them in the table's folder, durably           from here on a start goes on with it, whether it is told to or not
//! name    every shard's manifest names them as live; nobody reads them yet
//! open    every shard reads them
//! clear   shard 0 removes the list
//! ```
//!
//! Each step may be done again, and another refresh goes on with what one that failed has left. A start takes in what a list names
//! ([`super::foreign_files`]) and removes the list when all shards are open.

use std::path::PathBuf;

use planted::Bug;
use schema::TableId;
use sstable::Descriptor;

use crate::error::{ApplyError, OpenError};
use crate::generation::Generations;
use crate::manifest::FileName;
use crate::recovery::foreign_files::{Foreign, OtherReplicas, check};
use crate::recovery::list;
use crate::recovery::upload::{Brought, bring_in_upload};
use crate::shard::Shard;
use crate::sstable::Sstable;
use crate::tables::{FilesChange, LiveFile};

/// Files of a table that all shards are to take in.
#[derive(Debug, Clone)]
pub struct FilesToTakeIn {
    table: TableId,
    /// The table's folder below the folder of all tables' folders.
    folder: String,
    descriptors: Vec<Descriptor>,
    /// Those that cannot be taken in, each in a sentence.
    pub left_alone: Vec<String>,
}

impl FilesToTakeIn {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = FileName> + use<'_> {
        self.descriptors.iter().map(|descriptor| FileName {
            table: self.table,
            folder: self.folder.clone(),
            descriptor: descriptor.clone(),
        })
    }
}

impl Shard {
    /// Looks which files of a table are to be imported, checks them, and lists them. A file with a partition that only `others` are replicas of is left alone. On
    /// shard 0.
    pub async fn find_files_to_take_in(
        &self,
        id: TableId,
        others: &OtherReplicas<'_>,
    ) -> Result<FilesToTakeIn, OpenError> {
        let Some(table) = self.definition(id) else { return Err(gone(id)) };
        let (runtime, dir, pages) = (self.runtime(), &self.options().dir, self.pages());
        let Brought { left_alone, moved } =
            bring_in_upload(runtime, dir, pages, &table, &Generations::default(), others).await?;
        let folder = self.table_folder(&table);
        let path = self.data_folder().join(&folder);
        let mut files = FilesToTakeIn { table: id, folder: folder.clone(), descriptors: Vec::new(), left_alone };
        let is_known = |descriptor: &Descriptor| {
            let name = FileName { table: id, folder: folder.clone(), descriptor: descriptor.clone() };
            self.manifest().contents().names(&name)
        };
        let found = self.foreign_in(&folder).await?;
        for (descriptor, components) in found.complete {
            // Of those that this shard knows, another one may not know all.
            if !is_known(&descriptor) {
                if !moved.contains(&descriptor)
                    && let Err(what) = check(runtime, pages, &path, &descriptor, &table, others).await
                {
                    files.left_alone.push(format!("cannot import foreign sstable {descriptor}: {what}"));
                    continue;
                }
                let name = FileName { table: id, folder: folder.clone(), descriptor: descriptor.clone() };
                if let Err(sentence) = self.make_ready(&name, &components, &table).await? {
                    files.left_alone.push(sentence);
                    continue;
                }
            }
            files.descriptors.push(descriptor);
        }
        // What is being removed is known, and lacks components as well.
        files.left_alone.extend(Foreign::look(runtime, &path, is_known).await?.incomplete);
        if !files.is_empty() && !self.planted().is(Bug::TakenInUnlisted) {
            let lines = files.descriptors.iter().map(ToString::to_string);
            list::write(self.runtime(), &self.data_folder().join(&folder), lines).await?;
        }
        Ok(files)
    }

    /// Has this shard's manifest name the files as live, unless it knows them. When shard 0 has listed them.
    pub async fn name_files_to_take_in(&self, files: &FilesToTakeIn) -> Result<(), OpenError> {
        for name in files.names() {
            if self.manifest().contents().names(&name) {
                continue;
            }
            let end = loop {
                match self.end_behind_truncations() {
                    Ok(end) => break end,
                    Err(ApplyError::LogBusy) => self.room().await,
                    Err(error) => return Err(OpenError::Options(format!("cannot import sstables: {error}"))),
                }
            };
            self.name_as_live(name, end).await?;
            stdx::sometimes!("file named by a refresh");
        }
        Ok(())
    }

    /// Reads the files from now on, those of them that are live here. When every shard names them.
    pub async fn open_files_taken_in(&self, files: &FilesToTakeIn) -> Result<(), OpenError> {
        let Some(definition) = self.definition(files.table) else { return Err(gone(files.table)) };
        let folder = self.data_folder().join(&files.folder);
        let mut opened = Vec::new();
        for name in files.names() {
            let live = self.manifest().contents().live.iter().find(|live| live.name == name).cloned();
            let Some(live) = live.filter(|_| !self.reads_file(&name)) else { continue };
            let sstable = Sstable::open(self.runtime(), self.pages(), &folder, name.descriptor, &definition).await;
            let sstable = sstable.map_err(|source| OpenError::LiveFile {
                table: format!("{}.{}", definition.keyspace, definition.name),
                source,
            })?;
            opened.push(LiveFile { sstable, is_shared: live.is_shared });
        }
        if opened.is_empty() {
            return Ok(());
        }
        if let Some(table) = self.engine().tables.get_mut(files.table) {
            stdx::sometimes!("file taken in while running");
            table.files.extend(opened);
            // They may have a later own part of a counter.
            table.counted.clear();
            table.files_changed(FilesChange::Other);
        }
        self.compactor().files_came();
        Ok(())
    }

    fn reads_file(&self, name: &FileName) -> bool {
        let engine = self.engine_ref();
        let table = engine.tables.get(name.table);
        table.is_some_and(|table| table.files.iter().any(|file| *file.sstable.descriptor() == name.descriptor))
    }

    /// Removes the list of what was taken in. On shard 0, when every shard reads the files.
    pub async fn clear_files_taken_in(&self, files: &FilesToTakeIn) -> Result<(), OpenError> {
        list::remove(self.runtime(), &self.data_folder().join(&files.folder)).await
    }

    /// Removes the lists that the start found. On shard 0, when all shards are open.
    pub(crate) async fn clear_lists_found(&self) -> Result<(), OpenError> {
        let folders: Vec<PathBuf> = std::mem::take(&mut *self.lists_found());
        for folder in folders {
            stdx::sometimes!("refresh gone on with");
            list::remove(self.runtime(), &folder).await?;
        }
        Ok(())
    }
}

fn gone(table: TableId) -> OpenError {
    OpenError::Options(ApplyError::UnknownTable(table).to_string())
}
