//! The metadata log as a whole file: read, and written again under another name first.

use std::path::{Path, PathBuf};

use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use super::history::History;
use super::layout::{self, BLOCK, Found};
use super::record::Record;
use crate::cluster::Domains;
use crate::error::{MetadataError, io_error, too_large};

/// The log's name in the data folder.
const FILE_NAME: &str = "metadata.log";
/// The name it has until all of it is on the disk.
const NEW_FILE_NAME: &str = "metadata.log.new";

const READ_BYTES: usize = 1 << 20;

/// Where the log is.
pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join(FILE_NAME)
}

/// Writes a log under its provisional name and syncs it. If that fails, nothing that counts has changed.
pub(super) async fn write_new(rt: &Runtime, dir: &Path, bytes: &[u8], dsync: bool) -> Result<File, MetadataError> {
    let path = dir.join(NEW_FILE_NAME);
    let options = OpenOptions {
        read: true,
        write: true,
        create: true,
        truncate: true,
        dsync,
        is_private: true,
        ..OpenOptions::default()
    };
    let file = rt.open(&path, options).await.map_err(|source| io_error("create", &path, source))?;
    let (result, _) = file.write_at(aligned(bytes), 0).await;
    result.map_err(|source| io_error("write", &path, source))?;
    file.sync_all().await.map_err(|source| io_error("sync", &path, source))?;
    Ok(file)
}

/// Removes what a failed [`write_new`] left, which may take the room that others need.
pub(super) async fn remove_new(rt: &Runtime, dir: &Path) {
    // It may not be there; if it stays, the next one takes its place.
    let _ = rt.remove_file(&dir.join(NEW_FILE_NAME)).await;
}

/// Gives what [`write_new`] wrote the log's name. Until then there is no log or the old one, so that a log without a header is
/// damage, and an interrupted exchange loses nothing. After a failure it is not known which of the two a power cut leaves.
pub(super) async fn put_in_place(rt: &Runtime, dir: &Path) -> Result<(), MetadataError> {
    let new_path = dir.join(NEW_FILE_NAME);
    rt.rename(&new_path, &path_in(dir)).await.map_err(|source| io_error("rename", &new_path, source))?;
    rt.sync_dir(dir).await.map_err(|source| io_error("sync the folder", dir, source))
}

pub(super) async fn open(rt: &Runtime, path: &Path, dsync: bool) -> Result<File, MetadataError> {
    let options = OpenOptions { read: true, write: true, dsync, is_private: true, ..OpenOptions::default() };
    rt.open(path, options).await.map_err(|source| io_error("open", path, source))
}

pub(super) async fn open_to_read(rt: &Runtime, path: &Path) -> Result<File, MetadataError> {
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    rt.open(path, options).await.map_err(|source| io_error("open", path, source))
}

pub(super) async fn read_all(file: &File, path: &Path, bytes_max: u64) -> Result<Vec<u8>, MetadataError> {
    let length = file.len().await.map_err(|source| io_error("read the length of", path, source))?;
    if length > bytes_max {
        return Err(too_large(path, length, bytes_max));
    }
    let mut bytes = Vec::new();
    let mut buffer = AlignedBuf::with_capacity(READ_BYTES);
    loop {
        buffer.clear();
        let (result, returned) = file.read_at(buffer, bytes.len() as u64).await;
        buffer = returned;
        let read = result.map_err(|source| io_error("read", path, source))?;
        if read == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or(&buffer));
    }
}

/// All whole records, and where the next one belongs.
pub(super) fn read_records(bytes: &[u8], path: &Path, domains: &Domains) -> Result<(History, usize), MetadataError> {
    let name = || path.display().to_string();
    match layout::read_file_header(bytes) {
        None | Some(0) => return Err(MetadataError::NotALog { path: name() }),
        Some(layout::FORMAT_VERSION) => {}
        Some(found) => {
            return Err(MetadataError::NewerFormat { path: name(), found, supported: layout::FORMAT_VERSION });
        }
    }
    let mut history = History::new(domains);
    let mut offset = BLOCK;
    loop {
        let found = match layout::find(bytes, offset, history.count()) {
            Found::Record(found) => found,
            Found::End | Found::TornTail => return Ok((history, offset)),
            Found::Damage => {
                let problem = "invalid checksum or number of a record that others follow".to_owned();
                return Err(MetadataError::Damaged { path: name(), offset: offset as u64, problem });
            }
        };
        let pushed = Record::decode(found.payload).and_then(|record| history.push(record));
        pushed.map_err(|error| MetadataError::of_record(path, offset as u64, &error))?;
        offset = found.end;
    }
}

pub(super) fn aligned(bytes: &[u8]) -> AlignedBuf {
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer
}
