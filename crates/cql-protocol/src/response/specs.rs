//! How a result's columns, or a statement's markers, are described.
//!
//! If all are of one table, its name is written once, before them. (Source: `native_protocol_v5.spec`, 4.2.5.2.)

use cql_types::CqlType;
use stdx::Reader;

use crate::{DecodeError, Version, notation, type_option};

/// One table for all columns.
pub(super) const GLOBAL_TABLE: u32 = 0x01;
/// There is another page.
pub(super) const HAS_MORE_PAGES: u32 = 0x02;
/// The columns are not described.
pub(super) const NO_METADATA: u32 = 0x04;
/// The columns are others than the client knows (version 5).
pub(super) const METADATA_CHANGED: u32 = 0x08;

/// The least bytes that a described column takes: an empty name and a type's code.
const SPEC_LENGTH_MIN: usize = 4;

/// A column or marker to describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnSpec<'a> {
    /// The table's keyspace.
    pub keyspace: &'a str,
    /// The table.
    pub table: &'a str,
    /// The column's, marker's or alias's name.
    pub name: &'a str,
    /// Its type.
    pub ty: &'a CqlType,
}

/// A described column or marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedSpec {
    /// The table's keyspace.
    pub keyspace: String,
    /// The table.
    pub table: String,
    /// The column's, marker's or alias's name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
}

impl DecodedSpec {
    /// The same, borrowed.
    pub fn as_spec(&self) -> ColumnSpec<'_> {
        ColumnSpec { keyspace: &self.keyspace, table: &self.table, name: &self.name, ty: &self.ty }
    }
}

/// Descriptions laid down beforehand, for a result that is written often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedSpecs {
    count: u32,
    flags: u32,
    bytes: Vec<u8>,
}

impl EncodedSpecs {
    /// Lays down the descriptions for one version: some types have no code in version 4.
    pub fn new(version: Version, columns: &[ColumnSpec<'_>]) -> EncodedSpecs {
        let mut bytes = Vec::new();
        let flags = write_specs(&mut bytes, version, columns);
        EncodedSpecs { count: count_of(columns.len()), flags, bytes }
    }
}

/// The columns of a result and whether to describe them.
#[derive(Debug, Clone, Copy)]
pub enum Specs<'a> {
    /// The client knows them.
    Skip {
        /// How many there are.
        count: usize,
    },
    /// Describe these.
    Columns(&'a [ColumnSpec<'a>]),
    /// Describe these, laid down for the version that is written.
    Encoded(&'a EncodedSpecs),
}

impl Specs<'_> {
    pub(super) fn count(&self) -> u32 {
        match self {
            Specs::Skip { count } => count_of(*count),
            Specs::Columns(columns) => count_of(columns.len()),
            Specs::Encoded(encoded) => encoded.count,
        }
    }

    /// Appends the descriptions and gives their flags.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, version: Version) -> u32 {
        match self {
            // Nothing is named, yet Cassandra says that one table would do for all columns of a SELECT.
            Specs::Skip { .. } => NO_METADATA | GLOBAL_TABLE,
            Specs::Columns(columns) => write_specs(out, version, columns),
            Specs::Encoded(encoded) => {
                out.extend_from_slice(&encoded.bytes);
                encoded.flags
            }
        }
    }
}

pub(super) fn count_of(count: usize) -> u32 {
    u32::try_from(count).expect("a table has far below 4 billion columns")
}

/// Appends the table's name, if it is the same everywhere, and each column. Gives the flags.
pub(super) fn write_specs(out: &mut Vec<u8>, version: Version, columns: &[ColumnSpec<'_>]) -> u32 {
    let Some(first) = columns.first() else {
        return 0;
    };
    let global = columns.iter().all(|column| column.keyspace == first.keyspace && column.table == first.table);
    if global {
        notation::write_string(out, first.keyspace);
        notation::write_string(out, first.table);
    }
    for column in columns {
        if !global {
            notation::write_string(out, column.keyspace);
            notation::write_string(out, column.table);
        }
        notation::write_string(out, column.name);
        type_option::write_type(out, version, column.ty);
    }
    if global { GLOBAL_TABLE } else { 0 }
}

/// Reads the descriptions of `count` columns.
pub(super) fn read_specs(
    reader: &mut Reader<'_>,
    version: Version,
    flags: u32,
    count: usize,
) -> Result<Vec<DecodedSpec>, DecodeError> {
    if flags & NO_METADATA != 0 {
        return Ok(Vec::new());
    }
    let global = match flags & GLOBAL_TABLE {
        0 => None,
        // Cassandra leaves the name out when there is no column to name it for.
        _ if count == 0 => None,
        _ => Some((notation::read_string(reader)?, notation::read_string(reader)?)),
    };
    let mut columns = Vec::with_capacity(count.min(reader.remaining() / SPEC_LENGTH_MIN));
    for _ in 0..count {
        let (keyspace, table) = match global {
            Some(names) => names,
            None => (notation::read_string(reader)?, notation::read_string(reader)?),
        };
        let name = notation::read_string(reader)?.to_owned();
        let ty = type_option::read_type(reader, version)?;
        columns.push(DecodedSpec { keyspace: keyspace.to_owned(), table: table.to_owned(), name, ty });
    }
    Ok(columns)
}

/// Reads a count of columns, rows or the like.
pub(super) fn read_count(reader: &mut Reader<'_>, what: &'static str) -> Result<usize, DecodeError> {
    let count = reader.i32()?;
    usize::try_from(count).map_err(|_| DecodeError::InvalidCount { what, count: i64::from(count) })
}
