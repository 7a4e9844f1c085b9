//! PREPARE: a statement to be run later by its id.

use stdx::Reader;

use crate::{DecodeError, Version, notation};

const KEYSPACE: u32 = 0x01;

/// A statement to prepare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// The statement.
    pub text: &'a str,
    /// The keyspace of names without one (version 5).
    pub keyspace: Option<&'a str>,
}

impl<'a> Prepare<'a> {
    /// Decodes a message.
    pub fn decode(message: &'a [u8], version: Version) -> Result<Prepare<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let text = notation::read_long_string(&mut reader)?;
        let flags = match version {
            Version::V3 | Version::V4 => 0,
            Version::V5 => reader.u32()?,
        };
        let keyspace = match flags & KEYSPACE {
            0 => None,
            _ => Some(notation::read_string(&mut reader)?),
        };
        Ok(Prepare { text, keyspace })
    }

    /// Appends the message. Before version 5 there is no room for the keyspace, which is left out.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        notation::write_long_string(out, self.text);
        if version == Version::V5 {
            let flags = if self.keyspace.is_some() { KEYSPACE } else { 0 };
            out.extend_from_slice(&flags.to_be_bytes());
            if let Some(keyspace) = self.keyspace {
                notation::write_string(out, keyspace);
            }
        }
    }
}
