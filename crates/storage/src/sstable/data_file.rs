//! Data.db as one run of uncompressed bytes: what is asked for is read in whole chunks with one device read, checked and
//! decompressed.

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mutation::Deletion;
use planted::Bug;
use runtime::{AlignedBuf, File, Runtime};
use sstable::checksum::{ChunkChecksums, crc32};
use sstable::compression::{Chunk, ChunkDecoder, CompressionInfo};
use stdx::aligned_buf::ALIGNMENT;

use crate::sstable::error::ReadError;
use crate::sstable::pages::PageCache;

/// How the data lies in the file.
pub(super) enum Layout {
    /// In compressed chunks with checksums.
    Compressed(CompressionInfo, Box<RefCell<ChunkDecoder>>),
    /// As it is, with checksums in CRC.db, if it is there.
    Plain(ChunkChecksums),
}

/// An open data file.
pub(super) struct DataFile {
    runtime: Runtime,
    /// Tells it from all others of the shard.
    number: u32,
    pub(super) path: PathBuf,
    file: File,
    /// The file's bytes.
    stored_length: u64,
    layout: Layout,
    cache: Rc<PageCache>,
}

impl DataFile {
    pub(super) fn new(
        runtime: &Runtime,
        cache: &Rc<PageCache>,
        path: &Path,
        file: File,
        stored_length: u64,
        layout: Layout,
    ) -> Self {
        let (runtime, path, cache) = (runtime.clone(), path.to_owned(), cache.clone());
        DataFile { number: cache.new_file(), runtime, path, file, stored_length, layout, cache }
    }

    /// The bytes of data.
    pub(super) fn length(&self) -> u64 {
        match &self.layout {
            Layout::Compressed(info, _) => info.data_length(),
            Layout::Plain(_) => self.stored_length,
        }
    }

    /// The memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.layout {
            Layout::Compressed(info, _) => info.memory_bytes(),
            Layout::Plain(checksums) => checksums.count() as usize * size_of::<u32>(),
        }
    }

    /// The chunk with this number, whatever the layout.
    fn chunk(&self, number: u64) -> Option<Chunk> {
        match &self.layout {
            Layout::Compressed(info, _) => info.chunk(number),
            Layout::Plain(checksums) => {
                let offset = number.checked_mul(u64::from(checksums.chunk_bytes()))?;
                let left = self.stored_length.checked_sub(offset).filter(|left| *left > 0)?;
                let length = left.min(u64::from(checksums.chunk_bytes())) as usize;
                Some(Chunk { number, offset, stored_length: length, data_offset: offset, data_length: length })
            }
        }
    }

    fn chunk_at(&self, position: u64) -> u64 {
        match &self.layout {
            Layout::Compressed(info, _) => info.chunk_at(position),
            Layout::Plain(checksums) => position / u64::from(checksums.chunk_bytes()),
        }
    }

    pub(super) fn corrupt(&self, offset: u64, what: impl Into<String>) -> ReadError {
        ReadError::Corrupt { path: self.path.clone(), offset, what: what.into() }
    }

    /// Appends the chunks that hold `data`, which is within the file and not empty, to `out`: one device read. Gives where the
    /// appended bytes begin and end in the data.
    pub(super) async fn read(&self, data: Range<u64>, out: &mut Vec<u8>) -> Result<Range<u64>, ReadError> {
        let numbers = self.chunk_at(data.start)..=self.chunk_at(data.end - 1);
        let (Some(first), Some(last)) = (self.chunk(*numbers.start()), self.chunk(*numbers.end())) else {
            return Err(self.corrupt(data.end, format!("position after the end of the data ({} bytes)", self.length())));
        };
        let stored_end = last.offset + last.stored_length as u64;
        let window_start = first.offset / ALIGNMENT as u64 * ALIGNMENT as u64;
        let window_length = (stored_end - window_start).next_multiple_of(ALIGNMENT as u64) as usize;
        self.cache.count(|counts| {
            counts.data_reads += 1;
            counts.data_bytes += window_length as u64;
        });
        let (result, bytes) = self.file.read_at(AlignedBuf::with_capacity(window_length), window_start).await;
        result.map_err(ReadError::io(&self.path, window_start))?;
        for number in numbers {
            let chunk = self.chunk(number).expect("it is between two that are there");
            let start = (chunk.offset - window_start) as usize;
            let Some(stored) = bytes.get(start..start + chunk.stored_length) else {
                return Err(self.corrupt(chunk.offset, format!("the file ends within chunk {number}")));
            };
            self.decode(&chunk, stored, out).map_err(|what| self.corrupt(chunk.offset, what))?;
            self.runtime.maybe_yield().await;
        }
        Ok(first.data_offset..last.data_offset + last.data_length as u64)
    }

    fn decode(&self, chunk: &Chunk, stored: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let resealed;
        let mut stored = stored;
        if self.cache.planted().is(Bug::CrcUnchecked) {
            resealed = reseal(stored);
            stored = &resealed;
        }
        match &self.layout {
            Layout::Compressed(_, decoder) => decoder.borrow_mut().decode(stored, chunk.data_length, out),
            Layout::Plain(checksums) if checksums.matches(chunk.number, stored) => {
                out.extend_from_slice(stored);
                Ok(())
            }
            Layout::Plain(_) => Err(format!("the checksum of chunk {} in CRC.db does not match", chunk.number)),
        }
    }
}

/// The mistake of [`Bug::CrcUnchecked`]: the checksum behind a chunk is made to match whatever it holds.
fn reseal(stored: &[u8]) -> Vec<u8> {
    let data = &stored[..stored.len().saturating_sub(4)];
    [data, &crc32(data).to_be_bytes()].concat()
}

/// What the first read of a window takes at least, if the reader knows of no better.
const AHEAD_FIRST: usize = 4 << 10;
/// What further reads take at most.
const AHEAD_MAX: usize = 256 << 10;
/// What is kept behind the place of a read: a read that goes on begins at the block in which it ended.
const KEPT_BEHIND: u64 = 64 << 10;

/// What a read holds of a data file, for the read that goes on where it ended: it finds its bytes here instead of on the device, and
/// the further reads go on one after the other, the further they read ahead. It is one SSTable's at a time.
#[derive(Debug, Default)]
pub struct ReadWindow {
    /// The file's number.
    of: u32,
    bytes: Vec<u8>,
    /// Where `bytes` begins in the data.
    start: u64,
    /// How much the next read takes.
    ahead: usize,
    /// What it takes at most, if that is less than what any read does.
    ahead_max: Option<usize>,
    /// How much is kept behind the place of a read.
    kept_behind: u64,
    /// The first of the bytes that were read backwards last.
    back_to: u64,
    /// The partition whose blocks were read last: where it begins, and what stands before its rows.
    pub(super) head: Option<(u64, Head)>,
}

/// What stands before a partition's rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    pub(super) key: Vec<u8>,
    pub(super) deletion: Option<Deletion>,
    /// The static row's blob; empty if there is none.
    pub(super) static_row: Vec<u8>,
}

impl ReadWindow {
    /// A window that takes at most so much at a time.
    pub(super) fn bounded(ahead_max: usize) -> Self {
        ReadWindow { ahead_max: Some(ahead_max.max(AHEAD_FIRST)), ..ReadWindow::default() }
    }

    /// Forgets what it holds of another file.
    pub(super) fn turn_to(&mut self, file: &DataFile) {
        if self.of != file.number {
            *self = ReadWindow { of: file.number, ahead_max: self.ahead_max, ..ReadWindow::default() };
        }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Makes bytes from `position` on be there, for a reader that expects to need `expected`. What lies before it may go.
    pub(super) async fn seek(&mut self, file: &DataFile, position: u64, expected: usize) -> Result<(), ReadError> {
        if (self.start..self.end()).contains(&position) {
            self.forget_before(position);
            return Ok(());
        }
        if position >= file.length() {
            return Err(file.corrupt(position, format!("position after the end of the data ({} bytes)", file.length())));
        }
        let is_next = !self.bytes.is_empty() && position == self.end();
        let expected = if is_next { self.next_ahead().max(expected) } else { expected };
        self.bytes.clear();
        self.ahead = expected.max(AHEAD_FIRST);
        let end = position.saturating_add(expected.max(1) as u64).min(file.length());
        // On an error there is nothing, which is where it is.
        self.start = file.read(position..end, &mut self.bytes).await?.start;
        Ok(())
    }

    /// [`ReadWindow::seek`] for a reader that needs the bytes from `block.start` to `block.end`, and then those before them, back to
    /// `first`.
    pub(super) async fn seek_back(&mut self, file: &DataFile, block: Range<u64>, first: u64) -> Result<(), ReadError> {
        if (self.start..self.end()).contains(&block.start) || block.is_empty() || block.end > file.length() {
            return self.seek(file, block.start, 1).await;
        }
        // What was read ahead begins at a chunk, within a block or where the one before ends.
        let is_next = (block.start..=block.end).contains(&self.back_to);
        let ahead = if is_next { self.next_ahead() } else { 0 };
        let from = block.start.saturating_sub(ahead as u64).max(first);
        let from = if (self.start..self.end()).contains(&from) { block.start } else { from };
        self.seek(file, from, (block.end - from) as usize).await?;
        (self.back_to, self.kept_behind) = (self.start, AHEAD_MAX as u64 + KEPT_BEHIND);
        Ok(())
    }

    /// The bytes from `position` on, which [`ReadWindow::seek`] was told of.
    #[inline]
    pub(super) fn bytes(&self, position: u64) -> &[u8] {
        &self.bytes[(position - self.start) as usize..]
    }

    /// Adds bytes behind those that are there; none at the end of the data. What lies before `position` may go.
    pub(super) async fn extend(&mut self, file: &DataFile, position: u64) -> Result<(), ReadError> {
        self.forget_before(position);
        let end = self.end();
        if end >= file.length() {
            return Ok(());
        }
        // A row that is longer than what is here wants at least as much again.
        let wanted = self.next_ahead().max(self.bytes.len());
        let wanted = end.saturating_add(wanted as u64).min(file.length());
        let length = self.bytes.len();
        match file.read(end..wanted, &mut self.bytes).await {
            Ok(read) => {
                assert_eq!(read.start, end, "a window ends where a chunk does");
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(length);
                Err(error)
            }
        }
    }

    fn next_ahead(&mut self) -> usize {
        let most = self.ahead_max.map_or(AHEAD_MAX, |most| most.min(AHEAD_MAX));
        self.ahead = (self.ahead * 2).clamp(AHEAD_FIRST, most);
        self.ahead
    }

    /// Moves the bytes to the front when most of them are used up.
    fn forget_before(&mut self, position: u64) {
        let used = position.saturating_sub(self.start).saturating_sub(self.kept_behind.max(KEPT_BEHIND)) as usize;
        if used > self.bytes.len() / 2 {
            self.bytes.drain(..used);
            self.start += used as u64;
        }
    }
}
