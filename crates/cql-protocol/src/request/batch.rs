//! BATCH: several statements at once.
//!
//! ```text
//! kind u8 | count u16 | count × { 0 u8, text long string  | values }  | parameters as of QUERY, without values
//!                               { 1 u8, id short bytes    | values }
//! ```

use stdx::Reader;

use crate::request::{QueryParams, Values};
use crate::{DecodeError, Version, notation};

const TEXT: u8 = 0;
const PREPARED: u8 = 1;

/// What a batch promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BatchKind {
    /// All of it or, in time, nothing.
    Logged = 0,
    /// No promise across partitions.
    Unlogged = 1,
    /// Changes of counters.
    Counter = 2,
}

/// A statement of a batch, without its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchQuery<'a> {
    /// As text.
    Text(&'a str),
    /// By the id that PREPARE gave.
    Prepared(&'a [u8]),
}

/// A statement of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchStatement<'a> {
    /// The statement.
    pub query: BatchQuery<'a>,
    /// The values of its markers.
    pub values: Values<'a>,
}

impl<'a> BatchStatement<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>, is_lenient: bool) -> Result<BatchStatement<'a>, DecodeError> {
        let query = match reader.u8()? {
            TEXT => BatchQuery::Text(notation::read_long_string(reader)?),
            PREPARED => BatchQuery::Prepared(notation::read_short_bytes(reader)?),
            kind => return Err(DecodeError::UnknownBatchStatementKind { kind }),
        };
        // Version 5's flag for named values does not apply: it comes after the values, so nobody can send them
        // (CASSANDRA-10246).
        let values = Values::read(reader, false, is_lenient)?;
        Ok(BatchStatement { query, values })
    }
}

/// A batch; its statements were checked as a whole when it was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a> {
    /// What it promises.
    pub kind: BatchKind,
    /// Level, timestamp and the like, for all statements. It has no values.
    pub params: QueryParams<'a>,
    /// The statements' values came in version 3; see [`Values`].
    is_lenient: bool,
    count: u16,
    statements: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Decodes a message.
    pub fn decode(message: &'a [u8], version: Version) -> Result<Batch<'a>, DecodeError> {
        let mut reader = Reader::new(message);
        let kind = match reader.u8()? {
            0 => BatchKind::Logged,
            1 => BatchKind::Unlogged,
            2 => BatchKind::Counter,
            kind => return Err(DecodeError::UnknownBatchKind { kind }),
        };
        let count = reader.u16()?;
        let is_lenient = version == Version::V3;
        let bytes = reader.peek();
        for _ in 0..count {
            BatchStatement::read(&mut reader, is_lenient)?;
        }
        let statements = &bytes[..bytes.len() - reader.remaining()];
        let params = QueryParams { values: Values::NONE, ..QueryParams::read(&mut reader, version)? };
        Ok(Batch { kind, params, is_lenient, count, statements })
    }

    /// Appends the message.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(self.statements);
        QueryParams { values: Values::NONE, ..self.params }.write(version, out);
    }

    /// How many statements there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is no statement.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The statements, in the order sent.
    #[inline]
    pub fn statements(&self) -> BatchStatements<'a> {
        BatchStatements { left: self.count, is_lenient: self.is_lenient, reader: Reader::new(self.statements) }
    }
}

/// Walks a [`Batch`]'s statements.
#[derive(Debug, Clone)]
pub struct BatchStatements<'a> {
    left: u16,
    is_lenient: bool,
    reader: Reader<'a>,
}

impl<'a> Iterator for BatchStatements<'a> {
    type Item = BatchStatement<'a>;

    #[inline]
    fn next(&mut self) -> Option<BatchStatement<'a>> {
        self.left = self.left.checked_sub(1)?;
        BatchStatement::read(&mut self.reader, self.is_lenient).ok()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for BatchStatements<'_> {}

/// More statements than a batch can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a batch has at most 65,535 statements")]
pub struct TooManyStatements;

/// A batch's statements that are being laid down by a client.
#[derive(Debug, Clone, Default)]
pub struct BatchBuilder {
    count: u16,
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// No statement yet.
    pub fn new() -> BatchBuilder {
        BatchBuilder::default()
    }

    /// Appends a statement; its values must not be named.
    pub fn push(&mut self, query: BatchQuery<'_>, values: Values<'_>) -> Result<(), TooManyStatements> {
        self.count = self.count.checked_add(1).ok_or(TooManyStatements)?;
        match query {
            BatchQuery::Text(text) => {
                self.bytes.push(TEXT);
                notation::write_long_string(&mut self.bytes, text);
            }
            BatchQuery::Prepared(id) => {
                self.bytes.push(PREPARED);
                notation::write_short_bytes(&mut self.bytes, id);
            }
        }
        values.write(&mut self.bytes);
        Ok(())
    }

    /// The batch.
    pub fn batch<'a>(&'a self, kind: BatchKind, params: QueryParams<'a>) -> Batch<'a> {
        Batch { kind, params, is_lenient: false, count: self.count, statements: &self.bytes }
    }
}
