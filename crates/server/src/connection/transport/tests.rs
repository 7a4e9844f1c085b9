//! What is sealed part by part is what went in, and no part is large.

use cql_protocol::{Flags, FrameHeader, Opcode, ResponseFrame, Version};

use super::*;

fn frame(version: Version, stream: i16, length: usize, out: &mut Vec<u8>) {
    let begun = ResponseFrame::begin(out, version, stream, Opcode::Result);
    out.resize(out.len() + length, stream as u8);
    ResponseFrame::finish(out, begun);
}

/// Frames of all sizes around the limits.
fn frames(version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    let sizes = [4, 600, 131_061, 131_062, 131_063, 262_000, 262_144, 1 << 20, 3 << 20, 10];
    for (stream, length) in (1..).zip(sizes) {
        frame(version, stream, length, &mut out);
    }
    out
}

fn seal(transport: Transport, frames: &[u8], unframed: usize) -> Vec<Vec<u8>> {
    let mut sealer = Sealer::new(transport, frames, unframed);
    let mut parts = Vec::new();
    let mut part = Vec::new();
    while sealer.next(&mut part) {
        parts.push(std::mem::take(&mut part));
    }
    parts
}

#[test]
fn plain_frames_go_as_they_are() {
    let frames = frames(Version::V4);
    assert_eq!(seal(Transport::Plain, &frames, 0).concat(), frames);
    assert_eq!(seal(Transport::Plain, &[], 0), Vec::<Vec<u8>>::new());
}

#[test]
fn segments_hold_the_frames_in_parts_of_limited_size() {
    let frames = frames(Version::V5);
    for codec in [Codec::Plain, Codec::Lz4] {
        let parts = seal(Transport::Segments(codec), &frames, 0);
        assert!(parts.iter().all(|part| part.len() < SEALED_AT_ONCE + 4096));
        let wire = parts.concat();
        let (mut at, mut out) = (0, Vec::new());
        while at < wire.len() {
            match segment::decode(&wire[at..], codec, &mut out).unwrap() {
                segment::Decoded::Segment { used, .. } => at += used,
                segment::Decoded::Incomplete { .. } => panic!("a segment is cut"),
            }
        }
        assert!(out == frames);
    }
}

#[test]
fn the_replies_before_the_choice_are_not_sealed() {
    let (mut all, mut after) = (Vec::new(), Vec::new());
    frame(Version::V5, 1, 0, &mut all);
    let unframed = all.len();
    frame(Version::V5, 2, 50, &mut after);
    all.extend_from_slice(&after);
    let wire = seal(Transport::Segments(Codec::Plain), &all, unframed).concat();
    let (first, rest) = wire.split_at(unframed);
    assert_eq!(first, &all[..unframed]);
    let mut out = Vec::new();
    segment::decode(rest, Codec::Plain, &mut out).unwrap();
    assert_eq!(out, after);
}

#[test]
fn bodies_are_compressed_unless_that_takes_too_long() {
    for (version, compression) in [(Version::V4, Compression::Lz4), (Version::V3, Compression::Snappy)] {
        let frames = frames(version);
        let parts = seal(Transport::CompressedBodies(compression), &frames, 0);
        assert!(parts.len() > 2);
        let wire = parts.concat();
        let (mut at, mut out) = (0, Vec::new());
        while at < wire.len() {
            let mut header = FrameHeader::decode(wire[at..].first_chunk().unwrap()).unwrap();
            let body = &wire[at + HEADER_LENGTH..][..header.length as usize];
            at += HEADER_LENGTH + body.len();
            let mut plain = body.to_vec();
            if header.flags.contains(Flags::COMPRESSED) {
                plain.clear();
                compression.decompress(body, 1 << 28, &mut plain).unwrap();
            } else {
                assert!(body.len() < 600 || body.len() > COMPRESSED_BODY_MAX - HEADER_LENGTH);
            }
            header.flags = Flags::NONE;
            header.length = plain.len() as u32;
            out.extend_from_slice(&header.encode());
            out.extend_from_slice(&plain);
        }
        assert!(out == frames);
    }
}
