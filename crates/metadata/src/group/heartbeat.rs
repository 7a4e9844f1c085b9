//! A sign of life between two nodes, in both directions the same.
//!
//! ```text
//! heartbeat: u8 version (2) · u8 flags (1 whole, 2 older, 4 ready, 8 lost) · u64 epoch · u64 boot · u64 began
//!          · u64 heard epoch, if older · varint count · (u64 boot · u16 shard · u64 sequence)*
//!          · u64 wall clock (µs) · u64 begin of the boot (s) · u64 bytes on disk · 16 schema version · what later builds add
//! ```
//!
//! Version 1 ends with the positions. It is read, and written in answer to one of version 1.

use raft::Index;
use stdx::Reader;

use crate::error::{DecodeError, invalid};
use crate::local::{Position, decode_positions, encode_positions};

/// The newest version that this code writes and reads, and the one without vitals.
const VERSION: u8 = 2;
const WITHOUT_VITALS: u8 = 1;
const WHOLE: u8 = 1;
const OLDER: u8 = 2;
const READY: u8 = 4;
const LOST: u8 = 8;
/// Positions of one heartbeat: of a running boot and those that a shard keeps, of more shards than any machine has.
const POSITIONS_MAX: usize = 16 << 10;

/// The sender's word about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// The positions are all that the sender knows of its disk, those of earlier starts too; without it, there may be more.
    pub is_whole: bool,
    /// The sender has heard more of the receiver than the receiver says, and this epoch at its highest: the receiver's disk is older than it was.
    pub older: Option<Index>,
    /// The sender accepts clients: it has started, and does not end yet.
    pub is_ready: bool,
    /// The sender does not vote: its disk is older than it was, or lost a part of the log.
    pub is_lost: bool,
    /// All the sender's shards have applied up to here.
    pub epoch: Index,
    /// Its start.
    pub boot: u64,
    /// The epoch with which that start began: what its disk had.
    pub began: Index,
    /// Where what a start wrote to a shard's commit log ends on the disk.
    pub positions: Vec<Position>,
    /// The rest of its word about itself; `None` in version 1.
    pub vitals: Option<Vitals>,
}

/// Facts of a node that decide nothing: operators see them, and the offset of its clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vitals {
    /// The sender's wall clock, microseconds since 1970.
    pub wall_micros: u64,
    /// The sender's wall clock at its start, seconds since 1970: what Cassandra calls generation.
    pub generation: u64,
    /// Bytes of its data on disk.
    pub disk_bytes: u64,
    /// The version of its schema, a UUID.
    pub schema_version: [u8; 16],
}

impl Heartbeat {
    /// The body of the verb, and of its answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flags =
            [(self.is_whole, WHOLE), (self.older.is_some(), OLDER), (self.is_ready, READY), (self.is_lost, LOST)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
        let version = if self.vitals.is_some() { VERSION } else { WITHOUT_VITALS };
        let mut out = vec![version, flags];
        for number in [self.epoch.0, self.boot, self.began.0] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend(self.older.iter().flat_map(|heard| heard.0.to_be_bytes()));
        encode_positions(&self.positions, &mut out);
        if let Some(vitals) = &self.vitals {
            for number in [vitals.wall_micros, vitals.generation, vitals.disk_bytes] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.extend_from_slice(&vitals.schema_version);
        }
        out
    }

    /// The same as an answer to `asked`: in version 1 if its sender writes that, since it may read no other.
    pub fn in_answer_to(mut self, asked: &Heartbeat) -> Heartbeat {
        if asked.vitals.is_none() {
            self.vitals = None;
        }
        self
    }

    /// The heartbeat that the bytes begin with; in version 1, that all of them are.
    pub fn decode(bytes: &[u8]) -> Result<Heartbeat, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        match version {
            0 => return Err(invalid("a heartbeat has format version 0")),
            WITHOUT_VITALS | VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let flags = reader.u8()?;
        if flags & !(WHOLE | OLDER | READY | LOST) > 0 {
            return Err(invalid(format!("unknown flags {flags} of a heartbeat")));
        }
        let (epoch, boot, began) = (Index(reader.u64()?), reader.u64()?, Index(reader.u64()?));
        let older = (flags & OLDER > 0).then(|| reader.u64()).transpose()?.map(Index);
        let positions = decode_positions(&mut reader)?;
        if positions.len() > POSITIONS_MAX {
            return Err(invalid(format!("{} positions in a heartbeat", positions.len())));
        }
        let vitals = (version > WITHOUT_VITALS).then(|| vitals(&mut reader)).transpose()?;
        if vitals.is_none() && reader.remaining() > 0 {
            return Err(invalid(format!("{} bytes follow a heartbeat", reader.remaining())));
        }
        let [is_whole, is_ready, is_lost] = [WHOLE, READY, LOST].map(|flag| flags & flag > 0);
        Ok(Heartbeat { is_whole, older, is_ready, is_lost, epoch, boot, began, positions, vitals })
    }
}

fn vitals(reader: &mut Reader<'_>) -> Result<Vitals, DecodeError> {
    let (wall_micros, generation, disk_bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
    Ok(Vitals { wall_micros, generation, disk_bytes, schema_version: reader.array()? })
}
