//! Which versions of the protocol are spoken.

/// A version that is spoken. Versions 1, 2 and 6 (a draft) and the DSE ones are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Version {
    /// Version 3: as version 4, but without custom payloads, warnings, values that are not set, and some types and errors.
    V3 = 3,
    /// Version 4: frames straight on the stream, bodies compressed one by one.
    V4 = 4,
    /// Version 5: frames inside checksummed segments once STARTUP is answered.
    V5 = 5,
}

/// A client speaks a version that is not spoken here. Its text is the one by which drivers know that they should try a
/// lower version, so it must contain "unsupported protocol version".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid or unsupported protocol version ({version}); supported versions are (3/v3, 4/v4, 5/v5)")]
pub struct UnsupportedVersion {
    /// The version named by the client, without the direction bit.
    pub version: u8,
}

impl UnsupportedVersion {
    /// The version to answer in: the nearest that is spoken, as a driver that asked for more falls back to the version
    /// of the reply.
    pub fn reply_version(self) -> Version {
        if self.version < Version::V3 as u8 { Version::V3 } else { Version::V5 }
    }
}

impl Version {
    /// All versions, as SUPPORTED lists them under `PROTOCOL_VERSIONS`.
    pub const SUPPORTED: [&'static str; 3] = ["3/v3", "4/v4", "5/v5"];

    /// All versions, lowest first.
    pub const ALL: [Version; 3] = [Version::V3, Version::V4, Version::V5];

    /// The version of a frame from its first byte, whose highest bit is the direction. It can be checked before the
    /// rest of a header is there: versions 1 and 2 have a shorter one.
    #[inline]
    pub fn of_first_byte(byte: u8) -> Result<Version, UnsupportedVersion> {
        match byte & 0x7f {
            3 => Ok(Version::V3),
            4 => Ok(Version::V4),
            5 => Ok(Version::V5),
            version => Err(UnsupportedVersion { version }),
        }
    }

    /// The number.
    #[inline]
    pub fn number(self) -> u8 {
        self as u8
    }
}
