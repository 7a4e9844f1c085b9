//! What the manifests say at a start: which files are to be opened, which are not any more, and what of the log is in them.

use std::collections::BTreeMap;

use runtime::Runtime;
use schema::TableId;

use crate::commitlog::{SegmentHead, io_error};
use crate::discard::{Discarded, gone};
use crate::error::OpenError;
use crate::manifest::{Contents, FileName, GoneRecord, InForce, LiveRecord, Manifest, Manifests, Record};
use crate::options::{ReplayPosition, StorageOptions, Truncations};
use crate::shard::Shard;
use crate::sstable::Sstable;
use crate::tables::{FilesChange, LiveFile};

/// What of the logs of another shard count is in files.
#[derive(Default)]
pub(crate) struct CoveredElsewhere {
    shard_count: u16,
    positions: BTreeMap<(u16, TableId), ReplayPosition>,
}

impl CoveredElsewhere {
    /// Up to where the records of a table in a segment's log are in files.
    pub(super) fn of(&self, head: &SegmentHead, table: TableId) -> Option<&ReplayPosition> {
        let is_of_it = head.shard_count == self.shard_count;
        self.positions.get(&(head.shard, table)).filter(|_| is_of_it)
    }
}

/// What the manifests say.
pub(crate) struct FoundFiles {
    /// This shard's, open. Nothing that it names was opened or removed yet.
    pub(crate) manifest: Manifest,
    /// What of the logs that are taken over need not be.
    pub(crate) covered_elsewhere: CoveredElsewhere,
}

impl FoundFiles {
    /// Reads the manifests that hold, and makes this shard's own if the shard count is another.
    pub(crate) async fn look(
        manifests: &Manifests,
        runtime: &Runtime,
        options: &StorageOptions,
        truncations: &Truncations,
    ) -> Result<FoundFiles, OpenError> {
        let mut covered_elsewhere = CoveredElsewhere::default();
        let manifest = match manifests.look().await? {
            InForce::None => manifests.make(Contents::default()).await?,
            InForce::Own(found) => manifests.reopen(found).await?,
            InForce::Other(all) => {
                stdx::sometimes!("files of another shard count");
                covered_elsewhere.shard_count = all.len() as u16;
                for (shard, contents) in &all {
                    let positions = contents.covered.iter().map(|(table, position)| ((*shard, *table), *position));
                    covered_elsewhere.positions.extend(positions);
                }
                let contents = take_over(runtime, options, truncations, &all);
                manifests.make(contents).await?
            }
        };
        Ok(FoundFiles { manifest, covered_elsewhere })
    }
}

/// What this shard's manifest is to say of the files that the manifests of another count name.
fn take_over(
    runtime: &Runtime,
    options: &StorageOptions,
    truncations: &Truncations,
    all: &[(u16, Contents)],
) -> Contents {
    let (shard, shard_count) = (runtime.shard().0, runtime.shard_count());
    let is_shared = shard_count > 1;
    // The positions of the shards of before mean nothing to those of now: whatever is truncated from now on, was there before.
    let end = ReplayPosition { boot: options.boot, shard, sequence: 0 };
    let mut contents = Contents::default();
    for live in all.iter().flat_map(|(_, contents)| &contents.live) {
        let taken = LiveRecord { name: live.name.clone(), is_shared, end, covered: None };
        let is_known = contents.live.iter().any(|known| known.name == live.name)
            || contents.gone.iter().any(|known| known.name == live.name);
        if is_known {
            continue;
        }
        match is_truncated(live, truncations) {
            true => contents.gone.push(gone(options, &taken, Discarded::Truncated, &at_start(options))),
            false => contents.live.push(taken),
        }
    }
    // What the shards of before left undone is shard 0's. The others know those names as gone too: a file that others wrote would be
    // foreign to them, and taken in again while shard 0 removes it.
    let is_live = |contents: &Contents, name: &FileName| contents.live.iter().any(|live| live.name == *name);
    for (_, of_before) in all {
        if shard == 0 {
            contents.begun.extend(of_before.begun.iter().cloned());
        }
        for undone in &of_before.gone {
            if !is_live(&contents, &undone.name) {
                contents.gone.push(GoneRecord { is_shared: shard != 0, ..undone.clone() });
            }
        }
    }
    contents
}

fn is_truncated(live: &LiveRecord, truncations: &Truncations) -> bool {
    let positions = truncations.get(&live.name.table).map_or(&[][..], Vec::as_slice);
    positions.iter().any(|position| live.end.is_before(position))
}

/// What stands in a snapshot's name that a start had to make: the same on all shards.
fn at_start(options: &StorageOptions) -> String {
    format!("start{}", options.boot)
}

impl Shard {
    /// Opens the files that count. Carries out what was decided about others and not done.
    pub(crate) async fn open_files(&self, truncations: &Truncations) -> Result<(), OpenError> {
        self.take_in_foreign().await?;
        let contents = self.manifest().contents().clone();
        for name in &contents.begun {
            self.remove_leftovers(name).await;
        }
        for gone in &contents.gone {
            if gone.is_shared {
                // Shard 0 may have seen to it.
                let folder = self.folder_of(&gone.name);
                let is_left = self.is_anything_left(&gone.name).await.map_err(io_error(&folder))?;
                if !is_left {
                    self.manifest().contents().forget(&gone.name);
                }
            } else {
                self.carry_out(gone).await;
            }
        }
        for live in contents.live {
            let definition = self.engine().tables.get(live.name.table).map(|table| table.definition.clone());
            let by = match definition {
                _ if is_truncated(&live, truncations) && !self.planted().is(planted::Bug::TruncationIgnored) => {
                    Discarded::Truncated
                }
                None => Discarded::Dropped,
                Some(definition) => {
                    let folder = self.folder_of(&live.name);
                    let descriptor = live.name.descriptor.clone();
                    let opened = Sstable::open(self.runtime(), self.pages(), &folder, descriptor, &definition).await;
                    let sstable = opened.map_err(|source| OpenError::LiveFile {
                        table: format!("{}.{}", definition.keyspace, definition.name),
                        source,
                    })?;
                    let mut engine = self.engine();
                    if let Some(table) = engine.tables.get_mut(live.name.table) {
                        table.files.push(LiveFile { sstable, is_shared: live.is_shared });
                        table.files_changed(FilesChange::Other);
                    }
                    continue;
                }
            };
            stdx::sometimes!("truncated file found at a start");
            let gone = gone(self.options(), &live, by, &at_start(self.options()));
            // Should this fail, the next start comes to the same.
            match self.manifest().append(Record::Gone(gone.clone())).await {
                Ok(()) => self.carry_out(&gone).await,
                Err(error) => tracing::warn!(%error, "cannot delete obsolete sstable; retrying at next start"),
            }
        }
        Ok(())
    }

    /// Lets the log go as far as files have it.
    pub(crate) fn release_covered(&self) {
        let covered = self.manifest().contents().covered.clone();
        for (table, position) in covered {
            self.log().flushed(table, position);
        }
        self.log().release();
    }
}
