//! Positions up to which a table was truncated.

use stdx::Reader;

use super::position::{Position, decode_positions, encode_positions};
use crate::error::{DecodeError, invalid};

/// A table's identity, 16 bytes.
pub type TableKey = [u8; 16];

/// Names a truncation that the cluster's state has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub [u8; 16]);

/// The version of a truncation with a mark that this code writes, and the newest that it reads.
const MARKED_VERSION: u8 = 1;

/// A table was emptied: of it, records of the commit log and files before these positions no longer count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// The table.
    pub table: TableKey,
    /// One position per shard.
    pub positions: Vec<Position>,
    /// The truncation's name in the cluster's state. `None`: a node alone decided it, before that state had truncations.
    pub mark: Option<Mark>,
}

impl Truncation {
    /// Appends `16 table id · varint count · (u64 boot · u16 shard · u64 sequence)*`, after `u8 version (1) · 16 mark` where there is a mark.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if let Some(mark) = self.mark {
            out.push(MARKED_VERSION);
            out.extend_from_slice(&mark.0);
        }
        out.extend_from_slice(&self.table);
        encode_positions(&self.positions, out);
    }

    pub(super) fn decode_marked(reader: &mut Reader<'_>) -> Result<Truncation, DecodeError> {
        match reader.u8()? {
            0 => return Err(invalid("a truncation has format version 0")),
            MARKED_VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: MARKED_VERSION }),
        }
        let mark = Some(Mark(reader.array()?));
        Ok(Truncation { mark, ..Truncation::decode(reader)? })
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Truncation, DecodeError> {
        let table = reader.array()?;
        let positions = decode_positions(reader)?;
        Ok(Truncation { table, positions, mark: None })
    }
}
