//! How reply frames lie on the wire.

use cql_protocol::{Codec, HEADER_LENGTH, compression, segment};

/// What STARTUP chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// Frames as they are: version 4, and everything up to READY.
    Plain,
    /// Version 4 with LZ4: each body compressed by itself.
    CompressedBodies,
    /// Version 5: frames packed in segments with checksums.
    Segments(Codec),
}

/// Turns ready frames into what is written. Keeps its buffer between writes.
#[derive(Debug, Default)]
pub(super) struct Sealer {
    spare: Vec<u8>,
}

impl Sealer {
    /// Seals whole `frames` for the wire; the first `unframed` bytes go as they are. What comes back is to be written and
    /// then given to [`Sealer::take_back`].
    pub(super) fn seal(&mut self, transport: Transport, mut frames: Vec<u8>, unframed: usize) -> Vec<u8> {
        if transport == Transport::Plain || unframed >= frames.len() {
            return frames;
        }
        let mut sealed = std::mem::take(&mut self.spare);
        let (as_it_is, rest) = frames.split_at(unframed);
        sealed.extend_from_slice(as_it_is);
        match transport {
            Transport::Plain => sealed.extend_from_slice(rest),
            Transport::CompressedBodies => compress_bodies(rest, &mut sealed),
            Transport::Segments(codec) => segment::encode_frames(rest, codec, &mut sealed),
        }
        frames.clear();
        self.spare = frames;
        sealed
    }

    /// Takes a written buffer back and gives an empty one for the frames to come. Buffers that a large reply made larger
    /// than `kept_bytes_max` are let go.
    pub(super) fn take_back(&mut self, mut written: Vec<u8>, kept_bytes_max: usize) -> Vec<u8> {
        written.clear();
        for buffer in [&mut written, &mut self.spare] {
            if buffer.capacity() > kept_bytes_max {
                *buffer = Vec::new();
            }
        }
        written
    }
}

fn compress_bodies(mut frames: &[u8], sealed: &mut Vec<u8>) {
    while !frames.is_empty() {
        let (frame, rest) = frames.split_at(frame_length(frames));
        frames = rest;
        compression::compress_frame(frame, sealed);
    }
}

/// Length of the first of some frames, which the engine and this crate have written: whole ones, always.
fn frame_length(frames: &[u8]) -> usize {
    let header: &[u8; HEADER_LENGTH] = frames.first_chunk().expect("replies are whole frames");
    let [.., a, b, c, d] = *header;
    HEADER_LENGTH + u32::from_be_bytes([a, b, c, d]) as usize
}
