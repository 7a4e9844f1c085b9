//! Version 5's segments, which carry frames once STARTUP is answered.
//!
//! ```text
//! plain:  length u17 | self-contained u1 | 0 u6                    | crc24 | payload | crc32     (6 + n + 4 bytes)
//! lz4:    length u17 | uncompressed u17  | self-contained u1 | 0 u5 | crc24 | payload | crc32     (8 + n + 4 bytes)
//! ```
//!
//! Bits and bytes are little-endian, unlike everything else in the protocol. `length` is that of the payload as it is on
//! the wire. With LZ4, `uncompressed` is 0 for a payload that is stored as it is. A self-contained segment holds whole
//! frames, one or more; the others hold a piece of one frame that is too large. (Source: Cassandra's `FrameEncoderCrc`,
//! `FrameEncoderLZ4` and the decoders beside them.)
//!
//! A wrong checksum or block is final: what follows on the stream cannot be trusted, so the connection must end.

use crate::header::HEADER_LENGTH;
use crate::{compression, crc};

/// The longest payload: 128 KiB less one byte.
pub const PAYLOAD_MAX: usize = (1 << 17) - 1;
/// The most bytes that a segment adds to its payload.
pub const OVERHEAD_MAX: usize = 8 + TRAILER_LENGTH;

const CRC24_BYTES: usize = 3;
const TRAILER_LENGTH: usize = 4;
const LENGTH_BITS: u32 = 17;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;

/// How a connection's segments are laid down, as STARTUP chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Payloads as they are.
    Plain,
    /// Payloads compressed with LZ4 where that makes them smaller.
    Lz4,
}

impl Codec {
    /// Bytes of the fields, without their checksum.
    #[inline]
    fn field_bytes(self) -> usize {
        match self {
            Codec::Plain => 3,
            Codec::Lz4 => 5,
        }
    }

    /// Bytes before the payload.
    #[inline]
    pub fn header_length(self) -> usize {
        self.field_bytes() + CRC24_BYTES
    }

    /// Where the self-contained bit is.
    #[inline]
    fn self_contained_shift(self) -> u32 {
        match self {
            Codec::Plain => LENGTH_BITS,
            Codec::Lz4 => 2 * LENGTH_BITS,
        }
    }
}

/// Why bytes are not a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The header's checksum is wrong.
    #[error("Segment header checksum mismatch: computed {computed:#08x}, stored {stored:#08x}")]
    HeaderChecksum {
        /// The checksum in the segment.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The payload's checksum is wrong.
    #[error("Segment payload checksum mismatch: computed {computed:#010x}, stored {stored:#010x}")]
    PayloadChecksum {
        /// The checksum in the segment.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The payload is not an LZ4 block of the length in the header.
    #[error("Segment payload is not an LZ4 block of {length} bytes")]
    Corrupt {
        /// The length.
        length: usize,
    },
}

/// What is at the start of the bytes that have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// Not yet a whole segment.
    Incomplete {
        /// How many more bytes are needed before it makes sense to look again.
        lacking: usize,
    },
    /// A segment, whose payload was appended.
    Segment {
        /// Bytes that the segment took.
        used: usize,
        /// Whether the payload is whole frames.
        self_contained: bool,
    },
}

struct SegmentHeader {
    payload_length: usize,
    uncompressed_length: usize,
    self_contained: bool,
}

impl SegmentHeader {
    #[inline]
    fn encode(&self, codec: Codec, out: &mut [u8]) {
        let mut fields = self.payload_length as u64;
        if codec == Codec::Lz4 {
            fields |= (self.uncompressed_length as u64) << LENGTH_BITS;
        }
        fields |= u64::from(self.self_contained) << codec.self_contained_shift();
        let split = codec.field_bytes();
        out[..split].copy_from_slice(&fields.to_le_bytes()[..split]);
        let checksum = crc::crc24(&out[..split]);
        out[split..split + CRC24_BYTES].copy_from_slice(&checksum.to_le_bytes()[..CRC24_BYTES]);
    }

    /// Decodes exactly [`Codec::header_length`] bytes.
    #[inline]
    fn decode(codec: Codec, bytes: &[u8]) -> Result<SegmentHeader, SegmentError> {
        let (fields, stored) = bytes.split_at(codec.field_bytes());
        let computed = crc::crc24(fields);
        let stored = little_endian(stored) as u32;
        if stored != computed {
            return Err(SegmentError::HeaderChecksum { stored, computed });
        }
        let bits = little_endian(fields);
        Ok(SegmentHeader {
            payload_length: (bits & LENGTH_MASK) as usize,
            uncompressed_length: match codec {
                Codec::Plain => 0,
                Codec::Lz4 => ((bits >> LENGTH_BITS) & LENGTH_MASK) as usize,
            },
            self_contained: bits >> codec.self_contained_shift() & 1 != 0,
        })
    }
}

#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Looks for a segment at the start of `input` and appends its payload to `out`, which is left as it was if there is none.
///
/// A plain payload is copied too, rather than borrowed: what it carries (many small requests, or a piece of a large one)
/// has to be kept until it is complete anyhow, and a compressed one has no other place.
#[inline]
pub fn decode(input: &[u8], codec: Codec, out: &mut Vec<u8>) -> Result<Decoded, SegmentError> {
    let header_length = codec.header_length();
    let Some((header, rest)) = input.split_at_checked(header_length) else {
        return Ok(Decoded::Incomplete { lacking: header_length - input.len() });
    };
    let header = SegmentHeader::decode(codec, header)?;
    let after_header = header.payload_length + TRAILER_LENGTH;
    if rest.len() < after_header {
        return Ok(Decoded::Incomplete { lacking: after_header - rest.len() });
    }
    let (payload, trailer) = rest[..after_header].split_at(header.payload_length);
    let stored = little_endian(trailer) as u32;
    let computed = crc::crc32(payload);
    if stored != computed {
        return Err(SegmentError::PayloadChecksum { stored, computed });
    }
    match header.uncompressed_length {
        0 => out.extend_from_slice(payload),
        length => compression::decompress_block(payload, length, out).map_err(|_| SegmentError::Corrupt { length })?,
    }
    Ok(Decoded::Segment { used: header_length + after_header, self_contained: header.self_contained })
}

/// Appends one segment. The payload has at most [`PAYLOAD_MAX`] bytes.
pub fn encode(payload: &[u8], self_contained: bool, codec: Codec, out: &mut Vec<u8>) {
    assert!(payload.len() <= PAYLOAD_MAX, "a segment's payload has at most {PAYLOAD_MAX} bytes");
    let start = out.len();
    let payload_at = start + codec.header_length();
    out.resize(payload_at, 0);
    let mut header = SegmentHeader { payload_length: payload.len(), uncompressed_length: 0, self_contained };
    match codec {
        Codec::Plain => out.extend_from_slice(payload),
        Codec::Lz4 => {
            out.resize(payload_at + lz4_flex::block::get_maximum_output_size(payload.len()), 0);
            let written = lz4_flex::block::compress_into(payload, &mut out[payload_at..])
                .expect("the output has the size that the worst case needs");
            out.truncate(payload_at + written);
            if written >= payload.len() {
                out.truncate(payload_at);
                out.extend_from_slice(payload);
            } else {
                header.payload_length = written;
                header.uncompressed_length = payload.len();
            }
        }
    }
    header.encode(codec, &mut out[start..payload_at]);
    let checksum = crc::crc32(&out[payload_at..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Appends segments that carry `frames`, which are whole frames one after another: as many in one segment as fit, and a
/// frame that does not fit alone in pieces of its own.
pub fn encode_frames(frames: &[u8], codec: Codec, out: &mut Vec<u8>) {
    out.reserve(frames.len() + OVERHEAD_MAX * (1 + frames.len() / PAYLOAD_MAX));
    let mut rest = frames;
    while !rest.is_empty() {
        let whole = whole_frames(rest);
        if whole > 0 {
            encode(&rest[..whole], true, codec, out);
            rest = &rest[whole..];
            continue;
        }
        let (large, after) = rest.split_at(frame_length(rest).unwrap_or(rest.len()).min(rest.len()));
        for piece in large.chunks(PAYLOAD_MAX) {
            encode(piece, false, codec, out);
        }
        rest = after;
    }
}

/// Bytes of the frames at the start of `frames` that fit one segment together. 0 if the first alone does not.
#[inline]
fn whole_frames(frames: &[u8]) -> usize {
    if frames.len() <= PAYLOAD_MAX {
        return frames.len();
    }
    let mut whole = 0;
    while let Some(length) = frame_length(&frames[whole..]) {
        if length > PAYLOAD_MAX - whole {
            break;
        }
        whole += length;
    }
    whole
}

/// The length of the frame at the start of `frames`, header included, or `None` without a whole header.
#[inline]
fn frame_length(frames: &[u8]) -> Option<usize> {
    let header = frames.first_chunk::<HEADER_LENGTH>()?;
    let [.., a, b, c, d] = *header;
    Some(HEADER_LENGTH + u32::from_be_bytes([a, b, c, d]) as usize)
}

#[cfg(test)]
mod tests;
