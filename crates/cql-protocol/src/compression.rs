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
