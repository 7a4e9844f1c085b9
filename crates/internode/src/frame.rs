//! The frame that a message between nodes travels in.
//!
//! ```text
//! length u32 │ number u64 │ kind u8 │ flags u8 │ epoch u64 │ deadline u32 │ crc u32 of the body │ crc u32 of the 30 bytes before │ body
//! flags: 1 compressed, 2 traced, 4 has a deadline
//! ```
//!
//! The head has a checksum of its own, so that a length is believed only when it is what was sent. Both checksums are over the bytes as they are sent. See
//! `docs/rfcs/0003-frames-with-epoch-and-deadline.md`.

mod body;
mod compression;
mod reader;

pub use body::Body;
pub use reader::FrameReader;

/// The most bytes of a frame's body, as it is sent and as it is read.
pub const FRAME_BODY_MAX: usize = 64 << 20;

const HEAD: usize = 34;
const HEAD_CHECKED: usize = HEAD - 4;

const COMPRESSED: u8 = 1;
const TRACED: u8 = 2;
const HAS_DEADLINE: u8 = 4;

/// A frame's fields beside its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// Pairs an answer with its request.
    pub number: u64,
    /// The message's kind: a verb below 128, an answer from there on.
    pub kind: u8,
    /// The steps of the request are to be traced.
    pub is_traced: bool,
    /// The epoch of the sender's cluster state.
    pub epoch: u64,
    /// Milliseconds on the [clock of the connection](crate::clock), modulo 2³²; the request is of no use to its sender later.
    pub deadline: Option<u32>,
}

/// A frame that was read and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// All but the body.
    pub head: Head,
    /// The message.
    pub body: Body<'a>,
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
    /// The head has a flag that this version does not know.
    #[error("frame with unknown flags {flags:#04x}")]
    Flags {
        /// All flags of the head.
        flags: u8,
    },
    /// The body is longer than any may be.
    #[error("frame of {length} bytes exceeds the limit of {FRAME_BODY_MAX}")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// The body is not what LZ4 makes of a body of the length that it names.
    #[error("cannot decompress frame body")]
    Compression,
}

/// Appends a frame whose body `write` appends; one of 1 to 256 KiB is compressed, if it gets shorter by that and `compresses` asks for it. A body must not be
/// above [`FRAME_BODY_MAX`]: then nothing is appended, and the error is its length.
pub fn write_frame(
    out: &mut Vec<u8>,
    head: &Head,
    compresses: bool,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), usize> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    write(out);
    let length = out.len() - start - HEAD;
    if length > FRAME_BODY_MAX {
        out.truncate(start);
        return Err(length);
    }
    let is_compressed = compresses && compression::compress(out, start + HEAD);
    let (head_bytes, body) = out[start..].split_at_mut(HEAD);
    head_bytes[..4].copy_from_slice(&(body.len() as u32).to_be_bytes());
    head_bytes[4..12].copy_from_slice(&head.number.to_be_bytes());
    head_bytes[12] = head.kind;
    head_bytes[13] =
        flag(is_compressed, COMPRESSED) | flag(head.is_traced, TRACED) | flag(head.deadline.is_some(), HAS_DEADLINE);
    head_bytes[14..22].copy_from_slice(&head.epoch.to_be_bytes());
    head_bytes[22..26].copy_from_slice(&head.deadline.unwrap_or(0).to_be_bytes());
    head_bytes[26..30].copy_from_slice(&crc32fast::hash(body).to_be_bytes());
    let crc = crc32fast::hash(&head_bytes[..HEAD_CHECKED]);
    head_bytes[HEAD_CHECKED..].copy_from_slice(&crc.to_be_bytes());
    Ok(())
}

fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}

/// A head as it is sent.
struct SentHead {
    head: Head,
    length: usize,
    is_compressed: bool,
    body_crc: u32,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the head is whole")
}

impl SentHead {
    /// The head at the front of `bytes`; `None` if it is not all there.
    fn decode(bytes: &[u8]) -> Result<Option<SentHead>, FrameError> {
        let Some(bytes) = bytes.get(..HEAD) else { return Ok(None) };
        if crc32fast::hash(&bytes[..HEAD_CHECKED]) != u32::from_be_bytes(array(bytes, HEAD_CHECKED)) {
            return Err(FrameError::Head);
        }
        let (length, flags) = (u32::from_be_bytes(array(bytes, 0)) as usize, bytes[13]);
        if length > FRAME_BODY_MAX {
            return Err(FrameError::TooLong { length });
        }
        if flags & !(COMPRESSED | TRACED | HAS_DEADLINE) > 0 {
            return Err(FrameError::Flags { flags });
        }
        let deadline = u32::from_be_bytes(array(bytes, 22));
        let head = Head {
            number: u64::from_be_bytes(array(bytes, 4)),
            kind: bytes[12],
            is_traced: flags & TRACED > 0,
            epoch: u64::from_be_bytes(array(bytes, 14)),
            deadline: (flags & HAS_DEADLINE > 0).then_some(deadline),
        };
        let body_crc = u32::from_be_bytes(array(bytes, 26));
        Ok(Some(SentHead { head, length, is_compressed: flags & COMPRESSED > 0, body_crc }))
    }
}

#[cfg(test)]
mod tests;
