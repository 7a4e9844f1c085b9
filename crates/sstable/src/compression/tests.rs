//! Chunks and their list, written and read; broken ones are refused.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Version;

const ALL: [Compressor; 5] =
    [Compressor::Lz4, Compressor::Snappy, Compressor::Deflate, Compressor::Zstd(3), Compressor::Noop];

fn params(compressor: Compressor, chunk_length: u32, max_compressed_length: u32) -> CompressionParams {
    CompressionParams { compressor, options: Vec::new(), chunk_length, max_compressed_length }
}

/// Data.db and its CompressionInfo.
fn write(params: &CompressionParams, data: &[u8]) -> (Vec<u8>, CompressionInfo) {
    let mut encoder = ChunkEncoder::new(params);
    let (mut stored, mut info) = (Vec::new(), CompressionInfo::new(params.clone()));
    for chunk in data.chunks(params.chunk_length as usize) {
        let start = stored.len();
        encoder.encode(chunk, &mut stored);
        info.push(chunk.len(), stored.len() - start);
    }
    (stored, info)
}

fn read(stored: &[u8], info: &CompressionInfo) -> Result<Vec<u8>, String> {
    let mut decoder = ChunkDecoder::new(info.params());
    let mut data = Vec::new();
    for number in 0..info.chunk_count() {
        let chunk = info.chunk(number).expect("a chunk below the count");
        assert_eq!(chunk.data_offset, data.len() as u64);
        assert_eq!(info.chunk_at(chunk.data_offset), number);
        let bytes = &stored[chunk.offset as usize..][..chunk.stored_length];
        decoder.decode(bytes, chunk.data_length, &mut data)?;
    }
    assert_eq!(info.chunk(info.chunk_count()), None);
    Ok(data)
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..5000),
        prop::collection::vec(0..3u8, 1..5000),
        (1..5000usize).prop_map(|length| vec![7; length]),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(data in data(), which in 0..5usize, max in prop_oneof![Just(i32::MAX as u32), 1..1100u32]) {
        let params = params(ALL[which], 1024, max);
        let (stored, info) = write(&params, &data);
        prop_assert_eq!(info.data_length(), data.len() as u64);
        prop_assert_eq!(info.stored_length(), stored.len() as u64);
        let decoded = CompressionInfo::decode(&info.encode(), Version::DA, stored.len() as u64);
        prop_assert_eq!(decoded.as_ref(), Ok(&info));
        prop_assert_eq!(read(&stored, &info), Ok(data));
    }

    #[test]
    fn a_flipped_bit_is_found(data in data(), which in 0..5usize, at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (mut stored, info) = write(&params(ALL[which], 1024, 1000), &data);
        let at = at.index(stored.len());
        stored[at] ^= 1 << bit;
        read(&stored, &info).expect_err("the checksum does not match");
    }

    /// Behind a checksum that matches there may be anything, if someone made it so.
    #[test]
    fn nonsense_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..5usize, length in 0..2000usize) {
        let mut chunk = bytes.clone();
        chunk.extend_from_slice(&crate::checksum::crc32(&bytes).to_be_bytes());
        let mut out = vec![1];
        let decoded = ChunkDecoder::new(&params(ALL[which], 1024, i32::MAX as u32)).decode(&chunk, length, &mut out);
        prop_assert_eq!(out.len(), if decoded.is_ok() { 1 + length } else { 1 });
    }

    #[test]
    fn a_list_of_nonsense_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), stored_length in 0..5000u64) {
        for version in Version::READ {
            let _ = CompressionInfo::decode(&bytes, version, stored_length);
        }
    }

    #[test]
    fn a_changed_list_is_refused_or_means_something(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let data = vec![9; 5000];
        let (stored, info) = write(&params(Compressor::Lz4, 1024, i32::MAX as u32), &data);
        let mut bytes = info.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(changed) = CompressionInfo::decode(&bytes, Version::DA, stored.len() as u64)
            && let Ok(read) = read(&stored, &changed)
        {
            // Its length is what the last chunk gives, and nothing beyond.
            prop_assert_eq!(read, data);
        }
    }
}

#[test]
fn options_become_parameters() {
    let of = |pairs: &[(&str, &str)]| {
        let options: BTreeMap<String, String> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        CompressionParams::of_options(&options)
    };
    let always = i32::MAX as u32;
    assert_eq!(of(&[("enabled", "false")]), None);
    assert_eq!(
        of(&[("class", "org.apache.cassandra.io.compress.LZ4Compressor"), ("chunk_length_in_kb", "16")]),
        Some(params(Compressor::Lz4, 16 << 10, always))
    );
    assert_eq!(
        of(&[("class", "org.apache.cassandra.io.compress.SnappyCompressor"), ("min_compress_ratio", "1.5")]),
        Some(params(Compressor::Snappy, 16 << 10, 10_923))
    );
    let zstd = of(&[("class", "ZstdCompressor"), ("compression_level", "7"), ("chunk_length_in_kb", "4")]);
    let options = vec![("compression_level".to_owned(), "7".to_owned())];
    assert_eq!(zstd, Some(CompressionParams { options, ..params(Compressor::Zstd(7), 4096, always) }));
    assert_eq!(zstd.map(|zstd| CompressionInfo::new(zstd).params().compressor.name()), Some("ZstdCompressor"));
}

/// What Cassandra's documents say of the layout, spelled out.
#[test]
fn the_bytes_are_cassandras() {
    let mut params = params(Compressor::Lz4, 1024, i32::MAX as u32);
    params.options = vec![("a".to_owned(), "bc".to_owned())];
    let mut info = CompressionInfo::new(params);
    info.push(1024, 100);
    info.push(10, 20);
    let mut expected = b"\0\x0dLZ4Compressor\0\0\0\x01\0\x01a\0\x02bc\0\0\x04\0".to_vec();
    let old = [&expected[..], b"\0\0\0\0\0\0\x04\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x64"].concat();
    expected.extend_from_slice(b"\x7f\xff\xff\xff\0\0\0\0\0\0\x04\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x64");
    assert_eq!(info.encode(), expected);
    let me = Version::parse("me").expect("a known version");
    assert_eq!(CompressionInfo::decode(&old, me, 120).as_ref(), Ok(&info));
    // Behind the last chunk of what a compaction wrote stands one of no data.
    let mut compacted = expected.clone();
    let count = expected.len() - 17;
    compacted[count] = 3;
    compacted.extend_from_slice(b"\0\0\0\0\0\0\0\x78");
    let read = CompressionInfo::decode(&compacted, Version::DA, 129).expect("an empty chunk of 9 bytes");
    assert_eq!((read.chunk_count(), read.chunk(1), read.chunk(2)), (2, info.chunk(1), None));
    assert_eq!(read.encode(), compacted);
    compacted[count] = 4;
    compacted.extend_from_slice(b"\0\0\0\0\0\0\0\x81");
    CompressionInfo::decode(&compacted, Version::DA, 138).expect_err("two of them");
    let mut stored = Vec::new();
    ChunkEncoder::new(&self::params(Compressor::Lz4, 1024, 5)).encode(&[7; 600], &mut stored);
    assert_eq!(stored.len(), 604, "it is longer than 5 bytes, so it is stored as it is");
    let mut stored = Vec::new();
    ChunkEncoder::new(&self::params(Compressor::Lz4, 1024, i32::MAX as u32)).encode(&[7; 600], &mut stored);
    assert_eq!(stored[..4], [0x58, 2, 0, 0], "the length is little-endian");
}

/// What the compressors of Cassandra 5.0.6 make of a text (`ICompressor.compress`), in hexadecimal.
const CASSANDRAS: [(Compressor, &str); 4] = [
    (
        Compressor::Lz4,
        "14010000ff0e612076616c75652074686174207265706561747320697473656c662c201d000abf6e756d6265722037393139 \
         28000a0f1d000a0f45007d502037393139",
    ),
    (
        Compressor::Snappy,
        "940270612076616c75652074686174207265706561747320697473656c662c20721d00286e756d6265722037393139722800 \
         721d00fe4500fe4500524500",
    ),
    (
        Compressor::Deflate,
        "789c4b54284bcc294d5528c9482c51284a2d484d2c2956c82c294ecd49d35148c42799579a9b945aa4606e69688957ddd033 \
         0400389161bd",
    ),
    (
        Compressor::Zstd(3),
        "28b52ffd641400c501008402612076616c75652074686174207265706561747320697473656c662c206e756d626572203739 \
         31390400122450006eb0d4ed03b77202650d3e64",
    ),
];

#[test]
fn what_cassandra_compressed_is_read() {
    let data = b"a value that repeats itself, a value that repeats itself, number 7919".repeat(4);
    for (compressor, hexadecimal) in CASSANDRAS {
        let digits: Vec<u32> = hexadecimal.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let stored: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
        let chunk = [&stored[..], &crate::checksum::crc32(&stored).to_be_bytes()].concat();
        let params = params(compressor, 1024, i32::MAX as u32);
        let mut out = Vec::new();
        let decoded = ChunkDecoder::new(&params).decode(&chunk, data.len(), &mut out);
        assert_eq!((decoded, &out), (Ok(()), &data), "{compressor:?}");
        let mut ours = Vec::new();
        ChunkEncoder::new(&params).encode(&data, &mut ours);
        assert!(
            ours.len() <= stored.len() + 16,
            "{compressor:?}: {} bytes, {} of Cassandra's",
            ours.len(),
            stored.len()
        );
        if compressor == Compressor::Zstd(3) {
            assert_eq!(ours[..7], stored[..7], "a frame with its length and a checksum");
        }
    }
}
