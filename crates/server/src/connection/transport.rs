//! How reply frames lie on the wire.

use cql_protocol::{Codec, Compression, HEADER_LENGTH, segment};

/// What STARTUP chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// Frames as they are: versions 3 and 4, and everything up to READY.
    Plain,
    /// Versions 3 and 4, compressed: each body by itself.
    CompressedBodies(Compression),
    /// Version 5: frames packed in segments with checksums.
    Segments(Codec),
}

/// About how much is sealed at once, so that replies of any size hold the core only shortly.
const SEALED_AT_ONCE: usize = 2 * segment::PAYLOAD_MAX;
/// A larger body is sent as it is: versions 3 and 4 compress a body as one block, which cannot be interrupted. This takes about 1 ms.
const COMPRESSED_BODY_MAX: usize = 512 << 10;

/// Seals a run of whole frames for the wire, a part at a time.
#[derive(Debug)]
pub(super) struct Sealer<'a> {
    transport: Transport,
    rest: &'a [u8],
    /// The first bytes of `rest` go as they are.
    unframed: usize,
    /// Bytes left of a frame that is sealed in several parts.
    cut: usize,
}

impl<'a> Sealer<'a> {
    /// The first `unframed` bytes of `frames` go as they are.
    pub(super) fn new(transport: Transport, frames: &'a [u8], unframed: usize) -> Sealer<'a> {
        Sealer { transport, rest: frames, unframed: unframed.min(frames.len()), cut: 0 }
    }

    /// Appends the next part; false when there is none.
    pub(super) fn next(&mut self, sealed: &mut Vec<u8>) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        if self.unframed > 0 {
            let unframed = std::mem::take(&mut self.unframed);
            sealed.extend_from_slice(self.take(unframed));
            return true;
        }
        match self.transport {
            Transport::Plain => sealed.extend_from_slice(self.take(self.rest.len())),
            Transport::CompressedBodies(compression) => self.compress_bodies(compression, sealed),
            Transport::Segments(codec) => self.pack(codec, sealed),
        }
        true
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (part, rest) = self.rest.split_at(count);
        self.rest = rest;
        part
    }

    fn compress_bodies(&mut self, compression: Compression, sealed: &mut Vec<u8>) {
        let mut taken = 0;
        while !self.rest.is_empty() && taken < SEALED_AT_ONCE {
            if self.cut == 0 {
                let length = frame_length(self.rest);
                if length <= COMPRESSED_BODY_MAX {
                    taken += length;
                    compression.compress_frame(self.take(length), sealed);
                    continue;
                }
                self.cut = length;
            }
            let part = self.take(self.cut.min(SEALED_AT_ONCE));
            self.cut -= part.len();
            taken += part.len();
            sealed.extend_from_slice(part);
        }
    }

    fn pack(&mut self, codec: Codec, sealed: &mut Vec<u8>) {
        if self.cut == 0 {
            let mut whole = 0;
            while whole < self.rest.len() {
                let length = frame_length(self.rest.get(whole..).unwrap_or_default());
                if whole + length > SEALED_AT_ONCE {
                    break;
                }
                whole += length;
            }
            if whole > 0 {
                return segment::encode_frames(self.take(whole), codec, sealed);
            }
            self.cut = frame_length(self.rest);
        }
        let part = self.take(self.cut.min(SEALED_AT_ONCE));
        self.cut -= part.len();
        for piece in part.chunks(segment::PAYLOAD_MAX) {
            segment::encode(piece, false, codec, sealed);
        }
    }
}

/// Length of the first of some frames, which the engine and this crate have written: whole ones, always.
fn frame_length(frames: &[u8]) -> usize {
    let header: &[u8; HEADER_LENGTH] = frames.first_chunk().expect("replies are whole frames");
    let [.., a, b, c, d] = *header;
    HEADER_LENGTH + u32::from_be_bytes([a, b, c, d]) as usize
}

#[cfg(test)]
mod tests;
