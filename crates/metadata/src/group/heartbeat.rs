//! A sign of life between two nodes, in both directions the same.
//!
//! ```text
//! heartbeat: u8 version (1) · u8 flags (1 whole, 2 older) · u64 epoch · u64 boot · u64 heard epoch, if older
//!          · varint count · (u64 boot · u16 shard · u64 sequence)*
//! ```

use raft::Index;
use stdx::Reader;

use crate::error::{DecodeError, invalid};
use crate::local::{Position, decode_positions, encode_positions};

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;
const WHOLE: u8 = 1;
const OLDER: u8 = 2;

/// The sender's word about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// The positions are all that the sender knows of its disk, those of earlier starts too; without it, there may be more.
    pub is_whole: bool,
    /// The sender has heard more of the receiver than the receiver says, and this epoch at its highest: the receiver's disk is older than it was.
    pub older: Option<Index>,
    /// All the sender's shards have applied up to here.
    pub epoch: Index,
    /// Its start.
    pub boot: u64,
    /// Where what a start wrote to a shard's commit log ends on the disk.
    pub positions: Vec<Position>,
}

impl Heartbeat {
    /// The body of the verb, and of its answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.is_whole) * WHOLE | u8::from(self.older.is_some()) * OLDER];
        for number in [self.epoch.0, self.boot] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend(self.older.iter().flat_map(|heard| heard.0.to_be_bytes()));
        encode_positions(&self.positions, &mut out);
        out
    }

    /// The heartbeat that all of the bytes are.
    pub fn decode(bytes: &[u8]) -> Result<Heartbeat, DecodeError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            0 => return Err(invalid("a heartbeat has format version 0")),
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let flags = reader.u8()?;
        if flags & !(WHOLE | OLDER) > 0 {
            return Err(invalid(format!("unknown flags {flags} of a heartbeat")));
        }
        let (epoch, boot) = (Index(reader.u64()?), reader.u64()?);
        let older = (flags & OLDER > 0).then(|| reader.u64()).transpose()?.map(Index);
        let positions = decode_positions(&mut reader)?;
        match reader.remaining() {
            0 => Ok(Heartbeat { is_whole: flags & WHOLE > 0, older, epoch, boot, positions }),
            left => Err(invalid(format!("{left} bytes follow a heartbeat"))),
        }
    }
}
