//! SSTables that others wrote and a person laid into a table's folder: a start that is told to takes them in. Cassandra's does so
//! untold; but then what a crash left of a file would have to be told from one that was brought, by what lies on the disk alone.
//!
//! Foreign is what no manifest names and what is complete by its own list of components, without the one that only we write: what a shard of ours
//! began and did not end is never taken for foreign, nor is a file of a shard whose manifest this one does not read.

use std::io;
use std::path::Path;

use runtime::{OpenOptions, Runtime};
use sstable::{Component, Descriptor, toc};

use crate::commitlog::io_error;
use crate::error::OpenError;
use crate::manifest::{FileName, LiveRecord, Record};
use crate::options::ReplayPosition;
use crate::shard::Shard;
use crate::sstable::Sstable;

impl Shard {
    /// Has the manifest name the foreign files of all tables. Every shard does so by itself, and reads its own partitions of them.
    pub(crate) async fn take_in_foreign(&self) -> Result<(), OpenError> {
        let tables: Vec<_> = self.engine().tables.iter().map(|table| table.definition.clone()).collect();
        // The server's own are in a form of its own, whatever others call theirs.
        let tables = tables.into_iter().filter(|table| !schema::system_keyspaces::is_system(&table.keyspace));
        for table in tables {
            let folder = self.table_folder(&table);
            for (descriptor, components) in self.foreign_in(&folder).await? {
                let name = FileName { table: table.id, folder: folder.clone(), descriptor };
                if self.manifest().contents().names(&name) {
                    continue;
                }
                // What cannot be read is its owner's matter; it must not keep the node from starting.
                let path = self.data_folder().join(&folder);
                let opened = Sstable::open(self.runtime(), self.pages(), &path, name.descriptor.clone(), &table).await;
                if let Err(error) = opened {
                    tracing::warn!(%error, file = %name.descriptor, "a file that others wrote is not taken in");
                    continue;
                }
                // Whoever copied it here need not have waited until it was on the disk.
                if !sync_components(self.runtime(), &path, &name.descriptor, &components).await? {
                    continue;
                }
                self.runtime().sync_dir(&path).await.map_err(io_error(&path))?;
                stdx::sometimes!("foreign file taken in");
                tracing::info!(file = %name.descriptor, table = %format!("{}.{}", table.keyspace, table.name), "took in");
                // Whatever is truncated from now on, was there before.
                let (boot, shard) = (self.options().boot, self.runtime().shard().0);
                let end = ReplayPosition { boot, shard, sequence: 0 };
                let is_shared = self.runtime().shard_count() > 1;
                let live = LiveRecord { name, is_shared, end, covered: None };
                self.manifest().append(Record::Live(live)).await.map_err(|error| {
                    let path = error.path.clone();
                    io_error(&path)(error.source)
                })?;
            }
        }
        Ok(())
    }

    /// The complete SSTables in a table's folder that are not of our making, with their components.
    async fn foreign_in(&self, folder: &str) -> Result<Vec<(Descriptor, Vec<Component>)>, OpenError> {
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
        let bytes = runtime.read_file(&list).await.map_err(io_error(&list))?;
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
