//! Data.db from its beginning to its end: chunks are read ahead, checked and decompressed; items come out.

use std::path::PathBuf;

use runtime::{File, Runtime};
use sstable::Corrupt;
use sstable::checksum::ChunkChecksums;
use sstable::compression::{Chunk, ChunkDecoder, CompressionInfo};
use sstable::data::{DataReader, Item, Step};
use stdx::AlignedBuf;

use crate::error::ToolError;

/// What one call to the kernel reads.
const READ_BYTES: usize = 1 << 20;

/// How the data lies in the file.
pub(crate) enum Chunks {
    /// In compressed chunks with checksums.
    Compressed(CompressionInfo, Box<ChunkDecoder>),
    /// As it is, with checksums in CRC.db, if it is there.
    Plain(ChunkChecksums),
}

impl Chunks {
    /// The bytes of data, of a file of so many.
    pub(crate) fn data_length(&self, stored_length: u64) -> u64 {
        match self {
            Chunks::Compressed(info, _) => info.data_length(),
            Chunks::Plain(_) => stored_length,
        }
    }

    /// The chunk that a place in the data is in.
    pub(crate) fn chunk_at(&self, position: u64) -> u64 {
        match self {
            Chunks::Compressed(info, _) => info.chunk_at(position),
            Chunks::Plain(checksums) => position / u64::from(checksums.chunk_bytes()),
        }
    }

    pub(crate) fn chunk(&self, number: u64, stored_length: u64) -> Option<Chunk> {
        match self {
            Chunks::Compressed(info, _) => info.chunk(number),
            Chunks::Plain(checksums) => {
                let offset = number.checked_mul(u64::from(checksums.chunk_bytes()))?;
                let left = stored_length.checked_sub(offset).filter(|left| *left > 0)?;
                let length = left.min(u64::from(checksums.chunk_bytes())) as usize;
                Some(Chunk { number, offset, stored_length: length, data_offset: offset, data_length: length })
            }
        }
    }

    pub(crate) fn decode(&mut self, chunk: &Chunk, stored: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Chunks::Compressed(_, decoder) => decoder.decode(stored, chunk.data_length, out),
            Chunks::Plain(checksums) if checksums.matches(chunk.number, stored) => {
                out.extend_from_slice(stored);
                Ok(())
            }
            Chunks::Plain(_) => Err("the checksum in CRC.db does not match".to_owned()),
        }
    }
}

/// A data file that is read from its beginning to its end.
pub(crate) struct DataFile {
    runtime: Runtime,
    path: PathBuf,
    file: File,
    stored_length: u64,
    chunks: Chunks,
    next_chunk: u64,
    /// What was read of the file and is not decoded, and where it begins there.
    stored: AlignedBuf,
    stored_at: u64,
    /// What was decoded; what is before `used` was given out.
    data: Vec<u8>,
    used: usize,
    /// Where `used` is in the data.
    position: u64,
}

impl DataFile {
    pub(crate) fn new(runtime: &Runtime, path: PathBuf, file: File, stored_length: u64, chunks: Chunks) -> Self {
        DataFile {
            runtime: runtime.clone(),
            path,
            file,
            stored_length,
            chunks,
            next_chunk: 0,
            stored: AlignedBuf::with_capacity(0),
            stored_at: 0,
            data: Vec::new(),
            used: 0,
            position: 0,
        }
    }

    /// Where the next item begins, bytes of data.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// How much of the file was read, and how long it is, bytes.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let next = self.chunks.chunk(self.next_chunk, self.stored_length);
        (next.map_or(self.stored_length, |chunk| chunk.offset), self.stored_length)
    }

    /// Gives the next item and where the one behind it begins to `take`; `None` at the end.
    pub(crate) async fn next<T>(
        &mut self,
        reader: &mut DataReader,
        take: impl FnOnce(Item<'_>, u64) -> T,
    ) -> Result<Option<T>, ToolError> {
        self.runtime.maybe_yield().await;
        loop {
            let given = self.data.len() - self.used;
            if given == 0 && !self.read_chunk().await? {
                return Ok(None);
            }
            let bytes = &self.data[self.used..];
            let given = bytes.len();
            let at_least = match reader.next(bytes) {
                Ok(Step::Item { item, used }) => {
                    self.used += used;
                    self.position += used as u64;
                    return Ok(Some(take(item, self.position)));
                }
                Ok(Step::NeedMore { at_least }) => at_least.max(given + 1),
                Err(corrupt) => return Err(ToolError::corrupt(&self.path)(corrupt.from_base(self.position))),
            };
            while self.data.len() - self.used < at_least {
                if !self.read_chunk().await? {
                    let corrupt = Corrupt::new(self.position, "an item that begins here runs past the end of the data");
                    return Err(ToolError::corrupt(&self.path)(corrupt));
                }
            }
        }
    }

    /// Decodes one more chunk; `false`: there is none.
    async fn read_chunk(&mut self) -> Result<bool, ToolError> {
        let Some(chunk) = self.chunks.chunk(self.next_chunk, self.stored_length) else { return Ok(false) };
        self.data.drain(..std::mem::take(&mut self.used));
        let stored_end = self.stored_at + self.stored.len() as u64;
        if chunk.offset < self.stored_at || chunk.offset + chunk.stored_length as u64 > stored_end {
            let buffer = AlignedBuf::with_capacity(chunk.stored_length.max(READ_BYTES));
            let (result, buffer) = self.file.read_at(buffer, chunk.offset).await;
            result.map_err(ToolError::read(&self.path))?;
            (self.stored, self.stored_at) = (buffer, chunk.offset);
        }
        let start = (chunk.offset - self.stored_at) as usize;
        let wrong = |what: String| ToolError::corrupt(&self.path)(Corrupt::new(chunk.offset, what));
        let stored = self.stored.get(start..start + chunk.stored_length);
        let stored = stored.ok_or_else(|| wrong(format!("the file ends within chunk {}", chunk.number)))?;
        let decoded = self.chunks.decode(&chunk, stored, &mut self.data);
        decoded.map_err(|what| wrong(format!("chunk {}: {what}", chunk.number)))?;
        self.next_chunk += 1;
        Ok(true)
    }
}
