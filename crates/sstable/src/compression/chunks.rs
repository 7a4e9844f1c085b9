//! Chunks as they are stored, checksum and all.

use super::CHUNK_CRC_BYTES;
use super::codec::{Decoder, Encoder};
use super::params::CompressionParams;
use crate::checksum::crc32;

/// Makes stored chunks of data.
pub struct ChunkEncoder {
    params: CompressionParams,
    encoder: Encoder,
}

impl ChunkEncoder {
    /// For chunks of `params`.
    pub fn new(params: &CompressionParams) -> Self {
        ChunkEncoder { params: params.clone(), encoder: Encoder::new(params.compressor) }
    }

    /// Appends the chunk of `data`, which is as long as a chunk or the file's last, with its checksum.
    pub fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) {
        assert!(!data.is_empty() && data.len() <= self.params.chunk_length as usize, "data of one chunk");
        let start = out.len();
        self.encoder.encode(self.params.compressor, data, out);
        let max_compressed_length = self.params.max_compressed_length as usize;
        if out.len() - start >= max_compressed_length {
            out.truncate(start);
            out.extend_from_slice(data);
            // A reader tells by the length that the data is stored as it is.
            if data.len() < max_compressed_length {
                out.resize(start + max_compressed_length, 0);
            }
        }
        let crc = crc32(&out[start..]);
        out.extend_from_slice(&crc.to_be_bytes());
    }
}

/// Makes data of stored chunks.
pub struct ChunkDecoder {
    max_compressed_length: usize,
    decoder: Decoder,
}

impl ChunkDecoder {
    /// For chunks of `params`.
    pub fn new(params: &CompressionParams) -> Self {
        let max_compressed_length = params.max_compressed_length as usize;
        ChunkDecoder { max_compressed_length, decoder: Decoder::new(params.compressor) }
    }

    /// Appends the `length` bytes of data of a chunk, given with its checksum, which is compared first. The caller knows the length,
    /// so that memory is taken for what a chunk may hold. On an error nothing is appended.
    pub fn decode(&mut self, chunk: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let Some((stored, crc)) = chunk.split_last_chunk::<CHUNK_CRC_BYTES>() else {
            return Err(format!("a chunk of {} bytes", chunk.len()));
        };
        if crc32(stored) != u32::from_be_bytes(*crc) {
            return Err("the checksum of a chunk does not match".to_owned());
        }
        if stored.len() >= self.max_compressed_length {
            let data = stored.get(..length).ok_or("a chunk is shorter than its data")?;
            out.extend_from_slice(data);
            return Ok(());
        }
        let start = out.len();
        out.resize(start + length, 0);
        let decoded = self.decoder.decode(stored, &mut out[start..]);
        if decoded.is_err() {
            out.truncate(start);
        }
        decoded
    }
}
