//! Cutting the bytes of a connection into frames.

use std::ops::Range;

use super::{Body, Frame, FrameError, HEAD, SentHead};

/// The room that a read from the socket has at least.
pub(crate) const READ_BYTES: usize = 16 << 10;
/// Cuts the bytes of a connection into frames. Its buffer grows as bytes arrive, never to a length that a frame merely names.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    used: usize,
}

impl FrameReader {
    /// Nothing has arrived.
    pub fn new() -> Self {
        FrameReader::default()
    }

    /// Gives the buffer away for a read into its spare capacity; [`FrameReader::put_back`] it.
    pub fn take_for_read(&mut self) -> Vec<u8> {
        self.bytes.drain(..self.used);
        self.used = 0;
        // A connection that rests keeps no more than the room for a read.
        if self.bytes.is_empty() && self.bytes.capacity() > READ_BYTES {
            self.bytes = Vec::new();
        }
        if self.bytes.capacity() - self.bytes.len() < READ_BYTES {
            self.bytes.reserve_exact(self.room());
        }
        std::mem::take(&mut self.bytes)
    }

    /// Takes the buffer back with what was read.
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// The bytes that the buffer of the next read takes beyond 16 KiB.
    pub(crate) fn next_buffer(&self) -> usize {
        match self.bytes.len() - self.used {
            0 => 0,
            unread => self.bytes.capacity().max(unread + self.room()) - READ_BYTES,
        }
    }

    /// The next frame; `None` until more has arrived.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let Some(Found { sent, body }) = self.find()? else { return Ok(None) };
        self.used = body.end;
        let body = Body::of(&self.bytes[body], sent.is_compressed)?;
        Ok(Some(Frame { head: sent.head, body }))
    }

    /// At most doubles what is there, since memory follows the bytes that came, and has no more than the rest of the frame.
    fn room(&self) -> usize {
        let unread = &self.bytes[self.used..];
        let rest = match SentHead::decode(unread) {
            Ok(Some(sent)) => (HEAD + sent.length).saturating_sub(unread.len()),
            Ok(None) | Err(_) => 0,
        };
        rest.min(unread.len()).max(READ_BYTES)
    }

    fn find(&self) -> Result<Option<Found>, FrameError> {
        let unused = &self.bytes[self.used..];
        let Some(sent) = SentHead::decode(unused)? else { return Ok(None) };
        let Some(body) = unused.get(HEAD..HEAD + sent.length) else { return Ok(None) };
        if crc32fast::hash(body) != sent.body_crc {
            return Err(FrameError::Body);
        }
        let start = self.used + HEAD;
        let body = start..start + sent.length;
        Ok(Some(Found { sent, body }))
    }
}

struct Found {
    sent: SentHead,
    body: Range<usize>,
}
