//! Reads that a single memtable does not answer: of several memtables, and of files.
//!
//! Each memtable and each file that may hold something is a lane. A lane of a file stays right however long the read takes, since a
//! file does not change. A lane of a memtable ends when the memtable is frozen or goes into a file: the lanes are then chosen
//! anew, and the read goes on behind what it gave.

use std::cmp::Reverse;
use std::future::poll_fn;
use std::ops::{Bound as TokenBound, RangeBounds};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use mutation::{Deletion, KeyRange, Position, ReadCommand};
use runtime::Instant;
use schema::Table;
use sstable::KeyHash;
use topology::Token;

use crate::cache::{Body, Found};
use crate::reader::data_page::DataPageLimits;
use crate::reader::direct::Direct;
use crate::reader::fill::{Filled, Fills};
use crate::reader::lane::{Lane, Source};
use crate::reader::merge::{Merge, Progress, ReadDone};
use crate::reader::output::{AsData, Live, Output};
use crate::reader::source::{FileWay, LaneError, Origin, OwnSource};
use crate::shard::Shard;
use crate::sink::{DataSink, ReadEnd, RowSink};
use crate::sstable::{ReadError, ReadWindow};
use crate::tables::{LiveFile, TableState};

/// How many such reads a shard has under way: more would not be faster on any device, and each takes memory for what it reads.
/// The others wait, the one that came first goes first.
pub(crate) const READS_MAX: usize = 256;
/// A first page of a read of one partition: it may be about a row.
const FIRST_OF_PARTITION: DataPageLimits = DataPageLimits { items: 16, bytes: 16 << 10 };
/// A first page of a scan.
const FIRST_OF_SCAN: DataPageLimits = DataPageLimits { items: 256, bytes: 64 << 10 };
/// The largest page.
const PAGE_MAX: DataPageLimits = DataPageLimits { items: 4096, bytes: 256 << 10 };
/// What all lanes of a read may have here together.
const LANES_BYTES_MAX: u32 = 4 << 20;

/// What a read is to be answered from.
pub(super) struct Lanes {
    pub(super) table: Rc<Table>,
    pub(super) version: u64,
    pub(super) origins: Vec<Origin>,
}

/// What is known of what the files have.
#[derive(Clone, Copy)]
pub(super) enum OfFiles<'b> {
    /// They are to be read.
    Asked,
    /// They have nothing.
    Nothing,
    /// This, and nothing else.
    Body(&'b Body),
}

impl TableState {
    /// All that may hold something of what a read asks for. `body`: what the files have of it.
    pub(super) fn lanes(&self, command: &ReadCommand<'_>, of_files: OfFiles<'_>) -> Lanes {
        let mut origins = Vec::new();
        if self.memtable.may_hold(&command.keys) {
            origins.push(Origin::Memtable);
        }
        let frozen = self.frozen.iter().rev().filter(|frozen| frozen.memtable.may_hold(&command.keys));
        origins.extend(frozen.map(|frozen| Origin::Frozen(frozen.number)));
        match of_files {
            OfFiles::Asked => {
                let files = self.file_origins(command);
                self.count_filtered(command, files.len());
                origins.extend(files);
            }
            OfFiles::Nothing => {}
            OfFiles::Body(body) => origins.push(Origin::Cached(body.clone())),
        }
        Lanes { table: self.definition.clone(), version: self.files_version(), origins }
    }

    /// The files that may hold something of it. What was written last comes first: it may say that all before it was deleted.
    pub(super) fn file_origins(&self, command: &ReadCommand<'_>) -> Vec<Origin> {
        let mut files: Vec<&LiveFile> = self.files_that_may_hold(command).collect();
        files.sort_by_key(|file| Reverse(file.sstable.timestamps().1));
        files.into_iter().map(|file| Origin::File(file.clone())).collect()
    }

    pub(super) fn files_that_may_hold(&self, command: &ReadCommand<'_>) -> impl Iterator<Item = &LiveFile> {
        let keys = command.keys;
        let after = command.after.map_or(TokenBound::Unbounded, |after| TokenBound::Included(after.token));
        // One hash for all files.
        let hash = match keys {
            KeyRange::Partition { key, .. } if !self.files.is_empty() => Some(KeyHash::of(key)),
            _ => None,
        };
        self.files.iter().filter(move |file| match keys {
            KeyRange::Partition { token, .. } => hash.is_some_and(|hash| file.sstable.may_contain_hash(token, hash)),
            KeyRange::Tokens { start, end } => {
                let (first, last) = file.sstable.token_range();
                let is_before = |bound: TokenBound<Token>| (bound, TokenBound::<Token>::Unbounded).contains(&last);
                is_before(start) && is_before(after) && (TokenBound::Unbounded, end).contains(&first)
            }
        })
    }
}

/// What may hold something of what a read asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sources {
    /// Memtables, the one that is written to among them.
    pub memtables: usize,
    /// Files, by their tokens and Bloom filters.
    pub files: usize,
    /// All files of the table.
    pub files_of_table: usize,
}

impl Shard {
    /// What a read would look into now, if the row cache has nothing of it.
    pub fn sources(&self, command: &ReadCommand<'_>) -> Sources {
        let engine = self.engine_ref();
        let Some(table) = engine.tables.get(command.table) else { return Sources::default() };
        Sources {
            memtables: table.memtables().filter(|memtable| memtable.may_hold(&command.keys)).count(),
            files: table.files_that_may_hold(command).count(),
            files_of_table: table.files.len(),
        }
    }

    /// [`Shard::read`] to its end, from wherever the data lies, letting others run in between.
    pub async fn read_through(
        &self,
        command: &ReadCommand<'_>,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, ReadError> {
        let began = self.begin_read(command);
        let done = self.read_untimed(command, sink).await?;
        self.end_read(command, began);
        Ok(done)
    }

    /// Counts a read that begins; one that goes on where it stopped was counted.
    fn begin_read(&self, command: &ReadCommand<'_>) -> Instant {
        if let Some(table) = self.engine_ref().tables.get(command.table) {
            table.count_read(command);
        }
        self.sample_read(command);
        self.runtime().now()
    }

    /// Counts how many files a read is answered from.
    fn count_files(&self, command: &ReadCommand<'_>, lanes: &Lanes) {
        if command.after.is_none()
            && let Some(table) = self.engine_ref().tables.get(command.table)
        {
            let files = lanes.origins.iter().filter(|origin| matches!(origin, Origin::File(_))).count();
            table.files_per_read.add(files);
        }
    }

    fn end_read(&self, command: &ReadCommand<'_>, began: Instant) {
        if command.after.is_none() {
            self.count_timed_read(command.table, began);
        }
    }

    async fn read_untimed(&self, command: &ReadCommand<'_>, sink: &mut impl RowSink) -> Result<ReadDone, ReadError> {
        let mut progress = Progress::from(command.after);
        let mut live = Live::new(sink, command);
        let mut permit = None;
        let mut fills = Fills::default();
        loop {
            let asked = ReadCommand { after: progress.after(), ..*command };
            let Some(lanes) = self.lanes(&asked) else {
                let position = match self.read_part(&asked, live.sink()).expect("one memtable was just seen to have it")
                {
                    ReadEnd::Complete => return Ok(ReadDone::Complete),
                    ReadEnd::Stopped(position) => return Ok(ReadDone::Stopped(position)),
                    ReadEnd::Paused(position) => position,
                };
                if live.is_full() {
                    return Ok(ReadDone::Stopped(position));
                }
                progress.reach(&position);
                live.go_on_after(&position);
                self.runtime().yield_now().await;
                continue;
            };
            if permit.is_none() {
                self.count_files(command, &lanes);
                permit = Some(self.reads().acquire().await);
            }
            let lanes = match self.fill(&lanes, &asked, &mut fills).await? {
                Filled::Nothing => lanes,
                Filled::Lanes(lanes) => lanes,
                Filled::LookAgain => continue,
            };
            if let [Origin::File(file)] = lanes.origins.as_slice() {
                return self.read_file(&lanes.table, file, &asked, &mut live).await;
            }
            match self.read_lanes(lanes, command, &mut live, &mut progress).await {
                Ok(done) => return Ok(done),
                Err(LaneError::Read(error)) => return Err(error),
                Err(LaneError::Changed) => stdx::sometimes!("a read begun anew"),
            }
        }
    }

    /// [`Shard::read_data`] until the sink is full, from wherever the data lies, letting others run in between.
    pub async fn read_data_through(
        &self,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadDone, ReadError> {
        let began = self.begin_read(command);
        let done = self.read_data_untimed(command, sink).await?;
        self.end_read(command, began);
        Ok(done)
    }

    async fn read_data_untimed(
        &self,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadDone, ReadError> {
        let mut progress = Progress::from(command.after);
        let mut permit = None;
        let mut fills = Fills::default();
        loop {
            let asked = ReadCommand { after: progress.after(), ..*command };
            let Some(lanes) = self.lanes(&asked) else {
                let position = match self.read_data_part(&asked, sink).expect("one memtable was just seen to have it") {
                    ReadEnd::Complete => return Ok(ReadDone::Complete),
                    ReadEnd::Stopped(position) => return Ok(ReadDone::Stopped(position)),
                    ReadEnd::Paused(position) => position,
                };
                if sink.is_full() {
                    return Ok(ReadDone::Stopped(position));
                }
                progress.reach(&position);
                self.runtime().yield_now().await;
                continue;
            };
            if permit.is_none() {
                self.count_files(command, &lanes);
                permit = Some(self.reads().acquire().await);
            }
            let lanes = match self.fill(&lanes, &asked, &mut fills).await? {
                Filled::Nothing => lanes,
                Filled::Lanes(lanes) => lanes,
                Filled::LookAgain => continue,
            };
            if let [Origin::File(file)] = lanes.origins.as_slice() {
                return self.read_file_data(file, &asked, sink).await;
            }
            let mut data = AsData::new(&mut *sink, &asked);
            match self.read_lanes(lanes, command, &mut data, &mut progress).await {
                Ok(done) => return Ok(done),
                Err(LaneError::Read(error)) => return Err(error),
                Err(LaneError::Changed) => {}
            }
        }
    }

    /// The lanes of a read; `None`: one memtable or one entry of the cache answers it, or there is no such table.
    fn lanes(&self, command: &ReadCommand<'_>) -> Option<Lanes> {
        let engine = self.engine_ref();
        let table = engine.tables.get(command.table)?;
        if engine.alone(table, command).is_some() {
            return None;
        }
        let (of_files, hit) = match engine.cache.find(&table.marks, command) {
            Found::Nothing => (OfFiles::Asked, None),
            Found::Absent(hit) => (OfFiles::Nothing, Some(hit)),
            Found::Body(body, hit) => (OfFiles::Body(body), Some(hit)),
        };
        if let Some(hit) = hit {
            engine.cache.hit(hit);
        }
        Some(table.lanes(command, of_files))
    }

    /// One page of a memtable, the one that is written to or a frozen one; `None`: the table is not what it was.
    pub(super) fn read_memtable(
        &self,
        command: &ReadCommand<'_>,
        version: u64,
        frozen: Option<u64>,
        sink: &mut impl DataSink,
    ) -> Option<ReadEnd> {
        let engine = self.engine_ref();
        let table = engine.tables.get(command.table).filter(|table| table.files_version() == version)?;
        let memtable = match frozen {
            None => &table.memtable,
            Some(number) => &*table.frozen.iter().find(|frozen| frozen.number == number)?.memtable,
        };
        Some(memtable.read_data(command, sink))
    }

    /// What lives in the one file that holds something.
    async fn read_file<S: RowSink>(
        &self,
        table: &Table,
        file: &LiveFile,
        command: &ReadCommand<'_>,
        live: &mut Live<'_, S>,
    ) -> Result<ReadDone, ReadError> {
        let way = FileWay::of(self, file);
        let mut window = ReadWindow::default();
        let mut direct = Direct::new(live, table);
        let mut after: Option<Position> = None;
        loop {
            let asked = ReadCommand { after: after.as_ref().map(Position::as_ref).or(command.after), ..*command };
            let end = way.read(&mut window, &asked, &mut direct).await?;
            if let Some(position) = direct.stopped() {
                return Ok(ReadDone::Stopped(position));
            }
            after = match (end, direct.behind_skipped()) {
                (ReadEnd::Complete, _) => return Ok(ReadDone::Complete),
                (_, Some(behind)) => Some(behind),
                (ReadEnd::Stopped(position), None) => return Ok(ReadDone::Stopped(position)),
                (ReadEnd::Paused(position), None) => Some(position),
            };
            self.runtime().maybe_yield().await;
        }
    }

    /// All of the one file that holds something.
    pub(super) async fn read_file_data(
        &self,
        file: &LiveFile,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadDone, ReadError> {
        let way = FileWay::of(self, file);
        let mut window = ReadWindow::default();
        let mut after: Option<Position> = None;
        loop {
            let asked = ReadCommand { after: after.as_ref().map(Position::as_ref).or(command.after), ..*command };
            match way.read(&mut window, &asked, sink).await? {
                ReadEnd::Complete => return Ok(ReadDone::Complete),
                ReadEnd::Paused(position) if !sink.is_full() => after = Some(position),
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => return Ok(ReadDone::Stopped(position)),
            }
            self.runtime().maybe_yield().await;
        }
    }

    /// Merges lanes from where the read is.
    pub(super) async fn read_lanes(
        &self,
        lanes: Lanes,
        command: &ReadCommand<'_>,
        output: &mut impl Output,
        progress: &mut Progress,
    ) -> Result<ReadDone, LaneError> {
        let Lanes { table, version, origins } = lanes;
        let is_partition = matches!(command.keys, KeyRange::Partition { .. });
        let limits = if is_partition { FIRST_OF_PARTITION } else { FIRST_OF_SCAN };
        let count = u32::try_from(origins.len()).unwrap_or(u32::MAX).max(1);
        let bytes_max = PAGE_MAX.bytes.min(LANES_BYTES_MAX / count).max(FIRST_OF_PARTITION.bytes);
        let limits_max = DataPageLimits { bytes: bytes_max, ..PAGE_MAX };
        let limits = DataPageLimits { bytes: limits.bytes.min(bytes_max), ..limits };
        let after = progress.after().map(|after| after.to_owned());
        let command = *command;
        let sources = origins.into_iter().map(|origin| {
            let window = ReadWindow::default();
            OwnSource { shard: self, origin, command, version, limits, limits_max, window }
        });
        let mut merged = match is_partition {
            true => newest_first(sources, after.as_ref(), &table).await?,
            false => all_at_once(sources, after.as_ref(), &table).await?,
        };
        let pause = async || self.runtime().maybe_yield().await;
        Merge::new(&mut merged, &table, command.reversed, output, progress).run(pause).await
    }
}

/// The lanes of one partition, the first page of one after the other: what an early one says may save the reading of the rest.
async fn newest_first<'r>(
    sources: impl Iterator<Item = OwnSource<'r>>,
    after: Option<&Position>,
    table: &Table,
) -> Result<Vec<Lane<OwnSource<'r>>>, LaneError> {
    let mut lanes = Vec::new();
    let mut deleted: Option<Deletion> = None;
    for mut source in sources {
        if let (Origin::File(file), Some(deletion)) = (&source.origin, deleted)
            && file.sstable.timestamps().1 < deletion.timestamp
        {
            // And so are all that follow, which are older.
            stdx::sometimes!("files older than the partition's deletion are not read");
            break;
        }
        let page = source.fetch(after).await?;
        let lane = Lane::new(source, page, table)?;
        deleted = Deletion::max_of(deleted, lane.deletion_of_all(table));
        if !lane.is_at_end() {
            lanes.push(lane);
        }
    }
    Ok(lanes)
}

/// The lanes of a scan, whose first pages are read at the same time.
async fn all_at_once<'r>(
    sources: impl Iterator<Item = OwnSource<'r>>,
    after: Option<&Position>,
    table: &Table,
) -> Result<Vec<Lane<OwnSource<'r>>>, LaneError> {
    let fetching = sources.map(|mut source| async move {
        let page = source.fetch(after).await?;
        Lane::new(source, page, table)
    });
    let mut lanes = Vec::new();
    for lane in together(fetching).await {
        let lane = lane?;
        if !lane.is_at_end() {
            lanes.push(lane);
        }
    }
    Ok(lanes)
}

/// Runs futures at the same time, and gives what they come to in their order.
async fn together<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    enum State<F: Future> {
        Running(Pin<Box<F>>),
        Done(F::Output),
    }
    let mut states: Vec<State<F>> = futures.map(|future| State::Running(Box::pin(future))).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for state in &mut states {
            let State::Running(future) = state else { continue };
            match future.as_mut().poll(context) {
                Poll::Ready(output) => *state = State::Done(output),
                Poll::Pending => is_done = false,
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let done = states.into_iter().map(|state| match state {
        State::Done(output) => output,
        State::Running(_) => unreachable!("all are done"),
    });
    done.collect()
}
