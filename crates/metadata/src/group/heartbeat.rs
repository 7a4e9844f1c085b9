//! A sign of life between two nodes, in both directions the same.
//!
//! ```text
//! heartbeat: u8 version (1) · u8 flags (1 whole, 2 older, 4 ready) · u64 epoch · u64 boot · u64 heard epoch, if older
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
const READY: u8 = 4;

/// The sender's word about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// The positions are all that the sender knows of its disk, those of earlier starts too; without it, there may be more.
    pub is_whole: bool,
    /// The sender has heard more of the receiver than the receiver says, and this epoch at its highest: the receiver's disk is older than it was.
    pub older: Option<Index>,
    /// The sender accepts clients: it has started, and does not end yet.
    pub is_ready: bool,
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
        let flags = [(self.is_whole, WHOLE), (self.older.is_some(), OLDER), (self.is_ready, READY)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
        let mut out = vec![VERSION, flags];
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
        if flags & !(WHOLE | OLDER | READY) > 0 {
            return Err(invalid(format!("unknown flags {flags} of a heartbeat")));
        }
        let (epoch, boot) = (Index(reader.u64()?), reader.u64()?);
        let older = (flags & OLDER > 0).then(|| reader.u64()).transpose()?.map(Index);
        let positions = decode_positions(&mut reader)?;
        match reader.remaining() {
            0 => {
                let (is_whole, is_ready) = (flags & WHOLE > 0, flags & READY > 0);
                Ok(Heartbeat { is_whole, older, is_ready, epoch, boot, positions })
            }
            left => Err(invalid(format!("{left} bytes follow a heartbeat"))),
        }
    }
}
