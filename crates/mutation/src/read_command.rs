//! What is to be read, of one table.

use std::ops::Bound as TokenBound;

use schema::TableId;
use stdx::{Reader, varint};
use topology::Token;

use crate::VERSION;
use crate::bound::{Bound, Slice};
use crate::error::DecodeError;
use crate::position::PositionRef;

/// Which partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRange<'a> {
    /// The one with this key.
    Partition {
        /// The key's token.
        token: Token,
        /// The key.
        key: &'a [u8],
    },
    /// Those whose tokens are between two, in the order of tokens, then of keys. It does not wrap around.
    Tokens {
        /// Where it begins.
        start: TokenBound<Token>,
        /// Where it ends.
        end: TokenBound<Token>,
    },
}

impl KeyRange<'_> {
    /// All partitions.
    pub const ALL: KeyRange<'static> = KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Unbounded };
}

/// A read of one table: its partitions, and in each the rows inside of `slices`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadCommand<'a> {
    /// The table.
    pub table: TableId,
    /// The partitions.
    pub keys: KeyRange<'a>,
    /// The rows: slices in ascending order that do not overlap. None at all reads no rows, only static ones.
    pub slices: &'a [Slice<'a>],
    /// Whether the rows of a partition come in descending order. Partitions never do.
    pub reversed: bool,
    /// The moment at which expiry is judged, seconds since 1970.
    pub now_in_seconds: u32,
    /// Go on after this position, which an earlier read of the same command gave.
    pub after: Option<PositionRef<'a>>,
}

/// A decoded [`ReadCommand`], which owns its list of slices and borrows all else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadCommandBuf<'a> {
    table: TableId,
    keys: KeyRange<'a>,
    slices: Vec<Slice<'a>>,
    reversed: bool,
    now_in_seconds: u32,
    after: Option<PositionRef<'a>>,
}

const PARTITION: u8 = 0;
const TOKENS: u8 = 1;

impl<'a> ReadCommand<'a> {
    /// All rows of the partition with `key`.
    pub fn partition(table: TableId, token: Token, key: &'a [u8], now_in_seconds: u32) -> Self {
        ReadCommand {
            table,
            keys: KeyRange::Partition { token, key },
            slices: &[Slice::ALL],
            reversed: false,
            now_in_seconds,
            after: None,
        }
    }

    /// All rows of the table.
    pub fn all(table: TableId, now_in_seconds: u32) -> Self {
        let keys = KeyRange::ALL;
        ReadCommand { table, keys, slices: &[Slice::ALL], reversed: false, now_in_seconds, after: None }
    }

    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.extend_from_slice(&self.table.0);
        out.extend_from_slice(&self.now_in_seconds.to_be_bytes());
        out.push(u8::from(self.reversed));
        match self.keys {
            KeyRange::Partition { token, key } => {
                out.push(PARTITION);
                out.extend_from_slice(&token.0.to_be_bytes());
                encode_bytes(key, out);
            }
            KeyRange::Tokens { start, end } => {
                out.push(TOKENS);
                encode_token_bound(start, out);
                encode_token_bound(end, out);
            }
        }
        varint::encode(self.slices.len() as u64, out);
        for slice in self.slices {
            encode_bound(&slice.start, out);
            encode_bound(&slice.end, out);
        }
        out.push(u8::from(self.after.is_some()));
        if let Some(after) = self.after {
            after.encode(out);
        }
    }
}

impl<'a> ReadCommandBuf<'a> {
    /// Decodes what [`ReadCommand::encode`] wrote, checking everything.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(DecodeError::NewerVersion { found: version, known: VERSION });
        }
        let table = TableId(reader.array()?);
        let now_in_seconds = reader.u32()?;
        let reversed = read_flag(&mut reader)?;
        let keys = match reader.u8()? {
            PARTITION => KeyRange::Partition { token: Token(reader.i64()?), key: reader.varint_bytes()? },
            TOKENS => KeyRange::Tokens { start: read_token_bound(&mut reader)?, end: read_token_bound(&mut reader)? },
            value => return Err(DecodeError::Unknown { what: "a read's kind of keys", value }),
        };
        let count = reader.varint()?;
        // A slice takes at least four bytes: memory is taken for what is there, not for what the count claims.
        let room = usize::try_from(count).unwrap_or(usize::MAX).min(reader.remaining() / 4);
        let mut slices = Vec::with_capacity(room);
        for _ in 0..count {
            slices.push(Slice { start: read_bound(&mut reader)?, end: read_bound(&mut reader)? });
        }
        let after = match read_flag(&mut reader)? {
            true => Some(PositionRef::read(&mut reader)?),
            false => None,
        };
        match reader.remaining() {
            0 => Ok(ReadCommandBuf { table, keys, slices, reversed, now_in_seconds, after }),
            count => Err(DecodeError::LeftOver { count }),
        }
    }

    /// The command.
    pub fn command(&self) -> ReadCommand<'_> {
        ReadCommand {
            table: self.table,
            keys: self.keys,
            slices: &self.slices,
            reversed: self.reversed,
            now_in_seconds: self.now_in_seconds,
            after: self.after,
        }
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn encode_bound(bound: &Bound<'_>, out: &mut Vec<u8>) {
    out.push(u8::from(bound.inclusive));
    encode_bytes(bound.prefix, out);
}

fn read_bound<'a>(reader: &mut Reader<'a>) -> Result<Bound<'a>, DecodeError> {
    let inclusive = read_flag(reader)?;
    Ok(Bound { prefix: reader.varint_bytes()?, inclusive })
}

fn encode_token_bound(bound: TokenBound<Token>, out: &mut Vec<u8>) {
    let (kind, token) = match bound {
        TokenBound::Unbounded => (0, Token(0)),
        TokenBound::Included(token) => (1, token),
        TokenBound::Excluded(token) => (2, token),
    };
    out.push(kind);
    out.extend_from_slice(&token.0.to_be_bytes());
}

fn read_token_bound(reader: &mut Reader<'_>) -> Result<TokenBound<Token>, DecodeError> {
    let kind = reader.u8()?;
    let token = Token(reader.i64()?);
    match kind {
        0 => Ok(TokenBound::Unbounded),
        1 => Ok(TokenBound::Included(token)),
        2 => Ok(TokenBound::Excluded(token)),
        value => Err(DecodeError::Unknown { what: "a token bound's kind", value }),
    }
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        value => Err(DecodeError::Unknown { what: "a flag", value }),
    }
}

#[cfg(test)]
mod tests;
