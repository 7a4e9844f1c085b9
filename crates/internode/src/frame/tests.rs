//! Frames as they are written, however their bytes arrive, and bytes that are none.

use super::*;

fn head(number: u64, kind: u8) -> Head {
    Head { number, kind, is_traced: true, epoch: 9, deadline: Some(u32::MAX) }
}

fn feed(reader: &mut FrameReader, bytes: &[u8]) {
    let mut buffer = reader.take_for_read();
    buffer.extend_from_slice(bytes);
    reader.put_back(buffer);
}

fn first_of(bytes: &[u8]) -> Result<Option<(Head, Vec<u8>)>, FrameError> {
    let mut reader = FrameReader::new();
    feed(&mut reader, bytes);
    let Some(frame) = reader.next_frame()? else { return Ok(None) };
    Ok(Some((frame.head, frame.body.open()?.into_owned())))
}

fn two_frames() -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &head(7, 1), true, |out| out.extend_from_slice(b"first")).expect("it is short");
    write_frame(&mut bytes, &Head { number: 8, kind: 129, ..Head::default() }, true, |_| {}).expect("it is short");
    bytes
}

/// Changes a head, and gives it the checksum that it must have then.
fn changed(frame: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    change(&mut bytes);
    let crc = crc32fast::hash(&bytes[HEAD..]);
    bytes[26..30].copy_from_slice(&crc.to_be_bytes());
    let crc = crc32fast::hash(&bytes[..HEAD_CHECKED]);
    bytes[HEAD_CHECKED..HEAD].copy_from_slice(&crc.to_be_bytes());
    bytes
}

#[test]
fn frames_come_out_whole_however_the_bytes_arrive() {
    let bytes = two_frames();
    for step in 1..=bytes.len() {
        let mut reader = FrameReader::new();
        let mut found = Vec::new();
        for piece in bytes.chunks(step) {
            feed(&mut reader, piece);
            while let Some(frame) = reader.next_frame().expect("the bytes are right") {
                found.push((frame.head, frame.body.open().expect("it is plain").into_owned()));
            }
        }
        let second = Head { number: 8, kind: 129, ..Head::default() };
        assert_eq!(found, [(head(7, 1), b"first".to_vec()), (second, Vec::new())], "in steps of {step}");
        assert_eq!(reader.next_buffer(), 0, "nothing is left");
    }
}

#[test]
fn every_flipped_bit_is_seen() {
    let bytes = two_frames();
    for bit in 0..(HEAD + 5) * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(first_of(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_length_above_the_bound_is_refused_before_its_bytes_come() {
    let bytes = changed(&[0; HEAD], |head| head[..4].copy_from_slice(&(FRAME_BODY_MAX as u32 + 1).to_be_bytes()));
    assert_eq!(first_of(&bytes), Err(FrameError::TooLong { length: FRAME_BODY_MAX + 1 }));
    let mut out = b"before".to_vec();
    let written = write_frame(&mut out, &head(1, 1), false, |out| out.resize(FRAME_BODY_MAX + 100, 0));
    assert_eq!((written.is_err(), out), (true, b"before".to_vec()));
}

#[test]
fn a_flag_of_a_later_version_is_refused() {
    let bytes = changed(&two_frames()[..HEAD + 5], |head| head[13] |= 8);
    assert_eq!(first_of(&bytes), Err(FrameError::Flags { flags: 8 | TRACED | HAS_DEADLINE }));
}

/// Bytes that compress badly.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7u64;
    let next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn bodies_are_compressed_where_it_makes_them_shorter() {
    for (body, compresses, is_shorter) in [
        (vec![7; 1 << 10], true, false),
        (vec![7; (1 << 10) + 1], true, true),
        (vec![7; (1 << 10) + 1], false, false),
        (noise(100_000), true, false),
        (vec![0; 256 << 10], true, true),
        (vec![0; (256 << 10) + 1], true, false),
        (vec![0; FRAME_BODY_MAX], true, false),
    ] {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &head(3, 1), compresses, |out| out.extend_from_slice(&body)).expect("it fits");
        assert_eq!(bytes.len() < HEAD + body.len(), is_shorter, "{} bytes", body.len());
        assert_eq!(bytes[13] & COMPRESSED > 0, is_shorter);
        assert_eq!(first_of(&bytes), Ok(Some((head(3, 1), body))));
    }
}

#[test]
fn a_compressed_body_that_names_another_length_is_refused() {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &head(3, 1), true, |out| out.resize(out.len() + 5_000, 7)).expect("it fits");
    for (length, is_opened) in [
        (0, false),
        (1_000, false),
        (4_999, true),
        (5_001, true),
        (256 << 10, true),
        ((256 << 10) + 1, false),
        (u32::MAX as usize, false),
    ] {
        let other = changed(&bytes, |bytes| bytes[HEAD..HEAD + 4].copy_from_slice(&(length as u32).to_be_bytes()));
        let mut reader = FrameReader::new();
        feed(&mut reader, &other);
        let frame = reader.next_frame();
        assert_eq!(
            frame.is_ok(),
            is_opened,
            "{length}: more than a compressed body has is refused before it is opened"
        );
        assert!(first_of(&other).is_err(), "{length}");
    }
    let short = changed(&bytes[..HEAD + 3], |head| head[..4].copy_from_slice(&3u32.to_be_bytes()));
    assert_eq!(first_of(&short), Err(FrameError::Compression));
}
