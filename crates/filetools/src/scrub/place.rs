//! Where a scrubbed SSTable is written, and how it takes the place of the damaged one.
//!
//! ```text
//! scrub-<name>/           the new one, until it is whole
//! scrub-<name>/complete   says so, and lists its components: a later run goes on from here
//! snapshots/pre-scrub-<ms>/   further names of the damaged one, before anything is moved
//! ```
//!
//! A manifest knows an SSTable by its name, so the new one takes that of the damaged one, component after component. A node that started in between
//! would find components that are not of one making, and say so; the next run ends the move.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runtime::{FileLock, OpenOptions, Runtime};
use sstable::{Component, Descriptor};
use stdx::AlignedBuf;

use crate::error::ToolError;
use crate::files::Files;

const PREFIX: &str = "scrub-";
const COMPLETE: &str = "complete";
/// The file whose lock says that a process uses the data folder.
const LOCK: &str = "helenus.lock";
/// A table's folder lies so many folders below the data folder, itself included.
const DEPTH: usize = 4;

/// A folder that is scrubbed.
pub(crate) struct Place {
    runtime: Runtime,
    folder: PathBuf,
    snapshot: PathBuf,
    /// Held so that no node begins to run on the files.
    _lock: Option<FileLock>,
}

impl Place {
    /// Makes sure that no node runs there, and ends what an earlier run began.
    pub(crate) async fn take(runtime: &Runtime, folder: &Path) -> Result<Place, ToolError> {
        let folder = std::path::absolute(folder).map_err(ToolError::read(folder))?;
        let mut lock = None;
        for above in folder.ancestors().take(DEPTH) {
            let path = above.join(LOCK);
            if runtime.exists(&path).await.map_err(ToolError::read(&path))? {
                let locked = runtime.lock_file(&path).await.map_err(ToolError::read(&path))?;
                lock = Some(locked.ok_or(ToolError::InUse { path })?);
                break;
            }
        }
        let tag = format!("pre-scrub-{}", runtime.wall_clock_micros() / 1000);
        let snapshot = folder.join("snapshots").join(tag);
        let place = Place { runtime: runtime.clone(), folder, snapshot, _lock: lock };
        place.end_earlier().await?;
        Ok(place)
    }

    /// Where the damaged ones are kept.
    pub(crate) fn snapshot(&self) -> &Path {
        &self.snapshot
    }

    fn beside(&self, descriptor: &Descriptor) -> PathBuf {
        self.folder.join(format!("{PREFIX}{descriptor}"))
    }

    async fn end_earlier(&self) -> Result<(), ToolError> {
        let entries = self.runtime.read_dir(&self.folder).await.map_err(ToolError::read(&self.folder))?;
        for entry in entries.into_iter().filter(|entry| entry.is_dir) {
            let name = entry.name.strip_prefix(PREFIX).map(|name| format!("{name}-{}", Component::Data.name()));
            let Some((descriptor, _)) = name.as_deref().and_then(Descriptor::parse) else { continue };
            let complete = self.beside(&descriptor).join(COMPLETE);
            if self.runtime.exists(&complete).await.map_err(ToolError::read(&complete))? {
                self.put_in_place(&descriptor).await?;
            } else {
                self.give_up(&descriptor).await?;
            }
        }
        Ok(())
    }

    /// An empty folder for the new one.
    pub(crate) async fn prepare(&self, descriptor: &Descriptor) -> Result<PathBuf, ToolError> {
        self.give_up(descriptor).await?;
        let beside = self.beside(descriptor);
        self.runtime.create_dir_all(&beside).await.map_err(ToolError::place(&beside))?;
        self.sync(&self.folder).await?;
        Ok(beside)
    }

    /// Removes what was begun.
    pub(crate) async fn give_up(&self, descriptor: &Descriptor) -> Result<(), ToolError> {
        let beside = self.beside(descriptor);
        match self.runtime.remove_dir_all(&beside).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result.map_err(ToolError::place(&beside)),
        }
    }

    /// The new one is whole: it takes the damaged one's place, which is kept in the snapshot.
    pub(crate) async fn replace(&self, files: &Files) -> Result<(), ToolError> {
        self.runtime.create_dir_all(&self.snapshot).await.map_err(ToolError::place(&self.snapshot))?;
        for component in Component::ALL {
            let (from, to) = (files.path(component), self.snapshot.join(files.descriptor.file_name(component)));
            match self.runtime.link(&from, &to).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => result.map_err(ToolError::place(&to))?,
            }
        }
        self.sync(&self.snapshot).await?;
        for above in self.snapshot.ancestors().skip(1).take(2) {
            self.sync(above).await?;
        }
        let beside = self.beside(&files.descriptor);
        let mut list = String::new();
        for component in Component::ALL {
            let path = beside.join(files.descriptor.file_name(component));
            if self.runtime.exists(&path).await.map_err(ToolError::read(&path))? {
                list += component.name();
                list += "\n";
            }
        }
        let (complete, new) = (beside.join(COMPLETE), beside.join(format!("{COMPLETE}.new")));
        let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        let file = self.runtime.open(&new, options).await.map_err(ToolError::place(&new))?;
        file.write_at(AlignedBuf::from(list.as_bytes()), 0).await.0.map_err(ToolError::place(&new))?;
        file.sync_all().await.map_err(ToolError::place(&new))?;
        self.runtime.rename(&new, &complete).await.map_err(ToolError::place(&complete))?;
        self.sync(&beside).await?;
        self.put_in_place(&files.descriptor).await
    }

    /// Moves the components of a whole one. Each step may be done again.
    async fn put_in_place(&self, descriptor: &Descriptor) -> Result<(), ToolError> {
        let beside = self.beside(descriptor);
        let complete = beside.join(COMPLETE);
        let list = self.runtime.read_file(&complete).await.map_err(ToolError::read(&complete))?;
        let list = String::from_utf8_lossy(&list).into_owned();
        for component in Component::ALL {
            let name = descriptor.file_name(component);
            let (new, old) = (beside.join(&name), self.folder.join(&name));
            let moved = if list.lines().any(|listed| listed == component.name()) {
                self.runtime.rename(&new, &old).await
            } else {
                self.runtime.remove_file(&old).await
            };
            match moved {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => result.map_err(ToolError::place(&old))?,
            }
        }
        self.sync(&self.folder).await?;
        self.give_up(descriptor).await
    }

    async fn sync(&self, folder: &Path) -> Result<(), ToolError> {
        self.runtime.sync_dir(folder).await.map_err(ToolError::place(folder))
    }
}
