//! Truncations, and files that do not count any more: removed, or put aside as a snapshot. What a truncation or a drop takes along, and what
//! flushes that did not come to their end leave behind.
//!
//! The decision is durable before any file is removed: a truncation's positions or a schema without the table. So each step may be
//! done at any later time, and a start does what was left. `docs/internals/manifest.md` has the order.
//!
//! Goal of a truncation's order: no reader misses what it takes along before its position is durable. A start that finds the truncation decided and no
//! position of it truncates at the log's end; were the table seen empty before, and written to, those writes would be lost. So the memtable is frozen at
//! the position, and memory and files are read as before until the position is durable. Rejected: emptying at once, and having writes to the table wait,
//! which costs each write a look.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planted::Bug;
use schema::{Table, TableId};
use sstable::Component;

use crate::error::OpenError;
use crate::manifest::{Destination, FileName, GoneRecord, LiveRecord, Record};
use crate::options::{ReplayPosition, StorageOptions};
use crate::shard::{Engine, LogSequence, Shard};

/// The folder of the tables' files below the data folder.
pub(crate) const DATA: &str = "data";
/// The folder of the snapshots in a table's folder.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// Why files are taken away; the beginning of a snapshot's name, as Cassandra has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discarded {
    /// By TRUNCATE.
    Truncated,
    /// By DROP.
    Dropped,
}

impl Discarded {
    fn word(self) -> &'static str {
        match self {
            Discarded::Truncated => "truncated",
            Discarded::Dropped => "dropped",
        }
    }
}

impl Shard {
    /// The folder of all tables' folders.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.options().dir.join(DATA)
    }

    /// A table's folder below it.
    pub(crate) fn table_folder(&self, table: &Table) -> String {
        table_folder(table)
    }

    /// Gives the position of a truncation: all that was written to the table so far lies at or before it. What is written later has a memtable of its
    /// own. Nothing is gone yet: the caller makes the position durable, and then calls [`Shard::truncation_is_durable`], or else
    /// [`Shard::abandon_truncation`]. Until then the table is not flushed, and tasks that change its counters wait.
    ///
    /// A large write that is being merged ends here: its record lies before the position.
    pub fn begin_truncation(&self, table: TableId) -> ReplayPosition {
        let position = self.log().position();
        {
            let mut engine = self.engine();
            let covered = engine.merging.iter().map(|begun| begun.0).fold(position.sequence, u64::min);
            if let Some(table) = engine.tables.get_mut(table) {
                table.content.truncations += 1;
                table.is_truncation_open = true;
                if !table.memtable.is_empty() {
                    let covered = ReplayPosition { sequence: covered, ..position };
                    table.freeze(self.flusher().next_number(), position, covered);
                }
            }
        }
        self.partition_locks().close(table);
        self.note_truncation(position.sequence);
        self.truncations().begin(table, position);
        self.unfinished().truncate(table, LogSequence(position.sequence));
        if self.planted().is(Bug::TruncationEmptiesEarly) {
            empty(self, table, position);
        }
        position
    }

    /// Drops what the table held up to `position`, as [`Shard::begin_truncation`] gave it, now that it is durable: what is in memory, and what is
    /// read of files, which stay for now. The log may forget it.
    pub fn truncation_is_durable(&self, table: TableId, position: ReplayPosition) {
        empty(self, table, position);
        self.log().truncated(table, position);
        self.truncations().durable.insert(table, position);
        self.partition_locks().open(table);
        self.flusher().truncation_ended();
    }

    /// Goes on with the table as it is: the position could not be made durable.
    pub fn abandon_truncation(&self, table: TableId) {
        if let Some(table) = self.engine().tables.get_mut(table) {
            table.is_truncation_open = false;
        }
        self.partition_locks().open(table);
        self.flusher().truncation_ended();
    }

    /// Takes away the table's files that end at or before `position`. When [`Shard::truncation_is_durable`] was called on this shard; `at` is in the
    /// snapshot's name, the same on all shards.
    pub async fn discard_truncated(&self, table: TableId, position: ReplayPosition, at: &str) {
        let is_taken = |live: &LiveRecord| live.name.table == table && live.end.is_before(&position);
        self.discard(is_taken, Discarded::Truncated, at).await;
    }

    /// Takes away the files of tables that are not there. When that is durable.
    pub async fn discard_dropped(&self, at: &str) {
        let is_known = |table: TableId| self.engine().tables.get(table).is_some();
        self.discard(|live| !is_known(live.name.table), Discarded::Dropped, at).await;
    }

    /// A file came to be live after its table was truncated or dropped.
    pub(crate) async fn discard_if_truncated(&self, live: LiveRecord) {
        let position = self.truncations().durable.get(&live.name.table).copied();
        let is_dropped = self.engine().tables.get(live.name.table).is_none();
        let at = (self.runtime().wall_clock_micros() / 1000).to_string();
        if position.is_some_and(|position| live.end.is_before(&position)) {
            self.discard(|other| other.name == live.name, Discarded::Truncated, &at).await;
        } else if is_dropped {
            self.discard(|other| other.name == live.name, Discarded::Dropped, &at).await;
        }
    }

    async fn discard(&self, is_taken: impl Fn(&LiveRecord) -> bool, by: Discarded, at: &str) {
        // A compaction that exchanges files has its outputs in the manifest then, or finds that its inputs are gone.
        let _permit = self.compactor().exchange.acquire().await;
        let taken: Vec<LiveRecord> =
            self.manifest().contents().live.iter().filter(|live| is_taken(live)).cloned().collect();
        for live in taken {
            let gone = gone(self.options(), &live, by, at);
            match self.manifest().append(Record::Gone(gone.clone())).await {
                Ok(()) => self.carry_out(&gone).await,
                // The truncation or the schema says so: the next start does it.
                Err(error) => {
                    tracing::warn!(%error, file = %gone.name.descriptor, "cannot delete obsolete sstable; retrying at next start");
                }
            }
        }
    }

    /// Moves or removes the components of a file that is this shard's own. Those of a shared one are shard 0's care:
    /// [`Shard::sweep_shared`].
    pub(crate) async fn carry_out(&self, gone: &GoneRecord) {
        if gone.is_shared {
            return;
        }
        match self.take_away(gone).await {
            Ok(()) => self.manifest().contents().forget(&gone.name),
            Err(error) => {
                tracing::warn!(%error, file = %gone.name.descriptor, "cannot delete obsolete sstable; retrying at next start");
            }
        }
    }

    async fn take_away(&self, gone: &GoneRecord) -> io::Result<()> {
        let runtime = self.runtime();
        let folder = self.data_folder().join(&gone.name.folder);
        let Destination::Snapshot(tag) = &gone.destination else {
            stdx::sometimes!("file removed");
            return self.remove_components(&gone.name).await;
        };
        stdx::sometimes!("file put aside");
        let snapshot = folder.join(SNAPSHOTS).join(tag);
        // Also where it is there already: another shard may have made it a moment ago.
        runtime.create_dir_all(&snapshot).await?;
        runtime.sync_dir(&folder.join(SNAPSHOTS)).await?;
        runtime.sync_dir(&folder).await?;
        for component in Component::ALL {
            let name = gone.name.descriptor.file_name(component);
            not_found_is_fine(runtime.rename(&folder.join(&name), &snapshot.join(&name)).await)?;
        }
        // The new names first: between the two both may be there, and never neither.
        runtime.sync_dir(&snapshot).await?;
        runtime.sync_dir(&folder).await
    }

    /// Removes what a flush that did not come to its end has left.
    pub(crate) async fn remove_leftovers(&self, name: &FileName) {
        stdx::sometimes!("leftover of a flush removed");
        match self.remove_components(name).await {
            Ok(()) => self.manifest().contents().forget(name),
            Err(error) => {
                tracing::warn!(%error, file = %name.descriptor, "cannot delete leftovers of a failed flush; retrying at next start");
            }
        }
    }

    pub(crate) async fn remove_components(&self, name: &FileName) -> io::Result<()> {
        let folder = self.data_folder().join(&name.folder);
        if !self.runtime().exists(&folder).await? {
            return Ok(());
        }
        for component in Component::ALL {
            let path = folder.join(name.descriptor.file_name(component));
            not_found_is_fine(self.runtime().remove_file(&path).await)?;
        }
        self.runtime().sync_dir(&folder).await
    }

    /// Takes away the shared files that no shard names as live any more. On shard 0, when every shard has heard of what took them.
    pub async fn sweep_shared(&self) -> Result<(), OpenError> {
        let all = self.manifests().all().await?;
        let is_live =
            |name: &FileName| all.iter().any(|(_, contents)| contents.live.iter().any(|live| live.name == *name));
        let gone = all.iter().flat_map(|(_, contents)| &contents.gone);
        let gone = gone.filter(|gone| gone.is_shared && !is_live(&gone.name)).cloned();
        self.sweep(gone.collect()).await;
        Ok(())
    }

    /// Takes shared files away. What one shard compacted and another one truncated belongs in the snapshot.
    async fn sweep(&self, mut gone: Vec<GoneRecord>) {
        gone.sort_by_key(|gone| gone.destination == Destination::Removed);
        for gone in &gone {
            stdx::sometimes!("shared file swept");
            match self.take_away(gone).await {
                Ok(()) => self.manifest().contents().forget(&gone.name),
                Err(error) => {
                    tracing::warn!(%error, file = %gone.name.descriptor, "cannot delete obsolete sstable; retrying at next start");
                }
            }
        }
    }

    /// [`Shard::sweep_shared`] while other shards append to their manifests: what is seen of a record may not be on the disk yet. So it
    /// goes by what was there `rest` ago, and is synced.
    pub(crate) async fn sweep_shared_while_written(&self, rest: Duration) -> Result<(), OpenError> {
        let before = self.manifests().all().await?;
        self.runtime().sleep(rest).await;
        self.manifests().sync_all().await?;
        let all = self.manifests().all().await?;
        let is_live = |name: &FileName| {
            let mut contents = before.iter().chain(&all).map(|(_, contents)| contents);
            contents.any(|contents| contents.live.iter().any(|live| live.name == *name))
        };
        let gone = all.iter().flat_map(|(_, contents)| &contents.gone);
        let gone = gone.filter(|gone| gone.is_shared && !is_live(&gone.name)).cloned();
        self.sweep(gone.collect()).await;
        Ok(())
    }

    /// Whether any component of the file is in its table's folder.
    pub(crate) async fn is_anything_left(&self, name: &FileName) -> io::Result<bool> {
        let folder = self.data_folder().join(&name.folder);
        for component in Component::ALL {
            if self.runtime().exists(&folder.join(name.descriptor.file_name(component))).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The path of a table's folder.
    pub(crate) fn folder_of(&self, name: &FileName) -> PathBuf {
        self.data_folder().join(Path::new(&name.folder))
    }
}

/// Drops what a truncated table has at or before the position.
fn empty(shard: &Shard, table: TableId, position: ReplayPosition) {
    {
        let mut engine = shard.engine();
        let Engine { tables, pool, .. } = &mut *engine;
        tables.truncate(table, &position, pool);
    }
    shard.trim_in_background();
}

/// What is to be said of a file that does not count any more.
pub(crate) fn gone(options: &StorageOptions, live: &LiveRecord, by: Discarded, at: &str) -> GoneRecord {
    let name = live.name.clone();
    let destination = match options.auto_snapshot {
        true => Destination::Snapshot(format!("{}-{at}-{}", by.word(), table_name(&name))),
        false => Destination::Removed,
    };
    GoneRecord { name, is_shared: live.is_shared, destination }
}

/// A table's folder below the folder of all tables' folders.
pub(crate) fn table_folder(table: &Table) -> String {
    let id: String = table.id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}/{}-{id}", table.keyspace, table.name)
}

/// The table's name in its folder's.
fn table_name(name: &FileName) -> &str {
    let folder = name.folder.rsplit('/').next().unwrap_or(&name.folder);
    folder.rsplit_once('-').map_or(folder, |(table, _)| table)
}

pub(crate) fn not_found_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
