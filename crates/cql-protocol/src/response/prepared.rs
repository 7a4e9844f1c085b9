//! RESULT of PREPARE.
//!
//! ```text
//! kind i32 = 4 | id short bytes | id of the result's columns short bytes (version 5)
//!              | markers:  flags u32 | count i32 | key count i32 | key count × index u16 | descriptions   (v3: no key)
//!              | result:   flags u32 | count i32 | descriptions
//! ```

use stdx::Reader;

use crate::response::specs::{
    ColumnSpec, DecodedSpec, GLOBAL_TABLE, HAS_MORE_PAGES, METADATA_CHANGED, NO_METADATA, count_of, read_count,
    read_specs, write_specs,
};
use crate::response::{ResponseFrame, begin_result, result_kind};
use crate::{DecodeError, Version, notation};

/// A prepared statement, to be written.
#[derive(Debug, Clone, Copy)]
pub struct PreparedReply<'a> {
    /// The statement's id.
    pub id: &'a [u8],
    /// The id of the result's columns; left out before version 5.
    pub result_metadata_id: &'a [u8],
    /// The markers.
    pub markers: &'a [ColumnSpec<'a>],
    /// For each column of the partition key the marker that it is bound to; empty if some is bound to none. Written
    /// only if all markers are of one table, as in Cassandra, and not in version 3.
    pub partition_key: &'a [u16],
    /// The result's columns; none for what is not a SELECT.
    pub columns: &'a [ColumnSpec<'a>],
}

/// Appends the answer to PREPARE.
pub fn write_prepared(out: &mut Vec<u8>, version: Version, stream: i16, prepared: &PreparedReply<'_>) {
    let frame = begin_result(out, version, stream, result_kind::PREPARED);
    notation::write_short_bytes(out, prepared.id);
    if version >= Version::V5 {
        notation::write_short_bytes(out, prepared.result_metadata_id);
    }

    let mut specs = Vec::new();
    let flags = write_specs(&mut specs, version, prepared.markers);
    let partition_key = if flags & GLOBAL_TABLE != 0 { prepared.partition_key } else { &[] };
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&count_of(prepared.markers.len()).to_be_bytes());
    if version >= Version::V4 {
        out.extend_from_slice(&count_of(partition_key.len()).to_be_bytes());
        for index in partition_key {
            out.extend_from_slice(&index.to_be_bytes());
        }
    }
    out.extend_from_slice(&specs);

    specs.clear();
    let flags = match prepared.columns {
        [] => NO_METADATA,
        columns => write_specs(&mut specs, version, columns),
    };
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&count_of(prepared.columns.len()).to_be_bytes());
    out.extend_from_slice(&specs);
    ResponseFrame::finish(out, frame);
}

/// A prepared statement, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The statement's id.
    pub id: Vec<u8>,
    /// The id of the result's columns (version 5).
    pub result_metadata_id: Option<Vec<u8>>,
    /// The markers.
    pub markers: Vec<DecodedSpec>,
    /// For each column of the partition key the marker that it is bound to, or empty.
    pub partition_key: Vec<u16>,
    /// The result's columns.
    pub columns: Vec<DecodedSpec>,
}

impl Prepared {
    pub(super) fn read(reader: &mut Reader<'_>, version: Version) -> Result<Prepared, DecodeError> {
        let id = notation::read_short_bytes(reader)?.to_vec();
        let result_metadata_id = match version {
            Version::V3 | Version::V4 => None,
            Version::V5 => Some(notation::read_short_bytes(reader)?.to_vec()),
        };

        let flags = reader.u32()?;
        let marker_count = read_count(reader, "markers")?;
        let key_count = match version {
            Version::V3 => 0,
            Version::V4 | Version::V5 => read_count(reader, "columns of the partition key")?,
        };
        let mut partition_key = Vec::with_capacity(key_count.min(reader.remaining() / 2));
        for _ in 0..key_count {
            partition_key.push(reader.u16()?);
        }
        let markers = read_specs(reader, version, flags, marker_count)?;

        let flags = reader.u32()?;
        let column_count = read_count(reader, "columns")?;
        if flags & HAS_MORE_PAGES != 0 {
            notation::read_bytes(reader)?;
        }
        if flags & METADATA_CHANGED != 0 {
            notation::read_short_bytes(reader)?;
        }
        let columns = read_specs(reader, version, flags, column_count)?;
        Ok(Prepared { id, result_metadata_id, markers, partition_key, columns })
    }
}
