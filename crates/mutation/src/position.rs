//! Where a read left off.

use stdx::{Reader, varint};
use topology::Token;

use crate::error::DecodeError;

/// The place right after something that a read has gone past: a row, or all of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The partition's token.
    pub token: Token,
    /// The partition's key.
    pub key: Vec<u8>,
    /// The byte-comparable clustering of the row; `None`: the read is past the whole partition.
    pub row: Option<Vec<u8>>,
}

/// A borrowed [`Position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionRef<'a> {
    /// The partition's token.
    pub token: Token,
    /// The partition's key.
    pub key: &'a [u8],
    /// The byte-comparable clustering of the row; `None`: past the whole partition.
    pub row: Option<&'a [u8]>,
}

impl Position {
    /// Borrows it.
    pub fn as_ref(&self) -> PositionRef<'_> {
        PositionRef { token: self.token, key: &self.key, row: self.row.as_deref() }
    }
}

impl<'a> PositionRef<'a> {
    /// Appends the encoding: token, key with its length, a byte that tells whether a row follows, the row's clustering
    /// with its length.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.token.0.to_be_bytes());
        varint::encode(self.key.len() as u64, out);
        out.extend_from_slice(self.key);
        match self.row {
            None => out.push(0),
            Some(row) => {
                out.push(1);
                varint::encode(row.len() as u64, out);
                out.extend_from_slice(row);
            }
        }
    }

    /// Takes a position from the cursor.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let token = Token(reader.i64()?);
        let key = reader.varint_bytes()?;
        let row = match reader.u8()? {
            0 => None,
            1 => Some(reader.varint_bytes()?),
            value => return Err(DecodeError::Unknown { what: "a position's kind", value }),
        };
        Ok(PositionRef { token, key, row })
    }

    /// An owned copy.
    pub fn to_owned(&self) -> Position {
        Position { token: self.token, key: self.key.to_vec(), row: self.row.map(<[u8]>::to_vec) }
    }
}
