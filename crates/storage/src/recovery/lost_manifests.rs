//! A look at the manifests before anything is opened, for those that are lost. Reads only.
//!
//! An SSTable that no manifest names counts for nothing, so a node whose manifests are gone would serve empty tables and say nothing. A manifest that
//! is missing or damaged is refused as such. One without records is that of a shard that has never flushed, or one that has lost them; and
//! none in force is a new node, or one whose folder of manifests was removed. Which of the two it is, the tables' folders tell: shards name what they
//! write, and no client is served before manifests are in force.

use std::path::{Path, PathBuf};

use runtime::Runtime;
use schema::{Schema, Table};
use sstable::helenus_component::HelenusComponent;
use sstable::{Component, Descriptor};
use topology::HostId;

use crate::commitlog::io_error;
use crate::discard::{DATA, table_folder};
use crate::error::OpenError;
use crate::manifest::{Contents, FileName, Manifests};
use crate::recovery::sets::{self, Sets};

/// Manifests that may have lost their records: whether they have depends on the SSTables that are there.
#[derive(Debug)]
pub struct DoubtfulManifests {
    /// The one that is missing or holds no record, in words.
    pub problem: String,
    /// All that the manifests say. None: none are in force.
    named: Vec<Contents>,
}

/// Reads the manifests in `dir`, a node's data folder, and changes nothing. `None`: each shard's holds records.
pub async fn doubt_manifests(runtime: &Runtime, dir: &Path) -> Result<Option<DoubtfulManifests>, OpenError> {
    let all = Manifests::new(runtime, dir, runtime.shard_count()).all_in_force().await?;
    let empty = all.iter().find(|(_, contents)| *contents == Contents::default());
    let problem = match empty {
        Some((shard, _)) => format!("manifest/shard-{shard}-of-{} holds no record", all.len()),
        None if all.is_empty() => "manifest/in-force is missing".to_owned(),
        None => return Ok(None),
    };
    Ok(Some(DoubtfulManifests { problem, named: all.into_iter().map(|(_, contents)| contents).collect() }))
}

impl DoubtfulManifests {
    /// An SSTable of a table of `schema` that a manifest has named once, and none names now: written by the node `host`, or, where no manifests are in
    /// force, imported. With `are_foreign_imported` the start imports those of other programs anyway, so they do not count.
    pub async fn forgotten(
        &self,
        runtime: &Runtime,
        dir: &Path,
        schema: &Schema,
        host: HostId,
        are_foreign_imported: bool,
    ) -> Result<Option<PathBuf>, OpenError> {
        for table in schema.tables() {
            let folder = dir.join(DATA).join(table_folder(table));
            for (descriptor, components) in Sets::look(runtime, &folder).await?.found {
                if !components.contains(&Component::Data) || self.is_named(table, &descriptor) {
                    continue;
                }
                // Without a list it is not whole, and was never named as live.
                let Some(listed) = sets::listed(runtime, &folder, &descriptor).await? else { continue };
                let is_forgotten = match listed.contains(&Component::Helenus) {
                    true => self.named.is_empty() || is_of(runtime, &folder, &descriptor, host).await?,
                    false => self.named.is_empty() && !are_foreign_imported,
                };
                if is_forgotten {
                    return Ok(Some(folder.join(descriptor.file_name(Component::Data))));
                }
            }
        }
        Ok(None)
    }

    fn is_named(&self, table: &Table, descriptor: &Descriptor) -> bool {
        let name = FileName { table: table.id, folder: table_folder(table), descriptor: descriptor.clone() };
        self.named.iter().any(|contents| contents.names(&name))
    }
}

/// True if `host` wrote the SSTable, or if that is unknown.
async fn is_of(runtime: &Runtime, folder: &Path, descriptor: &Descriptor, host: HostId) -> Result<bool, OpenError> {
    let path = folder.join(descriptor.file_name(Component::Helenus));
    if !runtime.exists(&path).await.map_err(io_error(&path))? {
        return Ok(true);
    }
    let bytes = runtime.read_file(&path).await.map_err(io_error(&path))?;
    Ok(HelenusComponent::decode(&bytes).map_or(true, |own| own.origin.host == host.0))
}
