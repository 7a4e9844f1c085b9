//! The segments on the disk at a start, what their heads say, and whether all are there that must be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planted::Planted;
use runtime::Runtime;

use crate::commitlog::folder::{damaged_path, is_leftover, log_folder, segment_of_name, shard_folder, shard_folders};
use crate::commitlog::format::{self, BLOCK, GroupHead, HeadError, SegmentHead, VERSION};
use crate::commitlog::replay::{WINDOW_BYTES, Window, io_error};
use crate::commitlog::segment_list::{Listed, ListedSegment, SegmentList, shards_listed};
use crate::error::OpenError;
use crate::options::StorageOptions;

/// A segment on the disk.
#[derive(Debug, Clone)]
pub struct FoundSegment {
    /// Its file.
    pub path: PathBuf,
    /// The shard in whose folder it lies.
    pub folder_shard: u16,
    /// Its head.
    pub head: SegmentHead,
    /// Bytes in the file.
    pub length: u64,
    /// Its entry in the list of segments, where there is one.
    pub listed: Option<ListedSegment>,
}

/// The first block of a file with a segment's name, as it was read.
enum FirstBlock {
    /// Nothing, and nothing follows.
    Blank,
    /// Fewer bytes than a head has.
    Short,
    /// It is a segment that was let go, and was being made into one with a greater id when the power went: the disk has the new
    /// head, and not the new name.
    Spare,
    Segment(SegmentHead),
}

/// All segments under the data folder, of all shards there ever were, by folder and id. Removes what was never
/// finished. Refuses when segments are missing that must be there; with `salvage`, says so, and puts segments whose heads cannot be
/// read aside.
pub async fn find_segments(
    runtime: &Runtime,
    options: &StorageOptions,
    shard_count: u16,
) -> Result<Vec<FoundSegment>, OpenError> {
    let own_shard = runtime.shard().0;
    let data = &options.dir;
    let mut shards = shard_folders(runtime, data).await.map_err(io_error(&log_folder(data)))?;
    shards.extend(shards_listed(runtime, data).await?);
    shards.sort_unstable();
    shards.dedup();
    let mut found = Vec::new();
    for shard in shards {
        let mut folder = FolderOfSegments {
            runtime,
            options,
            path: shard_folder(data, shard),
            shard,
            is_own: shard == own_shard,
            // In every folder one shard clears up.
            is_in_care: shard == own_shard || (own_shard == 0 && shard >= shard_count),
            listed: None,
            newest: None,
        };
        found.extend(folder.look().await?);
    }
    found.sort_by_key(|segment| (segment.folder_shard, segment.head.segment));
    Ok(found)
}

/// One shard's folder of segments at a start.
struct FolderOfSegments<'o> {
    runtime: &'o Runtime,
    options: &'o StorageOptions,
    path: PathBuf,
    shard: u16,
    is_own: bool,
    is_in_care: bool,
    /// Which segments must be there, if the folder is in this shard's care.
    listed: Option<Listed>,
    newest: Option<u64>,
}

impl FolderOfSegments<'_> {
    async fn look(&mut self) -> Result<Vec<FoundSegment>, OpenError> {
        if self.is_in_care {
            self.listed = SegmentList::open(self.runtime, &self.options.dir, self.shard).await?.listed();
        }
        let files = match self.runtime.read_dir(&self.path).await {
            // There is a list of it alone.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            files => files.map_err(io_error(&self.path))?,
        };
        let ids: BTreeSet<u64> = files.iter().filter_map(|file| segment_of_name(&file.name)).collect();
        self.newest = ids.last().copied();
        self.check_that_all_are_there(&ids)?;
        let mut found = Vec::new();
        for file in files {
            let path = self.path.join(&file.name);
            if is_leftover(&file.name) && self.is_in_care {
                self.runtime.remove_file(&path).await.map_err(io_error(&path))?;
            }
            let Some(segment) = segment_of_name(&file.name) else { continue };
            let head = match self.read_head(&path, segment, file.len).await {
                // Another shard is open already and has put away what nobody needs. What this shard must read stays until
                // all are open.
                Err(error) if !self.is_own && error.is_not_found() => continue,
                Err(error @ OpenError::Corrupt { .. }) if self.options.salvage => {
                    // One shard moves it; the others pass it over.
                    if self.is_in_care {
                        tracing::error!(
                            %error, lost = self.loss_of(segment),
                            "commit log segment lost; setting it aside and starting without it"
                        );
                        self.put_aside(&path).await?;
                    }
                    continue;
                }
                head => head?,
            };
            if let Some(head) = head {
                let listed = self.listed_segment(segment).copied();
                found.push(FoundSegment { path, folder_shard: self.shard, head, length: file.len, listed });
            }
        }
        Ok(found)
    }

    fn listed_segment(&self, segment: u64) -> Option<&ListedSegment> {
        self.listed.as_ref()?.segments.iter().find(|listed| listed.segment == segment)
    }

    /// How much is lost with a segment, as far as it is known.
    fn loss_of(&self, segment: u64) -> String {
        match (&self.listed, self.listed_segment(segment)) {
            (Some(listed), Some(segment)) => listed.loss(segment),
            _ => "all records in it".to_owned(),
        }
    }

    fn check_that_all_are_there(&self, ids: &BTreeSet<u64>) -> Result<(), OpenError> {
        let Some(listed) = &self.listed else { return Ok(()) };
        let missing: Vec<&ListedSegment> = listed.segments.iter().filter(|one| !ids.contains(&one.segment)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let lost: Vec<String> =
            missing.iter().map(|one| format!("{:016x}.log ({})", one.segment, listed.loss(one))).collect();
        let (count, lost) = (lost.len(), lost.join(", "));
        let error = OpenError::MissingSegments { folder: self.path.clone(), count, lost };
        if !self.options.salvage {
            return Err(error);
        }
        tracing::error!(%error, "commit log segments missing; starting without them, their records are lost");
        Ok(())
    }

    /// The segment need not be there any more: a start that is interrupted after its file is gone does not miss it.
    async fn unlist(&self, segment: u64) -> Result<(), OpenError> {
        let Some(listed) = &self.listed else { return Ok(()) };
        let others = listed.segments.iter().filter(|other| other.segment != segment).copied().collect();
        let list = SegmentList::open(self.runtime, &self.options.dir, self.shard).await?;
        let written = list.write(|| Listed { segments: others, ..listed.clone() }).await;
        written.map_err(io_error(&self.path))
    }

    async fn put_aside(&self, path: &Path) -> Result<(), OpenError> {
        self.runtime.rename(path, &damaged_path(path, self.options.boot)).await.map_err(io_error(path))
    }

    /// The segment's head; `None` where there is nothing to read.
    async fn read_head(&self, path: &Path, segment: u64, length: u64) -> Result<Option<SegmentHead>, OpenError> {
        let damage = |what: String| {
            let what = format!("{what}; lost: {}", self.loss_of(segment));
            Err(OpenError::Corrupt { path: path.to_owned(), offset: 0, what })
        };
        let is_newest = self.newest == Some(segment);
        let is_listed = self.listed_segment(segment).is_some();
        match read_first_block(self.runtime, path, segment, self.options.planted).await? {
            FirstBlock::Segment(head) if head.shard != self.shard => damage(format!(
                "the segment belongs to shard {}, but is in the directory of shard {}",
                head.shard, self.shard
            )),
            FirstBlock::Segment(head) => match self.listed_segment(segment) {
                Some(listed) if listed.boot != head.boot => {
                    damage(format!("the segment is of boot {}, expected one of boot {}", head.boot, listed.boot))
                }
                _ => Ok(Some(head)),
            },
            FirstBlock::Short if is_newest => self.leave_out_newest(path, segment, length).await,
            FirstBlock::Blank if is_newest && is_listed => self.leave_out_newest(path, segment, length).await,
            FirstBlock::Short => damage(format!("the segment is {length} bytes long and its header is unreadable")),
            FirstBlock::Blank if is_listed => {
                damage("the segment's header is blank, and no group follows it".to_owned())
            }
            FirstBlock::Blank => {
                tracing::warn!(path = %path.display(), "commit log segment is empty; skipping it");
                Ok(None)
            }
            FirstBlock::Spare => {
                stdx::sometimes!("spare under its earlier name");
                if self.is_in_care {
                    self.runtime.remove_file(path).await.map_err(io_error(path))?;
                }
                Ok(None)
            }
        }
    }

    /// The newest segment has no head. As Cassandra does, the start goes on: an interrupted file system may leave such a file where
    /// nothing was written yet. It goes out of the way of the next segment, which has its id.
    async fn leave_out_newest<T>(&self, path: &Path, segment: u64, length: u64) -> Result<Option<T>, OpenError> {
        if !self.is_in_care {
            return Ok(None);
        }
        tracing::error!(
            path = %path.display(), length, lost = self.loss_of(segment),
            "newest commit log segment has no content; skipping it, records written to it are lost"
        );
        self.unlist(segment).await?;
        match length {
            0 => self.runtime.remove_file(path).await.map_err(io_error(path))?,
            _ => self.put_aside(path).await?,
        }
        Ok(None)
    }
}

async fn read_first_block(
    runtime: &Runtime,
    path: &Path,
    segment: u64,
    planted: Planted,
) -> Result<FirstBlock, OpenError> {
    let damage = |what: String| Err(OpenError::Corrupt { path: path.to_owned(), offset: 0, what });
    let mut window = Window::open(runtime, path, 2 * BLOCK).await?;
    let block = window.at(0, BLOCK).await?;
    if block.len() < format::SEGMENT_HEAD {
        return Ok(FirstBlock::Short);
    }
    let head = match SegmentHead::decode(block) {
        Ok(head) => head,
        // A head is on the disk before its file has its name, so these zeros are not what was written.
        Err(HeadError::Blank) if holds_groups(runtime, path).await? => {
            return damage("the segment's header is blank, but groups follow it".to_owned());
        }
        Err(HeadError::Blank) => return Ok(FirstBlock::Blank),
        Err(HeadError::Newer(found)) => {
            return Err(OpenError::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        Err(HeadError::Damaged) => return damage("the segment's header is damaged".to_owned()),
    };
    if head.segment == segment {
        return Ok(FirstBlock::Segment(head));
    }
    // Groups follow a head only when the disk has the name.
    let group = GroupHead::decode(window.at(BLOCK as u64, BLOCK).await?, head.salt, head.segment, planted);
    if head.segment > segment && group.is_none() {
        return Ok(FirstBlock::Spare);
    }
    damage(format!("the segment's header names segment {:016x}", head.segment))
}

/// The greatest boot that a segment's head names; 0: there is none.
pub async fn last_boot(runtime: &Runtime, data: &Path) -> Result<u64, OpenError> {
    let folder = log_folder(data);
    if !runtime.exists(&folder).await.map_err(io_error(&folder))? {
        return Ok(0);
    }
    let mut last = 0;
    for shard in shard_folders(runtime, data).await.map_err(io_error(&folder))? {
        let path = shard_folder(data, shard);
        for file in runtime.read_dir(&path).await.map_err(io_error(&path))? {
            if segment_of_name(&file.name).is_none() || file.is_dir {
                continue;
            }
            let mut window = Window::open(runtime, &path.join(&file.name), BLOCK).await?;
            if let Ok(head) = SegmentHead::decode(window.at(0, BLOCK).await?) {
                last = last.max(head.boot);
            }
        }
    }
    Ok(last)
}

/// True if anything in a segment without a head begins as a group does.
async fn holds_groups(runtime: &Runtime, path: &Path) -> Result<bool, OpenError> {
    let mut window = Window::open(runtime, path, WINDOW_BYTES).await?;
    let mut offset = BLOCK as u64;
    loop {
        let block = window.at(offset, BLOCK).await?;
        if block.is_empty() {
            return Ok(false);
        }
        if format::begins_as_group(block) {
            return Ok(true);
        }
        offset += BLOCK as u64;
        runtime.maybe_yield().await;
    }
}
