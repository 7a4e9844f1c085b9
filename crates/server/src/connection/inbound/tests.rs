//! Frames come out as they went in, however the bytes were cut on their way; and no more memory is taken than arrived.

use cql_protocol::{Compression, Opcode, RequestFrame, write_error};
use proptest::prelude::*;

use super::*;
use crate::Limits;

/// A QUERY frame whose body is `body`, which is not looked at here.
fn frame(version: Version, stream: i16, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let begun = RequestFrame::begin(&mut out, version, Flags::NONE, stream, Opcode::Query);
    out.extend_from_slice(body);
    RequestFrame::finish(&mut out, begun);
    out
}

fn inbound(limits: Limits) -> Inbound {
    Inbound::new(Rc::new(Budget::new(limits)), Rc::default())
}

/// Lets `bytes` arrive, as much at a time as there is room, at most `cut`; gives streams and bodies of the frames.
fn receive(inbound: &mut Inbound, transport: Transport, mut bytes: &[u8], cut: usize) -> Vec<(i16, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut version = None;
    let mut wanted = 0;
    while !bytes.is_empty() {
        let mut buffer = inbound.take_for_read(wanted);
        let count = cut.min(buffer.capacity() - buffer.len()).min(bytes.len());
        let (arrived, rest) = bytes.split_at(count);
        buffer.extend_from_slice(arrived);
        bytes = rest;
        inbound.put_back(buffer, count);
        loop {
            match inbound.next(version, transport) {
                Ok(Next::Frame(header, body)) => {
                    version = Some(header.version);
                    frames.push((header.stream, body.to_vec()));
                }
                Ok(Next::Large(header, body)) => {
                    version = Some(header.version);
                    frames.push((header.stream, body.to_vec()));
                }
                Ok(Next::Step) => {}
                Ok(Next::Needs(bytes)) => {
                    wanted = bytes;
                    break;
                }
                Err(violation) => {
                    assert!(!violation.fatal, "{violation:?}");
                    frames.push((violation.stream, violation.error.message.into_bytes()));
                }
            }
        }
    }
    frames
}

fn bodies() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let length = prop_oneof![4 => 0usize..200, 1 => 0usize..300_000];
    prop::collection::vec((length, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_cut_gives_the_same_frames(bodies in bodies(), cut in 1usize..100_000, transport in 0..5) {
        let (version, transport) = match transport {
            0 => (Version::V4, Transport::Plain),
            1 => (Version::V4, Transport::CompressedBodies(Compression::Lz4)),
            4 => (Version::V3, Transport::CompressedBodies(Compression::Snappy)),
            2 => (Version::V5, Transport::Segments(Codec::Plain)),
            _ => (Version::V5, Transport::Segments(Codec::Lz4)),
        };
        let cut = cut.max(bodies.iter().map(Vec::len).sum::<usize>() / 500);
        let streams: Vec<(i16, Vec<u8>)> = (0..).zip(bodies).collect();
        let mut wire = Vec::new();
        for (stream, body) in &streams {
            let frame = frame(version, *stream, body);
            match transport {
                Transport::CompressedBodies(compression) => compression.compress_frame(&frame, &mut wire),
                _ => wire.extend_from_slice(&frame),
            }
        }
        if let Transport::Segments(codec) = transport {
            let mut sealed = Vec::new();
            segment::encode_frames(&wire, codec, &mut sealed);
            wire = sealed;
        }
        let mut inbound = inbound(Limits::default());
        prop_assert_eq!(receive(&mut inbound, transport, &wire, cut), streams);
    }

    #[test]
    fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2_000), cut in 1usize..500, transport in 0..5) {
        let transport = match transport {
            0 => Transport::Plain,
            1 => Transport::CompressedBodies(Compression::Lz4),
            4 => Transport::CompressedBodies(Compression::Snappy),
            2 => Transport::Segments(Codec::Plain),
            _ => Transport::Segments(Codec::Lz4),
        };
        let mut inbound = inbound(Limits::default());
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            let mut buffer = inbound.take_for_read(1 << 28);
            let (arrived, rest) = bytes.split_at(cut.min(bytes.len()).min(buffer.capacity() - buffer.len()));
            buffer.extend_from_slice(arrived);
            bytes = rest;
            inbound.put_back(buffer, arrived.len());
            loop {
                match inbound.next(None, transport) {
                    Ok(Next::Frame(..) | Next::Large(..) | Next::Step) => {}
                    Ok(Next::Needs(_)) => break,
                    Err(violation) if violation.fatal => return Ok(()),
                    Err(_) => {}
                }
            }
            prop_assert!(inbound.buffer.capacity() + inbound.assembly.capacity() + inbound.body.capacity() < 1 << 20);
        }
    }
}

#[test]
fn a_frame_over_the_limit_is_refused_skipped_and_the_next_one_taken() {
    for (version, transport) in [(Version::V4, Transport::Plain), (Version::V5, Transport::Segments(Codec::Plain))] {
        let limits = Limits { frame_bytes_max: 200_000, ..Limits::default() };
        let mut wire = frame(version, 1, &[1; 10]);
        wire.extend(frame(version, 2, &[2; 300_000]));
        wire.extend(frame(version, 3, &[3; 10]));
        if let Transport::Segments(codec) = transport {
            let mut sealed = Vec::new();
            segment::encode_frames(&wire, codec, &mut sealed);
            wire = sealed;
        }
        let mut inbound = inbound(limits);
        let frames = receive(&mut inbound, transport, &wire, 5_000);
        let text = b"Request is too big: length 300009 exceeds maximum allowed length 200000.".to_vec();
        assert_eq!(frames, [(1, vec![1; 10]), (2, text), (3, vec![3; 10])]);
    }
}

/// Whatever the length of its body: the next frame begins where it says.
#[test]
fn an_unknown_message_is_passed_over_and_the_next_one_taken() {
    for (version, transport) in [
        (Version::V3, Transport::Plain),
        (Version::V4, Transport::CompressedBodies(Compression::Lz4)),
        (Version::V5, Transport::Segments(Codec::Plain)),
    ] {
        for length in [0, 10, 300_000] {
            const OPCODE: usize = 4;
            let mut unknown = frame(version, 2, &vec![2; length]);
            unknown[OPCODE] = 0x44;
            let mut response = frame(version, 3, &vec![3; length]);
            response[OPCODE] = Opcode::Ready as u8;
            let mut wire = frame(version, 1, &[1; 10]);
            wire.extend(unknown);
            wire.extend(response);
            wire.extend(frame(version, 4, &[4; 10]));
            if let Transport::Segments(codec) = transport {
                let mut sealed = Vec::new();
                segment::encode_frames(&wire, codec, &mut sealed);
                wire = sealed;
            }
            let frames = receive(&mut inbound(Limits::default()), transport, &wire, 5_000);
            let wrong = b"Wrong protocol direction for opcode READY (2)".to_vec();
            let unknown = b"Unknown opcode 68".to_vec();
            assert_eq!(frames, [(1, vec![1; 10]), (2, unknown), (3, wrong), (4, vec![4; 10])], "{length}");
        }
    }
}

#[test]
fn a_body_that_does_not_decompress_is_passed_over_and_the_next_one_taken() {
    const FLAGS: usize = 1;
    for compression in [Compression::Lz4, Compression::Snappy] {
        let mut wire = Vec::new();
        compression.compress_frame(&frame(Version::V4, 1, &[1; 10]), &mut wire);
        let mut broken = frame(Version::V4, 2, &[0, 0, 0, 32, 2, 2, 2]);
        broken[FLAGS] |= Flags::COMPRESSED.0;
        wire.extend(broken);
        compression.compress_frame(&frame(Version::V4, 3, &[3; 10]), &mut wire);
        let frames = receive(&mut inbound(Limits::default()), Transport::CompressedBodies(compression), &wire, 50);
        assert_eq!((&frames[0], frames[1].0, &frames[2]), (&(1, vec![1; 10]), 2, &(3, vec![3; 10])));
    }
}

#[test]
fn large_frames_count_against_the_shard_while_they_last() {
    let limits = Limits { shard_bytes_in_flight_max: 3 << 20, ..Limits::default() };
    let mut inbound = inbound(limits);
    let budget = inbound.budget.clone();
    let mut wire = frame(Version::V4, 1, &vec![1; 1 << 20]);
    wire.extend(frame(Version::V4, 2, &vec![2; 8 << 20]));
    wire.extend(frame(Version::V4, 3, &[3]));
    let frames = receive(&mut inbound, Transport::Plain, &wire, 50_000);
    let (streams, bodies): (Vec<i16>, Vec<Vec<u8>>) = frames.into_iter().unzip();
    assert_eq!(streams, [1, 2, 3]);
    assert_eq!(bodies[0].len(), 1 << 20);
    assert_eq!(bodies[1], b"Too many bytes of requests are in flight on this shard");
    inbound.take_for_read(0);
    assert_eq!((budget.bytes(), budget.refused()), (0, 1));
}

#[test]
fn what_a_compressed_body_grows_to_counts_and_goes() {
    for compression in [Compression::Lz4, Compression::Snappy] {
        let mut wire = Vec::new();
        for (stream, length) in [(1, 2 << 20), (2, 8 << 20), (3, 1_000)] {
            compression.compress_frame(&frame(Version::V4, stream, &vec![stream as u8; length]), &mut wire);
        }
        assert!(wire.len() < 2 * UNCOUNTED, "the frames themselves are not what counts");
        let limits = Limits { shard_bytes_in_flight_max: 3 << 20, ..Limits::default() };
        let mut inbound = inbound(limits);
        let budget = inbound.budget.clone();
        let frames = receive(&mut inbound, Transport::CompressedBodies(compression), &wire, 50_000);
        let (streams, bodies): (Vec<i16>, Vec<Vec<u8>>) = frames.into_iter().unzip();
        assert_eq!(streams, [1, 2, 3]);
        let refusal = b"Too many bytes of requests are in flight on this shard";
        assert_eq!([bodies[0].len(), bodies[1].len(), bodies[2].len()], [2 << 20, refusal.len(), 1_000]);
        assert_eq!(bodies[1], refusal);
        inbound.take_for_read(0);
        assert_eq!((budget.bytes(), budget.refused()), (0, 1));
        assert!(inbound.body.capacity() <= UNCOUNTED, "an idle connection keeps {} bytes", inbound.body.capacity());
    }
}

#[test]
fn a_large_body_does_not_stay_with_an_idle_connection() {
    let mut wire = Vec::new();
    Compression::Lz4.compress_frame(&frame(Version::V4, 1, &vec![1; 2 << 20]), &mut wire);
    let mut inbound = inbound(Limits::default());
    receive(&mut inbound, Transport::CompressedBodies(Compression::Lz4), &wire, 50_000);
    inbound.take_for_read(0);
    assert!(inbound.body.capacity() <= UNCOUNTED, "{} bytes stay", inbound.body.capacity());
    assert_eq!(inbound.budget.bytes(), 0);
}

/// A compressed segment of some hundred bytes may hold 128 KiB.
#[test]
fn before_a_login_a_segment_holds_no_more_than_a_frame_may_however_it_is_compressed() {
    for codec in [Codec::Plain, Codec::Lz4] {
        for (length, is_taken) in [(10_000, true), (100_000, false)] {
            let mut wire = Vec::new();
            segment::encode_frames(&frame(Version::V5, 1, &vec![1; length]), codec, &mut wire);
            let mut inbound = inbound(Limits::default());
            inbound.begin_login();
            let mut arrived = wire.as_slice();
            let outcome = loop {
                let mut buffer = inbound.take_for_read(0);
                let count = arrived.len().min(buffer.capacity() - buffer.len());
                buffer.extend_from_slice(&arrived[..count]);
                arrived = &arrived[count..];
                inbound.put_back(buffer, count);
                match inbound.next(Some(Version::V5), Transport::Segments(codec)) {
                    Ok(Next::Needs(_)) => {}
                    Ok(Next::Frame(_, body)) => break Ok(body.len()),
                    Ok(_) => panic!("it is one segment"),
                    Err(violation) => break Err((violation.fatal, violation.error.message)),
                }
            };
            match is_taken {
                true => assert_eq!(outcome, Ok(length), "{codec:?}"),
                false => {
                    let (is_fatal, message) = outcome.expect_err("it is too big");
                    assert!(is_fatal && message.starts_with("Segment is too big"), "{codec:?}: {message}");
                }
            }
            assert!(
                inbound.payload.capacity() <= 2 * length.min(16 << 10),
                "{codec:?}: {}",
                inbound.payload.capacity()
            );
            inbound.end_login();
            let again = receive(&mut inbound, Transport::Segments(codec), if is_taken { &wire } else { &[] }, 50_000);
            assert_eq!(again.len(), usize::from(is_taken));
        }
    }
}

/// A segment may hold more than one frame may, but none that is over the limit.
#[test]
fn a_frame_over_the_limit_in_a_segment_of_whole_frames_is_passed_over() {
    let limits = Limits { frame_bytes_max: 1_000, ..Limits::default() };
    let mut wire = Vec::new();
    for (stream, length) in [(1, 10), (2, 2_000), (3, 900)] {
        wire.extend(frame(Version::V5, stream, &vec![0; length]));
    }
    let mut sealed = Vec::new();
    segment::encode_frames(&wire, Codec::Plain, &mut sealed);
    let frames = receive(&mut inbound(limits), Transport::Segments(Codec::Plain), &sealed, 50_000);
    let text = b"Request is too big: length 2009 exceeds maximum allowed length 1000.".to_vec();
    assert_eq!(frames, [(1, vec![0; 10]), (2, text), (3, vec![0; 900])]);
}

#[test]
fn the_version_may_not_change() {
    let mut inbound = inbound(Limits::default());
    let mut buffer = inbound.take_for_read(0);
    write_error(&mut buffer, Version::V5, 0, &ErrorBody::invalid(""));
    buffer[0] &= 0x7f;
    buffer[4] = Opcode::Options as u8;
    let count = buffer.len();
    inbound.put_back(buffer, count);
    let Err(violation) = inbound.next(Some(Version::V4), Transport::Plain) else { panic!("it was taken") };
    assert!(violation.fatal && violation.error.message.starts_with("Invalid message version. Got 5/v5"));
}
