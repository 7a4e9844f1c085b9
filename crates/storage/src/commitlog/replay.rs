//! Reading segments back at the start.
//!
//! The segments of one shard and one boot are one stream of groups. It may end in a group that was being written when
//! the power went, which is dropped: nobody was told that it is safe. Damage is anything else: a group that cannot be
//! read although a later one says, in its head, that the disk had it. Then nothing is opened; see the page for the way
//! out.

use std::path::{Path, PathBuf};

use planted::{Bug, Planted};
use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use crate::commitlog::find::FoundSegment;
use crate::commitlog::folder::open_direct;
use crate::commitlog::format::{self, BLOCK, GROUP_HEAD, GroupHead, Records, records};
use crate::error::OpenError;
use crate::options::StorageOptions;

/// How much is read at once.
pub(super) const WINDOW_BYTES: usize = 1 << 20;

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
    /// True if the file of the segment before was cut: then the missing records were in it.
    is_after_cut: bool,
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
    /// The missing part was there at an earlier start, or when the file was made.
    Damaged(&'static str),
}

/// The groups that can be read from a place on, in its segment and in later ones of the stream.
#[derive(Debug, Clone, Copy, Default)]
struct Ahead {
    /// The greatest sequence that one says to have been on the disk.
    durable: Option<u64>,
    /// The least sequence of those that do not begin at the one that is missing, and what all of them hold.
    resumes: Option<u64>,
    end: u64,
    groups: u64,
    records: u64,
    /// The records of the group that begins there, if its head can be read, and where they end.
    torn: Option<(u32, u64)>,
}

impl Ahead {
    fn take(&mut self, head: &GroupHead, missing: u64) {
        self.durable = self.durable.max(Some(head.durable));
        let end = head.sequence + u64::from(head.payload);
        if head.sequence <= missing {
            self.torn = Some((head.records, end));
            return;
        }
        self.resumes = Some(self.resumes.map_or(head.sequence, |least| least.min(head.sequence)));
        self.end = self.end.max(end);
        self.groups += 1;
        self.records += u64::from(head.records);
    }

    /// How much cannot be read from the sequence `from` on, in words.
    fn loss(&self, from: u64) -> String {
        match (self.torn, self.resumes) {
            (Some((records, end)), _) => {
                format!("{records} records, log sequences {from} to {end}, {} bytes", end.saturating_sub(from))
            }
            (None, Some(to)) => format!("log sequences {from} to {to}, {} bytes of records", to - from),
            (None, None) => format!("all records from log sequence {from} on"),
        }
    }
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
            is_after_cut: false,
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
                    let ahead = self.ahead().await?;
                    let is_synced = ahead.durable.is_some_and(|durable| durable > self.missing());
                    let is_damage = is_synced || self.is_after_cut || self.was_read_before(segment);
                    if is_damage && (self.salvage || !self.planted.is(Bug::DamageTakenForTornTail)) {
                        self.meet_damage(segment, what, &ahead).await?;
                        continue;
                    }
                    stdx::sometimes!("torn tail");
                    if self.planted.is(Bug::TornTailAccepted) {
                        self.offset += BLOCK as u64;
                        self.expected = None;
                        continue;
                    }
                    self.end_torn(segment, &ahead);
                    return Ok(None);
                }
                Next::Damaged(what) => {
                    let ahead = self.ahead().await?;
                    self.meet_damage(segment, what, &ahead).await?;
                }
            }
        };
        if let Some(from) = self.lost_from.take() {
            tracing::error!(from, to = head.sequence, "commit log records lost between two log sequences");
        }
        let segment = &self.segments[self.index];
        let offset = self.offset;
        let end = head.sequence + u64::from(head.payload);
        self.offset += head.length();
        self.expected = Some(end);
        self.is_after_cut = false;
        let window = self.window.as_mut().expect("a group was found in the open window");
        let bytes = window.at(offset, head.length() as usize).await?;
        let payload = &bytes[GROUP_HEAD..GROUP_HEAD + head.payload as usize];
        Ok(Some(FoundGroup { segment, end, sequence: head.sequence, payload, planted: self.planted }))
    }

    /// True if an earlier start has read a group here.
    fn was_read_before(&self, segment: &FoundSegment) -> bool {
        segment.listed.is_some_and(|listed| listed.is_cut && self.offset < listed.bytes)
    }

    /// The sequence from which on something is missing.
    fn missing(&self) -> u64 {
        self.expected.unwrap_or(0)
    }

    /// Records that were on the disk cannot be read: refuses, or passes over them.
    async fn meet_damage(&mut self, segment: &FoundSegment, what: &str, ahead: &Ahead) -> Result<(), OpenError> {
        let (offset, lost) = (self.offset, ahead.loss(self.missing()));
        if !self.salvage {
            let what = format!("{what}; lost: {lost}, of shard {}, boot {}", segment.head.shard, segment.head.boot);
            return Err(OpenError::Corrupt { path: segment.path.clone(), offset, what });
        }
        tracing::error!(
            path = %segment.path.display(), offset, what, lost,
            "commit log segment damaged; skipping to the next readable group"
        );
        self.skip_damage().await
    }

    /// Ends the stream at a group that was never completed. What can be read of later ones was acknowledged if it was written in `periodic`,
    /// which need not have had it on the disk.
    fn end_torn(&mut self, segment: &FoundSegment, ahead: &Ahead) {
        let (path, offset, from) = (segment.path.display(), self.offset, self.missing());
        if ahead.groups > 0 {
            let (to, groups, records) = (ahead.end, ahead.groups, ahead.records);
            tracing::error!(
                %path, offset, from, to, groups, records,
                "commit log records lost after an incomplete write; none of them is known to have been synced"
            );
        } else {
            let lost = ahead.loss(from);
            tracing::warn!(%path, offset, lost, "commit log ends in an incomplete write; ignoring it");
        }
        self.tell_of_cut(segment);
        self.ends[self.index] = self.offset;
        self.index = self.segments.len();
    }

    /// The segment that the stream ends in may be shorter than it was made: then there may have been more.
    fn tell_of_cut(&self, segment: &FoundSegment) {
        let Some(listed) = segment.listed.filter(|listed| segment.length < listed.bytes) else { return };
        let (made, at_most) = (listed.bytes, listed.bytes.saturating_sub(self.offset));
        tracing::error!(
            path = %segment.path.display(), length = segment.length, made, from = self.missing(), at_most,
            "commit log segment file was truncated; records from this log sequence on are lost"
        );
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
        let segment = &self.segments[self.index];
        let id = segment.head.segment;
        self.index += 1;
        self.is_after_cut = segment.listed.is_some_and(|listed| segment.length < listed.bytes);
        if self.index == self.segments.len() {
            self.tell_of_cut(segment);
        }
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
        if self.expected.is_none() && self.offset == BLOCK as u64 && self.lost_from.is_none() {
            self.expected = segment.listed.and_then(|listed| listed.start);
        }
        let window = self.window.as_mut().expect("it was just opened");
        let (offset, salt, id) = (self.offset, segment.head.salt, segment.head.segment);
        let Some(head) = GroupHead::decode(window.at(offset, BLOCK).await?, salt, id, self.planted) else {
            let (rest, mut ahead) = (offset + BLOCK as u64, Ahead::default());
            look_ahead(window, segment, rest, self.expected.unwrap_or(0), self.planted, &mut ahead).await?;
            if ahead.durable.is_some() {
                return Ok(Next::Broken("a group's header is unreadable"));
            }
            return Ok(match self.was_read_before(segment) && self.lost_from.is_none() {
                true => Next::Damaged("groups are missing that an earlier start has read"),
                false => Next::End,
            });
        };
        // Where nothing came before, what this group says of itself: what was durable when it was written lies before it.
        let expected = *self.expected.get_or_insert(head.sequence);
        if head.sequence < expected {
            let (path, what) = (segment.path.clone(), "duplicate group".to_owned());
            return Err(OpenError::Corrupt { path, offset, what });
        }
        if head.sequence != expected && !self.planted.is(Bug::GroupMissingIgnored) {
            return Ok(Next::Broken("a group is missing before this one"));
        }
        if head.length() > segment.length.saturating_sub(offset) {
            return Ok(Next::Broken("the file ends within a group"));
        }
        let bytes = window.at(offset, head.length() as usize).await?;
        let Some(payload) = bytes.get(GROUP_HEAD..GROUP_HEAD + head.payload as usize) else {
            return Ok(Next::Broken("the file ends within a group"));
        };
        let mut count = 0;
        for record in records(salt, head.sequence, payload, self.planted) {
            match record {
                Ok(_) => count += 1,
                Err(bad) if self.salvage => {
                    let (path, at) = (segment.path.display(), bad.at);
                    tracing::error!(path = %path, offset, at, what = bad.what, "commit log record damaged; skipping it");
                    self.damaged.push(self.index);
                    count += 1;
                }
                Err(bad) => return Ok(Next::Broken(bad.what)),
            }
        }
        match count == head.records || self.salvage {
            true => Ok(Next::Group(head)),
            false => Ok(Next::Broken("a group's record count does not match its header")),
        }
    }

    /// The groups that can be read from here on.
    async fn ahead(&mut self) -> Result<Ahead, OpenError> {
        let mut ahead = Ahead::default();
        for index in self.index..self.segments.len() {
            let segment = &self.segments[index];
            let start = if index == self.index { self.offset } else { BLOCK as u64 };
            let mut window = Window::open(&self.runtime, &segment.path, WINDOW_BYTES).await?;
            look_ahead(&mut window, segment, start, self.missing(), self.planted, &mut ahead).await?;
        }
        Ok(ahead)
    }

    /// After the last group: for each segment, where its groups end.
    pub fn ends(&self) -> impl Iterator<Item = u64> {
        self.ends.iter().map(|&end| end.max(BLOCK as u64))
    }

    /// After the last group: makes durable what was read. A process that was killed may have left groups that its disk holds in
    /// a cache only; they are served from now on, and must not vanish afterwards.
    pub async fn sync(&self) -> Result<(), OpenError> {
        for segment in self.segments {
            let file = self.open_to_write(segment).await?;
            file.sync_data().await.map_err(io_error(&segment.path))?;
        }
        Ok(())
    }

    /// After that, of segments that no other shard reads: cuts off what no longer counts. A file that cannot be cut is only longer
    /// than it need be.
    pub async fn cut(&self) -> Result<(), OpenError> {
        for (segment, end) in self.segments.iter().zip(self.ends()) {
            if end >= segment.length {
                continue;
            }
            let file = self.open_to_write(segment).await?;
            if let Err(error) = file.set_len(end).await {
                tracing::warn!(path = %segment.path.display(), %error, "cannot truncate replayed commit log segment");
            }
            file.sync_data().await.map_err(io_error(&segment.path))?;
        }
        Ok(())
    }

    async fn open_to_write(&self, segment: &FoundSegment) -> Result<File, OpenError> {
        let options = OpenOptions { write: true, ..OpenOptions::default() };
        self.runtime.open(&segment.path, options).await.map_err(io_error(&segment.path))
    }
}

/// Takes note of the groups whose heads can be read in the segment from `offset` on.
async fn look_ahead(
    window: &mut Window,
    segment: &FoundSegment,
    mut offset: u64,
    missing: u64,
    planted: Planted,
    ahead: &mut Ahead,
) -> Result<(), OpenError> {
    while offset < segment.length {
        let bytes = window.at(offset, BLOCK).await?;
        if let Some(head) = GroupHead::decode(bytes, segment.head.salt, segment.head.segment, planted) {
            ahead.take(&head, missing);
        }
        offset += BLOCK as u64;
    }
    Ok(())
}

/// A file with some of its bytes at hand.
pub(super) struct Window {
    path: PathBuf,
    file: File,
    bytes: AlignedBuf,
    base: u64,
    size: usize,
}

impl Window {
    pub(super) async fn open(runtime: &Runtime, path: &Path, size: usize) -> Result<Self, OpenError> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = open_direct(runtime, path, options).await.map_err(io_error(path))?;
        Ok(Window { path: path.to_owned(), file, bytes: AlignedBuf::new(), base: 0, size })
    }

    /// `length` bytes from `offset`, a multiple of the block, on; fewer where the file ends.
    pub(super) async fn at(&mut self, offset: u64, length: usize) -> Result<&[u8], OpenError> {
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
