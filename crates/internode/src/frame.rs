//! The frame that a message between nodes travels in.
//!
//! ```text
//! length u32 │ number u64 │ kind u8 │ crc u32 of the body │ crc u32 of the 17 bytes before │ body
//! ```
//!
//! The head has a checksum of its own, so that a length is believed only when it is what was sent.

use std::ops::Range;

/// The most that a frame's body may hold.
pub const FRAME_BODY_MAX: usize = 64 << 20;

const HEAD: usize = 21;
const HEAD_CHECKED: usize = HEAD - 4;
/// What a read from the socket makes room for at least.
const READ_BYTES: usize = 16 << 10;

/// A frame that was read and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Pairs an answer with its request.
    pub number: u64,
    /// What the body is.
    pub kind: u8,
    /// The message.
    pub body: &'a [u8],
}

/// The bytes of a connection are no frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The head's checksum does not match.
    #[error("frame header damaged")]
    Head,
    /// The body's checksum does not match.
    #[error("frame body damaged")]
    Body,
    /// The body is longer than any may be.
    #[error("frame of {length} bytes exceeds the limit of {FRAME_BODY_MAX}")]
    TooLong {
        /// Its length.
        length: usize,
    },
}

/// Appends a frame whose body `write` appends. Gives the body's length, which must not be above [`FRAME_BODY_MAX`]: then
/// nothing is appended, and the error is the length.
pub fn write_frame(out: &mut Vec<u8>, number: u64, kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), usize> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    write(out);
    let (head, body) = out[start..].split_at_mut(HEAD);
    if body.len() > FRAME_BODY_MAX {
        let length = body.len();
        out.truncate(start);
        return Err(length);
    }
    head[..4].copy_from_slice(&(body.len() as u32).to_be_bytes());
    head[4..12].copy_from_slice(&number.to_be_bytes());
    head[12] = kind;
    head[13..17].copy_from_slice(&crc32fast::hash(body).to_be_bytes());
    let crc = crc32fast::hash(&head[..HEAD_CHECKED]);
    head[HEAD_CHECKED..].copy_from_slice(&crc.to_be_bytes());
    Ok(())
}

struct Head {
    length: usize,
    number: u64,
    kind: u8,
    body_crc: u32,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the head is whole")
}

impl Head {
    /// The head at the front of `bytes`; `None` if it is not all there.
    fn decode(bytes: &[u8]) -> Result<Option<Head>, FrameError> {
        let Some(bytes) = bytes.get(..HEAD) else { return Ok(None) };
        if crc32fast::hash(&bytes[..HEAD_CHECKED]) != u32::from_be_bytes(array(bytes, HEAD_CHECKED)) {
            return Err(FrameError::Head);
        }
        let length = u32::from_be_bytes(array(bytes, 0)) as usize;
        if length > FRAME_BODY_MAX {
            return Err(FrameError::TooLong { length });
        }
        let (number, body_crc) = (u64::from_be_bytes(array(bytes, 4)), u32::from_be_bytes(array(bytes, 13)));
        Ok(Some(Head { length, number, kind: bytes[12], body_crc }))
    }
}

/// Cuts the bytes of a connection into frames. Its buffer grows as bytes arrive, never to what a length says.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    used: usize,
}

impl FrameReader {
    /// Nothing has arrived.
    pub fn new() -> Self {
        FrameReader::default()
    }

    /// Gives the buffer away for a read into its spare capacity; [`FrameReader::put_back`] it.
    pub fn take_for_read(&mut self) -> Vec<u8> {
        self.bytes.drain(..self.used);
        self.used = 0;
        // At most doubles what is there: memory follows the bytes that came.
        let room = READ_BYTES.max(self.bytes.len());
        if self.bytes.is_empty() && self.bytes.capacity() > 64 * READ_BYTES {
            self.bytes = Vec::new();
        }
        if self.bytes.capacity() - self.bytes.len() < READ_BYTES {
            self.bytes.reserve_exact(room);
        }
        std::mem::take(&mut self.bytes)
    }

    /// Takes the buffer back with what was read.
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// The next frame; `None` until more has arrived.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let Some(Found { head, body }) = self.find()? else { return Ok(None) };
        self.used = body.end;
        Ok(Some(Frame { number: head.number, kind: head.kind, body: &self.bytes[body] }))
    }

    fn find(&self) -> Result<Option<Found>, FrameError> {
        let unused = &self.bytes[self.used..];
        let Some(head) = Head::decode(unused)? else { return Ok(None) };
        let Some(body) = unused.get(HEAD..HEAD + head.length) else { return Ok(None) };
        if crc32fast::hash(body) != head.body_crc {
            return Err(FrameError::Body);
        }
        let start = self.used + HEAD;
        let body = start..start + head.length;
        Ok(Some(Found { head, body }))
    }
}

struct Found {
    head: Head,
    body: Range<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(reader: &mut FrameReader, bytes: &[u8]) {
        let mut buffer = reader.take_for_read();
        buffer.extend_from_slice(bytes);
        reader.put_back(buffer);
    }

    fn two_frames() -> Vec<u8> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, 7, 1, |out| out.extend_from_slice(b"first")).expect("it is short");
        write_frame(&mut bytes, 8, 129, |_| {}).expect("it is short");
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
                    found.push((frame.number, frame.kind, frame.body.to_vec()));
                }
            }
            assert_eq!(found, [(7, 1, b"first".to_vec()), (8, 129, Vec::new())], "in steps of {step}");
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let bytes = two_frames();
        for bit in 0..(HEAD + 5) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut reader = FrameReader::new();
            feed(&mut reader, &damaged);
            assert!(reader.next_frame().is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_length_above_the_bound_is_refused_before_its_bytes_come() {
        let mut head = [0u8; HEAD];
        head[..4].copy_from_slice(&(FRAME_BODY_MAX as u32 + 1).to_be_bytes());
        let crc = crc32fast::hash(&head[..HEAD_CHECKED]);
        head[HEAD_CHECKED..].copy_from_slice(&crc.to_be_bytes());
        let mut reader = FrameReader::new();
        feed(&mut reader, &head);
        assert_eq!(reader.next_frame(), Err(FrameError::TooLong { length: FRAME_BODY_MAX + 1 }));
        let mut out = b"before".to_vec();
        let written = write_frame(&mut out, 1, 1, |out| out.resize(FRAME_BODY_MAX + 100, 0));
        assert_eq!((written.is_err(), out), (true, b"before".to_vec()));
    }
}
