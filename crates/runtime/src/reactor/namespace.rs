//! Work on names: what a worker does with the file system. As data, not as closures, so that a simulated
//! reactor can do the same with its own disk.
// This is what the ban on these calls elsewhere leads to.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::descriptor::Descriptor;
use crate::file::OpenOptions;
use crate::namespace::DirEntry;
use crate::sys;

/// What to do.
pub(crate) enum NamespaceCall {
    Open { path: PathBuf, options: OpenOptions },
    CreateDirAll { path: PathBuf },
    ReadDir { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
    Link { from: PathBuf, to: PathBuf },
    RemoveFile { path: PathBuf },
    RemoveDirAll { path: PathBuf },
    SyncDir { path: PathBuf },
    Exists { path: PathBuf },
    Lock { path: PathBuf },
    ReadFile { path: PathBuf, bytes_max: u64 },
    FreeBytes { path: PathBuf },
}

/// What came of it.
pub(crate) enum NamespaceReply {
    Done,
    Opened(Descriptor),
    Entries(Vec<DirEntry>),
    Exists(bool),
    Locked(Option<Descriptor>),
    Bytes(Vec<u8>),
    FreeBytes(u64),
}

impl NamespaceCall {
    /// Does it, waiting as long as the disk takes.
    pub(super) fn run(self) -> io::Result<NamespaceReply> {
        let done = NamespaceReply::Done;
        match self {
            NamespaceCall::Open { path, options } => open(&path, options).map(NamespaceReply::Opened),
            NamespaceCall::CreateDirAll { path } => fs::create_dir_all(path).map(|()| done),
            NamespaceCall::ReadDir { path } => read_dir(&path).map(NamespaceReply::Entries),
            NamespaceCall::Rename { from, to } => fs::rename(from, to).map(|()| done),
            NamespaceCall::Link { from, to } => fs::hard_link(from, to).map(|()| done),
            NamespaceCall::RemoveFile { path } => fs::remove_file(path).map(|()| done),
            NamespaceCall::RemoveDirAll { path } => fs::remove_dir_all(path).map(|()| done),
            NamespaceCall::SyncDir { path } => fs::File::open(path)?.sync_all().map(|()| done),
            NamespaceCall::Exists { path } => path.try_exists().map(NamespaceReply::Exists),
            NamespaceCall::Lock { path } => lock(&path).map(NamespaceReply::Locked),
            NamespaceCall::ReadFile { path, bytes_max } => read_file(&path, bytes_max).map(NamespaceReply::Bytes),
            NamespaceCall::FreeBytes { path } => sys::disk::free_bytes(&path).map(NamespaceReply::FreeBytes),
        }
    }
}

/// Modes of new files; of the usual one the process's mask takes bits.
const USUAL: u32 = 0o666;
const PRIVATE: u32 = 0o600;

fn open(path: &Path, options: OpenOptions) -> io::Result<Descriptor> {
    let mut flags = 0;
    if options.direct {
        flags |= sys::disk::DIRECT;
    }
    if options.dsync {
        flags |= sys::disk::DSYNC;
    }
    let file = fs::OpenOptions::new()
        .read(options.read)
        .write(options.write)
        .create(options.create)
        .create_new(options.create_new)
        .truncate(options.truncate)
        .custom_flags(flags)
        .mode(if options.is_private { PRIVATE } else { USUAL })
        .open(path)?;
    if options.is_private && file.metadata()?.permissions().mode() & 0o777 != PRIVATE {
        // It was there before, or the process has another mask.
        file.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    }
    Ok(Descriptor::from(OwnedFd::from(file)))
}

fn read_dir(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // Removed since the listing began.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let is_dir = metadata.is_dir();
        entries.push(DirEntry { name, is_dir, len: if is_dir { 0 } else { metadata.len() } });
    }
    entries.sort();
    Ok(entries)
}

fn lock(path: &Path) -> io::Result<Option<Descriptor>> {
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Descriptor::from(OwnedFd::from(file)))),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // A named pipe is opened without waiting for its writer.
    let file = fs::OpenOptions::new().read(true).custom_flags(sys::disk::NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("the file is larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}
