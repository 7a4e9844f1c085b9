//! A shard's folder of segments: making them, naming them, giving old ones a second life.
//!
//! A segment appears under its name only when its head is on the disk: before that its name ends in `.new`, which a
//! start removes.

use std::io;
use std::path::{Path, PathBuf};

use planted::{Bug, Planted};
use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use crate::commitlog::format::{BLOCK, SegmentHead};
use crate::space::{self, DiskReservation};

/// Zeros are written in pieces of this size, so that other writes get between.
const FILL_BYTES: usize = 256 << 10;

/// The folder of all shards' folders.
pub fn log_folder(data: &Path) -> PathBuf {
    data.join("commitlog")
}

/// A shard's folder below the data folder.
pub fn shard_folder(data: &Path, shard: u16) -> PathBuf {
    log_folder(data).join(format!("shard-{shard}"))
}

/// The folders of all shards there ever were.
pub async fn shard_folders(runtime: &Runtime, data: &Path) -> io::Result<Vec<u16>> {
    let folders = runtime.read_dir(&log_folder(data)).await?.into_iter().filter(|folder| folder.is_dir);
    Ok(folders.filter_map(|folder| folder.name.strip_prefix("shard-")?.parse().ok()).collect())
}

/// A segment's file.
pub fn segment_path(folder: &Path, segment: u64) -> PathBuf {
    folder.join(format!("{segment:016x}.log"))
}

/// The id in a segment's file name.
pub fn segment_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    if digits.len() == 16 { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// Whether a file of this name is a segment that was never finished or waits for its next use.
pub fn is_leftover(name: &str) -> bool {
    name.ends_with(".new") || name.ends_with(".spare")
}

/// What a damaged segment is called when its readable records were logged anew at this boot: nobody reads it, for a person to look
/// at. With the boot, since the ids of segments that are gone may come again.
pub fn damaged_path(segment: &Path, boot: u64) -> PathBuf {
    segment.with_extension(format!("{boot}.damaged"))
}

/// Opens a file past the page cache where the file system lets us.
pub async fn open_direct(runtime: &Runtime, path: &Path, options: OpenOptions) -> io::Result<File> {
    match runtime.open(path, OpenOptions { direct: true, ..options }).await {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => runtime.open(path, options).await,
        other => other,
    }
}

/// Whether a failure means that there is no room.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Makes segments in one folder.
#[derive(Clone)]
pub struct Folder {
    /// The runtime.
    pub runtime: Runtime,
    /// The folder.
    pub path: PathBuf,
    /// The size of a segment.
    pub segment_bytes: u64,
    /// What of the disk is kept; see [`crate::space`].
    pub disk_reserve: u64,
    /// Whether each write waits for the disk.
    pub dsync: bool,
    /// A bug planted on purpose.
    pub planted: Planted,
}

impl Folder {
    /// Makes the segment of `head`, ready for groups. From `spare`, a file of an earlier segment, if there is one; else
    /// a new file, which `fill` has filled with zeros first: writing over zeros is faster than growing a file.
    pub async fn make(&self, head: &SegmentHead, spare: Option<PathBuf>, fill: bool) -> io::Result<File> {
        let making = self.path.join(format!("{:016x}.new", head.segment));
        let is_spare = spare.is_some();
        if let Some(spare) = spare {
            self.runtime.rename(&spare, &making).await?;
        }
        let result = self.make_at(head, &making, !is_spare, fill).await;
        if result.is_err() {
            // What was taken of a full disk is given back; the file is of no use to anyone.
            let _ = self.runtime.remove_file(&making).await;
        }
        result
    }

    /// Fails as a full disk does when a segment may not take so many bytes more.
    pub async fn require(&self, bytes: u64) -> io::Result<()> {
        space::require(&self.runtime, &self.path, self.disk_reserve, DiskReservation::CommitLog, bytes).await
    }

    async fn make_at(&self, head: &SegmentHead, making: &Path, is_new: bool, fill: bool) -> io::Result<File> {
        let options = OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() };
        let file = open_direct(&self.runtime, making, options).await?;
        // Also one that was used before: a start cuts old segments to what counts, and a group must not be the first to find that
        // there is no room.
        file.allocate(0, self.segment_bytes).await?;
        if is_new && fill {
            self.fill(&file).await?;
        }
        if is_new || !self.planted.is(Bug::SegmentHeadNotWritten) {
            let mut block = AlignedBuf::with_capacity(BLOCK);
            block.extend_from_slice(&head.encode());
            block.resize(BLOCK, 0);
            file.write_at(block, 0).await.0?;
        }
        file.sync_all().await?;
        let path = segment_path(&self.path, head.segment);
        self.runtime.rename(making, &path).await?;
        if !self.planted.is(Bug::FolderNotSynced) {
            self.runtime.sync_dir(&self.path).await?;
        }
        let options = OpenOptions { write: true, dsync: self.dsync, ..OpenOptions::default() };
        open_direct(&self.runtime, &path, options).await
    }

    async fn fill(&self, file: &File) -> io::Result<()> {
        let mut zeros = AlignedBuf::zeroed(FILL_BYTES);
        let mut offset = 0;
        while offset < self.segment_bytes {
            let length = (self.segment_bytes - offset).min(FILL_BYTES as u64);
            zeros.resize(length as usize, 0);
            let (result, buffer) = file.write_at(zeros, offset).await;
            result?;
            zeros = buffer;
            offset += length;
            self.runtime.maybe_yield().await;
        }
        Ok(())
    }

    /// Puts a segment that nobody needs aside for its next use. Gives its path.
    pub async fn put_aside(&self, segment: u64) -> io::Result<PathBuf> {
        let spare = self.path.join(format!("{segment:016x}.spare"));
        self.runtime.rename(&segment_path(&self.path, segment), &spare).await?;
        Ok(spare)
    }

    /// Removes a segment that nobody needs.
    pub async fn remove(&self, segment: u64) -> io::Result<()> {
        self.runtime.remove_file(&segment_path(&self.path, segment)).await
    }
}
