//! QUERY: a statement as text.

use stdx::Reader;

use crate::request::QueryParams;
use crate::{DecodeError, Version, notation};

/// A statement and how to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The statement.
    pub text: &'a str,
    /// How to run it.
    pub params: QueryParams<'a>,
}

impl<'a> Query<'a> {
    /// Decodes a message.
    #[inline]
    pub fn decode(message: &'a [u8], version: Version) -> Result<Query<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let text = notation::read_long_string(&mut reader)?;
        let params = QueryParams::read(&mut reader, version)?;
        Ok(Query { text, params })
    }

    /// Appends the message.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        notation::write_long_string(out, self.text);
        self.params.write(version, out);
    }
}
