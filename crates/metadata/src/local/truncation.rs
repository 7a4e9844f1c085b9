//! Positions up to which a table was truncated, as plain numbers: which log and which files they speak of is the storage engine's business.

use stdx::{Reader, varint};

use crate::error::{DecodeError, invalid};

/// A table's identity, 16 bytes.
pub type TableKey = [u8; 16];

/// Names a truncation that the cluster's state has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub [u8; 16]);

/// The version of a truncation with a mark that this code writes, and the newest that it reads.
const MARKED_VERSION: u8 = 1;

/// A place in the commit log of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The start of the process that wrote there.
    pub boot: u64,
    /// The shard whose log it is.
    pub shard: u16,
    /// Number of the record within that start.
    pub sequence: u64,
}

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
        varint::encode(self.positions.len() as u64, out);
        for position in &self.positions {
            out.extend_from_slice(&position.boot.to_be_bytes());
            out.extend_from_slice(&position.shard.to_be_bytes());
            out.extend_from_slice(&position.sequence.to_be_bytes());
        }
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
        let mut positions = Vec::new();
        for _ in 0..reader.varint()? {
            positions.push(Position { boot: reader.u64()?, shard: reader.u16()?, sequence: reader.u64()? });
        }
        Ok(Truncation { table, positions, mark: None })
    }
}
