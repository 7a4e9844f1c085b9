//! The components that are about bytes, as real Cassandra wrote them: read, and written again to the same bytes.

use std::collections::BTreeSet;

use sstable::checksum::{ChunkChecksums, crc32, decode_digest, encode_digest};
use sstable::compression::{ChunkEncoder, CompressionInfo};
use sstable::{Component, Version, toc};

use crate::fixtures::Fixture;

/// The list of chunks is the same bytes again in the versions that have it alike; each compressor and chunks that are stored as they are
/// occur.
#[test]
fn lists_of_chunks_are_written_again_to_the_same_bytes() {
    let (mut compressors, mut same, mut as_they_are) = (BTreeSet::new(), 0, 0);
    for fixture in Fixture::all(None) {
        let (name, version) = (fixture.name(), fixture.descriptor.version);
        let Some(bytes) = fixture.read(Component::CompressionInfo) else { continue };
        let stored = fixture.read(Component::Data).expect("every SSTable has Data.db").len() as u64;
        let info = CompressionInfo::decode(&bytes, version, stored).unwrap_or_else(|error| panic!("{name}: {error}"));
        compressors.insert(info.params().compressor.name());
        let is_raw = |number: &u64| {
            let chunk = info.chunk(*number).expect("a chunk below the count");
            chunk.stored_length - 4 >= info.params().max_compressed_length as usize
        };
        as_they_are += (0..info.chunk_count()).filter(is_raw).count();
        if version.name() >= "na" || version == Version::DA {
            assert_eq!(info.encode(), bytes, "{name}");
            same += 1;
        }
        // What we would store has the same data, and chunks that begin alike.
        let data = fixture.data();
        let (mut encoder, mut ours, mut out) = (ChunkEncoder::new(info.params()), info.clone(), Vec::new());
        ours.clone_from(&CompressionInfo::new(info.params().clone()));
        for chunk in data.chunks(info.params().chunk_length as usize) {
            let start = out.len();
            encoder.encode(chunk, &mut out);
            ours.push(chunk.len(), out.len() - start);
        }
        assert_eq!((ours.data_length(), ours.chunk_count()), (info.data_length(), info.chunk_count()), "{name}");
    }
    // A flush of Cassandra's takes LZ4 where the table asks for a slower one, unless it is told otherwise; 3.x does not.
    assert!(compressors.len() >= 4, "{compressors:?}");
    assert!(same > 60 && as_they_are > 0, "{same} lists, {as_they_are} chunks stored as they are");
}

#[test]
fn checksums_are_cassandras() {
    let (mut plain, mut digests) = (0, 0);
    for fixture in Fixture::all(None) {
        let name = fixture.name();
        let stored = fixture.read(Component::Data).expect("every SSTable has Data.db");
        let digest = fixture.read(Component::Digest).expect("every SSTable has a digest");
        assert_eq!(decode_digest(&digest), Ok(crc32(&stored)), "{name}");
        assert_eq!(encode_digest(crc32(&stored)), digest, "{name}");
        digests += 1;
        if let Some(bytes) = fixture.read(Component::Crc) {
            let checksums = ChunkChecksums::decode(&bytes, stored.len() as u64);
            let checksums = checksums.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(checksums.chunk_bytes(), 64 << 10, "{name}: Cassandra's chunks");
            let mut again = ChunkChecksums::new(checksums.chunk_bytes());
            stored.chunks(64 << 10).for_each(|chunk| again.push(chunk));
            assert_eq!(again.encode(), bytes, "{name}");
            plain += 1;
        }
    }
    assert!(plain > 4 && digests > 80, "{plain} without compression, {digests} digests");
}

/// The list of components names each of the files that lie there.
#[test]
fn lists_of_components_name_the_files() {
    for fixture in Fixture::all(None) {
        let name = fixture.name();
        let bytes = fixture.read(Component::Toc).expect("every SSTable has a list");
        let listed: BTreeSet<&str> = toc::decode(&bytes).expect("it is text").into_iter().collect();
        let there: BTreeSet<&str> = Component::ALL
            .into_iter()
            .filter(|component| fixture.read(*component).is_some())
            .map(Component::name)
            .collect();
        assert_eq!(listed, there, "{name}");
    }
}
