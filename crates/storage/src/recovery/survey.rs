//! A look at a data folder before anything of it is opened. Reads only.
//!
//! The metadata log is made, and holds the node's first start, before anything that counts as data here. So data without a
//! start in the metadata log is that of a node whose log was lost, at whatever point its first start was interrupted.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use runtime::{DirEntry, Runtime};

use crate::commitlog;
use crate::error::OpenError;
use crate::manifest;

/// The folders below the data folder in which only a node that has a metadata log makes files.
const FOLDERS: [&str; 3] = ["commitlog", "manifest", "data"];
/// A file system's own folder, which may lie where one is mounted.
const OF_THE_FILE_SYSTEM: &str = "lost+found";

/// A file of a node's data in the data folder, if there is any: of the commit log, a manifest, an SSTable, a snapshot. Folders
/// alone are none.
pub async fn find_data(runtime: &Runtime, dir: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders: Vec<PathBuf> = FOLDERS.iter().rev().map(|name| dir.join(name)).collect();
    while let Some(folder) = folders.pop() {
        let entries = entries_of(runtime, &folder).await?;
        if let Some(file) = entries.iter().find(|entry| !entry.is_dir) {
            return Ok(Some(folder.join(&file.name)));
        }
        let inner = entries.into_iter().filter(|entry| entry.name != OF_THE_FILE_SYSTEM);
        folders.extend(inner.map(|entry| folder.join(entry.name)));
    }
    Ok(None)
}

/// The greatest number of a start of the process that the commit log's segments and the manifests name; 0: none names any. Files
/// that cannot be read say nothing here: opening them says what is wrong.
pub async fn last_boot_in_data(runtime: &Runtime, dir: &Path) -> Result<u64, OpenError> {
    Ok(commitlog::last_boot(runtime, dir).await?.max(manifest::last_boot(runtime, dir).await?))
}

/// The numbers of the shards that have a commit log or a manifest, of whatever shard count.
pub async fn shards_in_data(runtime: &Runtime, dir: &Path) -> io::Result<BTreeSet<u16>> {
    let mut shards = BTreeSet::new();
    for folder in FOLDERS.iter().filter(|name| **name != "data") {
        let entries = entries_of(runtime, &dir.join(folder)).await?;
        // `shard-N`, and `shard-n-of-count`.
        let number = |name: &str| name.strip_prefix("shard-")?.split('-').next()?.parse::<u16>().ok();
        shards.extend(entries.iter().filter_map(|entry| number(&entry.name)));
    }
    Ok(shards)
}

async fn entries_of(runtime: &Runtime, folder: &Path) -> io::Result<Vec<DirEntry>> {
    match runtime.read_dir(folder).await {
        // A file of this name is in the way of the node, which says so.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        result => result,
    }
}
