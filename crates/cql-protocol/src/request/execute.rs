//! EXECUTE: runs a prepared statement. The request that a database under load sees most.

use stdx::Reader;

use crate::request::QueryParams;
use crate::{DecodeError, Version, notation};

/// A prepared statement and how to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's id, as PREPARE gave it.
    pub id: &'a [u8],
    /// The id of the result's columns as the client knows them (version 5). If they are others by now, the result
    /// describes them anew whatever [`QueryParams::skip_metadata`] says.
    pub result_metadata_id: Option<&'a [u8]>,
    /// How to run it.
    pub params: QueryParams<'a>,
}

impl<'a> Execute<'a> {
    /// Decodes a message.
    #[inline]
    pub fn decode(message: &'a [u8], version: Version) -> Result<Execute<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let id = notation::read_short_bytes(&mut reader)?;
        let result_metadata_id = match version {
            Version::V3 | Version::V4 => None,
            Version::V5 => Some(notation::read_short_bytes(&mut reader)?),
        };
        let params = QueryParams::read(&mut reader, version)?;
        Ok(Execute { id, result_metadata_id, params })
    }

    /// Appends the message. In version 5 a missing id of the result's columns is written as an empty one.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        notation::write_short_bytes(out, self.id);
        if version == Version::V5 {
            notation::write_short_bytes(out, self.result_metadata_id.unwrap_or_default());
        }
        self.params.write(version, out);
    }
}
