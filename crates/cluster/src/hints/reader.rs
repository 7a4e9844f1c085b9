//! Reads the hints of a file one after the other, some of its bytes at a time.
//!
//! A damaged file gives what can be read of it: after bytes that are no record the next record is looked for. Bytes at the end that are none
//! are a torn end, which a crash leaves, and no damage: a right head whose body the file does not have is the end, and nothing is looked for in what
//! there is of that body.

use std::io;
use std::path::Path;

use runtime::{AlignedBuf, File, OpenOptions, Runtime};

use super::record::{FILE_HEAD, HEAD, MAGIC, Salt, Start, read_body, read_file_head, read_head};

/// Bytes that are read at once, and looked through between two pauses.
const CHUNK: usize = 64 << 10;

/// A hint as it was kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) start: Start,
    pub(super) mutations: Vec<Vec<u8>>,
    /// Where its record ends in the file.
    pub(super) end: u64,
    /// Bytes of its record.
    pub(super) bytes: usize,
}

/// A file that is being read.
pub(super) struct HintReader {
    runtime: Runtime,
    file: File,
    salt: Salt,
    length: u64,
    /// Some of the file's bytes: from `at` on those from `offset` on.
    buffer: Vec<u8>,
    at: usize,
    offset: u64,
    /// Bytes that were passed over since the last record.
    skipped: u64,
    /// Bytes before some record that are damaged.
    damaged: u64,
}

impl HintReader {
    /// Begins at `position`, or at the first record where that lies before it.
    pub(super) async fn open(runtime: &Runtime, path: &Path, position: u64) -> io::Result<HintReader> {
        let file = runtime.open(path, OpenOptions { read: true, ..OpenOptions::default() }).await?;
        let length = file.len().await?;
        let (read, head) = file.read_at(AlignedBuf::with_capacity(FILE_HEAD), 0).await;
        let (first, salt) = read_file_head(head.get(..read?.min(FILE_HEAD)).unwrap_or_default())?;
        let offset = position.max(first as u64);
        let (runtime, buffer) = (runtime.clone(), Vec::new());
        Ok(HintReader { runtime, file, salt, length, buffer, at: 0, offset, skipped: 0, damaged: 0 })
    }

    /// Bytes that could not be read, of those that some record follows.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The next hint; `None` at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Hint>> {
        loop {
            self.fill(HEAD).await?;
            let Some(head) = read_head(self.salt, self.rest()) else {
                if self.rest().len() < HEAD {
                    return Ok(None);
                }
                self.skip_to_magic().await;
                continue;
            };
            let bytes = HEAD + head.length;
            if self.offset + bytes as u64 > self.length {
                return Ok(None);
            }
            self.fill(bytes).await?;
            if self.rest().len() < bytes {
                return Ok(None);
            }
            let Some(mutations) = read_body(self.salt, &head, &self.rest()[HEAD..bytes]) else {
                // The head is right, so the next one stands after this body, whatever is in that.
                self.skip(bytes);
                continue;
            };
            self.damaged += std::mem::take(&mut self.skipped);
            self.take(bytes);
            return Ok(Some(Hint { start: head.start, mutations, end: self.offset, bytes }));
        }
    }

    /// Reads on until the buffer has so many bytes, or the file ends.
    async fn fill(&mut self, bytes: usize) -> io::Result<()> {
        while self.rest().len() < bytes {
            self.buffer.drain(..std::mem::take(&mut self.at));
            let at = self.offset + self.buffer.len() as u64;
            let wanted = (bytes - self.buffer.len()).max(CHUNK);
            let (read, chunk) = self.file.read_at(AlignedBuf::with_capacity(wanted), at).await;
            let read = read?;
            if read == 0 {
                self.length = self.length.min(at);
                return Ok(());
            }
            self.buffer.extend_from_slice(chunk.get(..read).unwrap_or(&chunk));
            self.runtime.maybe_yield().await;
        }
        Ok(())
    }

    /// Passes over bytes up to the next that may begin a record.
    async fn skip_to_magic(&mut self) {
        let bytes = self.rest().get(1..CHUNK.min(self.rest().len())).unwrap_or_default();
        let found = bytes.windows(MAGIC.len()).position(|window| window == MAGIC);
        // A magic may stand across the end of what is looked at.
        self.skip(found.map_or(bytes.len().saturating_sub(MAGIC.len() - 1), |at| at + 1).max(1));
        self.runtime.maybe_yield().await;
    }

    fn skip(&mut self, bytes: usize) {
        self.skipped += bytes as u64;
        self.take(bytes);
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn take(&mut self, bytes: usize) {
        self.at += bytes;
        assert!(self.at <= self.buffer.len(), "what is taken was read");
        self.offset += bytes as u64;
    }
}
