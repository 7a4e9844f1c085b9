//! What a shard's own lanes read from: a table's memtables and files.

use mutation::{DecodeError, KeyRange, Position, ReadCommand};
use runtime::Runtime;
use topology::Sharder;

use crate::cache::{Body, CachedPartition};
use crate::reader::data_page::{DataPageLimits, DataPageWriter};
use crate::reader::direct::Owned;
use crate::reader::lane::{Page, Source};
use crate::shard::Shard;
use crate::sink::{DataSink, ReadEnd};
use crate::sstable::{ReadError, ReadWindow};
use crate::tables::LiveFile;

/// One of the places in which a table's data lies.
#[derive(Clone)]
pub(super) enum Origin {
    /// The memtable that is written to.
    Memtable,
    /// A memtable on its way into a file, by its number.
    Frozen(u64),
    /// A file.
    File(LiveFile),
    /// What all files have of it.
    Cached(Body),
}

/// Why a lane of this shard has no page.
#[derive(Debug)]
pub(super) enum LaneError {
    /// A file cannot be read.
    Read(ReadError),
    /// A memtable is not what it was: the read is to begin anew behind what it gave, on what there is now.
    Changed,
}

impl From<ReadError> for LaneError {
    fn from(error: ReadError) -> Self {
        LaneError::Read(error)
    }
}

/// A lane's source.
pub(super) struct OwnSource<'r> {
    pub(super) shard: &'r Shard,
    pub(super) origin: Origin,
    pub(super) command: ReadCommand<'r>,
    /// The table's version when the lanes were chosen.
    pub(super) version: u64,
    /// What the next page may hold, and no page more than.
    pub(super) limits: DataPageLimits,
    pub(super) limits_max: DataPageLimits,
    pub(super) window: ReadWindow,
}

impl Source for OwnSource<'_> {
    type Error = LaneError;

    const IS_TRUSTED: bool = true;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, LaneError> {
        let mut page = DataPageWriter::new(self.limits);
        self.grow();
        let mut paused: Option<Position> = None;
        loop {
            if let Some(bytes) = page.wanted() {
                page.begin_again(self.shard.runtime().touched(bytes).await);
                paused = None;
            }
            let after = paused.as_ref().or(after).map(Position::as_ref);
            let command = ReadCommand { after, ..self.command };
            let end = match &self.origin {
                Origin::File(file) => {
                    let way = FileWay::of(self.shard, file);
                    way.read(&mut self.window, &command, &mut page).await?
                }
                Origin::Cached(body) => {
                    let KeyRange::Partition { token, .. } = command.keys else {
                        unreachable!("an entry is looked up for a read of one partition")
                    };
                    CachedPartition::new(body, token).read_data(&command, &mut page)
                }
                Origin::Memtable => {
                    let read = self.shard.read_memtable(&command, self.version, None, &mut page);
                    read.ok_or(LaneError::Changed)?
                }
                Origin::Frozen(number) => {
                    let read = self.shard.read_memtable(&command, self.version, Some(*number), &mut page);
                    read.ok_or(LaneError::Changed)?
                }
            };
            if page.wanted().is_some() {
                continue;
            }
            let more_after = match end {
                ReadEnd::Complete => None,
                ReadEnd::Paused(position) if !page.is_full() => {
                    paused = Some(position);
                    self.shard.runtime().maybe_yield().await;
                    continue;
                }
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => Some(position),
            };
            return Ok(Page { items: page.into_bytes(), more_after });
        }
    }

    fn planted(&self) -> planted::Planted {
        self.shard.planted()
    }

    fn malformed(&self, problem: DecodeError) -> LaneError {
        panic!("internal error: this shard built an invalid page: {problem}")
    }
}

impl OwnSource<'_> {
    /// A read that wants another page wants many rows: to begin a page costs a search.
    fn grow(&mut self) {
        let DataPageLimits { items, bytes } = self.limits;
        let grown = |now: u32, max: u32| now.saturating_mul(4).min(max).max(now);
        self.limits.items = grown(items, self.limits_max.items);
        self.limits.bytes = grown(bytes, self.limits_max.bytes);
    }
}

/// How a file is read by this shard.
pub(super) struct FileWay<'f> {
    file: &'f LiveFile,
    runtime: &'f Runtime,
    sharder: Sharder,
}

impl<'f> FileWay<'f> {
    pub(super) fn of(shard: &'f Shard, file: &'f LiveFile) -> Self {
        FileWay { file, runtime: shard.runtime(), sharder: shard.sharder() }
    }

    /// Reads on, without what belongs to other shards.
    pub(super) async fn read(
        &self,
        window: &mut ReadWindow,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadEnd, ReadError> {
        let sstable = &self.file.sstable;
        match self.file.is_shared {
            false => sstable.read_data_in(window, command, sink).await,
            true => {
                let mut owned = Owned::new(sink, self.sharder, self.runtime.shard().0);
                sstable.read_data_in(window, command, &mut owned).await
            }
        }
    }
}
