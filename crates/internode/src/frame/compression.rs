//! LZ4 of a frame's body: length of the message u32 │ LZ4 block.

use super::FrameError;

/// Bodies up to this are sent as they are: compressing them saves little, and costs each request.
const PLAIN_MAX: usize = 1 << 10;
/// So are those above this: it would take too long for one turn of the shard, and memory for what a peer merely says.
const COMPRESSED_MAX: usize = 256 << 10;
const LENGTH: usize = 4;

/// Compresses the body that begins at `start` and ends the buffer, if that makes it shorter. True if it did.
pub(super) fn compress(out: &mut Vec<u8>, start: usize) -> bool {
    let length = out.len() - start;
    if length <= PLAIN_MAX || length > COMPRESSED_MAX {
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

/// The length of a compressed body's message, as it says.
pub(super) fn plain_length(body: &[u8]) -> Result<usize, FrameError> {
    let length = body.first_chunk::<LENGTH>().ok_or(FrameError::Compression)?;
    let length = u32::from_be_bytes(*length) as usize;
    match length > PLAIN_MAX && length <= COMPRESSED_MAX {
        true => Ok(length),
        false => Err(FrameError::Compression),
    }
}

/// Decompresses a body.
pub(super) fn decompress(body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut message = vec![0; plain_length(body)?];
    match lz4_flex::block::decompress_into(&body[LENGTH..], &mut message) {
        Ok(written) if written == message.len() => Ok(message),
        _ => Err(FrameError::Compression),
    }
}
