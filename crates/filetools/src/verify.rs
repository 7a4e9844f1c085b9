//! `helenus sstable verify`: every component of an SSTable against its checksums, against its own rules, and against the others.
//!
//! Rows are read from the first to the last: partitions ascend by token and key, rows and markers by their place, deletions of ranges begin and
//! end in turn, values are such of their types, times lie between those of Statistics.db. The Bloom filter must know each key, and the indexes must lead to
//! each partition and each block of rows, in order, and to nothing else.

mod components;
mod indexes;
mod rows;

use std::path::{Path, PathBuf};

use runtime::Runtime;
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
        for files in sstables_at(runtime, path).await? {
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

/// The SSTables in a folder, or the one of which the path names a component.
pub(crate) async fn sstables_at(runtime: &Runtime, path: &Path) -> Result<Vec<Files>, ToolError> {
    let Ok(entries) = runtime.read_dir(path).await else { return Ok(vec![Files::of(runtime, path)?]) };
    let mut names: Vec<(Descriptor, PathBuf)> = entries
        .iter()
        .filter(|entry| !entry.is_dir)
        .filter_map(|entry| match Descriptor::parse(&entry.name)? {
            (descriptor, Component::Data) => Some((descriptor, path.join(&entry.name))),
            _ => None,
        })
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(ToolError::NoSstable { path: path.to_owned() });
    }
    names.iter().map(|(_, path)| Files::of(runtime, path)).collect()
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
    components::verify(runtime, files).await?;
    let statistics = files.statistics().await?;
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
                    let what = format!("it does not know the key 0x{}", crate::text::hex(&key));
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
