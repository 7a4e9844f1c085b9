//! The components that are about bytes, as real Cassandra wrote them: read, and written again to the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use mutation::RowRef;
use sstable::checksum::{ChunkChecksums, crc32, decode_digest, encode_digest};
use sstable::compression::{ChunkEncoder, CompressionInfo};
use sstable::data::DataReader;
use sstable::{Component, Version, toc};

use crate::fixtures::Fixture;
use crate::items::{Kept, read_all};
use crate::tables::{Ids, table_of};

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
    assert_eq!(compressors.len(), 5, "{compressors:?}");
    assert!(same > 60 && as_they_are > 0, "{same} lists, {as_they_are} chunks stored as they are");
}

/// Under each way to compress it the same content is read, of every version: by the compressor that the table asks for, which is named after
/// it.
#[test]
fn each_compressor_is_read_by_its_name() {
    const COMPRESSORS: [(&str, &str); 8] = [
        ("plain", "none"),
        ("lz4", "LZ4Compressor"),
        ("lz4_by_default", "LZ4Compressor"),
        ("ratio", "LZ4Compressor"),
        ("snappy", "SnappyCompressor"),
        ("deflate", "DeflateCompressor"),
        ("zstd", "ZstdCompressor"),
        ("noop", "NoopCompressor"),
    ];
    let mut contents: BTreeMap<Version, Vec<Vec<Vec<u8>>>> = BTreeMap::new();
    for fixture in Fixture::all(None) {
        let (name, version) = (fixture.name(), fixture.descriptor.version);
        let mut names = fixture.folder.iter().rev().map(|name| name.to_str().unwrap_or_default());
        let (table, keyspace) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        if keyspace != "compression" {
            continue;
        }
        let (_, expected) =
            COMPRESSORS.iter().find(|(of, _)| *of == table).expect("each table of that script is listed");
        let named = fixture.read(Component::CompressionInfo).map_or("none", |bytes| {
            let length = usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
            let written = std::str::from_utf8(&bytes[2..2 + length]).expect("a class's name").to_owned();
            let stored = fixture.read(Component::Data).expect("every SSTable has Data.db").len() as u64;
            let info = CompressionInfo::decode(&bytes, version, stored).expect("it decodes");
            assert_eq!(written, info.params().compressor.name(), "{name}");
            info.params().compressor.name()
        });
        assert_eq!(named, *expected, "{name}");
        let header = fixture.statistics().header;
        let table = table_of(&header, Ids::AsWritten);
        let mut reader = DataReader::new(version, &header, &table).expect("the columns are known");
        let items = read_all(&mut reader, &fixture.data(), &name);
        contents.entry(version).or_default().push(items.iter().map(written_values).collect());
    }
    assert_eq!(contents.len(), 4, "da, oa, nb and me");
    for (version, contents) in contents {
        let count = if version.name() == "me" { 5 } else { COMPRESSORS.len() };
        assert_eq!(contents.len(), count, "{}", version.name());
        assert!(contents.iter().all(|content| content.len() > 90 && *content == contents[0]), "{}", version.name());
    }
}

/// What an item says but for its timestamps, which are another in each table.
fn written_values(item: &Kept) -> Vec<u8> {
    match item {
        Kept::Partition { key, .. } => key.clone(),
        Kept::Row { clustering, row } => {
            let row = RowRef::decode(row).expect("a row's blob decodes");
            let values = row.cells().map(|cell| cell.value.to_vec());
            [clustering.clone()].into_iter().chain(values).collect::<Vec<_>>().concat()
        }
        Kept::Marker { .. } | Kept::End => Vec::new(),
    }
}

#[test]
fn checksums_are_cassandras() {
    let (mut plain, mut compacted, mut digests) = (0, 0, 0);
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
            // Behind the chunks of a compaction stands an empty one.
            let (ours, rest) = bytes.split_at(again.encode().len());
            assert_eq!((again.encode(), rest), (ours.to_vec(), &[0; 4][..rest.len()]), "{name}");
            plain += 1;
            compacted += rest.len() / 4;
        }
    }
    assert!(
        plain > 4 && compacted > 0 && digests > 80,
        "{plain} without compression, {compacted} of them compacted, {digests} digests"
    );
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
