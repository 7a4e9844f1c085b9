//! What the metadata log records, as bytes.
//!
//! ```text
//! record:    u8 kind · body
//! host id:   16 bytes
//! boot:      u64
//! schema:    varint count · change*            (each change carries its own version)
//! truncated: 16 table id · varint count · (u64 boot · u16 shard · u64 sequence)*
//! ```

use schema::{DecodeError, SchemaChange, TableId};
use stdx::{Reader, varint};
use storage::ReplayPosition;
use topology::HostId;

const HOST_ID: u8 = 1;
const BOOT: u8 = 2;
const SCHEMA: u8 = 3;
const TRUNCATED: u8 = 4;

/// One entry of the metadata log. A record counts whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataRecord {
    /// The node's identity: the first record, once.
    HostId(HostId),
    /// A start of the process; the numbers grow.
    Boot(u64),
    /// Schema changes that take effect together.
    Schema(Vec<SchemaChange>),
    /// A table was emptied: what its shards logged before these positions no longer counts.
    Truncated {
        /// The table.
        table: TableId,
        /// One position per shard.
        positions: Vec<ReplayPosition>,
    },
}

impl MetadataRecord {
    /// Whether a full disk must take it: what gives room back, and a start, without which nothing can be read.
    pub(super) fn may_use_reserve(&self) -> bool {
        match self {
            MetadataRecord::HostId(_) => false,
            MetadataRecord::Boot(_) | MetadataRecord::Truncated { .. } => true,
            MetadataRecord::Schema(changes) => changes.iter().all(|change| match change {
                SchemaChange::DropKeyspace(_) | SchemaChange::DropTable { .. } | SchemaChange::DropType { .. } => true,
                SchemaChange::PutKeyspace(_) | SchemaChange::PutTable(_) | SchemaChange::PutType(_) => false,
            }),
        }
    }

    /// The record's encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }

    /// Appends the record's encoding to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            MetadataRecord::HostId(HostId(id)) => {
                out.push(HOST_ID);
                out.extend_from_slice(id);
            }
            MetadataRecord::Boot(number) => {
                out.push(BOOT);
                out.extend_from_slice(&number.to_be_bytes());
            }
            MetadataRecord::Schema(changes) => {
                out.push(SCHEMA);
                varint::encode(changes.len() as u64, out);
                for change in changes {
                    change.encode(out);
                }
            }
            MetadataRecord::Truncated { table, positions } => {
                out.push(TRUNCATED);
                out.extend_from_slice(&table.0);
                varint::encode(positions.len() as u64, out);
                for position in positions {
                    out.extend_from_slice(&position.boot.to_be_bytes());
                    out.extend_from_slice(&position.shard.to_be_bytes());
                    out.extend_from_slice(&position.sequence.to_be_bytes());
                }
            }
        }
    }

    /// The record that `bytes` are, all of them.
    pub fn decode(bytes: &[u8]) -> Result<MetadataRecord, DecodeError> {
        let mut reader = Reader::new(bytes);
        let record = match reader.u8()? {
            HOST_ID => MetadataRecord::HostId(HostId(reader.array()?)),
            BOOT => MetadataRecord::Boot(reader.u64()?),
            SCHEMA => {
                let mut changes = Vec::new();
                for _ in 0..reader.varint()? {
                    changes.push(SchemaChange::decode(&mut reader)?);
                }
                MetadataRecord::Schema(changes)
            }
            TRUNCATED => {
                let table = TableId(reader.array()?);
                let mut positions = Vec::new();
                for _ in 0..reader.varint()? {
                    positions.push(ReplayPosition {
                        boot: reader.u64()?,
                        shard: reader.u16()?,
                        sequence: reader.u64()?,
                    });
                }
                MetadataRecord::Truncated { table, positions }
            }
            kind => return Err(DecodeError::Invalid { problem: format!("the kind of record {kind} is unknown") }),
        };
        if !reader.is_empty() {
            return Err(DecodeError::Invalid { problem: format!("{} bytes are left over", reader.remaining()) });
        }
        Ok(record)
    }
}
