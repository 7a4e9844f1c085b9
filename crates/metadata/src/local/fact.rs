//! One fact of this node, and its bytes in a record.

use stdx::Reader;
use topology::HostId;

use super::truncation::Truncation;
use crate::error::DecodeError;

const HOST_ID: u8 = 1;
const BOOT: u8 = 2;
const TRUNCATED: u8 = 4;
/// The same with the mark of the truncation.
const TRUNCATED_AT_MARK: u8 = 11;

/// One fact of this node alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// The node's identity: the first record, once.
    HostId(HostId),
    /// A start of the process; the numbers grow.
    Boot(u64),
    /// A table was emptied on this node's shards.
    Truncated(Truncation),
}

impl Fact {
    /// Appends the record's kind and body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Fact::HostId(HostId(id)) => {
                out.push(HOST_ID);
                out.extend_from_slice(id);
            }
            Fact::Boot(number) => {
                out.push(BOOT);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Fact::Truncated(truncation) => {
                out.push(if truncation.mark.is_some() { TRUNCATED_AT_MARK } else { TRUNCATED });
                truncation.encode(out);
            }
        }
    }

    /// The fact that a record of `kind` holds, or `None` if records of that kind hold none.
    pub(crate) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Option<Fact>, DecodeError> {
        Ok(Some(match kind {
            HOST_ID => Fact::HostId(HostId(reader.array()?)),
            BOOT => Fact::Boot(reader.u64()?),
            TRUNCATED => Fact::Truncated(Truncation::decode(reader)?),
            TRUNCATED_AT_MARK => Fact::Truncated(Truncation::decode_marked(reader)?),
            _ => return Ok(None),
        }))
    }
}
