//! `helenus sstable verify`: every component of an SSTable against its checksums, against its own rules, and against the others.
//!
//! Rows are read from the first to the last: partitions ascend by token and key, rows and markers by their place, deletions of ranges begin and
//! end in turn, values are such of their types, times lie between those of Statistics.db. The Bloom filter must know each key, and the indexes must lead to
//! each partition and each block of rows, in order, and to nothing else.

mod components;
mod indexes;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use runtime::Runtime;
use sstable::statistics::{PARTITIONER, Statistics};
use sstable::{Component, Corrupt, Descriptor, Filter};

use crate::arguments::VerifyArguments;
use crate::error::ToolError;
use crate::files::{Files, table_of};
use crate::verify::indexes::Indexes;
use crate::verify::rows::{Event, Walk};

/// Verifies what the paths name, prints a line for each SSTable, and fails if any of them is broken.
pub(crate) async fn run(runtime: &Runtime, arguments: &VerifyArguments) -> Result<(), ToolError> {
    let (mut broken, mut all) = (0, 0);
    for path in &arguments.paths {
        let Sstables { found, unreadable } = sstables_at(runtime, path).await?;
        for error in unreadable {
            (all, broken) = (all + 1, broken + 1);
            println!("{error}");
        }
        for files in found {
            all += 1;
            match verify(runtime, &files).await {
                Ok(counts) => println!("{}: sound: {counts}", files.descriptor),
                Err(error) => {
                    broken += 1;
                    println!("{}: {error}", files.descriptor);
                }
            }
        }
    }
    if broken > 0 { Err(ToolError::Broken { broken, all }) } else { Ok(()) }
}

/// The files that a path names.
pub(crate) struct Sstables {
    /// Those that can be looked at.
    pub(crate) found: Vec<Files>,
    /// Why others cannot: each is named, lest it be taken for read.
    pub(crate) unreadable: Vec<ToolError>,
}

/// The SSTables in a folder, or the one of which the path names a component.
pub(crate) async fn sstables_at(runtime: &Runtime, path: &Path) -> Result<Sstables, ToolError> {
    let Ok(entries) = runtime.read_dir(path).await else {
        return Ok(Sstables { found: vec![Files::of(runtime, path)?], unreadable: Vec::new() });
    };
    let mut has_data: BTreeMap<Descriptor, bool> = BTreeMap::new();
    let mut others = BTreeSet::new();
    for entry in entries.iter().filter(|entry| !entry.is_dir) {
        match Descriptor::parse(&entry.name) {
            Some((descriptor, component)) => *has_data.entry(descriptor).or_default() |= component == Component::Data,
            None if Descriptor::is_unreadable_data(&entry.name) => {
                others.insert(&entry.name);
            }
            None => {}
        }
    }
    if has_data.is_empty() && others.is_empty() {
        return Err(ToolError::NoSstable { path: path.to_owned() });
    }
    let other = |name: &String| ToolError::Unreadable { path: path.join(name) };
    let mut unreadable: Vec<ToolError> = others.into_iter().map(other).collect();
    let mut found = Vec::new();
    for (descriptor, has_data) in has_data {
        let files = Files::of(runtime, &path.join(descriptor.file_name(Component::Data)))?;
        match has_data {
            true => found.push(files),
            false => unreadable.extend(files.check_components().await.err()),
        }
    }
    Ok(Sstables { found, unreadable })
}

/// What there is in an SSTable.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    partitions: u64,
    rows: u64,
    markers: u64,
    cells: u64,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { partitions, rows, markers, cells } = self;
        write!(f, "{partitions} partitions, {rows} rows, {cells} cells, {markers} range tombstone markers")
    }
}

/// Verifies one SSTable.
pub(crate) async fn verify(runtime: &Runtime, files: &Files) -> Result<Counts, ToolError> {
    files.check_components().await?;
    components::verify(runtime, files).await?;
    let statistics = files.statistics().await?;
    check_partitioner(files, &statistics)?;
    let table = table_of(&statistics.header);
    let mut reader = files.reader(&statistics.header, &table)?;
    let mut data = files.data().await?;
    let filter = filter(files).await?;
    let mut indexes = Indexes::open(runtime, files, &table).await?;
    let mut walk = Walk::new(&table, &statistics);
    let path = files.path(Component::Data);
    loop {
        let position = data.position();
        let Some(event) = data.next(&mut reader, |item, _| walk.item(item, position)).await? else { break };
        match event.map_err(|what| ToolError::corrupt(&path)(Corrupt::new(position, what)))? {
            Event::Partition { key, deletion } => {
                if filter.as_ref().is_some_and(|filter| !filter.may_contain(sstable::KeyHash::of(&key))) {
                    let what = format!("key 0x{} is missing", crate::text::hex(&key));
                    return Err(ToolError::corrupt(&files.path(Component::Filter))(Corrupt::new(0, what)));
                }
                indexes.partition(&key, position, deletion).await?;
            }
            Event::Inside { open } => indexes.inside(position, open).await?,
            Event::End => indexes.partition_end().await?,
        }
    }
    walk.end().map_err(|what| ToolError::corrupt(&path)(Corrupt::new(data.position(), what)))?;
    indexes.end(&walk).await?;
    Ok(walk.counts)
}

/// Fails if the partitions are not in the order in which a server looks for them.
fn check_partitioner(files: &Files, statistics: &Statistics) -> Result<(), ToolError> {
    if statistics.partitioner == PARTITIONER {
        return Ok(());
    }
    Err(ToolError::Partitioner { path: files.path(Component::Data), found: statistics.partitioner.clone() })
}

/// The Bloom filter, if there is one: an SSTable whose chance of false positives is 1 has none.
async fn filter(files: &Files) -> Result<Option<Filter>, ToolError> {
    if !files.has(Component::Filter).await? {
        return Ok(None);
    }
    let bytes = files.read(Component::Filter).await?;
    let filter = Filter::decode(&bytes, files.descriptor.version);
    filter.map(Some).map_err(ToolError::corrupt(&files.path(Component::Filter)))
}

#[cfg(test)]
mod tests;
