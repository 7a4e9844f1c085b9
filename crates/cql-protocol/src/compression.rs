//! Compression of one frame's body, in versions 3 and 4, as STARTUP chose it. (Source: `native_protocol_v5.spec`, section
//! 5, and `native_protocol_v4.spec` for Snappy.)
//!
//! A body begins with the length that it had before. That is a claim: it is checked against the caller's limit and against
//! what the bytes could hold at most, so that memory stays within a fixed ratio of what has arrived.

mod lz4;
mod snappy;

use crate::header::{self, FrameHeader, HEADER_LENGTH};
use crate::{Flags, Version};

pub(crate) use lz4::decompress_block;

/// Below this compression costs more than the bytes it saves.
const COMPRESSED_LENGTH_MIN: usize = 512;

/// How bodies are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// LZ4 blocks.
    Lz4,
    /// Snappy's raw format.
    Snappy,
}

/// Why a body cannot be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompressionError {
    /// Too short for the length.
    #[error("A compressed body has at least 4 bytes and this one has {length}")]
    Truncated {
        /// Bytes of the body.
        length: usize,
    },
    /// More than the limit.
    #[error("A compressed body of {declared} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Bytes that the body claims to hold.
        declared: usize,
        /// The limit.
        limit: usize,
    },
    /// Not a block of the claimed length.
    #[error("A body is not an LZ4 block of {declared} bytes")]
    Corrupt {
        /// Bytes that the body claims to hold.
        declared: usize,
    },
    /// Not Snappy's format, or not of the claimed length.
    #[error("Provided frame does not appear to be Snappy compressed")]
    NotSnappy,
}

/// What a body says of itself.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// Bytes that it claims to hold.
    declared: usize,
    /// Bytes that it can hold at most.
    possible: usize,
    /// Where what is compressed begins.
    at: usize,
}

impl Compression {
    fn claim(self, body: &[u8]) -> Result<Claim, CompressionError> {
        match self {
            Compression::Lz4 => lz4::claim(body),
            Compression::Snappy => snappy::claim(body),
        }
    }

    fn checked_claim(self, body: &[u8], limit: usize) -> Result<Claim, CompressionError> {
        let claim = self.claim(body)?;
        let declared = claim.declared;
        match self {
            _ if declared > limit => Err(CompressionError::TooLarge { declared, limit }),
            _ if declared <= claim.possible => Ok(claim),
            Compression::Lz4 => Err(CompressionError::Corrupt { declared }),
            Compression::Snappy => Err(CompressionError::NotSnappy),
        }
    }

    /// How many bytes [`Compression::decompress`] would take for a body: what it declares, but no more than it can hold.
    pub fn decompressed_length(self, body: &[u8]) -> usize {
        self.claim(body).map_or(0, |claim| claim.declared.min(claim.possible))
    }

    /// Decompresses a body of at most `limit` bytes to the end of `out`, which is left as it was if that fails.
    pub fn decompress(self, body: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CompressionError> {
        let claim = self.checked_claim(body, limit)?;
        match self {
            Compression::Lz4 => lz4::decompress(body, &claim, out),
            Compression::Snappy => snappy::decompress(body, &claim, out),
        }
    }

    /// Appends a body, compressed.
    pub fn compress(self, body: &[u8], out: &mut Vec<u8>) {
        match self {
            Compression::Lz4 => lz4::compress(body, out),
            Compression::Snappy => snappy::compress(body, out),
        }
    }

    /// Appends a whole frame with its body compressed, or as it is if compression would not pay. A frame of version 5 stays
    /// as it is too: its segment is what is compressed.
    pub fn compress_frame(self, frame: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let head = frame.split_first_chunk::<HEADER_LENGTH>().filter(|(head, body)| {
            let is_for_bodies = |head: FrameHeader| head.version < Version::V5;
            body.len() >= COMPRESSED_LENGTH_MIN && FrameHeader::decode(head).is_ok_and(is_for_bodies)
        });
        let Some((head, body)) = head else {
            out.extend_from_slice(frame);
            return;
        };
        out.extend_from_slice(head);
        self.compress(body, out);
        if out.len() - start >= frame.len() {
            out.truncate(start);
            out.extend_from_slice(frame);
            return;
        }
        out[start + 1] |= Flags::COMPRESSED.0;
        header::finish(out, start);
    }
}

/// A body that is decompressed in steps: it may hold as much as a frame may, and would hold the core for as long. The
/// same formats as [`Compression::decompress`] reads.
#[derive(Debug)]
pub struct Decompressor {
    declared: usize,
    steps: Steps,
}

#[derive(Debug)]
enum Steps {
    Lz4(lz4::Steps),
    Snappy(snappy::Steps),
}

impl Decompressor {
    /// Looks at the length of a body of at most `limit` bytes.
    pub fn begin(compression: Compression, body: &[u8], limit: usize) -> Result<Decompressor, CompressionError> {
        let claim = compression.checked_claim(body, limit)?;
        let steps = match compression {
            Compression::Lz4 => Steps::Lz4(lz4::Steps::begin(body, &claim)),
            Compression::Snappy => Steps::Snappy(snappy::Steps::begin(&claim)),
        };
        Ok(Decompressor { declared: claim.declared, steps })
    }

    /// How many bytes the body holds by its own claim, which is no more than it could.
    pub fn declared(&self) -> usize {
        self.declared
    }

    /// Appends some `bytes` more to `out`, which holds what came of `body` so far and nothing else. True: that is all.
    pub fn step(&mut self, body: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<bool, CompressionError> {
        match &mut self.steps {
            Steps::Lz4(steps) => steps.step(body, bytes, out),
            Steps::Snappy(steps) => steps.step(body, bytes, out),
        }
    }
}

/// Appends `count` bytes that repeat the last `offset` ones.
fn repeat(out: &mut Vec<u8>, offset: usize, count: usize) {
    let from = out.len() - offset;
    let mut left = count;
    while left > 0 {
        // What is there behind `from` doubles each time.
        let run = left.min(out.len() - from);
        out.extend_from_within(from..from + run);
        left -= run;
    }
}

#[cfg(test)]
mod tests;
