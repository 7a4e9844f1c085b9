//! From bytes to request frames, in either transport.
//!
//! In version 4 frames lie one after another in the read buffer. In version 5 the read buffer holds segments; the payload of
//! a self-contained one holds whole frames, the payloads of others are put together until one frame is whole. A segment's
//! payload is copied out once its checksum is right: frames are small against the 128 KiB of a segment, and the copy lets
//! one buffer position mean one thing.

use std::rc::Rc;

use cql_protocol::{Codec, ErrorBody, Flags, FrameHeader, HEADER_LENGTH, Version, compression, segment};

use super::read_buffer::ReadBuffer;
use super::transport::Transport;
use super::violation::Violation;
use crate::budget::Budget;

/// What the bytes that are there hold next.
pub(super) enum Next<'a> {
    /// A request and its body, decompressed.
    Frame(FrameHeader, &'a [u8]),
    /// Nothing whole: at least this many bytes are lacking.
    Needs(usize),
}

/// Memory that a connection may hold without being counted: its usual buffers.
const UNCOUNTED: usize = 512 << 10;

/// The receiving half of a connection.
pub(super) struct Inbound {
    budget: Rc<Budget>,
    buffer: ReadBuffer,
    /// Payload of the self-contained segment at hand, and how much of it is used.
    payload: Vec<u8>,
    payload_used: usize,
    /// A frame that comes in several segments.
    assembly: Vec<u8>,
    assembly_used: bool,
    /// Bytes of a refused frame that are still to come, or are there and not yet skipped.
    skip: usize,
    /// A decompressed body, until the next read.
    body: Vec<u8>,
    /// Bytes counted against the shard's limit.
    counted: usize,
}

impl Drop for Inbound {
    fn drop(&mut self) {
        self.budget.take_bytes(self.counted, 0);
    }
}

impl Inbound {
    pub(super) fn new(budget: Rc<Budget>) -> Inbound {
        Inbound {
            budget,
            buffer: ReadBuffer::new(),
            payload: Vec::new(),
            payload_used: 0,
            assembly: Vec::new(),
            assembly_used: false,
            skip: 0,
            body: Vec::new(),
            counted: 0,
        }
    }

    /// Gives the buffer away for a read; see [`ReadBuffer::take_for_read`].
    pub(super) fn take_for_read(&mut self, wanted: usize) -> Vec<u8> {
        let bytes = self.buffer.take_for_read(wanted);
        if self.body.capacity() > UNCOUNTED {
            self.body = Vec::new();
        }
        if self.counted > 0 {
            // A large frame may be done and its memory gone; an idle connection must not go on counting it.
            let now = counted_size(bytes.capacity() + self.assembly.capacity()).min(self.counted);
            self.budget.take_bytes(self.counted, now);
            self.counted = now;
        }
        bytes
    }

    /// Takes the buffer back after a read of `count` bytes.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>, count: usize) {
        self.buffer.put_back(bytes, count);
    }

    /// The next request. `version` is that of the frames before it, which it must have.
    #[inline]
    pub(super) fn next(&mut self, version: Option<Version>, transport: Transport) -> Result<Next<'_>, Violation> {
        match transport {
            Transport::Segments(codec) => self.next_of_segments(version, codec),
            transport => self.next_of_frames(version, transport),
        }
    }

    #[inline]
    fn next_of_frames(&mut self, version: Option<Version>, transport: Transport) -> Result<Next<'_>, Violation> {
        if self.skip > 0 {
            let skipped = self.skip.min(self.buffer.unused().len());
            self.buffer.consume(skipped);
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(Next::Needs(self.skip));
            }
        }
        let unused = self.buffer.unused();
        let Some(header) = unused.first_chunk() else {
            check_first_byte(unused)?;
            return Ok(Next::Needs(HEADER_LENGTH - unused.len()));
        };
        let header = decode_header(header, version)?;
        let length = HEADER_LENGTH + header.length as usize;
        let there = unused.len();
        if let Err(violation) = self.admit(&header, length, there) {
            self.skip = length;
            return Err(violation);
        }
        if there < length {
            return Ok(Next::Needs(length - there));
        }
        let body = self.buffer.take(length).get(HEADER_LENGTH..).unwrap_or_default();
        if !header.flags.contains(Flags::COMPRESSED) {
            return Ok(Next::Frame(header, body));
        }
        if transport != Transport::CompressedBodies {
            let text = "Received a compressed frame, but no compression was negotiated";
            return Err(Violation::protocol(text).on(header.version, header.stream));
        }
        self.body.clear();
        self.body.shrink_to(UNCOUNTED);
        let limit = self.budget.limits.frame_bytes_max;
        let grown = counted_size(compression::decompressed_length(body).min(limit));
        if !self.budget.take_bytes(self.counted, self.counted + grown) {
            return Err(too_many_bytes(&header));
        }
        self.counted += grown;
        compression::decompress(body, limit, &mut self.body)
            .map_err(|error| Violation::protocol(error.to_string()).on(header.version, header.stream))?;
        Ok(Next::Frame(header, &self.body))
    }

    /// Refuses a frame that is too large, or whose growing buffer is more than the shard may hold. `there` is how much of
    /// it has arrived.
    #[inline]
    fn admit(&mut self, header: &FrameHeader, length: usize, there: usize) -> Result<(), Violation> {
        let limits = &self.budget.limits;
        if length > limits.frame_bytes_max {
            let text = format!(
                "Request is too big: length {length} exceeds maximum allowed length {}.",
                limits.frame_bytes_max
            );
            return Err(Violation::skipped(ErrorBody::invalid(text), header.version, header.stream));
        }
        if there < length || self.counted > 0 {
            return self.count_large(header);
        }
        Ok(())
    }

    /// Counts the memory of a large frame that is arriving against the shard's limit.
    #[cold]
    fn count_large(&mut self, header: &FrameHeader) -> Result<(), Violation> {
        let now = counted_size(self.buffer.capacity() + self.assembly.capacity() + self.body.capacity());
        if !self.budget.take_bytes(self.counted, now) {
            return Err(too_many_bytes(header));
        }
        self.counted = now;
        Ok(())
    }

    fn next_of_segments(&mut self, version: Option<Version>, codec: Codec) -> Result<Next<'_>, Violation> {
        if self.assembly_used {
            self.assembly.clear();
            self.assembly.shrink_to(UNCOUNTED);
            self.assembly_used = false;
        }
        while self.payload_used == self.payload.len() {
            let in_parts = !self.assembly.is_empty() || self.skip > 0;
            self.payload.clear();
            self.payload_used = 0;
            let decoded = segment::decode(self.buffer.unused(), codec, &mut self.payload)
                .map_err(|error| Violation::protocol(error.to_string()).in_version(version))?;
            let (used, self_contained) = match decoded {
                segment::Decoded::Incomplete { lacking } => return Ok(Next::Needs(lacking)),
                segment::Decoded::Segment { used, self_contained } => (used, self_contained),
            };
            self.buffer.consume(used);
            if self_contained && in_parts {
                let text = "A self-contained segment came in the middle of a frame of several segments";
                return Err(Violation::protocol(text).in_version(version));
            }
            if self_contained {
                continue;
            }
            if let Some(header) = self.assemble(version)? {
                self.assembly_used = true;
                let body = self.assembly.get(HEADER_LENGTH..).unwrap_or_default();
                return Ok(Next::Frame(header, body));
            }
        }
        self.next_of_payload(version)
    }

    /// The next frame of a self-contained segment, which holds only whole ones.
    fn next_of_payload(&mut self, version: Option<Version>) -> Result<Next<'_>, Violation> {
        let cut = || Violation::protocol("A self-contained segment holds a part of a frame").in_version(version);
        let rest = self.payload.get(self.payload_used..).unwrap_or_default();
        let header = decode_header(rest.first_chunk().ok_or_else(cut)?, version)?;
        let length = HEADER_LENGTH + header.length as usize;
        let body = rest.get(HEADER_LENGTH..length).ok_or_else(cut)?;
        self.payload_used += length;
        Ok(Next::Frame(header, body))
    }

    /// Adds the payload at hand to a frame of several segments; its header when it is whole.
    fn assemble(&mut self, version: Option<Version>) -> Result<Option<FrameHeader>, Violation> {
        let arrived = self.payload.len();
        if self.skip == 0 {
            self.assembly.extend_from_slice(&self.payload);
        }
        self.payload.clear();
        if self.skip > 0 {
            self.skip = self.skip.saturating_sub(arrived);
            return Ok(None);
        }
        let Some(header) = self.assembly.first_chunk() else { return Ok(None) };
        let header = decode_header(header, version)?;
        let length = HEADER_LENGTH + header.length as usize;
        let there = self.assembly.len();
        if let Err(violation) = self.admit(&header, length, there) {
            self.assembly = Vec::new();
            self.skip = length.saturating_sub(there);
            return Err(violation);
        }
        if there > length {
            let text = "A frame of several segments is followed by other bytes in its last segment";
            return Err(Violation::protocol(text).on(header.version, header.stream));
        }
        Ok((there == length).then_some(header))
    }
}

#[cold]
fn too_many_bytes(header: &FrameHeader) -> Violation {
    let error = ErrorBody::overloaded("Too many bytes of requests are in flight on this shard");
    Violation::skipped(error, header.version, header.stream)
}

/// How much of a connection's buffers counts.
fn counted_size(held: usize) -> usize {
    if held > UNCOUNTED { held } else { 0 }
}

/// Decodes a header and compares its version with that of the frames before it.
#[inline]
fn decode_header(bytes: &[u8; HEADER_LENGTH], version: Option<Version>) -> Result<FrameHeader, Violation> {
    let header = FrameHeader::decode(bytes)?;
    match version {
        Some(before) if before != header.version => {
            let text = format!(
                "Invalid message version. Got {got}/v{got} but previous messages on this connection had version {was}/v{was}",
                got = header.version.number(),
                was = before.number()
            );
            Err(Violation::protocol(text).on(before, header.stream))
        }
        _ => Ok(header),
    }
}

/// Refuses a version before its header is whole: those of versions 1 and 2 are shorter and never would be.
fn check_first_byte(bytes: &[u8]) -> Result<(), Violation> {
    let Some(first) = bytes.first() else { return Ok(()) };
    match Version::of_first_byte(*first) {
        Ok(_) => Ok(()),
        Err(error) => Err(Violation::protocol(error.to_string()).on(error.reply_version(), 0)),
    }
}

#[cfg(test)]
mod tests;
