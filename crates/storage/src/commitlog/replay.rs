//! Reading segments back at the start.
//!
//! The segments of one shard and one boot are one stream of groups. It may end in a group that was being written when
//! the power went, which is dropped: nobody was told that it is safe. Damage is anything else: a group that cannot be
//! read although a later one says, in its head, that the disk had it. Then nothing is opened; see the page for the way
//! out.

use std::path::{Path, PathBuf};

use planted::{Bug, Planted};
use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use crate::commitlog::folder::{
    damaged_path, is_leftover, log_folder, open_direct, segment_of_name, shard_folder, shard_folders,
};
use crate::commitlog::format::{self, BLOCK, GROUP_HEAD, GroupHead, HeadError, Records, SegmentHead, VERSION, records};
use crate::error::OpenError;
use crate::options::StorageOptions;

/// How much is read at once.
const WINDOW_BYTES: usize = 1 << 20;

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
}

/// What the first block of a file with a segment's name says.
enum FirstBlock {
    /// Nothing, and nothing follows.
    Blank,
    /// It is a segment that was let go, and was being made into one with a greater id when the power went: the disk has the new
    /// head, and not the new name.
    Spare,
    Segment(SegmentHead),
}

/// All segments under the data folder, of all shards there ever were, by folder and id. Removes what was never
/// finished. With `salvage`, puts segments whose heads cannot be read aside.
pub async fn find_segments(
    runtime: &Runtime,
    options: &StorageOptions,
    shard_count: u16,
) -> Result<Vec<FoundSegment>, OpenError> {
    let own_shard = runtime.shard().0;
    let data = &options.dir;
    let mut found = Vec::new();
    for shard in shard_folders(runtime, data).await.map_err(io_error(&log_folder(data)))? {
        let path = shard_folder(data, shard);
        let is_own = shard == own_shard;
        // In every folder one shard clears up.
        let is_in_care = is_own || (own_shard == 0 && shard >= shard_count);
        for file in runtime.read_dir(&path).await.map_err(io_error(&path))? {
            let path = path.join(&file.name);
            if is_leftover(&file.name) && is_in_care {
                runtime.remove_file(&path).await.map_err(io_error(&path))?;
            }
            let Some(segment) = segment_of_name(&file.name) else { continue };
            let head = match read_first_block(runtime, &path, segment, options.planted).await {
                // Another shard is open already and has put away what nobody needs. What this shard must read stays until
                // all are open.
                Err(error) if !is_own && error.is_not_found() => continue,
                Err(error @ OpenError::Corrupt { .. }) if options.salvage => {
                    // One shard moves it; the others pass it over.
                    if is_in_care {
                        tracing::error!(%error, "a commit log segment is lost, and put aside");
                        runtime.rename(&path, &damaged_path(&path, options.boot)).await.map_err(io_error(&path))?;
                    }
                    continue;
                }
                Err(error) => return Err(error),
                Ok(FirstBlock::Segment(head)) => head,
                Ok(FirstBlock::Blank) => {
                    tracing::warn!(path = %path.display(), "a commit log segment without any content is left out");
                    continue;
                }
                Ok(FirstBlock::Spare) => {
                    stdx::sometimes!("spare under its earlier name");
                    if is_in_care {
                        runtime.remove_file(&path).await.map_err(io_error(&path))?;
                    }
                    continue;
                }
            };
            found.push(FoundSegment { path, folder_shard: shard, head, length: file.len });
        }
    }
    found.sort_by_key(|segment| (segment.folder_shard, segment.head.segment));
    Ok(found)
}

async fn read_first_block(
    runtime: &Runtime,
    path: &Path,
    segment: u64,
    planted: Planted,
) -> Result<FirstBlock, OpenError> {
    let damage = |what: String| Err(OpenError::Corrupt { path: path.to_owned(), offset: 0, what });
    let mut window = Window::open(runtime, path, 2 * BLOCK).await?;
    let head = match SegmentHead::decode(window.at(0, BLOCK).await?) {
        Ok(head) => head,
        // A head is on the disk before its file has its name, so these zeros are not what was written.
        Err(HeadError::Blank) if holds_groups(runtime, path).await? => {
            return damage("the segment's head is gone, and groups follow it".to_owned());
        }
        Err(HeadError::Blank) => return Ok(FirstBlock::Blank),
        Err(HeadError::Newer(found)) => {
            return Err(OpenError::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        Err(HeadError::Damaged) => return damage("the segment's head cannot be read".to_owned()),
    };
    if head.segment == segment {
        return Ok(FirstBlock::Segment(head));
    }
    // Groups follow a head only when the disk has the name.
    let group = GroupHead::decode(window.at(BLOCK as u64, BLOCK).await?, head.salt, head.segment, planted);
    if head.segment > segment && group.is_none() {
        return Ok(FirstBlock::Spare);
    }
    damage(format!("the segment's head is that of segment {:016x}", head.segment))
}

/// Whether anything in a segment without a head begins as a group does.
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

/// Cuts segments, sorted by folder and id, into those of one folder and one boot.
pub fn streams(segments: Vec<FoundSegment>) -> Vec<Vec<FoundSegment>> {
    let mut streams: Vec<Vec<FoundSegment>> = Vec::new();
    for segment in segments {
        let place = |segment: &FoundSegment| (segment.folder_shard, segment.head.boot, segment.head.shard_count);
        match streams.last_mut() {
            Some(stream) if place(&stream[0]) == place(&segment) => stream.push(segment),
            _ => streams.push(vec![segment]),
        }
    }
    streams
}

/// Reads the groups of one shard and boot.
pub struct SegmentStream<'s> {
    runtime: Runtime,
    segments: &'s [FoundSegment],
    index: usize,
    window: Option<Window>,
    offset: u64,
    /// The sequence that the next group must have, once one was read.
    expected: Option<u64>,
    /// For each segment where its groups end; 0: none of it counts.
    ends: Vec<u64>,
    planted: Planted,
    /// Whether what cannot be read is passed over.
    salvage: bool,
    /// With `salvage`: which segments are damaged, and the sequence from which on something is lost.
    damaged: Vec<usize>,
    lost_from: Option<u64>,
}

/// A group that was checked.
pub struct FoundGroup<'w> {
    /// The segment it is in.
    pub segment: &'w FoundSegment,
    /// The sequence behind its last record.
    pub end: u64,
    sequence: u64,
    payload: &'w [u8],
    planted: Planted,
}

impl<'w> FoundGroup<'w> {
    /// Its records, each with the sequence before it.
    pub fn records(&self) -> Records<'w> {
        records(self.segment.head.salt, self.sequence, self.payload, self.planted)
    }
}

/// What stands where a group is looked for.
enum Next {
    Group(GroupHead),
    /// The segment's groups end here.
    End,
    Broken(&'static str),
}

impl<'s> SegmentStream<'s> {
    /// The groups of `segments`, which are of one folder and one boot, by id.
    pub fn new(runtime: &Runtime, segments: &'s [FoundSegment], options: &StorageOptions) -> Self {
        SegmentStream {
            runtime: runtime.clone(),
            segments,
            index: 0,
            window: None,
            offset: BLOCK as u64,
            expected: None,
            ends: vec![0; segments.len()],
            planted: options.planted,
            salvage: options.salvage,
            damaged: Vec::new(),
            lost_from: None,
        }
    }

    /// The next group; `None` at the end. A torn end is dropped.
    pub async fn next(&mut self) -> Result<Option<FoundGroup<'_>>, OpenError> {
        let head = loop {
            let Some(segment) = self.segments.get(self.index) else { return Ok(None) };
            match self.look().await? {
                Next::Group(head) => break head,
                Next::End => self.leave_segment(),
                Next::Broken(what) => {
                    let sequence = self.expected.unwrap_or(0);
                    let is_damage = self.durable_after().await?.is_some_and(|durable| durable > sequence);
                    if is_damage && self.salvage {
                        tracing::error!(path = %segment.path.display(), offset = self.offset, what, "damage is passed over");
                        self.skip_damage().await?;
                        continue;
                    }
                    if is_damage && !self.planted.is(Bug::DamageTakenForTornTail) {
                        let (path, what) = (segment.path.clone(), what.to_owned());
                        return Err(OpenError::Corrupt { path, offset: self.offset, what });
                    }
                    stdx::sometimes!("torn tail");
                    if self.planted.is(Bug::TornTailAccepted) {
                        self.offset += BLOCK as u64;
                        self.expected = None;
                        continue;
                    }
                    tracing::info!(
                        path = %segment.path.display(), offset = self.offset,
                        "the commit log ends in a write that was never completed; it is left out"
                    );
                    self.ends[self.index] = self.offset;
                    self.index = self.segments.len();
                    return Ok(None);
                }
            }
        };
        if let Some(from) = self.lost_from.take() {
            tracing::error!(from, to = head.sequence, "the records between these log sequences are lost");
        }
        let segment = &self.segments[self.index];
        let offset = self.offset;
        let end = head.sequence + u64::from(head.payload);
        self.offset += head.length();
        self.expected = Some(end);
        let window = self.window.as_mut().expect("a group was found in the open window");
        let bytes = window.at(offset, head.length() as usize).await?;
        let payload = &bytes[GROUP_HEAD..GROUP_HEAD + head.payload as usize];
        Ok(Some(FoundGroup { segment, end, sequence: head.sequence, payload, planted: self.planted }))
    }

    /// Goes on at the next group of the segment that can be read, or behind it.
    async fn skip_damage(&mut self) -> Result<(), OpenError> {
        let segment = &self.segments[self.index];
        self.damaged.push(self.index);
        self.lost_from = self.lost_from.or(Some(self.expected.unwrap_or(0)));
        self.expected = None;
        loop {
            self.offset += BLOCK as u64;
            if self.offset >= segment.length {
                self.leave_segment();
                return Ok(());
            }
            let window = self.window.as_mut().expect("damage was found in the open window");
            let bytes = window.at(self.offset, BLOCK).await?;
            if GroupHead::decode(bytes, segment.head.salt, segment.head.segment, self.planted).is_some() {
                return Ok(());
            }
        }
    }

    /// The damaged segments that were met.
    pub fn damaged(&self) -> impl Iterator<Item = &FoundSegment> {
        self.damaged.iter().map(|&index| &self.segments[index])
    }

    fn leave_segment(&mut self) {
        self.ends[self.index] = self.offset;
        let id = self.segments[self.index].head.segment;
        self.index += 1;
        self.offset = BLOCK as u64;
        self.window = None;
        if self.segments.get(self.index).is_some_and(|next| next.head.segment != id + 1) {
            // Segments between the two were released: the sequence goes on further up.
            self.expected = None;
        }
    }

    async fn look(&mut self) -> Result<Next, OpenError> {
        let segment = &self.segments[self.index];
        if self.window.is_none() {
            self.window = Some(Window::open(&self.runtime, &segment.path, WINDOW_BYTES).await?);
        }
        let window = self.window.as_mut().expect("it was just opened");
        let (offset, salt, id) = (self.offset, segment.head.salt, segment.head.segment);
        let Some(head) = GroupHead::decode(window.at(offset, BLOCK).await?, salt, id, self.planted) else {
            let rest = offset + BLOCK as u64;
            let is_last_here = greatest_durable(window, segment, rest, self.planted).await?.is_none();
            return Ok(if is_last_here { Next::End } else { Next::Broken("a group's head cannot be read") });
        };
        // Where nothing came before, what this group says of itself: what was durable when it was written lies before it.
        let expected = *self.expected.get_or_insert(head.sequence);
        if head.sequence < expected {
            let (path, what) = (segment.path.clone(), "a group is there twice".to_owned());
            return Err(OpenError::Corrupt { path, offset, what });
        }
        if head.sequence != expected && !self.planted.is(Bug::GroupMissingIgnored) {
            return Ok(Next::Broken("a group is missing before this one"));
        }
        if head.length() > segment.length.saturating_sub(offset) {
            return Ok(Next::Broken("a group is cut off by the end of the file"));
        }
        let bytes = window.at(offset, head.length() as usize).await?;
        let Some(payload) = bytes.get(GROUP_HEAD..GROUP_HEAD + head.payload as usize) else {
            return Ok(Next::Broken("a group is cut off by the end of the file"));
        };
        let mut count = 0;
        for record in records(salt, head.sequence, payload, self.planted) {
            match record {
                Ok(_) => count += 1,
                Err(bad) if self.salvage => {
                    let (path, at) = (segment.path.display(), bad.at);
                    tracing::error!(path = %path, offset, at, what = bad.what, "a record of this group is lost");
                    self.damaged.push(self.index);
                    count += 1;
                }
                Err(bad) => return Ok(Next::Broken(bad.what)),
            }
        }
        match count == head.records || self.salvage {
            true => Ok(Next::Group(head)),
            false => Ok(Next::Broken("a group has another count of records than its head says")),
        }
    }

    /// The greatest sequence that a group from here on, in this segment or a later one, says to have been on the disk.
    async fn durable_after(&mut self) -> Result<Option<u64>, OpenError> {
        let mut durable = None;
        for index in self.index..self.segments.len() {
            let segment = &self.segments[index];
            let start = if index == self.index { self.offset } else { BLOCK as u64 };
            let mut window = Window::open(&self.runtime, &segment.path, WINDOW_BYTES).await?;
            durable = durable.max(greatest_durable(&mut window, segment, start, self.planted).await?);
        }
        Ok(durable)
    }

    /// After the last group, of segments that nobody else reads: cuts off what no longer counts (a file that cannot be cut is
    /// only longer than it need be), and syncs the others. A process that was killed may have left groups that its disk holds in
    /// a cache only; they are served from now on, and must not vanish afterwards.
    pub async fn trim(&self) -> Result<(), OpenError> {
        for (segment, &end) in self.segments.iter().zip(&self.ends) {
            let options = OpenOptions { write: true, ..OpenOptions::default() };
            let file = self.runtime.open(&segment.path, options).await.map_err(io_error(&segment.path))?;
            let end = end.max(BLOCK as u64);
            if end < segment.length
                && let Err(error) = file.set_len(end).await
            {
                tracing::warn!(path = %segment.path.display(), %error, "an old commit log segment could not be cut");
            }
            file.sync_data().await.map_err(io_error(&segment.path))?;
        }
        Ok(())
    }
}

/// The greatest `durable` of the groups whose heads can be read in the segment from `offset` on.
async fn greatest_durable(
    window: &mut Window,
    segment: &FoundSegment,
    mut offset: u64,
    planted: Planted,
) -> Result<Option<u64>, OpenError> {
    let mut durable = None;
    while offset < segment.length {
        let bytes = window.at(offset, BLOCK).await?;
        if let Some(head) = GroupHead::decode(bytes, segment.head.salt, segment.head.segment, planted) {
            durable = durable.max(Some(head.durable));
        }
        offset += BLOCK as u64;
    }
    Ok(durable)
}

/// A file with some of its bytes at hand.
struct Window {
    path: PathBuf,
    file: File,
    bytes: AlignedBuf,
    base: u64,
    size: usize,
}

impl Window {
    async fn open(runtime: &Runtime, path: &Path, size: usize) -> Result<Self, OpenError> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = open_direct(runtime, path, options).await.map_err(io_error(path))?;
        Ok(Window { path: path.to_owned(), file, bytes: AlignedBuf::new(), base: 0, size })
    }

    /// `length` bytes from `offset`, a multiple of the block, on; fewer where the file ends.
    async fn at(&mut self, offset: u64, length: usize) -> Result<&[u8], OpenError> {
        let end = self.base + self.bytes.len() as u64;
        if offset < self.base || offset + length as u64 > end {
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            bytes.reserve(self.size.max(length.next_multiple_of(format::BLOCK)));
            let (result, bytes) = self.file.read_at(bytes, offset).await;
            self.bytes = bytes;
            self.base = offset;
            result.map_err(io_error(&self.path))?;
        }
        let start = (offset - self.base) as usize;
        let end = self.bytes.len().min(start.saturating_add(length));
        Ok(self.bytes.get(start..end).unwrap_or(&[]))
    }
}

/// Names the file in an error.
pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { path, source }
}
