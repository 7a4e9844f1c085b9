//! Which SSTables lie in a folder, by the names of their components, and which of them have all that a read needs.
//!
//! Needed are the data, Statistics.db and the index, and CompressionInfo.db where the data is compressed. The rest only checks them, or can be told from them: a
//! set without Filter.db, Summary.db, CRC.db, Digest.crc32 or TOC.txt is read, as Cassandra reads it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use runtime::{OpenOptions, Runtime};
use sstable::{Component, Descriptor, Format, toc};

use crate::commitlog::io_error;
use crate::error::OpenError;

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct Sets {
    /// The components that are there, of each SSTable.
    pub(super) found: BTreeMap<Descriptor, Vec<Component>>,
    /// Data files of versions that cannot be read.
    pub(super) unreadable: Vec<String>,
}

/// Components of one SSTable that are there, and those that TOC.txt lists and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) components: Vec<Component>,
    pub(super) missing: Vec<Component>,
}

impl Sets {
    /// Looks through a folder. One that is not there has none.
    pub(super) async fn look(runtime: &Runtime, folder: &Path) -> Result<Sets, OpenError> {
        let mut sets = Sets::default();
        let entries = match runtime.read_dir(folder).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(sets),
            entries => entries.map_err(io_error(folder))?,
        };
        for entry in entries.iter().filter(|entry| !entry.is_dir) {
            match Descriptor::parse(&entry.name) {
                Some((descriptor, component)) => sets.found.entry(descriptor).or_default().push(component),
                None if Descriptor::is_unreadable_data(&entry.name) => sets.unreadable.push(entry.name.clone()),
                None => {}
            }
        }
        sets.found.values_mut().for_each(|components| components.sort());
        sets.unreadable.sort();
        Ok(sets)
    }
}

/// The components that TOC.txt lists; `None`: there is none, or it cannot be read as one.
pub(super) async fn listed(
    runtime: &Runtime,
    folder: &Path,
    descriptor: &Descriptor,
) -> Result<Option<Vec<Component>>, OpenError> {
    let path = folder.join(descriptor.file_name(Component::Toc));
    let bytes = match runtime.read_file(&path).await {
        // Another shard is ahead with what a start removes.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        result => result.map_err(io_error(&path))?,
    };
    let Ok(names) = toc::decode(&bytes) else { return Ok(None) };
    Ok(Some(names.into_iter().filter_map(Component::parse).collect()))
}

/// The SSTable of these components, or why it cannot be read without those that are missing.
pub(super) fn whole(
    descriptor: &Descriptor,
    components: Vec<Component>,
    listed: Option<Vec<Component>>,
) -> Result<Set, String> {
    let needed: &[Component] = match descriptor.format() {
        Format::Bti => &[Component::Data, Component::Statistics, Component::Partitions, Component::Rows],
        Format::Big => &[Component::Data, Component::Statistics, Component::Index],
    };
    let mut missing = listed.unwrap_or_default();
    missing.extend(needed);
    missing.retain(|component| !components.contains(component));
    missing.sort();
    missing.dedup();
    let is_needed = |component: &&Component| needed.contains(component) || **component == Component::CompressionInfo;
    let lacks: Vec<&str> = missing.iter().filter(is_needed).map(|component| component.name()).collect();
    if !lacks.is_empty() {
        return Err(format!("required components are missing: {}", lacks.join(", ")));
    }
    Ok(Set { components, missing })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_checks_others_is_not_needed() {
        let (big, _) = Descriptor::parse("mc-1-big-Data.db").expect("a name");
        let (bti, _) = Descriptor::parse("da-1-bti-Data.db").expect("a name");
        let (data, index) = (Component::Data, Component::Index);
        let set = whole(&big, vec![data, index, Component::Statistics], Some(vec![Component::Crc, data, index]));
        assert_eq!(set.expect("it can be read").missing, [Component::Crc]);
        let error = whole(&big, vec![data, index], None).expect_err("it cannot be read");
        assert_eq!(error, "required components are missing: Statistics.db");
        whole(&bti, vec![data, index, Component::Statistics], None).expect_err("it has another format's index");
        let compressed = Some(vec![Component::CompressionInfo]);
        let error = whole(&big, vec![data, index, Component::Statistics], compressed).expect_err("it is compressed");
        assert_eq!(error, "required components are missing: CompressionInfo.db");
    }
}
