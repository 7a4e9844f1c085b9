//! The nine bytes before each message.
//!
//! ```text
//! 0         1       2        4        5           9
//! +---------+-------+--------+--------+-----------+
//! | version | flags | stream | opcode | length    |
//! +---------+-------+--------+--------+-----------+
//! ```
//!
//! The version's highest bit is the direction: 0 from the client, 1 from the server. (Source: `native_protocol_v5.spec`,
//! section 2.)

use crate::{Opcode, UnsupportedVersion, Version};

/// Bytes of a header.
pub const HEADER_LENGTH: usize = 9;

/// The longest body that the protocol allows.
pub const FRAME_LENGTH_MAX: u32 = 256 * 1024 * 1024;

/// The direction bit in the first byte.
const RESPONSE: u8 = 0x80;

/// A header's flags. Bits that are not defined are kept and ignored, as the protocol asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The body is compressed (versions 3 and 4; in version 5 segments are, and this is ignored).
    pub const COMPRESSED: Flags = Flags(0x01);
    /// A request asks for tracing; a response begins with the tracing's id.
    pub const TRACING: Flags = Flags(0x02);
    /// The message is preceded by a map of bytes (from version 4 on).
    pub const CUSTOM_PAYLOAD: Flags = Flags(0x04);
    /// A response has warnings before its message (from version 4 on).
    pub const WARNING: Flags = Flags(0x08);
    /// The client takes a version that is not final.
    pub const USE_BETA: Flags = Flags(0x10);

    /// Whether all flags of `other` are set.
    #[inline]
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[inline]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A message's header. The direction is the opcode's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The protocol's version.
    pub version: Version,
    /// Flags.
    pub flags: Flags,
    /// Pairs a response with its request; negative for what the server sends unasked.
    pub stream: i16,
    /// What the body is.
    pub opcode: Opcode,
    /// Bytes of the body, as claimed: the reader checks it against its limit before it takes memory.
    pub length: u32,
}

/// Why nine bytes are not a header. All but the version's leave the stream in step: the body can be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The version is not spoken.
    #[error("{source}")]
    UnsupportedVersion {
        /// Which, and the text that drivers look for.
        source: UnsupportedVersion,
        /// The stream to answer on.
        stream: i16,
    },
    /// No message has this opcode.
    #[error("Unknown opcode {opcode}")]
    UnknownOpcode {
        /// The opcode.
        opcode: u8,
        /// The version to answer in.
        version: Version,
        /// The stream to answer on.
        stream: i16,
        /// Bytes of the body, as claimed.
        length: u32,
    },
    /// A response where a request belongs, or the other way round.
    #[error("Wrong protocol direction for opcode {} ({})", opcode.name(), *opcode as u8)]
    WrongDirection {
        /// The opcode.
        opcode: Opcode,
        /// The version to answer in.
        version: Version,
        /// The stream to answer on.
        stream: i16,
        /// Bytes of the body, as claimed.
        length: u32,
    },
}

impl HeaderError {
    /// The version to answer in.
    pub fn reply_version(&self) -> Version {
        match self {
            HeaderError::UnsupportedVersion { source, .. } => source.reply_version(),
            HeaderError::UnknownOpcode { version, .. } | HeaderError::WrongDirection { version, .. } => *version,
        }
    }

    /// The stream to answer on.
    pub fn stream(&self) -> i16 {
        match self {
            HeaderError::UnsupportedVersion { stream, .. }
            | HeaderError::UnknownOpcode { stream, .. }
            | HeaderError::WrongDirection { stream, .. } => *stream,
        }
    }
}

impl FrameHeader {
    /// Decodes a header of either direction; the direction bit must be the opcode's.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_LENGTH]) -> Result<FrameHeader, HeaderError> {
        let [first, flags, stream_high, stream_low, opcode, length @ ..] = *bytes;
        let stream = i16::from_be_bytes([stream_high, stream_low]);
        let length = u32::from_be_bytes(length);
        let version =
            Version::of_first_byte(first).map_err(|source| HeaderError::UnsupportedVersion { source, stream })?;
        let Some(opcode) = Opcode::of(opcode) else {
            return Err(HeaderError::UnknownOpcode { opcode, version, stream, length });
        };
        if opcode.is_request() == (first & RESPONSE != 0) {
            return Err(HeaderError::WrongDirection { opcode, version, stream, length });
        }
        Ok(FrameHeader { version, flags: Flags(flags), stream, opcode, length })
    }

    /// The header's bytes.
    #[inline]
    pub fn encode(&self) -> [u8; HEADER_LENGTH] {
        let direction = if self.opcode.is_request() { 0 } else { RESPONSE };
        let [stream_high, stream_low] = self.stream.to_be_bytes();
        let [a, b, c, d] = self.length.to_be_bytes();
        [self.version.number() | direction, self.flags.0, stream_high, stream_low, self.opcode as u8, a, b, c, d]
    }
}

/// Appends a header whose length is patched by [`finish`]. Gives where the frame begins in `out`.
#[inline]
pub(crate) fn begin(out: &mut Vec<u8>, version: Version, flags: Flags, stream: i16, opcode: Opcode) -> usize {
    let start = out.len();
    out.extend_from_slice(&FrameHeader { version, flags, stream, opcode, length: 0 }.encode());
    start
}

/// Writes the length of the frame that began at `start`: all that was appended since.
#[inline]
pub(crate) fn finish(out: &mut [u8], start: usize) {
    let body = out.len().checked_sub(start + HEADER_LENGTH).expect("the frame's header is in the buffer");
    let length = u32::try_from(body).expect("a frame's body is far below 4 GiB");
    out[start + 5..start + HEADER_LENGTH].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_protocols() {
        let header = FrameHeader {
            version: Version::V4,
            flags: Flags::TRACING,
            stream: -2,
            opcode: Opcode::Result,
            length: 258,
        };
        assert_eq!(header.encode(), [0x84, 0x02, 0xff, 0xfe, 0x08, 0, 0, 1, 2]);
        assert_eq!(FrameHeader::decode(&header.encode()), Ok(header));
    }

    #[test]
    fn an_unknown_version_is_answered_in_a_known_one() {
        let error = FrameHeader::decode(&[0x42, 0, 0, 7, 5, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(error.reply_version(), Version::V5);
        assert_eq!(error.stream(), 7);
        assert_eq!(
            error.to_string(),
            "Invalid or unsupported protocol version (66); supported versions are (3/v3, 4/v4, 5/v5)"
        );
        let error = FrameHeader::decode(&[2, 0, 0, 0, 5, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(error.reply_version(), Version::V3);
        let error = FrameHeader::decode(&[6, Flags::USE_BETA.0, 0, 1, 5, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(error.reply_version(), Version::V5);
        assert!(error.to_string().starts_with("Invalid or unsupported protocol version (6)"), "{error}");
    }

    #[test]
    fn directions_are_checked() {
        let result = FrameHeader::decode(&[4, 0, 0, 0, 8, 0, 0, 0, 0]);
        assert!(matches!(result, Err(HeaderError::WrongDirection { opcode: Opcode::Result, .. })));
        let result = FrameHeader::decode(&[0x84, 0, 0, 0, 7, 0, 0, 0, 0]);
        assert!(matches!(result, Err(HeaderError::WrongDirection { opcode: Opcode::Query, .. })));
        let result = FrameHeader::decode(&[4, 0, 0, 0, 4, 0, 0, 0, 0]);
        assert!(matches!(result, Err(HeaderError::UnknownOpcode { opcode: 4, .. })));
    }
}
