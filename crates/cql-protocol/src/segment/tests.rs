//! Segments: laid down as Cassandra does, found again at any cut, refused when a bit is wrong.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{Opcode, ResponseFrame, Version};

fn codecs() -> impl Strategy<Value = Codec> {
    prop_oneof![Just(Codec::Plain), Just(Codec::Lz4)]
}

/// The payloads of all segments in `bytes`, with their self-contained bits.
fn decode_all(codec: Codec, mut bytes: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut segments = Vec::new();
    while !bytes.is_empty() {
        let mut payload = Vec::new();
        match decode(bytes, codec, &mut payload).unwrap() {
            Decoded::Segment { used, self_contained } => {
                segments.push((self_contained, payload));
                bytes = &bytes[used..];
            }
            Decoded::Incomplete { lacking } => panic!("{lacking} bytes are lacking"),
        }
    }
    segments
}

fn frame(body_length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let frame = ResponseFrame::begin(&mut out, Version::V5, 1, Opcode::Result);
    out.extend((0..body_length).map(|index| (index * 7 + index / 251) as u8));
    ResponseFrame::finish(&mut out, frame);
    out
}

#[test]
fn bytes_are_cassandras() {
    // An OPTIONS frame of version 5 in a self-contained plain segment: length 9 and bit 17, little-endian. The CRC-24 has
    // its own test.
    let options = [0x05, 0, 0, 1, 0x05, 0, 0, 0, 0];
    let mut out = Vec::new();
    encode(&options, true, Codec::Plain, &mut out);
    assert_eq!(out[..3], [0x09, 0x00, 0x02]);
    assert_eq!(out[6..15], options);
    assert_eq!(out.len(), 6 + 9 + 4);
    let mut fed = vec![0xfa, 0x2d, 0x55, 0xca];
    fed.extend_from_slice(&options);
    assert_eq!(out[15..], crc32fast::hash(&fed).to_le_bytes());
}

#[test]
fn a_payload_that_does_not_shrink_is_stored() {
    let payload: Vec<u8> = (0..=255).collect();
    let mut out = Vec::new();
    encode(&payload, true, Codec::Lz4, &mut out);
    assert_eq!(out.len(), 8 + payload.len() + 4);
    assert_eq!(out[8..8 + payload.len()], payload);
    assert_eq!(decode_all(Codec::Lz4, &out), [(true, payload)]);
}

#[test]
fn frames_are_packed_and_large_ones_are_split() {
    for codec in [Codec::Plain, Codec::Lz4] {
        let small = frame(100);
        let large = frame(3 * PAYLOAD_MAX);
        let stream = [&small[..], &small, &large, &small, &frame(PAYLOAD_MAX - HEADER_LENGTH), &small].concat();
        let mut out = Vec::new();
        encode_frames(&stream, codec, &mut out);
        let segments = decode_all(codec, &out);
        let kinds: Vec<bool> = segments.iter().map(|(self_contained, _)| *self_contained).collect();
        assert_eq!(kinds, [true, false, false, false, false, true, true, true]);
        let carried: Vec<u8> = segments.into_iter().flat_map(|(_, payload)| payload).collect();
        assert_eq!(carried, stream);
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for codec in [Codec::Plain, Codec::Lz4] {
        let mut out = Vec::new();
        encode(&frame(300), true, codec, &mut out);
        for bit in 0..out.len() * 8 {
            let mut bytes = out.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut payload = vec![5];
            assert!(decode(&bytes, codec, &mut payload).is_err(), "bit {bit}");
            assert_eq!(payload, [5]);
        }
    }
}

#[test]
fn a_bomb_takes_no_more_than_its_header_can_say() {
    let mut out = Vec::new();
    encode(&[0; PAYLOAD_MAX], true, Codec::Lz4, &mut out);
    assert!(out.len() < 1_000, "zeros are compressed well: {}", out.len());
    assert_eq!(decode_all(Codec::Lz4, &out), [(true, vec![0; PAYLOAD_MAX])]);
}

proptest! {
    #[test]
    fn any_payload_round_trips(payload in vec(0u8..4, 0..2_000), self_contained: bool, codec in codecs()) {
        let mut out = Vec::new();
        encode(&payload, self_contained, codec, &mut out);
        for cut in 0..out.len() {
            let mut found = Vec::new();
            let step = decode(&out[..cut], codec, &mut found).unwrap();
            let Decoded::Incomplete { lacking } = step else { panic!("a segment in {cut} bytes") };
            prop_assert!(lacking > 0 && cut + lacking <= out.len());
            prop_assert!(found.is_empty());
        }
        prop_assert_eq!(decode_all(codec, &out), vec![(self_contained, payload)]);
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..200), codec in codecs()) {
        let _ = decode(&bytes, codec, &mut Vec::new());
    }

    #[test]
    fn any_block_behind_valid_checksums_is_refused_or_read(
        block in vec(any::<u8>(), 0..200),
        uncompressed in 0usize..=PAYLOAD_MAX,
    ) {
        let header = SegmentHeader { payload_length: block.len(), uncompressed_length: uncompressed, self_contained: true };
        let mut bytes = vec![0; 8];
        header.encode(Codec::Lz4, &mut bytes);
        bytes.extend_from_slice(&block);
        bytes.extend_from_slice(&crc::crc32(&block).to_le_bytes());
        let mut out = Vec::new();
        let _ = decode(&bytes, Codec::Lz4, &mut out);
        prop_assert!(out.len() <= PAYLOAD_MAX);
    }
}
