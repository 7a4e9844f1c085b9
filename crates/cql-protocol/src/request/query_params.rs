//! The parameters of QUERY and EXECUTE, which also end a BATCH.
//!
//! ```text
//! consistency u16 | flags (v3, v4: u8, v5: u32) | values | page_size i32 | paging_state bytes | serial_consistency u16
//!                                           | timestamp i64 | keyspace string | now_in_seconds i32
//! ```
//!
//! All but the first two are there if their flag is. (Source: `native_protocol_v5.spec`, section 4.1.4; the keyspace and
//! now-in-seconds as in Cassandra 5.0, which sends them in version 5 only.)

use stdx::Reader;

use crate::request::Values;
use crate::{Consistency, DecodeError, Version, notation};

const VALUES: u32 = 0x01;
const SKIP_METADATA: u32 = 0x02;
const PAGE_SIZE: u32 = 0x04;
const PAGING_STATE: u32 = 0x08;
const SERIAL_CONSISTENCY: u32 = 0x10;
const TIMESTAMP: u32 = 0x20;
const NAMES: u32 = 0x40;
const KEYSPACE: u32 = 0x80;
const NOW_IN_SECONDS: u32 = 0x100;

/// How a statement is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryParams<'a> {
    /// The consistency level.
    pub consistency: Consistency,
    /// The consistency level of a conditional statement's serial phase; SERIAL if it is not there.
    pub serial_consistency: Option<Consistency>,
    /// Whether the client knows the result's columns and wants no description of them.
    pub skip_metadata: bool,
    /// Rows of a page. Cassandra takes a value that is not positive for none.
    pub page_size: Option<i32>,
    /// Where the page before ended.
    pub paging_state: Option<&'a [u8]>,
    /// Microseconds since the Unix epoch, instead of the server's clock.
    pub timestamp: Option<i64>,
    /// The keyspace of names without one (version 5).
    pub keyspace: Option<&'a str>,
    /// Seconds since the Unix epoch for what expires (version 5).
    pub now_in_seconds: Option<i32>,
    /// The values of the statement's markers.
    pub values: Values<'a>,
}

impl<'a> QueryParams<'a> {
    /// A level, and nothing else asked for.
    pub fn new(consistency: Consistency) -> QueryParams<'static> {
        QueryParams {
            consistency,
            serial_consistency: None,
            skip_metadata: false,
            page_size: None,
            paging_state: None,
            timestamp: None,
            keyspace: None,
            now_in_seconds: None,
            values: Values::NONE,
        }
    }

    /// Reads the parameters.
    #[inline]
    pub fn read(reader: &mut Reader<'a>, version: Version) -> Result<QueryParams<'a>, DecodeError> {
        let consistency = notation::read_consistency(reader)?;
        let flags = match version {
            Version::V3 | Version::V4 => u32::from(reader.u8()?),
            Version::V5 => reader.u32()?,
        };
        let values = match flags & VALUES {
            0 => Values::NONE,
            _ => Values::read(reader, flags & NAMES != 0, version == Version::V3)?,
        };
        let mut params = QueryParams { values, skip_metadata: flags & SKIP_METADATA != 0, ..Self::new(consistency) };
        if flags & !(VALUES | SKIP_METADATA | NAMES) != 0 {
            params.read_rest(reader, flags)?;
        }
        Ok(params)
    }

    /// Reads what follows the values, by flag. Apart from [`Self::read`] so that this is small where it is inlined.
    fn read_rest(&mut self, reader: &mut Reader<'a>, flags: u32) -> Result<(), DecodeError> {
        if flags & PAGE_SIZE != 0 {
            self.page_size = Some(reader.i32()?);
        }
        if flags & PAGING_STATE != 0 {
            self.paging_state = notation::read_bytes(reader)?;
        }
        if flags & SERIAL_CONSISTENCY != 0 {
            self.serial_consistency = Some(notation::read_consistency(reader)?);
        }
        if flags & TIMESTAMP != 0 {
            let timestamp = reader.i64()?;
            if timestamp == i64::MIN {
                return Err(DecodeError::TimestampOutOfBounds);
            }
            self.timestamp = Some(timestamp);
        }
        if flags & KEYSPACE != 0 {
            self.keyspace = Some(notation::read_string(reader)?);
        }
        if flags & NOW_IN_SECONDS != 0 {
            self.now_in_seconds = Some(reader.i32()?);
        }
        Ok(())
    }

    /// Appends the parameters. Before version 5 there is no room for the keyspace and now-in-seconds, which are left out.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) {
        notation::write_consistency(out, self.consistency);
        let flags = self.flags(version);
        match version {
            Version::V3 | Version::V4 => out.push(flags as u8),
            Version::V5 => out.extend_from_slice(&flags.to_be_bytes()),
        }
        if flags & VALUES != 0 {
            self.values.write(out);
        }
        if let Some(page_size) = self.page_size {
            out.extend_from_slice(&page_size.to_be_bytes());
        }
        if let Some(state) = self.paging_state {
            notation::write_bytes(out, Some(state));
        }
        if let Some(level) = self.serial_consistency {
            notation::write_consistency(out, level);
        }
        if let Some(timestamp) = self.timestamp {
            out.extend_from_slice(&timestamp.to_be_bytes());
        }
        if version == Version::V5 {
            if let Some(keyspace) = self.keyspace {
                notation::write_string(out, keyspace);
            }
            if let Some(now) = self.now_in_seconds {
                out.extend_from_slice(&now.to_be_bytes());
            }
        }
    }

    /// The flags of what [`Self::write`] writes.
    fn flags(&self, version: Version) -> u32 {
        let v5 = version == Version::V5;
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        flag(!self.values.is_empty(), VALUES)
            | flag(!self.values.is_empty() && self.values.is_named(), NAMES)
            | flag(self.skip_metadata, SKIP_METADATA)
            | flag(self.page_size.is_some(), PAGE_SIZE)
            | flag(self.paging_state.is_some(), PAGING_STATE)
            | flag(self.serial_consistency.is_some(), SERIAL_CONSISTENCY)
            | flag(self.timestamp.is_some(), TIMESTAMP)
            | flag(v5 && self.keyspace.is_some(), KEYSPACE)
            | flag(v5 && self.now_in_seconds.is_some(), NOW_IN_SECONDS)
    }
}
