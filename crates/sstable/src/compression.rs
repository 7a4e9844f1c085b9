//! Compressed data: Data.db as chunks that are compressed one by one, and CompressionInfo.db, which says how and where they are.
//!
//! ```text
//! Data.db   chunk │ crc u32 of the chunk's bytes as they are stored │ chunk │ crc │ …
//! ```
//!
//! A chunk holds `chunk_length` bytes of data, the last one fewer. Where compression gains too little (the stored chunk would be of
//! [`CompressionParams::max_compressed_length`] or more) the data is stored as it is; the last chunk is then filled up with zeros
//! to that length. (Source: Cassandra 5.0's `CompressionMetadata`, `CompressedSequentialWriter`, `CompressedChunkReader`.)

mod chunks;
mod codec;
mod info;
mod params;

pub use chunks::{ChunkDecoder, ChunkEncoder};
pub use codec::Compressor;
pub use info::{Chunk, CompressionInfo};
pub use params::CompressionParams;

/// The checksum behind each chunk, bytes.
pub const CHUNK_CRC_BYTES: usize = 4;

#[cfg(test)]
mod tests;
