//! A sign of life between two nodes, in both directions the same.
//!
//! ```text
//! heartbeat: u8 version (1) · u64 epoch · u64 last entry · u64 boot · varint count · (u64 position)*
//! ```

use raft::Index;
use stdx::{Reader, varint};

use crate::error::{DecodeError, invalid};

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;
const POSITION_BYTES: usize = 8;

/// The sender's word about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// All its shards have applied up to here.
    pub epoch: Index,
    /// The last entry of its log, durably.
    pub last: Index,
    /// Its start, which the positions are of.
    pub boot: u64,
    /// The last record that each shard's commit log has durably.
    pub positions: Vec<u64>,
}

impl Heartbeat {
    /// The body of the verb, and of its answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        for number in [self.epoch.0, self.last.0, self.boot] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        varint::encode(self.positions.len() as u64, &mut out);
        self.positions.iter().for_each(|position| out.extend_from_slice(&position.to_be_bytes()));
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
        let (epoch, last, boot) = (Index(reader.u64()?), Index(reader.u64()?), reader.u64()?);
        let count = reader.varint()?;
        let left = reader.remaining();
        if !left.is_multiple_of(POSITION_BYTES) || count != (left / POSITION_BYTES) as u64 {
            return Err(invalid(format!("{count} positions do not fit {left} bytes of a heartbeat")));
        }
        let positions = (0..count).map(|_| Ok(reader.u64()?)).collect::<Result<_, DecodeError>>()?;
        Ok(Heartbeat { epoch, last, boot, positions })
    }
}
