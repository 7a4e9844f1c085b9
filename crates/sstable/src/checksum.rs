//! Checksums: CRC.db, which holds those of the chunks of uncompressed data, and Digest.crc32, that of the whole data file.
//!
//! ```text
//! CRC.db         chunk length u32 │ crc u32 for each chunk of Data.db, the last may be shorter
//! Digest.crc32   the CRC-32 of all bytes of Data.db in decimal digits
//! ```
//!
//! Cassandra writes chunks of 64 KiB and reads any power of two. Here they are of 4 KiB, so that a small read is checked without
//! reading more than it needs. (Source: Cassandra's `ChecksumWriter`, `DataIntegrityMetadata`.)

use crate::Corrupt;

/// The chunks of uncompressed data that have a checksum each when we write, bytes.
pub const PLAIN_CHUNK_BYTES: u32 = 4096;

/// Longer chunks are refused: one is read as a whole.
const CHUNK_BYTES_MAX: u32 = 16 << 20;

/// The CRC-32 of `bytes`, as Java's `CRC32` has it.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// What CRC.db says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkChecksums {
    chunk_bytes: u32,
    checksums: Vec<u32>,
    /// False: there is no CRC.db, and chunks are taken as they are read.
    is_known: bool,
}

impl ChunkChecksums {
    /// Of no chunks yet, each of which will have `chunk_bytes`, but for the last.
    pub fn new(chunk_bytes: u32) -> Self {
        ChunkChecksums { chunk_bytes, checksums: Vec::new(), is_known: true }
    }

    /// Of uncompressed data without CRC.db: no chunk is compared with anything. Cassandra reads such data too, since CRC.db is needed by
    /// its verifier alone; ScyllaDB's files of Cassandra 3 may lack it.
    pub fn missing() -> Self {
        ChunkChecksums { is_known: false, ..ChunkChecksums::new(PLAIN_CHUNK_BYTES) }
    }

    /// Adds the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.checksums.push(crc32(chunk));
    }

    /// The bytes of a chunk.
    pub fn chunk_bytes(&self) -> u32 {
        self.chunk_bytes
    }

    /// The checksum of the chunk with this number.
    pub fn get(&self, chunk: u64) -> Option<u32> {
        self.checksums.get(usize::try_from(chunk).ok()?).copied()
    }

    /// False if `stored` is not the chunk with this number as it was written; true also where nothing is known of it.
    pub fn matches(&self, chunk: u64, stored: &[u8]) -> bool {
        !self.is_known || self.get(chunk) == Some(crc32(stored))
    }

    /// How many chunks there are.
    pub fn count(&self) -> u64 {
        self.checksums.len() as u64
    }

    /// The bytes of CRC.db.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + 4 * self.checksums.len());
        out.extend_from_slice(&self.chunk_bytes.to_be_bytes());
        out.extend(self.checksums.iter().flat_map(|crc| crc.to_be_bytes()));
        out
    }

    /// Decodes CRC.db of a data file of `data_bytes`.
    pub fn decode(bytes: &[u8], data_bytes: u64) -> Result<Self, Corrupt> {
        let Some((chunk_bytes, checksums)) = bytes.split_first_chunk::<4>() else {
            return Err(Corrupt::new(0, format!("{} bytes are too few", bytes.len())));
        };
        let chunk_bytes = u32::from_be_bytes(*chunk_bytes);
        if !chunk_bytes.is_power_of_two() || chunk_bytes > CHUNK_BYTES_MAX {
            return Err(Corrupt::new(0, format!("chunks of {chunk_bytes} bytes")));
        }
        let (checksums, rest) = checksums.as_chunks::<4>();
        let count = data_bytes.div_ceil(u64::from(chunk_bytes));
        let checksums = match checksums.split_last() {
            // What a compaction of Cassandra's wrote ends in an empty chunk: it flushes its buffer twice.
            Some((&last, before)) if before.len() as u64 == count && last == crc32(b"").to_be_bytes() => before,
            _ => checksums,
        };
        if !rest.is_empty() || checksums.len() as u64 != count {
            let what = format!("{} bytes of checksums for {count} chunks of data", bytes.len() - 4);
            return Err(Corrupt::new(4, what));
        }
        let checksums = checksums.iter().map(|crc| u32::from_be_bytes(*crc)).collect();
        Ok(ChunkChecksums { chunk_bytes, checksums, is_known: true })
    }
}

/// The bytes of Digest.crc32.
pub fn encode_digest(crc: u32) -> Vec<u8> {
    crc.to_string().into_bytes()
}

/// Decodes Digest.crc32; Cassandra itself reads its first line.
pub fn decode_digest(bytes: &[u8]) -> Result<u32, Corrupt> {
    let text = std::str::from_utf8(bytes).ok().and_then(|text| text.lines().next());
    let crc = text.and_then(|line| line.trim().parse().ok());
    crc.ok_or_else(|| Corrupt::new(0, "not a checksum in decimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_written_and_read() {
        let data: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        let mut checksums = ChunkChecksums::new(PLAIN_CHUNK_BYTES);
        data.chunks(PLAIN_CHUNK_BYTES as usize).for_each(|chunk| checksums.push(chunk));
        let read = ChunkChecksums::decode(&checksums.encode(), data.len() as u64).expect("what was written");
        assert_eq!(read, checksums);
        assert_eq!((read.count(), read.get(2), read.get(3)), (3, Some(crc32(&data[8192..])), None));
    }

    #[test]
    fn what_does_not_fit_the_data_is_refused() {
        let mut checksums = ChunkChecksums::new(4096);
        checksums.push(b"a chunk");
        let bytes = checksums.encode();
        for (bytes, data_bytes) in [
            (&bytes[..], 4097),
            (&bytes[..], 0),
            (&[&bytes[..], &[0; 8]].concat()[..], 7),
            (&[&bytes[..], &[0, 0, 0, 1]].concat()[..], 7),
            (&bytes[..7], 7),
            (&bytes[..3], 7),
            (&[0, 0, 0, 0, 1, 2, 3, 4][..], 7),
            (&[0, 0, 0x10, 1, 1, 2, 3, 4][..], 7),
            (&[0x80, 0, 0, 0, 1, 2, 3, 4][..], 7),
        ] {
            ChunkChecksums::decode(bytes, data_bytes).expect_err("it does not fit");
        }
        let with_an_empty_chunk = [&bytes[..], &[0; 4]].concat();
        assert_eq!(ChunkChecksums::decode(&with_an_empty_chunk, 7), Ok(checksums));
    }

    #[test]
    fn without_checksums_any_chunk_is_taken() {
        let mut checksums = ChunkChecksums::new(4096);
        checksums.push(b"a chunk");
        assert!(checksums.matches(0, b"a chunk") && !checksums.matches(0, b"another") && !checksums.matches(1, b""));
        assert!(ChunkChecksums::missing().matches(7, b"any"));
    }

    #[test]
    fn a_digest_is_decimal() {
        assert_eq!(encode_digest(crc32(b"123456789")), b"3421780262");
        assert_eq!(decode_digest(b"3421780262"), Ok(3_421_780_262));
        assert_eq!(decode_digest(b"3421780262\n"), Ok(3_421_780_262));
        for bytes in [&b""[..], b"x", b"4294967296", b"\xff"] {
            decode_digest(bytes).expect_err("no digest");
        }
    }
}
