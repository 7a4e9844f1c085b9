//! A shard's manifest: which files are live, and what of the commit log is in them.
//!
//! Append-only and synced; see `docs/internals/manifest.md`. What the records mean for tables is the flush's and the start's to know.

mod confirmed;
mod contents;
mod folder;
mod layout;
mod record;

use std::cell::{Cell, RefCell, RefMut};
use std::io;
use std::path::PathBuf;

use runtime::sync::Semaphore;
use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use crate::commitlog::{io_error, open_direct};
use crate::error::OpenError;
use crate::manifest::layout::{BLOCK, Head, Unreadable};

pub use confirmed::{ConfirmedRecord, CopyName};
pub use contents::Contents;
pub use folder::{InForce, Manifests, last_boot};
pub use record::{Destination, FileName, GoneRecord, LiveRecord, Record, ReplacedRecord};

/// A manifest longer than this is written anew, if that halves it.
const CONDENSE_BYTES: u64 = 256 << 10;

/// An append failed. Whether the record is on the disk is not known; the next append writes all anew.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct ManifestError {
    /// The manifest.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// The open manifest of a shard.
pub struct Manifest {
    runtime: Runtime,
    path: PathBuf,
    head: Head,
    /// Held during an append.
    turn: Semaphore,
    contents: RefCell<Contents>,
    /// `None`: what the disk holds is not known, or is to be written anew.
    file: RefCell<Option<File>>,
    /// Where the next record goes, and its number.
    end: Cell<u64>,
    sequence: Cell<u64>,
}

impl Manifest {
    /// A manifest with these contents, of which nothing is on the disk yet.
    fn new(runtime: &Runtime, path: PathBuf, head: Head, contents: Contents) -> Manifest {
        Manifest {
            runtime: runtime.clone(),
            path,
            head,
            turn: Semaphore::new(1),
            contents: RefCell::new(contents),
            file: RefCell::new(None),
            end: Cell::new(0),
            sequence: Cell::new(0),
        }
    }

    /// What it says.
    pub fn contents(&self) -> RefMut<'_, Contents> {
        self.contents.borrow_mut()
    }

    /// Appends a record; it is on the disk when this returns. After an error it may be or not, until the next append.
    pub async fn append(&self, record: Record) -> Result<(), ManifestError> {
        let _turn = self.turn.acquire().await;
        let payload = record.encode();
        let file = self.file.borrow().clone();
        let is_long = self.end.get() > CONDENSE_BYTES
            && self.end.get() / 2 > (self.contents.borrow().record_count() as u64) * layout::RECORD_BYTES as u64;
        match file {
            Some(file) if !is_long => {
                let bytes = aligned(&layout::record_bytes(self.sequence.get(), &payload));
                // Until it is known to be there, it is not known what is.
                self.file.replace(None);
                let (result, bytes) = file.write_at(bytes, self.end.get()).await;
                result.map_err(|source| self.error(source))?;
                // The file is open for synced writes; where the file system has none, this syncs.
                file.sync_data().await.map_err(|source| self.error(source))?;
                self.end.set(self.end.get() + bytes.len() as u64);
                self.sequence.set(self.sequence.get() + 1);
                self.file.replace(Some(file));
            }
            _ => {
                let mut contents = self.contents.borrow().clone();
                contents.apply(record.clone());
                self.write_anew(&contents).await?;
            }
        }
        self.contents.borrow_mut().apply(record);
        Ok(())
    }

    /// Writes the manifest anew, as short as it can be.
    pub async fn compact(&self) -> Result<(), ManifestError> {
        let _turn = self.turn.acquire().await;
        let contents = self.contents.borrow().clone();
        self.write_anew(&contents).await
    }

    async fn write_anew(&self, contents: &Contents) -> Result<(), ManifestError> {
        stdx::sometimes!("manifest written anew");
        let payloads = contents.records().map(|record| record.encode());
        let written = folder::write_whole(&self.runtime, &self.path, self.head, payloads).await;
        let end = written.map_err(|source| self.error(source))?;
        let options = OpenOptions { write: true, dsync: true, ..OpenOptions::default() };
        let file = open_direct(&self.runtime, &self.path, options).await.map_err(|source| self.error(source))?;
        self.end.set(end);
        self.sequence.set(contents.record_count() as u64);
        self.file.replace(Some(file));
        Ok(())
    }

    fn error(&self, source: io::Error) -> ManifestError {
        // The next append writes all anew.
        self.file.replace(None);
        ManifestError { path: self.path.clone(), source }
    }
}

/// A manifest as it lies on the disk, to be looked at.
pub struct FoundManifest {
    /// What it says.
    pub contents: Contents,
    /// Whether it is to be written anew before anything is appended.
    is_worn: bool,
    end: u64,
    sequence: u64,
}

/// Reads the manifest at `path`, which must be that of `head`.
async fn read(runtime: &Runtime, path: &std::path::Path, head: Head) -> Result<FoundManifest, OpenError> {
    let bytes = runtime.read_file(path).await.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => OpenError::MissingManifest { path: path.to_owned() },
        _ => io_error(path)(source),
    })?;
    let corrupt =
        |offset: usize, what: String| OpenError::DamagedManifest { path: path.to_owned(), offset: offset as u64, what };
    let found = layout::read(&bytes).map_err(|error| match error {
        Unreadable::Newer(found) => OpenError::NewerManifest { path: path.to_owned(), found, known: layout::VERSION },
        Unreadable::Damaged { at, what } => corrupt(at, what.to_owned()),
    })?;
    if found.head != head {
        let Head { shard, shard_count } = found.head;
        return Err(corrupt(0, format!("the manifest belongs to shard {shard} of {shard_count}")));
    }
    let mut contents = Contents::default();
    let sequence = found.payloads.len() as u64;
    for (payload, place) in found.payloads.iter().zip(1usize..) {
        let record = Record::decode(payload).map_err(|what| corrupt(place * layout::RECORD_BYTES, what))?;
        contents.apply(record);
    }
    if found.is_worn {
        stdx::sometimes!("worn manifest");
        tracing::warn!(path = %path.display(), "manifest partly unreadable, all records recovered from their copies; rewriting it");
    }
    let end = layout::RECORD_BYTES as u64 * (1 + sequence);
    Ok(FoundManifest { contents, is_worn: found.is_worn, end, sequence })
}

fn aligned(bytes: &[u8]) -> AlignedBuf {
    assert!(bytes.len().is_multiple_of(BLOCK), "blocks are written whole");
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer
}
