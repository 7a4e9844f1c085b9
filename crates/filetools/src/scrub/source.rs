//! Data that may be damaged: chunk after chunk, each as its checksum says or not at all.

use std::path::PathBuf;

use runtime::{File, OpenOptions, Runtime};
use sstable::Component;
use sstable::checksum::{ChunkChecksums, PLAIN_CHUNK_BYTES, crc32, decode_digest};
use sstable::data::{DataReader, Step};
use sstable::helenus_component::HelenusComponent;
use stdx::AlignedBuf;

use crate::data::Chunks;
use crate::error::ToolError;
use crate::files::Files;
use crate::scrub::keeper::{Keeper, Took};

/// Where data could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    /// The first place in the data that could not be.
    pub(super) at: u64,
    /// What lies before this is not to be tried again.
    pub(super) until: u64,
    /// What is wrong.
    pub(super) what: String,
}

/// Data.db, at any place.
pub(super) struct Source {
    runtime: Runtime,
    path: PathBuf,
    file: File,
    stored_length: u64,
    chunks: Chunks,
    /// The data is as its digest says, whatever single checksums beside it say.
    is_whole: bool,
    is_contradicted: bool,
    /// What was decoded, and where it begins in the data.
    data: Vec<u8>,
    data_at: u64,
}

impl Source {
    pub(super) async fn open(files: &Files, own: Option<&HelenusComponent>) -> Result<Source, ToolError> {
        let path = files.path(Component::Data);
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = files.runtime.open(&path, options).await.map_err(ToolError::read(&path))?;
        let length = file.len().await.map_err(ToolError::read(&path))?;
        // Of a file that was cut short, what is there is read by the place where it would be.
        let known = own.and_then(|own| own.sum(Component::Data)).map(|sum| sum.length);
        let stored_length = known.unwrap_or(length);
        let digest = match files.read(Component::Digest).await {
            Ok(bytes) => decode_digest(&bytes).ok(),
            Err(_) => None,
        };
        let is_whole = digest.is_some() && digest_of(&file).await == digest;
        // Damage within data that has no checksums at all would be taken for rows.
        if !is_whole && !files.has(Component::CompressionInfo).await? && !files.has(Component::Crc).await? {
            files.read(Component::Crc).await?;
        }
        let chunks = match files.chunks(stored_length).await {
            Ok(chunks) => chunks,
            // Data that is whole and not compressed needs no single checksums.
            Err(_) if is_whole && !files.has(Component::CompressionInfo).await? => {
                Chunks::Plain(ChunkChecksums::new(PLAIN_CHUNK_BYTES))
            }
            Err(error) => return Err(error),
        };
        Ok(Source {
            runtime: files.runtime.clone(),
            path,
            file,
            stored_length,
            chunks,
            is_whole,
            is_contradicted: false,
            data: Vec::new(),
            data_at: 0,
        })
    }

    /// Whether the data is whole and cannot be decompressed all the same: then CompressionInfo.db is damaged, and rows that could be read would
    /// be lost.
    pub(super) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    pub(super) fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// The bytes of data.
    pub(super) fn length(&self) -> u64 {
        self.chunks.data_length(self.stored_length)
    }

    /// Gives what stands from `position` on to the keeper, up to a partition's end: where that is. Or the first place that cannot be read.
    pub(super) async fn partition(
        &mut self,
        mut position: u64,
        reader: &mut DataReader,
        keeper: &mut Keeper,
    ) -> Result<Result<u64, Damage>, ToolError> {
        let damage = |at: u64, until: u64, what: String| Ok(Err(Damage { at, until, what }));
        if let Err(damage) = self.seek(position).await {
            return Ok(Err(damage));
        }
        loop {
            self.runtime.maybe_yield().await;
            let bytes = &self.data[(position - self.data_at) as usize..];
            let given = bytes.len();
            let at_least = match reader.next(bytes) {
                Ok(Step::Item { item, used }) => {
                    let took = keeper.take(item);
                    match took {
                        Ok(Took::More) => position += used as u64,
                        Ok(Took::End) => return Ok(Ok(position + used as u64)),
                        Err(what) => return damage(position, position + used as u64, what.to_owned()),
                    }
                    keeper.write_out().await?;
                    continue;
                }
                Ok(Step::NeedMore { at_least }) => at_least.max(given + 1),
                Err(corrupt) => return damage(position, position + 1, corrupt.to_string()),
            };
            if self.length() - position < at_least as u64 {
                return damage(
                    position,
                    position + 1,
                    "an item that begins here runs past the end of the data".to_owned(),
                );
            }
            self.forget_before(position);
            while ((self.data_at + self.data.len() as u64) - position) < at_least as u64 {
                if let Err(damage) = self.extend().await {
                    // The item begins before the damage, and is not there as a whole.
                    return Ok(Err(Damage { at: position, ..damage }));
                }
            }
        }
    }

    /// Makes the data from `position` on be there.
    async fn seek(&mut self, position: u64) -> Result<(), Damage> {
        if (self.data_at..self.data_at + self.data.len() as u64).contains(&position) {
            return Ok(());
        }
        self.data.clear();
        let number = self.chunks.chunk_at(position);
        let chunk = self.chunks.chunk(number, self.stored_length);
        self.data_at = chunk.map_or(position, |chunk| chunk.data_offset);
        self.extend().await
    }

    fn forget_before(&mut self, position: u64) {
        let used = (position - self.data_at) as usize;
        if used > self.data.len() / 2 {
            self.data.drain(..used);
            self.data_at = position;
        }
    }

    /// Decodes the next chunk.
    async fn extend(&mut self) -> Result<(), Damage> {
        let at = self.data_at + self.data.len() as u64;
        let number = self.chunks.chunk_at(at);
        let Some(chunk) = self.chunks.chunk(number, self.stored_length) else {
            return Err(Damage { at, until: at + 1, what: "no chunk at this position".to_owned() });
        };
        let damage = |what: String| Damage { at, until: chunk.data_offset + chunk.data_length as u64, what };
        let buffer = AlignedBuf::with_capacity(chunk.stored_length.max(1));
        let (result, stored) = self.file.read_at(buffer, chunk.offset).await;
        result.map_err(|error| damage(format!("{}: {error}", self.path.display())))?;
        let stored =
            stored.get(..chunk.stored_length).ok_or_else(|| damage("the file ends before the chunk".to_owned()))?;
        let length = self.data.len();
        if self.is_whole && matches!(self.chunks, Chunks::Plain(_)) {
            self.data.extend_from_slice(stored);
        } else if let Err(what) = self.chunks.decode(&chunk, stored, &mut self.data) {
            self.data.truncate(length);
            self.is_contradicted |= self.is_whole;
            return Err(damage(format!("chunk {number} ({:08x}): {what}", crc32(stored))));
        }
        Ok(())
    }
}

/// The checksum of all that is stored; `None` where it cannot be read.
async fn digest_of(file: &File) -> Option<u32> {
    const READ_BYTES: usize = 1 << 20;
    let mut hasher = crc32fast::Hasher::new();
    let (mut at, mut buffer) = (0, AlignedBuf::with_capacity(READ_BYTES));
    loop {
        let (result, read) = file.read_at(buffer, at).await;
        match result.ok()? {
            0 => return Some(hasher.finalize()),
            count => at += count as u64,
        }
        hasher.update(&read);
        buffer = read;
        buffer.clear();
    }
}
