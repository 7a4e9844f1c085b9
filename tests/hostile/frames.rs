//! Frames and segments that lie about themselves.

use cql_protocol::{Codec, Compression, Version, segment};
use helenus_tests::{Random, query_frame, startup_frame};

const QUERY: u8 = 0x07;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0a;
const BATCH: u8 = 0x0d;

/// A frame of any fields; the length is the body's unless another is claimed.
fn frame(version: u8, flags: u8, opcode: u8, body: &[u8], claimed: Option<u32>) -> Vec<u8> {
    let length = claimed.unwrap_or_else(|| u32::try_from(body.len()).expect("bodies here are small"));
    let mut bytes = vec![version, flags, 0, 1, opcode];
    bytes.extend(length.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A length that is negative, huge, or a little off.
fn lying_length(random: &mut Random) -> u32 {
    let lies = [u32::MAX, 1 << 31, i32::MAX as u32, 256 << 20, (256 << 20) + 1, 255 << 20, 128 << 20, 1 << 20, 0, 1, 3];
    *random.choose(&lies)
}

/// A frame whose header claims another length than its body has.
pub fn with_lying_length(random: &mut Random) -> Vec<u8> {
    let count = random.below(2000);
    let body = random.bytes(count);
    let opcode = *random.choose(&[QUERY, PREPARE, EXECUTE, BATCH]);
    frame(4, 0, opcode, &body, Some(lying_length(random)))
}

/// A segment that is right but for a bit, or that is noise with a plausible header.
pub fn broken_segment(random: &mut Random, lz4: bool) -> Vec<u8> {
    let codec = if lz4 { Codec::Lz4 } else { Codec::Plain };
    let payload = query_frame(Version::V5, 1, &"SELECT * FROM system.local ".repeat(1 + random.below(100)));
    let mut bytes = Vec::new();
    // Segments that are not self-contained make the server wait for more pieces of a frame.
    segment::encode(&payload, random.below(3) > 0, codec, &mut bytes);
    match random.below(4) {
        0 => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(random.below(bytes.len())),
        2 => {
            let again = bytes.clone();
            bytes.extend_from_slice(&again[random.below(again.len())..]);
        }
        _ => {
            let header = bytes.len().min(codec.header_length());
            let count = random.below(3000);
            bytes.truncate(header);
            bytes.extend(random.bytes(count));
        }
    }
    bytes
}

/// A compressed body that claims, or really has, far more than it seems.
pub fn compression_bomb(random: &mut Random) -> Vec<u8> {
    const COMPRESSED: u8 = 0x01;
    let claimed = lying_length(random);
    let mut body = claimed.to_be_bytes().to_vec();
    match random.below(3) {
        0 => {
            let count = random.below(1000);
            body.extend(random.bytes(count));
        }
        1 => body.extend(lz4_of_zeros(1 + random.below(200 * 1024))),
        _ => {
            // An honest bomb: claim and contents agree. Eight attackers at 4 MiB are half of what memory may grow by.
            let spaces = vec![b' '; 1 + random.below(4 << 20)];
            body.clear();
            Compression::Lz4.compress(&spaces, &mut body);
        }
    }
    frame(4, COMPRESSED, *random.choose(&[QUERY, PREPARE, BATCH]), &body, None)
}

/// The same for Snappy.
pub fn snappy_bomb(random: &mut Random) -> Vec<u8> {
    const COMPRESSED: u8 = 0x01;
    let mut body = Vec::new();
    Compression::Snappy.compress(&vec![b' '; 1 + random.below(4 << 20)], &mut body);
    match random.below(3) {
        // The claim, which is a varint at the front.
        0 => body.splice(0..1, [random.bytes(1)[0] | 0x80, 0x80, 0x01]).for_each(drop),
        1 => {
            let at = random.below(body.len());
            body[at] = random.bytes(1)[0];
        }
        _ => {}
    }
    frame(3, COMPRESSED, *random.choose(&[QUERY, PREPARE, BATCH]), &body, None)
}

/// An LZ4 block of one literal and one match of `run` bytes of length codes: each byte stands for 255.
fn lz4_of_zeros(run: usize) -> Vec<u8> {
    let mut block = vec![0x1f, 0, 1, 0];
    block.extend(std::iter::repeat_n(255, run));
    block.push(0);
    block
}

/// A segment whose checksums are right and whose compressed payload is not what its header says.
pub fn segment_bomb(random: &mut Random) -> Vec<u8> {
    // Compressible, so that the encoder really compresses; the uncompressed length is then changed and the header's
    // checksum with it, which only an encoder can do: so take two good segments and swap their payloads.
    let mut one = Vec::new();
    segment::encode(&vec![0; 1 + random.below(segment::PAYLOAD_MAX)], true, Codec::Lz4, &mut one);
    let mut two = Vec::new();
    segment::encode(&vec![1; 1 + random.below(segment::PAYLOAD_MAX)], false, Codec::Lz4, &mut two);
    let header = Codec::Lz4.header_length();
    let mut bytes = one[..header].to_vec();
    bytes.extend_from_slice(&two[header..]);
    for _ in 0..random.below(50) {
        bytes.extend_from_slice(&two);
    }
    bytes
}

/// Opcodes of no message, of responses, of other versions; flags of all kinds.
pub fn with_wrong_opcode(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(8) {
        let version = *random.choose(&[4, 4, 4, 0x84, 5, 0x85, 3, 2, 1, 6, 0x42, 0]);
        let count = random.below(64);
        let body = random.bytes(count);
        bytes.extend(frame(
            version,
            random.next_u64().to_le_bytes()[0],
            random.next_u64().to_le_bytes()[0],
            &body,
            None,
        ));
    }
    bytes
}

/// A batch that claims more statements or values than it has.
pub fn lying_batch(random: &mut Random) -> Vec<u8> {
    let statements = *random.choose(&[0_u16, 1, 2, 1000, u16::MAX]);
    let mut body = vec![random.below(4).to_le_bytes()[0]];
    body.extend(statements.to_be_bytes());
    for _ in 0..random.below(4) {
        let text = b"INSERT INTO hostile.t (who, what) VALUES (1, ?)";
        body.push(0);
        body.extend((text.len() as u32).to_be_bytes());
        body.extend(text);
        body.extend(random.choose(&[0_u16, 1, 7, u16::MAX]).to_be_bytes());
        body.extend(random.choose(&[-1_i32, -2, -3, i32::MIN, i32::MAX, 4]).to_be_bytes());
        body.extend(b"some");
    }
    body.extend([0, 1, 0]);
    frame(4, 0, BATCH, &body, None)
}

/// A query with values, paging states and flags that claim what is not there.
pub fn lying_values(random: &mut Random) -> Vec<u8> {
    let text = b"SELECT * FROM hostile.t WHERE who = ?";
    let mut body = (text.len() as u32).to_be_bytes().to_vec();
    body.extend(text);
    body.extend([0, 1, random.next_u64().to_le_bytes()[0]]);
    body.extend(random.choose(&[0_u16, 1, 2, u16::MAX]).to_be_bytes());
    for _ in 0..random.below(4) {
        body.extend(random.choose(&[-1_i32, -2, -3, i32::MIN, i32::MAX, 1 << 24, 4]).to_be_bytes());
        body.extend(1_u32.to_be_bytes());
    }
    frame(4, 0, QUERY, &body, None)
}

/// Some good requests, one after another.
fn good_requests(random: &mut Random, version: Version) -> Vec<u8> {
    let number = version.number();
    let mut bytes = query_frame(version, 1, "SELECT * FROM system.local WHERE key = 'local'");
    let text = b"INSERT INTO hostile.t (who, what) VALUES (?, ?)";
    let mut prepare = (text.len() as u32).to_be_bytes().to_vec();
    prepare.extend(text);
    if version == Version::V5 {
        prepare.extend(0_u32.to_be_bytes());
    }
    bytes.extend(frame(number, 0, PREPARE, &prepare, None));
    let mut execute = vec![0, 16];
    execute.extend(random.bytes(16));
    execute.extend([0, 1, 0]);
    bytes.extend(frame(number, 0, EXECUTE, &execute, None));
    bytes.extend(frame(number, 0, 0x05, &[], None));
    bytes.extend(frame(
        number,
        0,
        0x0b,
        &[0, 1, 0, 13, b'S', b'C', b'H', b'E', b'M', b'A', b'_', b'C', b'H', b'A', b'N', b'G', b'E'],
        None,
    ));
    bytes
}

/// Good requests with some bytes replaced.
pub fn mutated_request(random: &mut Random) -> Vec<u8> {
    mutated(random, Version::V4)
}

/// The same in a segment whose checksums are right.
pub fn mutated_request_in_segment(random: &mut Random) -> Vec<u8> {
    let frames = mutated(random, Version::V5);
    let mut bytes = Vec::new();
    segment::encode(&frames, true, Codec::Plain, &mut bytes);
    bytes
}

fn mutated(random: &mut Random, version: Version) -> Vec<u8> {
    let mut bytes = good_requests(random, version);
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        bytes[at] = random.next_u64().to_le_bytes()[0];
    }
    bytes
}

/// A first message that is none, or a good one with strange options, or two.
pub fn strange_greeting(random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(4) {
        0 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        1 => [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3].to_vec(),
        2 => startup_frame(Version::V4, Some("snappy-or-something")),
        _ => [startup_frame(Version::V4, None), startup_frame(Version::V5, Some("lz4"))].concat(),
    };
    if random.below(2) == 0 {
        let at = random.below(bytes.len());
        bytes[at] = random.next_u64().to_le_bytes()[0];
    }
    bytes
}

/// Thousands of tiny requests in one write, most of them wrong.
pub fn many_at_once(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(3000) {
        let opcode = *random.choose(&[0x05, QUERY, EXECUTE, BATCH, 0x0f]);
        bytes.extend(frame(4, 0, opcode, &[0, 0, 0], None));
    }
    bytes
}
