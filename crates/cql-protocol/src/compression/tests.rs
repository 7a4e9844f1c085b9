//! What is compressed comes back, in one call and in steps; what is not compressed is refused and takes no memory.

use super::*;
use crate::{ErrorBody, write_error};

const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Snappy];

fn bodies_of(compression: Compression) -> Vec<(Compression, Vec<u8>)> {
    let bodies = [vec![], vec![7], vec![9; 100_000], (0..10_000).map(|n: u32| ((n * n) >> 3) as u8).collect()];
    bodies.map(|body| (compression, body)).to_vec()
}

#[test]
fn bodies_round_trip() {
    for (compression, body) in BOTH.into_iter().flat_map(bodies_of) {
        let (mut compressed, mut out) = (Vec::new(), b"kept".to_vec());
        compression.compress(&body, &mut compressed);
        compression.decompress(&compressed, body.len(), &mut out).unwrap();
        assert_eq!(&out[..4], b"kept");
        assert_eq!(&out[4..], body);
    }
}

fn in_steps(compression: Compression, body: &[u8], limit: usize, bytes: usize) -> Result<Vec<u8>, CompressionError> {
    let mut out = Vec::new();
    let mut decompressor = Decompressor::begin(compression, body, limit)?;
    loop {
        let before = out.len();
        let is_whole = decompressor.step(body, bytes, &mut out)?;
        assert!(out.len() - before <= bytes, "a step is bounded");
        if is_whole {
            return Ok(out);
        }
    }
}

/// Both take the same bodies for the same bytes. A library may be milder about the last bytes of an LZ4 block.
fn assert_same(compression: Compression, body: &[u8], limit: usize) {
    let mut out = Vec::new();
    let at_once = compression.decompress(body, limit, &mut out).map(|()| out);
    let stepped = in_steps(compression, body, limit, 7);
    match (&at_once, &stepped) {
        (Ok(at_once), Ok(stepped)) => assert_eq!(at_once, stepped),
        (Err(_), Err(_)) => {}
        _ => assert_eq!(compression, Compression::Lz4, "{body:?}: {at_once:?}, {stepped:?}"),
    }
    if let Ok(stepped) = stepped {
        assert!(stepped.len() == compression.decompressed_length(body) && stepped.len() <= limit);
    }
}

proptest::proptest! {
    #[test]
    fn steps_come_to_the_same_as_one_call(
        parts in proptest::collection::vec((proptest::collection::vec(0u8..4, 0..40), 0usize..300), 0..40),
        bytes in 1usize..200,
    ) {
        let body: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(times / 10 + 1)).collect();
        for compression in BOTH {
            let mut compressed = Vec::new();
            compression.compress(&body, &mut compressed);
            proptest::prop_assert_eq!(&in_steps(compression, &compressed, body.len(), bytes).unwrap(), &body);
        }
    }

    #[test]
    fn steps_refuse_what_one_call_refuses(
        mut body in proptest::collection::vec(0u8..255, 0..60),
        declared in 0u32..400,
    ) {
        if let Some(length) = body.first_chunk_mut() {
            *length = declared.to_be_bytes();
        }
        assert_same(Compression::Lz4, &body, 300);
        let claim = [declared as u8 & 0x7f | 0x80, (declared >> 7) as u8];
        assert_same(Compression::Snappy, &[&claim, &body[..]].concat(), 300);
    }

    /// Elements that fit together more often than arbitrary bytes would.
    #[test]
    fn snappy_elements_are_read_as_its_library_reads_them(
        elements in proptest::collection::vec((0u8..4, 0u8..64, 0u32..90, 0usize..70), 0..12),
        lacking in 0i64..3,
        is_right in proptest::prelude::any::<bool>(),
    ) {
        let (mut body, mut length) = (Vec::new(), 0i64);
        for (kind, high, number, literals) in elements {
            match kind {
                0 => {
                    let count = literals.max(1);
                    if count <= 60 {
                        body.push((count as u8 - 1) << 2);
                    } else {
                        body.extend_from_slice(&[60 << 2, count as u8 - 1]);
                    }
                    body.extend((0..count).map(|byte| byte as u8));
                    length += count as i64;
                }
                1 => {
                    body.extend_from_slice(&[high << 2 | 1, number as u8]);
                    length += i64::from(high & 7) + 4;
                }
                2 => {
                    body.push(high << 2 | 2);
                    body.extend_from_slice(&(number as u16).to_le_bytes());
                    length += i64::from(high) + 1;
                }
                _ => {
                    body.push(high << 2 | 3);
                    body.extend_from_slice(&number.to_le_bytes());
                    length += i64::from(high) + 1;
                }
            }
        }
        let declared = if is_right { length } else { (length - lacking).max(0) };
        let claim = [declared as u8 & 0x7f | 0x80, (declared >> 7) as u8];
        assert_same(Compression::Snappy, &[&claim, &body[..]].concat(), 2_000);
    }
}

#[test]
fn bombs_take_no_memory() {
    let mut out = Vec::new();
    let mut refused = |compression: Compression, body: &[u8]| {
        let error = compression.decompress(body, 1 << 28, &mut out).unwrap_err();
        assert_eq!(Decompressor::begin(compression, body, 1 << 28).unwrap_err(), error);
        assert_eq!(out.capacity(), 0);
        assert!(compression.decompressed_length(body) <= 255 * body.len());
        error
    };
    let (lz4, snappy) = (Compression::Lz4, Compression::Snappy);
    assert!(matches!(refused(lz4, &u32::MAX.to_be_bytes()), CompressionError::TooLarge { .. }));
    let body = [&(1u32 << 28).to_be_bytes()[..], &[0; 1_000]].concat();
    assert!(matches!(refused(lz4, &body), CompressionError::Corrupt { .. }));
    assert!(matches!(refused(lz4, &[0, 0, 0]), CompressionError::Truncated { length: 3 }));
    assert!(matches!(refused(snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f]), CompressionError::TooLarge { .. }));
    for body in [&[][..], &[0x80], &[0xff; 5], &[0xff, 0xff, 0xff, 0xff, 0x1f, 0], &[0x80, 0x80, 0x40, 0, 0]] {
        assert_eq!(refused(snappy, body), CompressionError::NotSnappy);
    }
}

#[test]
fn a_wrong_length_is_an_error() {
    for (compression, wrong) in [
        (Compression::Lz4, [vec![0, 0, 3, 231], vec![0, 0, 3, 233]]),
        (Compression::Snappy, [vec![0xe7, 7], vec![0xe9, 7]]),
    ] {
        let mut compressed = Vec::new();
        compression.compress(&[9; 1_000], &mut compressed);
        for claim in wrong {
            compressed[..claim.len()].copy_from_slice(&claim);
            let mut out = vec![1];
            assert!(compression.decompress(&compressed, 10_000, &mut out).is_err());
            assert_eq!(out, [1]);
            assert!(in_steps(compression, &compressed, 10_000, 100).is_err());
        }
    }
}

#[test]
fn large_frames_are_compressed_and_small_ones_are_not() {
    let (mut large, mut small) = (Vec::new(), Vec::new());
    write_error(&mut large, Version::V4, 3, &ErrorBody::invalid("again and ".repeat(1_000)));
    write_error(&mut small, Version::V4, 3, &ErrorBody::invalid("once"));
    for compression in BOTH {
        let mut out = vec![0xaa];
        compression.compress_frame(&large, &mut out);
        let (header, body) = out[1..].split_first_chunk::<HEADER_LENGTH>().unwrap();
        let header = FrameHeader::decode(header).unwrap();
        assert!(header.flags.contains(Flags::COMPRESSED));
        assert_eq!(header.length as usize, body.len());
        assert!(body.len() < large.len() / 10);
        let mut whole = Vec::new();
        compression.decompress(body, 1 << 20, &mut whole).unwrap();
        assert_eq!(whole, large[HEADER_LENGTH..]);

        out.clear();
        compression.compress_frame(&small, &mut out);
        assert_eq!(out, small);
    }
}
