//! SSTables that others wrote and a person laid into a table's folder: a start that is told to takes them in, or a [`refresh`](super::refresh). Cassandra's start does so
//! untold; but then what a crash left of a file would have to be told from one that was brought, by what lies on the disk alone.
//!
//! Foreign is what no manifest names and what is complete by its own list of components, without the one that only we write: what a shard of ours
//! began and did not end is never taken for foreign, nor is a file of a shard whose manifest this one does not read.

use std::io;
use std::path::Path;
use std::rc::Rc;

use runtime::{OpenOptions, Runtime};
use schema::Table;
use sstable::{Component, Descriptor, toc};

use crate::commitlog::io_error;
use crate::error::OpenError;
use crate::manifest::{FileName, LiveRecord, Record};
use crate::options::ReplayPosition;
use crate::recovery::list;
use crate::shard::Shard;
use crate::sstable::Sstable;

impl Shard {
    /// Has the manifest name the foreign files of all tables, if the start is told to, or else those that a refresh has listed which did not
    /// come to its end. Every shard does so by itself, and reads its own partitions of them.
    pub(crate) async fn take_in_foreign(&self) -> Result<(), OpenError> {
        let tables: Vec<_> = self.engine().tables.iter().map(|table| table.definition.clone()).collect();
        // The server's own are in a form of its own, whatever others call theirs.
        let tables = tables.into_iter().filter(|table| !schema::system_keyspaces::is_system(&table.keyspace));
        // Whatever is truncated from now on, was there before.
        let (boot, shard) = (self.options().boot, self.runtime().shard().0);
        let end = ReplayPosition { boot, shard, sequence: 0 };
        for table in tables {
            let folder = self.table_folder(&table);
            let path = self.data_folder().join(&folder);
            let listed = list::read(self.runtime(), &path, list::descriptor).await?;
            if listed.is_none() && !self.options().takes_in_foreign_files {
                continue;
            }
            for (descriptor, components) in self.foreign_in(&folder).await? {
                let is_listed = listed.as_ref().is_some_and(|listed| listed.contains(&descriptor));
                let name = FileName { table: table.id, folder: folder.clone(), descriptor };
                let is_wanted = is_listed || self.options().takes_in_foreign_files;
                if !is_wanted || self.manifest().contents().names(&name) {
                    continue;
                }
                // What cannot be read is its owner's matter; it must not keep the node from starting.
                if let Err(sentence) = self.make_ready(&name, &components, &table).await? {
                    tracing::warn!(table = %format!("{}.{}", table.keyspace, table.name), "{sentence}");
                    continue;
                }
                stdx::sometimes!("foreign file taken in");
                tracing::info!(file = %name.descriptor, table = %format!("{}.{}", table.keyspace, table.name), "took in");
                self.name_as_live(name, end).await?;
            }
            self.lists_found().extend(listed.map(|_| path));
        }
        Ok(())
    }

    /// Looks whether a foreign file can be opened, and makes it durable: whoever copied it here need not have waited until it was on the disk. If it
    /// cannot be taken in, why.
    pub(super) async fn make_ready(
        &self,
        name: &FileName,
        components: &[Component],
        table: &Rc<Table>,
    ) -> Result<Result<(), String>, OpenError> {
        let FileName { folder, descriptor, .. } = name;
        let path = self.data_folder().join(folder);
        if let Err(error) = Sstable::open(self.runtime(), self.pages(), &path, descriptor.clone(), table).await {
            return Ok(Err(format!("{descriptor}, which others wrote, is not taken in: {error}")));
        }
        if !sync_components(self.runtime(), &path, descriptor, components).await? {
            return Ok(Err(format!("a part of {descriptor}, which others wrote, is gone: it is not taken in")));
        }
        self.runtime().sync_dir(&path).await.map_err(io_error(&path))?;
        Ok(Ok(()))
    }

    /// Has the manifest name a foreign file, which truncations behind `end` take along.
    pub(super) async fn name_as_live(&self, name: FileName, end: ReplayPosition) -> Result<(), OpenError> {
        let is_shared = self.runtime().shard_count() > 1;
        let live = LiveRecord { name, is_shared, end, covered: None };
        self.manifest().append(Record::Live(live)).await.map_err(|error| {
            let path = error.path.clone();
            io_error(&path)(error.source)
        })
    }

    /// The complete SSTables in a table's folder that are not of our making, with their components.
    pub(super) async fn foreign_in(&self, folder: &str) -> Result<Vec<(Descriptor, Vec<Component>)>, OpenError> {
        let path = self.data_folder().join(folder);
        if !self.runtime().exists(&path).await.map_err(io_error(&path))? {
            return Ok(Vec::new());
        }
        let mut found = complete_sets(self.runtime(), &path).await?;
        found.retain(|(_, components)| !components.contains(&Component::Helenus));
        Ok(found)
    }
}

/// The SSTables in a folder whose TOC.txt lists their data and nothing that is not there, each with what it lists.
pub(super) async fn complete_sets(
    runtime: &Runtime,
    folder: &Path,
) -> Result<Vec<(Descriptor, Vec<Component>)>, OpenError> {
    let entries = runtime.read_dir(folder).await.map_err(io_error(folder))?;
    let has = |name: &str| entries.iter().any(|entry| !entry.is_dir && entry.name == name);
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.is_dir) {
        let Some((descriptor, Component::Toc)) = Descriptor::parse(&entry.name) else { continue };
        let list = folder.join(&entry.name);
        let bytes = match runtime.read_file(&list).await {
            // Another shard is ahead with what a start removes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => result.map_err(io_error(&list))?,
        };
        let Ok(names) = toc::decode(&bytes) else { continue };
        let components: Vec<Component> = names.into_iter().filter_map(Component::parse).collect();
        let is_complete = components.iter().all(|component| has(&descriptor.file_name(*component)));
        if components.contains(&Component::Data) && is_complete {
            found.push((descriptor, components));
        }
    }
    found.sort();
    Ok(found)
}

/// Makes the contents of components durable. False: one of them is not there.
pub(super) async fn sync_components(
    runtime: &Runtime,
    folder: &Path,
    descriptor: &Descriptor,
    components: &[Component],
) -> Result<bool, OpenError> {
    for component in components {
        let path = folder.join(descriptor.file_name(*component));
        let file = match runtime.open(&path, OpenOptions { read: true, ..OpenOptions::default() }).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            result => result.map_err(io_error(&path))?,
        };
        file.sync_all().await.map_err(io_error(&path))?;
    }
    Ok(true)
}
