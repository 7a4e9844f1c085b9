//! Snapshots that an operator asks for: further names for a table's live files, in `snapshots/<tag>/` of its folder.
//!
//! Each shard names its own files, and those that it shares with others; a name that is there already is another shard's work. While it
//! does, no compaction exchanges files and nothing is discarded, so that what it names is one moment's set, whole. Shard 0
//! makes the folders before, and lays `manifest.json` into each when all shards are done: a folder without one is a snapshot that
//! did not come to its end (or one that TRUNCATE or DROP made).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use planted::Bug;
use runtime::{AlignedBuf, OpenOptions};
use schema::TableId;
use sstable::Component;

use crate::discard::SNAPSHOTS;
use crate::manifest::LiveRecord;
use crate::shard::Shard;

/// The file that says that a snapshot is whole, as Cassandra has it.
const MANIFEST: &str = "manifest.json";
/// What its name ends in until it is whole.
const NEW: &str = ".new";
/// The table's definition beside it.
const SCHEMA: &str = "schema.cql";
/// The longest name of a snapshot.
const TAG_BYTES_MAX: usize = 200;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants and their fields are")]
pub enum SnapshotError {
    #[error("'{tag}' is not a valid snapshot name")]
    Name { tag: String },
    #[error("snapshot '{tag}' already exists")]
    Exists { tag: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A table's part of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFigures {
    /// Its name.
    pub tag: String,
    /// The table's keyspace.
    pub keyspace: String,
    /// The table, which may be gone.
    pub table: String,
    /// Bytes of its files.
    pub total: u64,
    /// Bytes of those that the table itself does not have any more.
    pub only: u64,
}

/// Whether a name may be a folder's.
fn is_name(tag: &str) -> bool {
    !tag.is_empty()
        && tag.len() <= TAG_BYTES_MAX
        && tag != "."
        && tag != ".."
        && !tag.contains(['/', '\\'])
        && !tag.chars().any(char::is_control)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SnapshotError + '_ {
    move |source| SnapshotError::Io { path: path.to_owned(), source }
}

impl Shard {
    /// The folder of a table's snapshots.
    fn snapshots_of(&self, table: TableId) -> Option<PathBuf> {
        let definition = self.engine_ref().tables.get(table)?.definition.clone();
        Some(self.data_folder().join(self.table_folder(&definition)).join(SNAPSHOTS))
    }

    /// Makes the folders of a snapshot of these tables. On shard 0, before the shards name their files.
    pub async fn begin_snapshot(&self, tag: &str, tables: &[TableId]) -> Result<(), SnapshotError> {
        if !is_name(tag) {
            return Err(SnapshotError::Name { tag: tag.to_owned() });
        }
        let folders: Vec<PathBuf> = tables.iter().filter_map(|table| self.snapshots_of(*table)).collect();
        for snapshots in &folders {
            let folder = snapshots.join(tag);
            if self.runtime().exists(&folder).await.map_err(at(&folder))? {
                return Err(SnapshotError::Exists { tag: tag.to_owned() });
            }
        }
        for snapshots in &folders {
            let folder = snapshots.join(tag);
            self.runtime().create_dir_all(&folder).await.map_err(at(&folder))?;
            for above in folder.ancestors().skip(1).take(3) {
                self.runtime().sync_dir(above).await.map_err(at(above))?;
            }
        }
        if self.planted().is(Bug::SnapshotBeforeItsFiles) {
            for table in tables {
                self.end_snapshot(tag, *table, "").await?;
            }
        }
        Ok(())
    }

    /// Gives this shard's live files of a table their further names. Durable when this returns.
    pub async fn name_for_snapshot(&self, tag: &str, table: TableId) -> Result<(), SnapshotError> {
        let Some(snapshots) = self.snapshots_of(table) else { return Ok(()) };
        let folder = snapshots.join(tag);
        // What is live now stays where it is until this is let go.
        let _permit = self.compactor().exchange.acquire().await;
        let live: Vec<LiveRecord> =
            self.manifest().contents().live.iter().filter(|live| live.name.table == table).cloned().collect();
        for live in &live {
            stdx::sometimes!("file named for a snapshot");
            let from = self.folder_of(&live.name);
            for component in Component::ALL {
                let name = live.name.descriptor.file_name(component);
                let path = folder.join(&name);
                match self.runtime().link(&from.join(&name), &path).await {
                    Ok(()) => {}
                    // Not every file has every component, but all have their data; and another shard may have named a shared one.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && component != Component::Data => {}
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(source) => return Err(SnapshotError::Io { path, source }),
                }
            }
        }
        self.runtime().sync_dir(&folder).await.map_err(at(&folder))
    }

    /// Says in each of the snapshot's folders that it is whole. On shard 0, when all shards have named their files. `definition` is the
    /// text of `schema.cql`.
    pub async fn end_snapshot(&self, tag: &str, table: TableId, definition: &str) -> Result<(), SnapshotError> {
        let Some(snapshots) = self.snapshots_of(table) else { return Ok(()) };
        let folder = snapshots.join(tag);
        let suffix = format!("-{}", Component::Data.name());
        let entries = self.runtime().read_dir(&folder).await.map_err(at(&folder))?;
        let data = entries.iter().filter(|entry| entry.name.ends_with(&suffix));
        let files: Vec<String> = data.map(|entry| format!("\"{}\"", entry.name)).collect();
        let manifest = format!("{{\"files\":[{}]}}\n", files.join(","));
        self.lay(&folder.join(SCHEMA), definition).await?;
        // All that it speaks of has its name before it has.
        self.runtime().sync_dir(&folder).await.map_err(at(&folder))?;
        let (path, new) = (folder.join(MANIFEST), folder.join(format!("{MANIFEST}{NEW}")));
        self.lay(&new, &manifest).await?;
        self.runtime().rename(&new, &path).await.map_err(at(&path))?;
        self.runtime().sync_dir(&folder).await.map_err(at(&folder))
    }

    /// Writes a small file, whose contents are durable then.
    async fn lay(&self, path: &Path, text: &str) -> Result<(), SnapshotError> {
        let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        let file = self.runtime().open(path, options).await.map_err(at(path))?;
        file.write_at(AlignedBuf::from(text.as_bytes()), 0).await.0.map_err(at(path))?;
        file.sync_all().await.map_err(at(path))
    }

    /// All snapshots that lie in the data folder. On shard 0.
    pub async fn snapshots(&self) -> Result<Vec<SnapshotFigures>, SnapshotError> {
        let mut found = Vec::new();
        for (keyspace, table, folder) in self.table_folders().await? {
            let snapshots = folder.join(SNAPSHOTS);
            let tags = self.entries(&snapshots).await?;
            if tags.is_empty() {
                continue;
            }
            let own: BTreeSet<String> = self.entries(&folder).await?.into_iter().map(|entry| entry.name).collect();
            for tag in tags.into_iter().filter(|entry| entry.is_dir) {
                let files = self.entries(&snapshots.join(&tag.name)).await?;
                let bytes = |only: bool| {
                    files.iter().filter(|file| !only || !own.contains(&file.name)).map(|file| file.len).sum()
                };
                let (total, only) = (bytes(false), bytes(true));
                found.push(SnapshotFigures {
                    tag: tag.name.clone(),
                    keyspace: keyspace.clone(),
                    table: table.clone(),
                    total,
                    only,
                });
            }
        }
        Ok(found)
    }

    /// Removes the snapshots that `is_meant` (by tag, keyspace and table). On shard 0. How many tables' parts went.
    pub async fn clear_snapshots(&self, is_meant: impl Fn(&str, &str, &str) -> bool) -> Result<u64, SnapshotError> {
        let mut count = 0;
        for (keyspace, table, folder) in self.table_folders().await? {
            let snapshots = folder.join(SNAPSHOTS);
            for tag in self.entries(&snapshots).await?.into_iter().filter(|entry| entry.is_dir) {
                if is_meant(&tag.name, &keyspace, &table) {
                    let path = snapshots.join(&tag.name);
                    self.runtime().remove_dir_all(&path).await.map_err(at(&path))?;
                    self.runtime().sync_dir(&snapshots).await.map_err(at(&snapshots))?;
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// Keyspace, table and path of every table's folder, also of tables that are gone.
    async fn table_folders(&self) -> Result<Vec<(String, String, PathBuf)>, SnapshotError> {
        let data = self.data_folder();
        let mut found = Vec::new();
        for keyspace in self.entries(&data).await?.into_iter().filter(|entry| entry.is_dir) {
            let path = data.join(&keyspace.name);
            for folder in self.entries(&path).await?.into_iter().filter(|entry| entry.is_dir) {
                let table = folder.name.rsplit_once('-').map_or(folder.name.as_str(), |(table, _)| table);
                found.push((keyspace.name.clone(), table.to_owned(), path.join(&folder.name)));
            }
        }
        Ok(found)
    }

    /// What a folder holds; nothing if it is not there.
    async fn entries(&self, folder: &Path) -> Result<Vec<runtime::DirEntry>, SnapshotError> {
        match self.runtime().read_dir(folder).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => entries.map_err(at(folder)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_that_are_no_folders_are_refused() {
        for name in ["before-upgrade", "2026-11-22 nightly", "µ", "..."] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "/etc", "a\\b", "a\nb", "a\0b", &"x".repeat(201)] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
