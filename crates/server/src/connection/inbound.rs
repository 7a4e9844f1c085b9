//! From bytes to request frames, in either transport.
//!
//! Before version 5 frames lie one after another in the read buffer. In version 5 the read buffer holds segments; the payload of
//! a self-contained one holds whole frames, the payloads of others are put together until one frame is whole. A segment's
//! payload is copied out once its checksum is right: frames are small against the 128 KiB of a segment, and the copy lets
//! one buffer position mean one thing.

use std::rc::Rc;

use cql_protocol::{Codec, ErrorBody, Flags, FrameHeader, HEADER_LENGTH, HeaderError, Version, segment};

use super::large::{LARGE_BODY_MIN, Large, Step};
use super::read_buffer::ReadBuffer;
use super::transport::Transport;
use super::violation::Violation;
use crate::budget::Budget;
use crate::buffers::{Buffer, Buffers};

/// What the bytes that are there hold next.
pub(super) enum Next<'a> {
    /// A request and its body, decompressed.
    Frame(FrameHeader, &'a [u8]),
    /// A large request and its body, which is its own.
    Large(FrameHeader, Buffer),
    /// A part of a large request's way was gone: there is more to do, if there is time.
    Step,
    /// Nothing whole: at least this many bytes are lacking.
    Needs(usize),
}

/// Bytes of a segment besides its payload, at most.
const SEGMENT_BYTES_AROUND: usize = 16;

/// Memory that a connection may hold without being counted: its usual buffers.
const UNCOUNTED: usize = 512 << 10;

/// The receiving half of a connection.
pub(super) struct Inbound {
    budget: Rc<Budget>,
    buffers: Rc<Buffers>,
    buffer: ReadBuffer,
    /// Payload of the self-contained segment at hand, and how much of it is used.
    payload: Vec<u8>,
    payload_used: usize,
    /// The first bytes of a frame that comes in several segments, while they are no whole header.
    assembly: Vec<u8>,
    /// A large request that is not whole.
    large: Option<Large>,
    /// Bytes of a refused frame that are still to come, or are there and not yet skipped.
    skip: usize,
    /// A decompressed body, until the next read.
    body: Vec<u8>,
    /// Bytes counted against the shard's limit.
    counted: usize,
    /// The greatest frame, header included.
    frame_bytes_max: usize,
    /// The greatest payload of a segment.
    payload_bytes_max: usize,
}

impl Drop for Inbound {
    fn drop(&mut self) {
        self.budget.take_bytes(self.counted, 0);
    }
}

impl Inbound {
    pub(super) fn new(budget: Rc<Budget>, buffers: Rc<Buffers>) -> Inbound {
        let frame_bytes_max = budget.limits.frame_bytes_max;
        Inbound {
            budget,
            frame_bytes_max,
            payload_bytes_max: segment::PAYLOAD_MAX,
            buffers,
            buffer: ReadBuffer::new(),
            payload: Vec::new(),
            payload_used: 0,
            assembly: Vec::new(),
            large: None,
            skip: 0,
            body: Vec::new(),
            counted: 0,
        }
    }

    /// Bounds frames, headers included, segments and the buffer as for a client that has not logged in.
    pub(super) fn begin_login(&mut self) {
        self.frame_bytes_max = self.budget.limits.unauthenticated_frame_bytes_max;
        self.payload_bytes_max = self.frame_bytes_max;
        self.buffer.keep_small(true);
    }

    /// Lets frames, segments and buffer be as large as usual.
    pub(super) fn end_login(&mut self) {
        self.frame_bytes_max = self.budget.limits.frame_bytes_max;
        self.payload_bytes_max = segment::PAYLOAD_MAX;
        self.buffer.keep_small(false);
    }

    /// Gives the buffer away for a read; see [`ReadBuffer::take_for_read`].
    pub(super) fn take_for_read(&mut self, wanted: usize) -> Vec<u8> {
        let bytes = self.buffer.take_for_read(wanted);
        if self.body.capacity() > UNCOUNTED {
            self.body = Vec::new();
        }
        if self.counted > 0 {
            // A large frame may be done and its memory gone; an idle connection must not go on counting it.
            let large = self.large.as_ref().map_or(0, Large::held);
            let now = counted_size(bytes.capacity() + large).min(self.counted);
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
        if self.large.is_some() {
            return self.next_of_large(version, transport);
        }
        match transport {
            Transport::Segments(codec) => self.next_of_segments(version, codec),
            transport => self.next_of_frames(version, transport),
        }
    }

    /// Goes on with a large request: takes what has arrived of it, or brings it a step further when it is all there.
    #[cold]
    fn next_of_large(&mut self, version: Option<Version>, transport: Transport) -> Result<Next<'_>, Violation> {
        let Some(mut large) = self.large.take() else { return Ok(Next::Step) };
        let header = large.header();
        if large.lacking() > 0 {
            if let Transport::Segments(codec) = transport {
                self.large = Some(large);
                return self.next_of_segments(version, codec);
            }
            let there = self.buffer.unused();
            if there.is_empty() {
                let lacking = large.lacking();
                self.large = Some(large);
                return Ok(Next::Needs(lacking));
            }
            let taken = large.take(there);
            self.buffer.consume(taken);
            if let Err(violation) = self.count_large(&header, large.held()) {
                self.skip = large.lacking();
                return Err(violation);
            }
            self.large = Some(large);
            return Ok(Next::Step);
        }
        let step = large.step(&self.budget, &mut self.counted)?;
        Ok(match step {
            Step::More => {
                self.large = Some(large);
                Next::Step
            }
            Step::Whole(body) => {
                // The memory is the task's from now on, which counts it.
                self.budget.take_bytes(self.counted, 0);
                self.counted = 0;
                Next::Large(header, body)
            }
        })
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
        let header = match decode_header(header, version) {
            Ok(header) => header,
            Err(Refused { violation, body }) => {
                self.skip = body.map_or(0, |length| HEADER_LENGTH + length);
                return Err(violation);
            }
        };
        let length = HEADER_LENGTH + header.length as usize;
        let there = unused.len();
        if let Err(violation) = self.admit(&header, length) {
            self.skip = length;
            return Err(violation);
        }
        if header.length as usize > LARGE_BODY_MIN {
            return Ok(self.begin_large(header, transport));
        }
        if there < length {
            return Ok(Next::Needs(length - there));
        }
        let body = self.buffer.take(length).get(HEADER_LENGTH..).unwrap_or_default();
        if !header.flags.contains(Flags::COMPRESSED) {
            return Ok(Next::Frame(header, body));
        }
        // Without negotiated compression the flag says nothing, as in Cassandra.
        let Transport::CompressedBodies(compression) = transport else { return Ok(Next::Frame(header, body)) };
        let decompressed = compression.decompressed_length(body);
        if decompressed > LARGE_BODY_MIN && decompressed <= self.frame_bytes_max {
            let mut large = Large::new(header, Some(compression), &self.buffers);
            large.take(body);
            self.large = Some(large);
            return Ok(Next::Step);
        }
        self.body.clear();
        compression
            .decompress(body, self.frame_bytes_max, &mut self.body)
            .map_err(|error| Violation::protocol(error.to_string()).on(header.version, header.stream).passed_over())?;
        Ok(Next::Frame(header, &self.body))
    }

    /// A large frame begins; its header is at the front of the buffer.
    #[cold]
    fn begin_large(&mut self, header: FrameHeader, transport: Transport) -> Next<'static> {
        let compression = match transport {
            Transport::CompressedBodies(compression) if header.flags.contains(Flags::COMPRESSED) => Some(compression),
            _ => None,
        };
        self.buffer.consume(HEADER_LENGTH);
        self.large = Some(Large::new(header, compression, &self.buffers));
        Next::Step
    }

    /// Refuses a frame that is too large.
    #[inline]
    fn admit(&self, header: &FrameHeader, length: usize) -> Result<(), Violation> {
        let most = self.frame_bytes_max;
        if length > most {
            let text = format!("Request is too big: length {length} exceeds maximum allowed length {most}.");
            return Err(Violation::skipped(ErrorBody::invalid(text), header.version, header.stream));
        }
        Ok(())
    }

    /// Refuses a segment of so many bytes that holds more than a client which has not logged in may send: its payload would be gathered first.
    #[inline]
    fn admit_segment(&self, length: usize, version: Option<Version>) -> Result<(), Violation> {
        if length <= self.payload_bytes_max {
            return Ok(());
        }
        let text =
            format!("Segment is too big: length {length} exceeds what a client that has not logged in may send.");
        Err(Violation::protocol(text).in_version(version))
    }

    /// Counts the memory of a large frame that is arriving, of which `held` bytes are there, against the shard's limit.
    #[cold]
    fn count_large(&mut self, header: &FrameHeader, held: usize) -> Result<(), Violation> {
        let now = counted_size(self.buffer.capacity() + held);
        if !self.budget.take_bytes(self.counted, now) {
            return Err(too_many_bytes(header));
        }
        self.counted = now;
        Ok(())
    }

    fn next_of_segments(&mut self, version: Option<Version>, codec: Codec) -> Result<Next<'_>, Violation> {
        while self.payload_used == self.payload.len() {
            let in_parts = !self.assembly.is_empty() || self.large.is_some() || self.skip > 0;
            self.payload.clear();
            self.payload_used = 0;
            let decoded = segment::decode(self.buffer.unused(), codec, &mut self.payload)
                .map_err(|error| Violation::protocol(error.to_string()).in_version(version))?;
            let (used, self_contained) = match decoded {
                segment::Decoded::Incomplete { lacking } => {
                    let length = self.buffer.unused().len() + lacking;
                    self.admit_segment(length.saturating_sub(SEGMENT_BYTES_AROUND), version)?;
                    return Ok(Next::Needs(lacking));
                }
                segment::Decoded::Segment { used, self_contained } => (used, self_contained),
            };
            self.buffer.consume(used);
            // A compressed one says how long it is when it is decompressed.
            if let Err(violation) = self.admit_segment(self.payload.len(), version) {
                self.payload = Vec::new();
                return Err(violation);
            }
            if self_contained && in_parts {
                let text = "A self-contained segment came in the middle of a frame of several segments";
                return Err(Violation::protocol(text).in_version(version));
            }
            if self_contained {
                continue;
            }
            self.assemble(version)?;
            return Ok(Next::Step);
        }
        self.next_of_payload(version)
    }

    /// The next frame of a self-contained segment, which holds only whole ones.
    fn next_of_payload(&mut self, version: Option<Version>) -> Result<Next<'_>, Violation> {
        let cut = || Violation::protocol("A self-contained segment holds a part of a frame").in_version(version);
        let rest = self.payload.get(self.payload_used..).unwrap_or_default();
        let header = match decode_header(rest.first_chunk().ok_or_else(cut)?, version) {
            Ok(header) => header,
            Err(Refused { violation, body: None }) => return Err(violation),
            Err(Refused { violation, body: Some(length) }) => {
                rest.get(HEADER_LENGTH..HEADER_LENGTH + length).ok_or_else(cut)?;
                self.payload_used += HEADER_LENGTH + length;
                return Err(violation);
            }
        };
        let length = HEADER_LENGTH + header.length as usize;
        let body = rest.get(HEADER_LENGTH..length).ok_or_else(cut)?;
        self.payload_used += length;
        self.admit(&header, length)?;
        Ok(Next::Frame(header, body))
    }

    /// Adds the payload at hand to a frame of several segments.
    fn assemble(&mut self, version: Option<Version>) -> Result<(), Violation> {
        let payload = std::mem::take(&mut self.payload);
        let outcome = self.assemble_from(&payload, version);
        self.payload = payload;
        self.payload.clear();
        outcome
    }

    fn assemble_from(&mut self, mut payload: &[u8], version: Option<Version>) -> Result<(), Violation> {
        if self.skip > 0 {
            self.skip = self.skip.saturating_sub(payload.len());
            return Ok(());
        }
        let mut large = match self.large.take() {
            Some(large) => large,
            None => {
                let count = payload.len().min(HEADER_LENGTH - self.assembly.len());
                let (first, rest) = payload.split_at(count);
                self.assembly.extend_from_slice(first);
                payload = rest;
                let Some(header) = self.assembly.first_chunk() else { return Ok(()) };
                let header = decode_header(header, version);
                self.assembly.clear();
                let header = match header {
                    Ok(header) => header,
                    Err(Refused { violation, body }) => {
                        self.skip = body.unwrap_or(0).saturating_sub(payload.len());
                        return Err(violation);
                    }
                };
                let length = HEADER_LENGTH + header.length as usize;
                if let Err(violation) = self.admit(&header, length) {
                    self.skip = (header.length as usize).saturating_sub(payload.len());
                    return Err(violation);
                }
                // In version 5 segments are what is compressed.
                Large::new(header, None, &self.buffers)
            }
        };
        let header = large.header();
        let taken = large.take(payload);
        if taken < payload.len() {
            let text = "A frame of several segments is followed by other bytes in its last segment";
            return Err(Violation::protocol(text).on(header.version, header.stream));
        }
        if let Err(violation) = self.count_large(&header, large.held()) {
            self.skip = large.lacking();
            return Err(violation);
        }
        self.large = Some(large);
        Ok(())
    }
}

#[cold]
pub(super) fn too_many_bytes(header: &FrameHeader) -> Violation {
    let error = ErrorBody::overloaded("Too many bytes of requests are in flight on this shard");
    Violation::skipped(error, header.version, header.stream)
}

/// How much of a connection's buffers counts.
fn counted_size(held: usize) -> usize {
    if held > UNCOUNTED { held } else { 0 }
}

/// A header that is not taken.
struct Refused {
    violation: Violation,
    /// The length of the body behind it, if the frame can be passed over.
    body: Option<usize>,
}

/// Decodes a header and compares its version with that of the frames before it.
#[inline]
fn decode_header(bytes: &[u8; HEADER_LENGTH], version: Option<Version>) -> Result<FrameHeader, Refused> {
    let header = FrameHeader::decode(bytes).map_err(|error| refused(error, version))?;
    match version {
        Some(before) if before != header.version => {
            let text = format!(
                "Invalid message version. Got {got}/v{got} but previous messages on this connection had version {was}/v{was}",
                got = header.version.number(),
                was = before.number()
            );
            Err(Refused { violation: Violation::protocol(text).on(before, header.stream), body: None })
        }
        _ => Ok(header),
    }
}

/// A message that is unknown, or that only servers send, is passed over between others. What begins with one is no client of ours.
#[cold]
fn refused(error: HeaderError, version: Option<Version>) -> Refused {
    let body = match error {
        HeaderError::UnknownOpcode { length, .. } | HeaderError::WrongDirection { length, .. } => Some(length as usize),
        HeaderError::UnsupportedVersion { .. } => None,
    };
    let body = body.filter(|_| version == Some(error.reply_version()));
    let violation = Violation::from(error);
    Refused { violation: if body.is_some() { violation.passed_over() } else { violation }, body }
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
