//! SSTables that others wrote and a person laid into a table's folder: a start with `--import-sstables` imports them, or a [`refresh`](super::refresh). Cassandra's start
//! does so unasked; but then what a crash left of a file would have to be told from one that was brought, by what lies on the disk alone.
//!
//! Foreign is what no manifest names and what has a list of components, without the one that only we write: what a shard of ours
//! began and did not end is never taken for foreign, nor is a file of a shard whose manifest this one does not read.
//!
//! Each is checked as far as reads will go ([`check`]) before any manifest names it, by shard 0 alone: all shards must agree, and a file may be
//! long. Which ones passed, a list in the table's folder says; the shards import what it names.

use std::path::Path;
use std::rc::Rc;

use runtime::Runtime;
use schema::{Schema, Table};
use sstable::{Component, Descriptor, Generation, Version};
use topology::Token;

use crate::commitlog::io_error;
use crate::discard::{DATA, table_folder};
use crate::error::OpenError;
use crate::generation::Generations;
use crate::manifest::{FileName, LiveRecord, Manifests, Record};
use crate::options::ReplayPosition;
use crate::recovery::list;
use crate::recovery::sets::{self, Sets, sync_components};
use crate::recovery::upload::bring_in_upload;
use crate::shard::Shard;
use crate::sstable::{PageCache, Sstable};

/// The pages of indexes that a check before the start holds.
const CHECK_CACHE_BYTES: usize = 8 << 20;

/// The foreign SSTables in a table's folder.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// Those that can be looked at, with the components that are there.
    pub(super) complete: Vec<(Descriptor, Vec<Component>)>,
    /// Those that cannot, each in a sentence.
    pub(super) incomplete: Vec<String>,
}

impl Foreign {
    /// Looks through a table's folder, without what `is_known` to a manifest.
    pub(super) async fn look(
        runtime: &Runtime,
        folder: &Path,
        is_known: impl Fn(&Descriptor) -> bool,
    ) -> Result<Foreign, OpenError> {
        let mut foreign = Foreign::default();
        let Sets { found, unreadable } = Sets::look(runtime, folder).await?;
        for name in unreadable {
            foreign.incomplete.push(format!("cannot import {name}: unsupported sstable version"));
        }
        for (descriptor, components) in found {
            if components.contains(&Component::Helenus) || is_known(&descriptor) {
                continue;
            }
            let Some(listed) = sets::listed(runtime, folder, &descriptor).await? else {
                // What a flush of ours is writing has no list yet either.
                if !may_be_ours(&descriptor) {
                    let advice = "copy TOC.txt too, or place the sstable in upload/";
                    foreign.incomplete.push(format!("cannot import {descriptor}: TOC.txt is missing; {advice}"));
                }
                continue;
            };
            if listed.contains(&Component::Helenus) {
                continue;
            }
            match sets::whole(&descriptor, components, Some(listed)) {
                Ok(set) => foreign.complete.push((descriptor, set.components)),
                Err(what) => foreign.incomplete.push(format!("cannot import {descriptor}: {what}")),
            }
        }
        Ok(foreign)
    }
}

/// True if the name is one that a shard of ours could have given.
fn may_be_ours(descriptor: &Descriptor) -> bool {
    descriptor.version == Version::DA && matches!(descriptor.generation, Generation::Unique(_))
}

/// Gives the replicas of a token's partition in words; `None`: this node is one of them.
pub type OtherReplicas<'o> = dyn Fn(Token) -> Option<String> + 'o;

/// Partitions of an SSTable that this node is no replica of.
#[derive(Default)]
struct Strays {
    partitions: u64,
    count: u64,
    first: Option<(Token, String)>,
}

impl Strays {
    fn see(&mut self, token: Token, others: &OtherReplicas<'_>) {
        self.partitions += 1;
        let Some(replicas) = others(token) else { return };
        self.count += 1;
        self.first.get_or_insert((token, replicas));
    }

    /// Fails if there are some.
    fn none(self) -> Result<(), String> {
        let Strays { partitions, count, first } = self;
        let Some((token, replicas)) = first else { return Ok(()) };
        Err(format!(
            "this node is not a replica of {count} of its {partitions} partitions; the replicas of the first, of token {token}, are {replicas}"
        ))
    }
}

/// Checks all of an SSTable before it is imported into `table`; the error says why it is not.
pub(super) async fn check(
    runtime: &Runtime,
    pages: &Rc<PageCache>,
    folder: &Path,
    descriptor: &Descriptor,
    table: &Rc<Table>,
    others: &OtherReplicas<'_>,
) -> Result<(), String> {
    let opened = Sstable::open(runtime, pages, folder, descriptor.clone(), table).await;
    let sstable = opened.map_err(|error| error.to_string())?;
    sstable.check_header()?;
    let mut strays = Strays::default();
    let checked = sstable.check(|token| strays.see(token, others)).await;
    checked.map_err(|error| error.to_string())?;
    strays.none()
}

/// Before a start with `--import-sstables` opens any shard: moves what lies in the tables' `upload/` into their folders, and lists there what the
/// shards are to import. Files that are refused stay where they are, with a line in the log: what cannot be read is its owner's matter, and must
/// not keep the node from starting. Of a cluster's replicas a start knows nothing yet: whoever has others asks for a refresh instead. `dir` is the node's data
/// folder. How many were moved.
pub async fn find_files_at_start(runtime: &Runtime, dir: &Path, schema: &Schema) -> Result<u64, OpenError> {
    let (generations, pages) = (Generations::default(), PageCache::new(CHECK_CACHE_BYTES));
    let of_this_node = |_| None;
    let known = Manifests::new(runtime, dir, runtime.shard_count()).all_in_force().await?;
    let mut count = 0;
    // The server's own are in a form of its own, whatever others call theirs.
    for table in schema.tables().filter(|table| !schema::system_keyspaces::is_system(&table.keyspace)) {
        let name = format!("{}.{}", table.keyspace, table.name);
        let brought = bring_in_upload(runtime, dir, &pages, table, &generations, &of_this_node).await?;
        count += brought.moved.len() as u64;
        let below = table_folder(table);
        let folder = dir.join(DATA).join(&below);
        let is_known = |descriptor: &Descriptor| {
            let name = FileName { table: table.id, folder: below.clone(), descriptor: descriptor.clone() };
            // One that only some shards name is from a start that was cut off: the others are to name it too.
            !known.is_empty() && known.iter().all(|(_, contents)| contents.names(&name))
        };
        let found = Foreign::look(runtime, &folder, is_known).await?;
        let mut refused = [brought.left_alone, found.incomplete].concat();
        let before = list::read(runtime, &folder, list::descriptor).await?.unwrap_or_default();
        let mut listed = before.clone();
        for (descriptor, _) in found.complete {
            if listed.contains(&descriptor) {
                continue;
            }
            let is_checked = brought.moved.contains(&descriptor);
            match if is_checked {
                Ok(())
            } else {
                check(runtime, &pages, &folder, &descriptor, table, &of_this_node).await
            } {
                Ok(()) => listed.push(descriptor),
                Err(what) => refused.push(format!("cannot import foreign sstable {descriptor}: {what}")),
            }
        }
        for sentence in refused {
            tracing::warn!(table = name, "{sentence}");
        }
        if listed != before {
            list::write(runtime, &folder, listed.iter().map(ToString::to_string)).await?;
        }
    }
    Ok(count)
}

impl Shard {
    /// Has the manifest name the foreign files that the tables' lists name: those of this start, and of a refresh that did not come to its end.
    /// Every shard does so by itself, and reads its own partitions of them.
    pub(crate) async fn take_in_foreign(&self) -> Result<(), OpenError> {
        let tables: Vec<_> = self.engine().tables.iter().map(|table| table.definition.clone()).collect();
        let tables = tables.into_iter().filter(|table| !schema::system_keyspaces::is_system(&table.keyspace));
        // Whatever is truncated from now on, was there before.
        let (boot, shard) = (self.options().boot, self.runtime().shard().0);
        let end = ReplayPosition { boot, shard, sequence: 0 };
        for table in tables {
            let folder = self.table_folder(&table);
            let path = self.data_folder().join(&folder);
            let Some(listed) = list::read(self.runtime(), &path, list::descriptor).await? else { continue };
            for (descriptor, components) in self.foreign_in(&folder).await?.complete {
                let is_wanted = listed.contains(&descriptor);
                let name = FileName { table: table.id, folder: folder.clone(), descriptor };
                if !is_wanted || self.manifest().contents().names(&name) {
                    continue;
                }
                // As when it was listed: what cannot be read any more must not keep the node from starting.
                if let Err(sentence) = self.make_ready(&name, &components, &table).await? {
                    tracing::warn!(table = %format!("{}.{}", table.keyspace, table.name), "{sentence}");
                    continue;
                }
                stdx::sometimes!("foreign file taken in");
                tracing::info!(file = %name.descriptor, table = %format!("{}.{}", table.keyspace, table.name), "imported sstable");
                self.name_as_live(name, end).await?;
            }
            self.lists_found().push(path);
        }
        Ok(())
    }

    /// Opens a foreign file, and makes it durable: whoever copied it here need not have waited until it was on the disk. The inner error says why it cannot
    /// be imported.
    pub(super) async fn make_ready(
        &self,
        name: &FileName,
        components: &[Component],
        table: &Rc<Table>,
    ) -> Result<Result<(), String>, OpenError> {
        let FileName { folder, descriptor, .. } = name;
        let path = self.data_folder().join(folder);
        if let Err(error) = Sstable::open(self.runtime(), self.pages(), &path, descriptor.clone(), table).await {
            return Ok(Err(format!("cannot import foreign sstable {descriptor}: {error}")));
        }
        if !sync_components(self.runtime(), &path, descriptor, components).await? {
            return Ok(Err(format!("cannot import foreign sstable {descriptor}: a component disappeared")));
        }
        self.runtime().sync_dir(&path).await.map_err(io_error(&path))?;
        Ok(Ok(()))
    }

    /// Has the manifest name a foreign file, which truncations after `end` take along.
    pub(super) async fn name_as_live(&self, name: FileName, end: ReplayPosition) -> Result<(), OpenError> {
        let is_shared = self.runtime().shard_count() > 1;
        let live = LiveRecord { name, is_shared, end, covered: None };
        self.manifest().append(Record::Live(live)).await.map_err(|error| {
            let path = error.path.clone();
            io_error(&path)(error.source)
        })
    }

    /// The SSTables in a table's folder that are not of our making, those among them that the manifest names already.
    pub(super) async fn foreign_in(&self, folder: &str) -> Result<Foreign, OpenError> {
        Foreign::look(self.runtime(), &self.data_folder().join(folder), |_| false).await
    }
}
