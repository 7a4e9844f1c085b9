//! Compression of one frame's body, in version 4: the length before compression as four big-endian bytes, then one LZ4
//! block. (Source: `native_protocol_v5.spec`, section 5.)
//!
//! The length is a claim. It is checked against the caller's limit and against what the block could hold at most, so
//! that memory stays within a fixed ratio of the bytes that have arrived.

use crate::header::{self, FrameHeader, HEADER_LENGTH};
use crate::{Flags, Version};

/// Bytes of the length.
const LENGTH_BYTES: usize = 4;
/// An LZ4 block grows by at most this factor when it is decompressed.
const RATIO_MAX: usize = 255;
/// Below this compression costs more than the bytes it saves.
const COMPRESSED_LENGTH_MIN: usize = 512;

/// Why a body cannot be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompressionError {
    /// Too short for the length.
    #[error("A compressed body has at least {LENGTH_BYTES} bytes and this one has {length}")]
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
}

/// Decompresses a block of known length to the end of `out`, which is left as it was if that fails.
pub(crate) fn decompress_block(block: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), CompressionError> {
    let corrupt = CompressionError::Corrupt { declared: length };
    if length > block.len().saturating_mul(RATIO_MAX) {
        return Err(corrupt);
    }
    let start = out.len();
    out.resize(start + length, 0);
    match lz4_flex::block::decompress_into(block, &mut out[start..]) {
        Ok(written) if written == length => Ok(()),
        _ => {
            out.truncate(start);
            Err(corrupt)
        }
    }
}

/// How many bytes [`decompress`] would take for a body: what it declares, but no more than its block can hold.
pub fn decompressed_length(body: &[u8]) -> usize {
    let Some((declared, block)) = body.split_first_chunk::<LENGTH_BYTES>() else { return 0 };
    (u32::from_be_bytes(*declared) as usize).min(block.len().saturating_mul(RATIO_MAX))
}

/// Decompresses a body of at most `limit` bytes to the end of `out`, which is left as it was if that fails.
pub fn decompress(body: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CompressionError> {
    let Some((declared, block)) = body.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(CompressionError::Truncated { length: body.len() });
    };
    let declared = u32::from_be_bytes(*declared) as usize;
    if declared > limit {
        return Err(CompressionError::TooLarge { declared, limit });
    }
    if declared == 0 {
        // Cassandra writes an empty block for it, of one byte.
        return Ok(());
    }
    decompress_block(block, declared, out)
}

/// A body that is decompressed in steps: one block may hold as much as a frame may, and would hold the core for as long.
///
/// The same format as [`decompress`] reads, decoded here sequence by sequence. (Source: LZ4's `lz4_Block_format.md`.)
#[derive(Debug)]
pub struct Decompressor {
    declared: usize,
    /// The place in the body.
    at: usize,
    /// Literals that are still to be copied.
    literals: usize,
    /// How much of the match behind the literals is to be copied, and from how far back. Before its offset was read that is 0.
    matched: usize,
    offset: usize,
    /// A sequence was begun: behind its literals there is an offset, or the end.
    is_in_sequence: bool,
}

impl Decompressor {
    /// Looks at the length of a body of at most `limit` bytes.
    pub fn begin(body: &[u8], limit: usize) -> Result<Decompressor, CompressionError> {
        let Some((declared, block)) = body.split_first_chunk::<LENGTH_BYTES>() else {
            return Err(CompressionError::Truncated { length: body.len() });
        };
        let declared = u32::from_be_bytes(*declared) as usize;
        if declared > limit {
            return Err(CompressionError::TooLarge { declared, limit });
        }
        if declared > block.len().saturating_mul(RATIO_MAX) {
            return Err(CompressionError::Corrupt { declared });
        }
        let mut begun =
            Decompressor { declared, at: LENGTH_BYTES, literals: 0, matched: 0, offset: 0, is_in_sequence: false };
        if declared == 0 {
            begun.at = body.len();
        }
        Ok(begun)
    }

    /// How many bytes the body holds by its own claim, which is no more than it could.
    pub fn declared(&self) -> usize {
        self.declared
    }

    /// Appends some `bytes` more to `out`, which holds what came of `body` so far and nothing else. True: that is all.
    pub fn step(&mut self, body: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<bool, CompressionError> {
        let stop = out.len().saturating_add(bytes);
        while out.len() < stop {
            if self.literals > 0 {
                let count = self.literals.min(stop - out.len());
                let literals = body.get(self.at..self.at + count).ok_or_else(|| self.corrupt())?;
                out.extend_from_slice(literals);
                self.at += count;
                self.literals -= count;
            } else if self.matched > 0 && self.offset > 0 {
                let count = self.matched.min(stop - out.len());
                repeat(out, self.offset, count);
                self.matched -= count;
            } else if self.at == body.len() {
                // A block ends behind literals; an empty body has none at all.
                let is_whole = out.len() == self.declared && (self.is_in_sequence || self.declared == 0);
                return if is_whole { Ok(true) } else { Err(self.corrupt()) };
            } else if self.is_in_sequence {
                self.read_match(body, out.len())?;
            } else {
                self.read_token(body, out.len())?;
            }
        }
        Ok(false)
    }

    fn read_token(&mut self, body: &[u8], done: usize) -> Result<(), CompressionError> {
        let token = usize::from(self.byte(body)?);
        self.literals = self.length(body, token >> 4, done)?;
        // The match's own length stands behind the literals.
        self.matched = token & 15;
        self.offset = 0;
        self.is_in_sequence = true;
        Ok(())
    }

    fn read_match(&mut self, body: &[u8], done: usize) -> Result<(), CompressionError> {
        /// The shortest match.
        const MATCH_MIN: usize = 4;
        self.offset = usize::from(u16::from_le_bytes([self.byte(body)?, self.byte(body)?]));
        if self.offset == 0 || self.offset > done {
            return Err(self.corrupt());
        }
        self.matched = self.length(body, self.matched, done)? + MATCH_MIN;
        self.is_in_sequence = false;
        if self.matched > self.declared - done { Err(self.corrupt()) } else { Ok(()) }
    }

    /// A length that goes on in further bytes if four bits are too few; no longer than what is lacking of the whole.
    fn length(&mut self, body: &[u8], nibble: usize, done: usize) -> Result<usize, CompressionError> {
        let mut length = nibble;
        if nibble == 15 {
            loop {
                let more = self.byte(body)?;
                length += usize::from(more);
                if length > self.declared - done {
                    return Err(self.corrupt());
                }
                if more < u8::MAX {
                    break;
                }
            }
        }
        if length > self.declared - done { Err(self.corrupt()) } else { Ok(length) }
    }

    fn byte(&mut self, body: &[u8]) -> Result<u8, CompressionError> {
        let byte = *body.get(self.at).ok_or_else(|| self.corrupt())?;
        self.at += 1;
        Ok(byte)
    }

    fn corrupt(&self) -> CompressionError {
        CompressionError::Corrupt { declared: self.declared }
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

/// Appends a body, compressed.
pub fn compress(body: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(body.len()).expect("a frame's body is far below 4 GiB");
    let start = out.len();
    out.resize(start + LENGTH_BYTES + lz4_flex::block::get_maximum_output_size(body.len()), 0);
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    let written = lz4_flex::block::compress_into(body, &mut out[start + LENGTH_BYTES..])
        .expect("the output has the size that the worst case needs");
    out.truncate(start + LENGTH_BYTES + written);
}

/// Appends a whole frame with its body compressed, or as it is if compression would not pay. A frame of version 5 stays
/// as it is too: its segment is what is compressed.
pub fn compress_frame(frame: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let head = frame.split_first_chunk::<HEADER_LENGTH>().filter(|(head, body)| {
        body.len() >= COMPRESSED_LENGTH_MIN && FrameHeader::decode(head).is_ok_and(|head| head.version == Version::V4)
    });
    let Some((head, body)) = head else {
        out.extend_from_slice(frame);
        return;
    };
    out.extend_from_slice(head);
    compress(body, out);
    if out.len() - start >= frame.len() {
        out.truncate(start);
        out.extend_from_slice(frame);
        return;
    }
    out[start + 1] |= Flags::COMPRESSED.0;
    header::finish(out, start);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorBody, write_error};

    #[test]
    fn bodies_round_trip() {
        for body in [vec![], vec![7], vec![9; 100_000], (0..10_000).map(|n: u32| ((n * n) >> 3) as u8).collect()] {
            let (mut compressed, mut out) = (Vec::new(), b"kept".to_vec());
            compress(&body, &mut compressed);
            decompress(&compressed, body.len(), &mut out).unwrap();
            assert_eq!(&out[..4], b"kept");
            assert_eq!(&out[4..], body);
        }
    }

    fn in_steps(body: &[u8], limit: usize, bytes: usize) -> Result<Vec<u8>, CompressionError> {
        let mut out = Vec::new();
        let mut decompressor = Decompressor::begin(body, limit)?;
        loop {
            let before = out.len();
            let is_whole = decompressor.step(body, bytes, &mut out)?;
            assert!(out.len() - before <= bytes, "a step is bounded");
            if is_whole {
                return Ok(out);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn steps_come_to_the_same_as_one_call(
            parts in proptest::collection::vec((proptest::collection::vec(0u8..4, 0..40), 0usize..300), 0..40),
            bytes in 1usize..200,
        ) {
            let body: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(times / 10 + 1)).collect();
            let mut compressed = Vec::new();
            compress(&body, &mut compressed);
            proptest::prop_assert_eq!(in_steps(&compressed, body.len(), bytes).unwrap(), body);
        }

        #[test]
        fn steps_refuse_what_one_call_refuses(
            mut body in proptest::collection::vec(0u8..255, 0..60),
            declared in 0u32..400,
        ) {
            if let Some(length) = body.first_chunk_mut() {
                *length = declared.to_be_bytes();
            }
            let mut out = Vec::new();
            let at_once = decompress(&body, 300, &mut out).map(|()| out);
            let stepped = in_steps(&body, 300, 7);
            // A library may be milder about the last bytes of a block; what both take is the same.
            if let (Ok(at_once), Ok(stepped)) = (&at_once, &stepped) {
                proptest::prop_assert_eq!(at_once, stepped);
            }
            proptest::prop_assert!(stepped.is_err() || stepped.unwrap().len() == declared as usize);
        }
    }

    #[test]
    fn bombs_take_no_memory() {
        let mut out = Vec::new();
        let declared = u32::MAX.to_be_bytes();
        assert!(matches!(decompress(&declared, 1 << 28, &mut out), Err(CompressionError::TooLarge { .. })));
        let mut body = (1u32 << 28).to_be_bytes().to_vec();
        body.extend_from_slice(&[0; 1_000]);
        assert!(matches!(decompress(&body, 1 << 28, &mut out), Err(CompressionError::Corrupt { .. })));
        assert!(matches!(decompress(&[0, 0, 0], 10, &mut out), Err(CompressionError::Truncated { length: 3 })));
        assert_eq!(out.capacity(), 0);
    }

    #[test]
    fn a_wrong_length_is_an_error() {
        let mut compressed = Vec::new();
        compress(&[9; 1_000], &mut compressed);
        for declared in [999u32, 1_001] {
            compressed[..4].copy_from_slice(&declared.to_be_bytes());
            let mut out = vec![1];
            assert!(decompress(&compressed, 10_000, &mut out).is_err());
            assert_eq!(out, [1]);
        }
    }

    #[test]
    fn large_frames_are_compressed_and_small_ones_are_not() {
        let (mut large, mut small) = (Vec::new(), Vec::new());
        write_error(&mut large, Version::V4, 3, &ErrorBody::invalid("again and ".repeat(1_000)));
        write_error(&mut small, Version::V4, 3, &ErrorBody::invalid("once"));
        let mut out = vec![0xaa];
        compress_frame(&large, &mut out);
        let (header, body) = out[1..].split_first_chunk::<HEADER_LENGTH>().unwrap();
        let header = FrameHeader::decode(header).unwrap();
        assert!(header.flags.contains(Flags::COMPRESSED));
        assert_eq!(header.length as usize, body.len());
        assert!(body.len() < large.len() / 10);
        let mut whole = Vec::new();
        decompress(body, 1 << 20, &mut whole).unwrap();
        assert_eq!(whole, large[HEADER_LENGTH..]);

        out.clear();
        compress_frame(&small, &mut out);
        assert_eq!(out, small);
    }
}
