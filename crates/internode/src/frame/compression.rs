//! LZ4 of a frame's body: length of the body u32 │ LZ4 block.

use super::{FRAME_BODY_MAX, FrameError};

/// Bodies up to this are sent as they are: compressing them saves little, and costs each request.
const PLAIN_MAX: usize = 1 << 10;
/// LZ4 makes no more than this of one byte.
const RATIO_MAX: usize = 255;
const LENGTH: usize = 4;

/// Compresses the body that begins at `start` and ends the buffer, if that makes it shorter. True if it did.
pub(super) fn compress(out: &mut Vec<u8>, start: usize) -> bool {
    let length = out.len() - start;
    if length <= PLAIN_MAX {
        return false;
    }
    let mut block = vec![0; lz4_flex::block::get_maximum_output_size(length)];
    let written = lz4_flex::block::compress_into(&out[start..], &mut block).expect("the block has room for any body");
    let is_shorter = LENGTH + written < length;
    if is_shorter {
        out.truncate(start);
        out.extend_from_slice(&(length as u32).to_be_bytes());
        out.extend_from_slice(&block[..written]);
    }
    is_shorter
}

/// Decompresses a body into `plain`. Memory is taken only for a length that its bytes can have.
pub(super) fn decompress(body: &[u8], plain: &mut Vec<u8>) -> Result<(), FrameError> {
    let (length, block) = body.split_first_chunk::<LENGTH>().ok_or(FrameError::Compression)?;
    let length = u32::from_be_bytes(*length) as usize;
    if length > FRAME_BODY_MAX {
        return Err(FrameError::TooLong { length });
    }
    if length <= PLAIN_MAX || length > block.len().saturating_mul(RATIO_MAX) {
        return Err(FrameError::Compression);
    }
    plain.clear();
    plain.resize(length, 0);
    match lz4_flex::block::decompress_into(block, plain) {
        Ok(written) if written == length => Ok(()),
        _ => Err(FrameError::Compression),
    }
}
