//! Places in commit logs, as plain numbers: which logs they speak of is the storage engine's business.

use stdx::{Reader, varint};

use crate::error::{DecodeError, invalid};

/// Bytes of a position.
const POSITION_BYTES: usize = 8 + 2 + 8;

/// A place in the commit log of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The start of the process that wrote there.
    pub boot: u64,
    /// The shard whose log it is.
    pub shard: u16,
    /// The log sequence within that start.
    pub sequence: u64,
}

/// Appends `varint count · (u64 boot · u16 shard · u64 sequence)*`.
pub fn encode_positions(positions: &[Position], out: &mut Vec<u8>) {
    varint::encode(positions.len() as u64, out);
    for position in positions {
        out.extend_from_slice(&position.boot.to_be_bytes());
        out.extend_from_slice(&position.shard.to_be_bytes());
        out.extend_from_slice(&position.sequence.to_be_bytes());
    }
}

/// Reads what [`encode_positions`] wrote.
pub fn decode_positions(reader: &mut Reader<'_>) -> Result<Vec<Position>, DecodeError> {
    let count = reader.varint()?;
    if count > (reader.remaining() / POSITION_BYTES) as u64 {
        return Err(invalid(format!("{count} positions do not fit {} bytes", reader.remaining())));
    }
    let position = |_| Ok(Position { boot: reader.u64()?, shard: reader.u16()?, sequence: reader.u64()? });
    (0..count).map(position).collect()
}
