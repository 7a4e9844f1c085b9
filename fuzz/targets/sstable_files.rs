//! The components of an SSTable that are about bytes: chunks of each compressor and their list, checksums, Helenus.db, the list of components.

use sstable::Version;
use sstable::checksum::{ChunkChecksums, crc32, decode_digest};
use sstable::compression::{ChunkDecoder, ChunkEncoder, CompressionInfo, CompressionParams, Compressor};
use sstable::helenus_component::HelenusComponent;
use sstable::toc;

const CHUNK: u32 = 16 << 10;
/// All bytes of a chunk are given at once, and no decoder takes much more than them.
const MEMORY: usize = 1 << 20;

fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32(bytes).to_be_bytes()].concat()
}

/// A chunk whose checksum is right, of data of any length.
fn chunk(compressor: Compressor, bytes: &[u8]) {
    let params = CompressionParams { compressor, options: Vec::new(), chunk_length: CHUNK, max_compressed_length: 900 };
    let mut decoder = ChunkDecoder::new(&params);
    let (chunk, mut out) = (sealed(bytes), Vec::new());
    for length in [bytes.len(), 540, CHUNK as usize] {
        out.clear();
        let decoded = decoder.decode(&chunk, length, &mut out);
        assert_eq!(out.len(), if decoded.is_ok() { length } else { 0 });
        assert!(out.capacity() <= MEMORY.max(2 * length));
    }
    let data = &bytes[..bytes.len().min(CHUNK as usize)];
    if !data.is_empty() {
        let mut stored = Vec::new();
        ChunkEncoder::new(&params).encode(data, &mut stored);
        out.clear();
        decoder.decode(&stored, data.len(), &mut out).expect("what was compressed comes back");
        assert_eq!(out, data);
    }
}

fn info(version: Version, bytes: &[u8]) {
    for stored_length in [0, 100, bytes.len() as u64, u64::MAX] {
        let Ok(info) = CompressionInfo::decode(bytes, version, stored_length) else { continue };
        assert!(info.memory_bytes() <= 1024 + 8 * bytes.len());
        let mut data = 0;
        for number in 0..info.chunk_count() {
            let chunk = info.chunk(number).expect("a chunk below the count");
            assert_eq!(chunk.data_offset, data);
            data += chunk.data_length as u64;
        }
        assert_eq!(data, info.data_length());
        let again = CompressionInfo::decode(&info.encode(), Version::DA, stored_length);
        assert_eq!(again.as_ref(), Ok(&info));
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    match first % 9 {
        0 => chunk(Compressor::Lz4, data),
        1 => chunk(Compressor::Snappy, data),
        2 => chunk(Compressor::Deflate, data),
        3 => chunk(Compressor::Zstd(3), data),
        4 => chunk(Compressor::Noop, data),
        5 => {
            let Some((&version, data)) = data.split_first() else { return };
            info(Version::READ[usize::from(version) % Version::READ.len()], data);
        }
        6 => {
            for data_bytes in [0, 540, data.len() as u64, u64::MAX] {
                if let Ok(checksums) = ChunkChecksums::decode(data, data_bytes) {
                    // An empty chunk at the end is read over.
                    let rest = data.strip_prefix(&checksums.encode()[..]).expect("what was read is written again");
                    assert!(rest.is_empty() || rest == [0; 4]);
                }
            }
            let _ = decode_digest(data);
        }
        7 => {
            let bytes = sealed(data);
            if let Ok(own) = HelenusComponent::decode(&bytes) {
                assert_eq!(own.encode(), bytes);
            }
        }
        _ => {
            let _ = toc::decode(data);
        }
    }
}
